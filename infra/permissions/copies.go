package permissions

import "regexp"

// Copies maps calls of a stack's copies to the stack itself. The integration tests
// deploy the same template again as STACK-1a2b3c4d; what a copy's function does, the
// stack's may do.
type Copies struct {
	stack string
	// names has the stack's resources by their logical ids.
	names map[string]string
	of    *regexp.Regexp
}

// CopiesOf learns the names of a stack's resources, STACK-LogicalId-SUFFIX, from
// its grants.
func CopiesOf(stack string, grants []Grant) Copies {
	c := Copies{stack, map[string]string{}, regexp.MustCompile(`\b` + regexp.QuoteMeta(stack) + `-[0-9a-f]{8}(?:-([A-Za-z]+)-[0-9A-Za-z]+|\b)`)}
	own := regexp.MustCompile(`\b` + regexp.QuoteMeta(stack) + `-([A-Za-z]+)-[0-9A-Za-z]+`)
	for _, g := range grants {
		for _, m := range own.FindAllStringSubmatch(g.Role+" "+g.Resource, -1) {
			c.names[m[1]] = m[0]
		}
	}
	return c
}

// Original is the call as the stack itself would have made it.
func (c Copies) Original(call Call) Call {
	call.Role, call.Resource = c.original(call.Role), c.original(call.Resource)
	return call
}

func (c Copies) original(name string) string {
	return c.of.ReplaceAllStringFunc(name, func(copied string) string {
		logical := c.of.FindStringSubmatch(copied)[1]
		if logical == "" {
			return c.stack
		}
		if original := c.names[logical]; original != "" {
			return original
		}
		return copied
	})
}
