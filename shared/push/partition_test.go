package push

import "testing"

func TestAnARNIsCompletedWithItsRegionsPartition(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1":     "arn:aws:sqs:us-east-1:111122223333:q",
		"cn-north-1":    "arn:aws-cn:sqs:cn-north-1:111122223333:q",
		"us-gov-west-1": "arn:aws-us-gov:sqs:us-gov-west-1:111122223333:q",
	} {
		if got := ARNOf("sqs", region, "111122223333", "q"); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
	const other = "arn:aws:sqs:eu-west-1:444455556666:theirs"
	if got := ARNOf("sqs", "cn-north-1", "111122223333", other); got != other {
		t.Errorf("the ARN %s became %s", other, got)
	}
}
