package first

import "testing"

func TestAnAnswerCountsOnlyIfTheWorkWasDone(t *testing.T) {
	const id = "9c1b7d52-7a34-8e1a-9f6f-2b6a0d4c8e11"
	batch := func(answer []byte) (string, error) { return "", done(answer) }
	for _, c := range []struct {
		name   string
		read   func([]byte) (string, error)
		answer string
		ok     bool
	}{
		{"an accepted publish", published, `{"statusCode":200,"body":"<PublishResult><MessageId>` + id + `</MessageId></PublishResult>"}`, true},
		{"a refused one", published, `{"statusCode":403,"body":"<Code>SignatureDoesNotMatch</Code>"}`, false},
		{"a 200 without a message", published, `{"statusCode":200,"body":"<ListTopicsResult/>"}`, false},
		{"a failure", published, `{"errorType":"NotFound","errorMessage":"no topic"}`, false},
		{"no answer at all", published, ``, false},
		{"a batch that is done", batch, `{"batchItemFailures": []}`, true},
		{"one that comes back", batch, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, false},
		{"a batch's null", batch, `{"batchItemFailures":null}`, false},
		{"a failed batch", batch, `{"errorType":"NotFound"}`, false},
	} {
		got, err := c.read([]byte(c.answer))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name == "an accepted publish" && got != id {
			t.Errorf("%s: the message is %q", c.name, got)
		}
	}
}
