package infra_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rendering is the template with values for its parameters: what CloudFormation
// makes of !If, of conditions and of parameters' values. References to resources
// stay the text that they are in a block.
type rendering struct {
	t          *testing.T
	values     map[string]string
	lists      map[string]bool
	conditions map[string]yaml.Node
	resources  map[string]yaml.Node
}

// render takes the parameters that are not given from their defaults.
func render(t *testing.T, given map[string]string) rendering {
	t.Helper()
	var doc struct {
		Parameters map[string]struct {
			Type    string `yaml:"Type"`
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
		Conditions map[string]yaml.Node `yaml:"Conditions"`
		Resources  map[string]yaml.Node `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "../template.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	r := rendering{t, map[string]string{}, map[string]bool{}, doc.Conditions, doc.Resources}
	for name, p := range doc.Parameters {
		r.values[name], r.lists[name] = p.Default, p.Type == "CommaDelimitedList"
	}
	for name, value := range given {
		if _, known := r.values[name]; !known {
			t.Fatalf("the template has no parameter %s", name)
		}
		r.values[name] = value
	}
	return r
}

// resource is what is made of one, nil when its condition does not hold.
func (r rendering) resource(name string) block {
	r.t.Helper()
	n, known := r.resources[name]
	if !known {
		r.t.Fatalf("the template has no resource %s", name)
	}
	b := r.value(&n).(block)
	if c, ok := b["Condition"].(string); ok && !r.holds(c) {
		return nil
	}
	properties, _ := b["Properties"].(block)
	return properties
}

// absent is !Ref AWS::NoValue: what has it is left out.
type absent struct{}

func (r rendering) value(n *yaml.Node) any {
	r.t.Helper()
	switch n.Tag {
	case "!Ref":
		return r.reference(n.Value)
	case "!If":
		if r.holds(n.Content[0].Value) {
			return r.value(n.Content[1])
		}
		return r.value(n.Content[2])
	case "!Condition":
		return r.holds(n.Value)
	case "!Not":
		return r.value(n.Content[0]) != true
	case "!Equals":
		return r.value(n.Content[0]) == r.value(n.Content[1])
	case "!And":
		return !slices.ContainsFunc(n.Content, func(part *yaml.Node) bool { return r.value(part) != true })
	case "!Select":
		return r.value(n.Content[1]).([]any)[r.value(n.Content[0]).(int)]
	case "!GetAtt", "!Sub":
		return n.Value
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		r.t.Fatalf("line %d has %s, which this test cannot work out", n.Line, n.Tag)
	}
	return r.plain(n)
}

func (r rendering) plain(n *yaml.Node) any {
	r.t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		b := block{}
		for i := 0; i < len(n.Content); i += 2 {
			if v := r.value(n.Content[i+1]); v != (absent{}) {
				b[n.Content[i].Value] = v
			}
		}
		return b
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			if v := r.value(item); v != (absent{}) {
				list = append(list, v)
			}
		}
		return list
	}
	var v any
	if err := n.Decode(&v); err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r rendering) reference(name string) any {
	value, parameter := r.values[name]
	switch {
	case name == "AWS::NoValue":
		return absent{}
	case r.lists[name]:
		list := []any{}
		for item := range strings.SplitSeq(value, ",") {
			list = append(list, item)
		}
		return list
	case parameter:
		return value
	}
	return name
}

func (r rendering) holds(condition string) bool {
	r.t.Helper()
	n, known := r.conditions[condition]
	if !known {
		r.t.Fatalf("the template has no condition %s", condition)
	}
	return r.value(&n) == true
}

// statements are those of a policy, each an own block.
func statements(t *testing.T, policy any) (list []block) {
	t.Helper()
	b, _ := policy.(block)
	all, _ := b["Statement"].([]any)
	for _, s := range all {
		list = append(list, s.(block))
	}
	if len(list) == 0 {
		t.Fatalf("no statements: %v", policy)
	}
	return list
}

// about gives the statements with an action of a service, in any of a role's policies.
func (r rendering) about(role, service string) (list []block) {
	r.t.Helper()
	policies, _ := r.resource(role)["Policies"].([]any)
	for _, p := range policies {
		for _, s := range statements(r.t, p.(block)["PolicyDocument"]) {
			if strings.Contains(fmt.Sprint(s["Action"]), service+":") {
				list = append(list, s)
			}
		}
	}
	return list
}
