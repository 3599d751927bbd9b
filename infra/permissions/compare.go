package permissions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Call is one action that a function, or a service in its name, took on a resource.
type Call struct {
	// Role is the role's name in IAM.
	Role     string `json:"role"`
	Action   string `json:"action"`
	Resource string `json:"resource"`
	// Decision is Allow, ImplicitDeny (no statement allows it) or Deny (one forbids
	// it: the tests put such statements in to see what happens then).
	Decision string `json:"decision"`
}

// ReadCalls reads the emulator's record, a JSON document a line.
func ReadCalls(r io.Reader) (calls []Call, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var c Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("the record of calls: %w in %s", err, lines.Bytes())
		}
		if c.Role == "" || c.Action == "" || c.Resource == "" || c.Decision == "" {
			return nil, fmt.Errorf("the record of calls lacks something: %s", lines.Bytes())
		}
		calls = append(calls, c)
	}
	return calls, lines.Err()
}

// Exception is a grant that no call of a test run needs, or a call that the tests
// cause on purpose and no grant allows.
type Exception struct {
	// Role and Resource are parts of the role's name and the resource's ARN.
	Role, Action, Resource string
	// Why says when it is used after all.
	Why string
}

func (e Exception) covers(role, action, resource string) bool {
	return strings.Contains(role, e.Role) && action == e.Action && strings.Contains(resource, e.Resource)
}

// Compare gives one line for each call that no grant allows, each grant that no
// call used, and each exception that stands for nothing any more.
func Compare(grants []Grant, calls []Call, exceptions []Exception) (findings []string) {
	used := make([]bool, len(exceptions))
	excepted := func(role, action, resource string) bool {
		found := false
		for i, e := range exceptions {
			if e.covers(role, action, resource) {
				used[i], found = true, true
			}
		}
		return found
	}
	for _, c := range calls {
		allowed := c.Decision == "Allow" && slices.ContainsFunc(grants, func(g Grant) bool { return g.allows(c) })
		if !allowed && c.Decision != "Deny" && !excepted(c.Role, c.Action, c.Resource) {
			findings = append(findings, fmt.Sprintf("%s called %s on %s, and no statement allows it", c.Role, c.Action, c.Resource))
		}
	}
	for _, g := range grants {
		needed := slices.ContainsFunc(calls, func(c Call) bool { return c.Decision == "Allow" && g.allows(c) })
		if !needed && !excepted(g.Role, g.Action, g.Resource) {
			findings = append(findings, fmt.Sprintf("%s may call %s on %s, and never did", g.Role, g.Action, g.Resource))
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			findings = append(findings, fmt.Sprintf("the exception for %s, %s on %s stands for nothing: %s", e.Role, e.Action, e.Resource, e.Why))
		}
	}
	slices.Sort(findings)
	return slices.Compact(findings)
}

func (g Grant) allows(c Call) bool {
	return g.Role == c.Role && g.Action == c.Action && matches(g.Resource, c.Resource)
}
