package snsapi

import (
	"encoding/base64"
	"strings"

	"postino/shared/push"
)

// messageAttributes reads the map MessageAttributes. It judges what the form
// alone shows (a missing type, the wrong one of the two value fields, bad
// base64) with SNS's recorded texts; the rest is for Publication.Validate.
func (p params) messageAttributes(path string) ([]push.Attribute, error) {
	entries, err := p.list("MessageAttributes.entry")
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	out := make([]push.Attribute, 0, len(entries))
	for _, e := range entries {
		a := push.Attribute{Name: e["Name"], Type: e["Value.DataType"]}
		if a.Type == "" {
			return nil, push.Errorf(push.CodeValidationError,
				"1 validation error detected: Value null at '%s.%s.member.dataType' failed to satisfy constraint: Member must not be null", path, clip(a.Name))
		}
		if a.Value, err = attributeValue(a, e); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// attributeValue takes the value from the field its type asks for. A type of
// neither kind is taken as text, and left to be refused for its name.
func attributeValue(a push.Attribute, e params) (string, error) {
	text, binary := e["Value.StringValue"], e["Value.BinaryValue"]
	kind, _, _ := strings.Cut(a.Type, ".")
	if kind != "Binary" {
		if binary != "" && (kind == "String" || kind == "Number") {
			return "", badAttribute("The message attribute '%s' with type '%s' must use field 'String'.", clip(a.Name), clip(a.Type))
		}
		return text, nil
	}
	if text != "" {
		return "", badAttribute("The message attribute '%s' with type '%s' must use field 'Binary'.", clip(a.Name), clip(a.Type))
	}
	b, err := base64.StdEncoding.DecodeString(binary)
	if err != nil {
		return "", badAttribute("The message attribute '%s' with type '%s' must hold base64.", clip(a.Name), clip(a.Type))
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

func badAttribute(format string, args ...any) error {
	return push.Errorf(push.CodeParameterValueInvalid, format, args...)
}
