package push_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func attributes(a ...push.Attribute) push.Publication {
	return push.Publication{Message: "m", Attributes: a}
}

func structured(message string) push.Publication {
	return push.Publication{Message: message, Structure: "json"}
}

func subject(s string) push.Publication { return push.Publication{Message: "m", Subject: &s} }

func TestPublicationsThatSNSTakesAreValid(t *testing.T) {
	for name, p := range map[string]push.Publication{
		"plain":                       {Message: "m"},
		"control characters":          {Message: "\x00\t"},
		"largest":                     {Message: strings.Repeat("x", push.MaxPublication)},
		"99 characters of subject":    subject(strings.Repeat("é", 99)),
		"subject in any script":       subject(" 注文 🙂"),
		"empty, no group":             {Message: "m", Structure: ""},
		"JSON text, not structured":   {Message: "{"},
		"default only":                structured(`{"default":"d"}`),
		"odd members are passed over": structured(`{"default":"d","http":{"a":1},"https":null,"sqs":7}`),
		"empty text for another":      structured(`{"default":"d","sms":""}`),
		"every type": attributes(
			push.Attribute{Name: "s", Type: "String", Value: "é"},
			push.Attribute{Name: "a", Type: "String.Array", Value: "[1]"},
			push.Attribute{Name: "n", Type: "Number", Value: "-1.50e+3"},
			push.Attribute{Name: "n2", Type: "Number.price", Value: ".5"},
			push.Attribute{Name: "n3", Type: "Number", Value: "5."},
			push.Attribute{Name: "b", Type: "Binary", Value: "AA=="},
			push.Attribute{Name: "b.png", Type: "Binary.png", Value: "AAEC"},
			push.Attribute{Name: "AWS.SNS.SMS.SenderID", Type: "String", Value: "x"},
			push.Attribute{Name: strings.Repeat("x", 256), Type: "String.a-b_c.D9", Value: "x"},
		),
	} {
		t.Run(name, func(t *testing.T) {
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPublicationsThatSNSRefusesAreRefusedInItsWords(t *testing.T) {
	const invalid, value = push.CodeInvalidParameter, push.CodeParameterValueInvalid
	name := func(n string) push.Publication {
		return attributes(push.Attribute{Name: n, Type: "String", Value: "v"})
	}
	typed := func(typ, v string) push.Publication {
		return attributes(push.Attribute{Name: "a", Type: typ, Value: v})
	}
	const typeText = "The message attribute 'a' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."
	const castText = "Could not cast message attribute 'a' value to number."
	for what, c := range map[string]struct {
		p    push.Publication
		code push.Code
		text string
	}{
		"empty message":           {push.Publication{}, invalid, "Invalid parameter: Empty message"},
		"message is no UTF-8":     {push.Publication{Message: "a\xff"}, invalid, "Invalid parameter: Message Reason: must be valid UTF-8"},
		"one byte too long":       {push.Publication{Message: strings.Repeat("x", push.MaxPublication+1)}, invalid, "Invalid parameter: Message too long"},
		"too long by attributes":  {push.Publication{Message: strings.Repeat("x", push.MaxPublication-7), Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "v"}}}, invalid, "Invalid parameter: Message too long"},
		"empty subject":           {subject(""), invalid, "Invalid parameter: Subject"},
		"100 characters":          {subject(strings.Repeat("é", 100)), invalid, "Invalid parameter: Subject"},
		"line break in subject":   {subject("a\nb"), invalid, "Invalid parameter: Subject"},
		"control in subject":      {subject("a\x7f"), invalid, "Invalid parameter: Subject"},
		"C1 control in subject":   {subject("a\u0085b"), invalid, "Invalid parameter: Subject"},
		"separator in subject":    {subject("a\u2028b"), invalid, "Invalid parameter: Subject"},
		"subject is no UTF-8":     {subject("\xc3"), invalid, "Invalid parameter: Subject"},
		"unknown structure":       {push.Publication{Message: "m", Structure: "xml"}, invalid, "Invalid parameter: MessageStructure"},
		"no JSON":                 {structured("{"), invalid, "Invalid parameter: Message Structure - JSON message body failed to parse"},
		"JSON but no object":      {structured("[]"), invalid, "Invalid parameter: Message Structure - JSON message body failed to parse"},
		"text after the JSON":     {structured(`{"default":"d"} x`), invalid, "Invalid parameter: Message Structure - JSON message body failed to parse"},
		"null":                    {structured("null"), invalid, "Invalid parameter: Message Structure - No default entry in JSON message body"},
		"no default":              {structured(`{"http":"h"}`), invalid, "Invalid parameter: Message Structure - No default entry in JSON message body"},
		"default is another case": {structured(`{"Default":"d"}`), invalid, "Invalid parameter: Message Structure - No default entry in JSON message body"},
		"default is no string":    {structured(`{"default":{"a":1}}`), invalid, "Invalid parameter: Message Structure - No default entry in JSON message body"},
		"default is empty":        {structured(`{"default":""}`), invalid, "Invalid parameter: Empty message"},
		"text for http is empty":  {structured(`{"default":"d","http":""}`), invalid, "Invalid parameter: Empty message"},

		"no name":           {name(""), value, "The request must contain non-empty message attribute name."},
		"name too long":     {name(strings.Repeat("x", 257)), value, "Length of message attribute name must be less than 256 bytes."},
		"dot at the start":  {name(".a"), value, "Invalid message attribute name starting with character '.' was found."},
		"dot at the end":    {name("a."), value, "Invalid message attribute name ending with character '.' was found."},
		"two dots":          {name("a..b"), value, "Message attribute name can not have successive '.' character."},
		"bad character":     {name("a^"), value, "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include alphanumeric characters, hyphens, underscores, or dots."},
		"bad first letter":  {name("é"), value, "Invalid non-alphanumeric character '#xE9' was found in the message attribute name. Can only include alphanumeric characters, hyphens, underscores, or dots."},
		"name is no UTF-8":  {name("a\xff"), value, "Invalid non-alphanumeric character '#xFFFD' was found in the message attribute name. Can only include alphanumeric characters, hyphens, underscores, or dots."},
		"name twice":        {attributes(push.Attribute{Name: "a", Type: "String", Value: "1"}, push.Attribute{Name: "a", Type: "Number", Value: "2"}), value, "Message attribute name 'a' already exists."},
		"no type":           {typed("", "v"), value, typeText},
		"unknown type":      {typed("Text", "v"), value, typeText},
		"no label":          {typed("String.", "v"), value, typeText},
		"prefix run on":     {typed("StringList", "v"), value, typeText},
		"another case":      {typed("string", "v"), value, typeText},
		"label with spaces": {typed("String.a b", "v"), value, typeText},
		"label no UTF-8":    {typed("String.\xff", "v"), value, typeText},
		"type too long":     {typed("String."+strings.Repeat("x", 250), "v"), value, typeText},
		"empty text":        {typed("String", ""), value, "The message attribute 'a' must contain non-empty message attribute value for message attribute type 'String'."},
		"empty bytes":       {typed("Binary.x", ""), value, "The message attribute 'a' must contain non-empty message attribute value for message attribute type 'Binary.x'."},
		"value is no UTF-8": {typed("String", "\xff"), value, "The message attribute 'a' must be valid UTF-8."},
		"no base64":         {typed("Binary", "~"), value, "The message attribute 'a' must hold its binary value in base64."},
		"words":             {typed("Number", "many"), value, castText},
		"not a number":      {typed("Number", "NaN"), value, castText},
		"infinite":          {typed("Number", "Inf"), value, castText},
		"hexadecimal":       {typed("Number", "0x10"), value, castText},
		"underscores":       {typed("Number", "1_000"), value, castText},
		"spaces":            {typed("Number", " 1"), value, castText},
		"sign alone":        {typed("Number", "-"), value, castText},
		"dot alone":         {typed("Number", "."), value, castText},
		"two dots in one":   {typed("Number", "1.2.3"), value, castText},
		"no exponent":       {typed("Number", "1e"), value, castText},
		"exponent alone":    {typed("Number", "e5"), value, castText},
		"half exponent":     {typed("Number.x", "1e+"), value, castText},
	} {
		t.Run(what, func(t *testing.T) {
			err := c.p.Validate()
			got, ok := errors.AsType[*push.Error](err)
			if !ok || got.Code != c.code || got.Text != c.text {
				t.Errorf("got  %v\nwant %s: %s", err, c.code, c.text)
			}
		})
	}
}

func TestSizeCountsBytesOfMessageAndAttributes(t *testing.T) {
	s := strings.Repeat("s", 50)
	for name, c := range map[string]struct {
		p    push.Publication
		want int
	}{
		"subject is free":     {push.Publication{Message: "é", Subject: &s}, 2},
		"text":                {push.Publication{Message: "m", Attributes: []push.Attribute{{Name: "ab", Type: "String", Value: "é"}}}, 1 + 2 + 6 + 2},
		"one byte in base64":  {push.Publication{Message: "m", Attributes: []push.Attribute{{Name: "a", Type: "Binary", Value: "AA=="}}}, 1 + 1 + 6 + 1},
		"two bytes in base64": {push.Publication{Message: "m", Attributes: []push.Attribute{{Name: "a", Type: "Binary.x", Value: "AAA="}}}, 1 + 1 + 8 + 2},
		"three in base64":     {push.Publication{Message: "m", Attributes: []push.Attribute{{Name: "a", Type: "Binary", Value: "AAAA"}}}, 1 + 1 + 6 + 3},
	} {
		if got := c.p.Size(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestBodyForPicksTheProtocolsText(t *testing.T) {
	both := structured(`{"default":"d","http":"h","https":7,"default":"<é>"}`)
	for name, c := range map[string]struct {
		p        push.Publication
		protocol push.Protocol
		want     string
	}{
		"unstructured":            {push.Publication{Message: `{"http":"h"}`}, push.HTTP, `{"http":"h"}`},
		"own text":                {both, push.HTTP, "h"},
		"no string, so default":   {both, push.HTTPS, "<é>"},
		"no member, so default":   {structured(`{"default":"d","https":"s"}`), push.HTTP, "d"},
		"never validated":         {structured("{"), push.HTTP, "{"},
		"never validated, either": {structured("{}"), push.HTTP, "{}"},
	} {
		if got := c.p.BodyFor(c.protocol); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A valid publication's every text is something to deliver.
func FuzzValidate(f *testing.F) {
	f.Add("m", "s", "json", "n", "String", "v")
	f.Add(`{"default":"d"}`, "", "json", "n", "Number", "1")
	f.Fuzz(func(t *testing.T, message, subject, structure, name, typ, value string) {
		p := push.Publication{Message: message, Subject: &subject, Structure: structure, Attributes: []push.Attribute{{Name: name, Type: typ, Value: value}}}
		if p.Size() < len(message) {
			t.Fatalf("size %d of a message of %d bytes", p.Size(), len(message))
		}
		if p.Validate() == nil && (p.BodyFor(push.HTTP) == "" || p.BodyFor(push.HTTPS) == "") {
			t.Fatalf("%q is valid and has nothing to deliver", message)
		}
	})
}

func TestValidNumbersAreWhatADecimalIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.StringMatching(`[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`).Draw(t, "number")
		if err := attributes(push.Attribute{Name: "a", Type: "Number", Value: n}).Validate(); err != nil {
			t.Fatalf("%s: %v", n, err)
		}
	})
}

func TestWhatIsQuotedIsShort(t *testing.T) {
	for s, want := range map[string]string{"": "", strings.Repeat("a", 200): strings.Repeat("a", 200), strings.Repeat("a", 201): strings.Repeat("a", 200) + "…",
		strings.Repeat("a", 199) + "é": strings.Repeat("a", 199) + "…"} {
		if got := push.Clip(s); got != want {
			t.Errorf("%q became %q", s, got)
		}
	}
}
