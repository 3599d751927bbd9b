package pipeline

import "testing"

func TestALaneIsNamedByTheQueue(t *testing.T) {
	n := QueueNames{Attempt: "a", Retry: "arn:aws:sqs:us-east-1:000000000000:r", Fanout: "f", DeadLetter: "d", Failed: "x"}
	for queue, want := range map[string]string{"a": "attempt", "arn:aws:sqs:us-east-1:000000000000:a": "attempt", "r": "retry", "f": "fanout",
		"d": "dead-letter", "x": "failed", "other": "", "": ""} {
		if got := n.Lane(queue); got != want {
			t.Errorf("%q is %q, want %q", queue, got, want)
		}
	}
	if got := (QueueNames{}).Lane(""); got != "" {
		t.Errorf("nothing is the lane %q", got)
	}
}
