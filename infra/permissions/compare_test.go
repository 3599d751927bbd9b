package permissions

import (
	"slices"
	"strings"
	"testing"
)

const (
	table = "arn:aws:dynamodb:us-east-1:000000000000:table/t"
	queue = "arn:aws:sqs:us-east-1:000000000000:stack-RetryQueue-1"
)

func grants(t *testing.T, document string) []Grant {
	t.Helper()
	g, err := Grants("deliver", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAPolicyThatFitsTheCallsHasNoFindings(t *testing.T) {
	g := grants(t, `{"Statement":[{"Effect":"Allow","Action":["dynamodb:GetItem"],"Resource":"`+table+`"},
		{"Effect":"Allow","Action":"sqs:SendMessage","Resource":["arn:aws:sqs:us-east-1:000000000000:stack-*"]},
		{"Effect":"Allow","Action":"sqs:DeleteMessage","Resource":"`+queue+`"}]}`)
	calls := []Call{{"deliver", "dynamodb:GetItem", table, "Allow"}, {"deliver", "sqs:SendMessage", queue, "Allow"},
		{"deliver", "dynamodb:GetItem", table + "/gone", "ImplicitDeny"}, {"deliver", "dynamodb:GetItem", table, "Deny"}}
	exceptions := []Exception{{"deliver", "sqs:DeleteMessage", "RetryQueue", "the mapping deletes"}, {"", "dynamodb:GetItem", "gone", "a test's"}}
	if got := Compare(g, calls, exceptions); got != nil {
		t.Errorf("found %q", got)
	}
}

func TestTooMuchAndTooLittleAreFound(t *testing.T) {
	read := `{"Statement":[{"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"` + table + `"}]}`
	get := Call{"deliver", "dynamodb:GetItem", table, "Allow"}
	cases := map[string]struct {
		policy     string
		calls      []Call
		exceptions []Exception
		found      string
	}{
		"an action too many":        {`{"Statement":[{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:DeleteItem"],"Resource":"` + table + `"}]}`, []Call{get}, nil, "deliver may call dynamodb:DeleteItem on " + table},
		"a resource too many":       {`{"Statement":[{"Effect":"Allow","Action":"dynamodb:GetItem","Resource":["` + table + `","` + table + `/index/*"]}]}`, []Call{get}, nil, table + "/index/*, and never did"},
		"used by another role only": {read, []Call{{"publish", "dynamodb:GetItem", table, "Allow"}}, nil, "deliver may call dynamodb:GetItem"},
		"used only where denied":    {read, []Call{{"deliver", "dynamodb:GetItem", table, "Deny"}}, nil, "deliver may call dynamodb:GetItem"},
		"an action too few":         {read, []Call{get, {"deliver", "dynamodb:PutItem", table, "ImplicitDeny"}}, nil, "deliver called dynamodb:PutItem on " + table},
		"a resource too few":        {read, []Call{get, {"deliver", "dynamodb:GetItem", table + "s", "ImplicitDeny"}}, nil, "on " + table + "s, and no statement"},
		"denied by a condition":     {read, []Call{get, {"deliver", "dynamodb:GetItem", table, "ImplicitDeny"}}, nil, "deliver called dynamodb:GetItem"},
		"allowed by nothing here":   {read, []Call{get, {"deliver", "sqs:SendMessage", queue, "Allow"}}, nil, "deliver called sqs:SendMessage"},
		"an exception for nothing":  {read, []Call{get}, []Exception{{"deliver", "kms:Decrypt", "", "encrypted queues"}}, "encrypted queues"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Compare(grants(t, c.policy), c.calls, c.exceptions)
			if !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, c.found) }) {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

func TestStatementsThatCannotBeComparedAreRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"Deny": `{"Effect":"Deny","Action":"a:B","Resource":"*"}`, "NotAction": `{"Effect":"Allow","NotAction":"a:B","Resource":"*"}`,
		"NotResource": `{"Effect":"Allow","Action":"a:B","NotResource":"x"}`, "no resource": `{"Effect":"Allow","Action":"a:B"}`,
		"all actions": `{"Effect":"Allow","Action":"*","Resource":"x"}`, "all of a service": `{"Effect":"Allow","Action":["sqs:*"],"Resource":"x"}`,
		"everything": `{"Effect":"Allow","Action":"a:B","Resource":["x","*"]}`, "no text": `{"Effect":"Allow","Action":7,"Resource":"x"}`,
	} {
		if _, err := Grants("r", []byte(`{"Statement":[`+statement+`]}`)); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, arn string
		fits         bool
	}{
		{"arn:a:b", "arn:a:b", true}, {"arn:a:b", "arn:a:bc", false}, {"arn:*:b", "arn:x/y:b", true}, {"arn:*", "arn:", true},
		{"arn:?", "arn:", false}, {"arn:?", "arn:x", true}, {"*-Retry*-1", "stack-RetryQueue-1", true}, {"*-Retry*-2", "stack-RetryQueue-1", false}, {"", "a", false},
	} {
		if matches(c.pattern, c.arn) != c.fits {
			t.Errorf("%q fits %q: %v", c.pattern, c.arn, !c.fits)
		}
	}
}

func TestTheRecordIsReadLineByLineOrRefused(t *testing.T) {
	const line = `{"action":"a:B","decision":"Allow","function":"f","keys":[],"resource":"x","role":"r"}`
	calls, err := ReadCalls(strings.NewReader(line + "\n" + line + "\n"))
	if err != nil || len(calls) != 2 || calls[0] != (Call{"r", "a:B", "x", "Allow"}) {
		t.Errorf("%+v, %v", calls, err)
	}
	for _, bad := range []string{"?", `{"role":"r"}`} {
		if _, err := ReadCalls(strings.NewReader(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}
