package permissions

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Grant is one action that a role's policy allows on one resource, which may be a
// pattern.
type Grant struct{ Role, Action, Resource string }

// list is a value that IAM writes as one string or as several (IAM user guide,
// policy grammar).
type list []string

func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// Grants reads a policy document. It refuses what would make the comparison say
// less than it seems to: Deny, NotAction and NotResource, and wildcards in
// actions and for all resources, which nobody can be held to.
func Grants(role string, document []byte) ([]Grant, error) {
	var policy struct {
		Statement []struct {
			Effect                 string
			Action, Resource       list
			NotAction, NotResource json.RawMessage
		}
	}
	if err := json.Unmarshal(document, &policy); err != nil {
		return nil, fmt.Errorf("the policy of %s: %w", role, err)
	}
	var out []Grant
	for _, s := range policy.Statement {
		if s.Effect != "Allow" || s.NotAction != nil || s.NotResource != nil || len(s.Action) == 0 || len(s.Resource) == 0 {
			return nil, fmt.Errorf("the policy of %s has a statement that is not Allow, Action, Resource: %+v", role, s)
		}
		for _, action := range s.Action {
			if strings.ContainsAny(action, "*?") {
				return nil, fmt.Errorf("the policy of %s allows %s: name the actions", role, action)
			}
			for _, resource := range s.Resource {
				if resource == "*" {
					return nil, fmt.Errorf("the policy of %s allows %s on everything: name the resources", role, action)
				}
				out = append(out, Grant{role, action, resource})
			}
		}
	}
	return out, nil
}

// matches reports whether an ARN fits a pattern, in which * stands for any text
// and ? for one character.
func matches(pattern, arn string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := 0; i <= len(arn); i++ {
				if matches(pattern[1:], arn[i:]) {
					return true
				}
			}
			return false
		case arn == "" || pattern[0] != '?' && pattern[0] != arn[0]:
			return false
		}
		pattern, arn = pattern[1:], arn[1:]
	}
	return arn == ""
}
