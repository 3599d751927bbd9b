package permissions

import "testing"

func TestACopysCallIsTheStacksOwn(t *testing.T) {
	copies := CopiesOf("postino", []Grant{
		{Role: "postino-DeliverRole-1A", Action: "sqs:SendMessage", Resource: "arn:aws:sqs:us-east-1:000000000000:postino-RetryQueue-2B"},
		{Role: "postino-DeliverRole-1A", Action: "dynamodb:Query", Resource: "arn:aws:dynamodb:us-east-1:000000000000:table/postino-Table-3C/index/listing"},
		{Role: "postino-it-operator", Action: "sqs:ReceiveMessage", Resource: "arn:aws:sqs:us-east-1:000000000000:postino-RetryQueue-2B"}})
	for copied, original := range map[string]string{
		"postino-1a2b3c4d-DeliverRole-9F":                                   "postino-DeliverRole-1A",
		"arn:aws:sqs:us-east-1:000000000000:postino-1a2b3c4d-RetryQueue-9F": "arn:aws:sqs:us-east-1:000000000000:postino-RetryQueue-2B",
		"arn:aws:dynamodb:x:table/postino-1a2b3c4d-Table-9F/index/listing":  "arn:aws:dynamodb:x:table/postino-Table-3C/index/listing",
		"arn:aws:scheduler:x:schedule/postino-1a2b3c4d/abc":                 "arn:aws:scheduler:x:schedule/postino/abc",
		"arn:aws:sqs:us-east-1:000000000000:postino-RetryQueue-2B":          "arn:aws:sqs:us-east-1:000000000000:postino-RetryQueue-2B",
		"postino-1a2b3c4d-it-operator":                                      "postino-it-operator",
		"postino-1a2b3c4d-Unknown-9F":                                       "postino-1a2b3c4d-Unknown-9F",
		"another-1a2b3c4d-DeliverRole-9F":                                   "another-1a2b3c4d-DeliverRole-9F",
	} {
		got := copies.Original(Call{Role: copied, Action: "a:B", Resource: copied, Decision: "Allow"})
		if got != (Call{original, "a:B", original, "Allow"}) {
			t.Errorf("%s becomes %+v, want %s", copied, got, original)
		}
	}
}
