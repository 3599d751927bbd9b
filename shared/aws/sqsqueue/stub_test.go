package sqsqueue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"pgregory.net/rapid"

	"postino/shared/aws/awstest"
	"postino/shared/aws/sqsqueue"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// These tests talk to a mock of SQS's answers; the integration tests run the
// same queue against an emulator.

const retryQueue = "arn:aws:sqs:us-east-1:000000000000:RetryQueue"

// fakeSQS answers sends; fail says what is wrong with an entry, nil for nothing.
type fakeSQS struct {
	t       testing.TB
	fail    func(call int, e sentEntry) *failedEntry
	calls   []string
	batches [][]sentEntry
	lookups []lookup
}

type sentEntry struct {
	ID                string `json:"Id"`
	MessageBody       string
	DelaySeconds      int
	MessageGroupId    string
	MessageAttributes map[string]struct{ DataType, StringValue, BinaryValue string }
}

type failedEntry struct {
	ID          string `json:"Id"`
	Code        string
	Message     string
	SenderFault bool
}

type lookup struct{ QueueName, QueueOwnerAWSAccountId string }

func (f *fakeSQS) answer(operation string, body []byte) (int, string, error) {
	f.calls = append(f.calls, operation)
	switch operation {
	case "GetQueueUrl":
		var l lookup
		f.read(body, &l)
		f.lookups = append(f.lookups, l)
		return http.StatusOK, `{"QueueUrl":"https://sqs.test/` + l.QueueOwnerAWSAccountId + `/` + l.QueueName + `"}`, nil
	case "SendMessageBatch":
		var in struct{ Entries []sentEntry }
		f.read(body, &in)
		f.batches = append(f.batches, in.Entries)
		var failed []failedEntry
		var stored []map[string]string
		for _, e := range in.Entries {
			if f.fail != nil {
				if bad := f.fail(len(f.batches), e); bad != nil {
					bad.ID = e.ID
					failed = append(failed, *bad)
					continue
				}
			}
			stored = append(stored, map[string]string{"Id": e.ID, "MessageId": "m" + e.ID})
		}
		b, err := json.Marshal(map[string]any{"Successful": stored, "Failed": failed})
		if err != nil {
			f.t.Error(err)
		}
		return http.StatusOK, string(b), nil
	}
	f.t.Errorf("unexpected call %s", operation)
	return http.StatusBadRequest, "", nil
}

func (f *fakeSQS) read(body []byte, into any) {
	if err := json.Unmarshal(body, into); err != nil {
		f.t.Error(err)
	}
}

func queueOn(t testing.TB, stub awstest.Stub) *sqsqueue.Queue {
	t.Helper()
	q, err := sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(stub.Config(t)), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func entriesOf(bodies ...string) (out []pipeline.Outgoing) {
	for _, b := range bodies {
		out = append(out, pipeline.Outgoing{Body: b})
	}
	return out
}

func TestASendIsOneCallAndItsQueueIsLookedUpOnce(t *testing.T) {
	f := &fakeSQS{t: t}
	q := queueOn(t, f.answer)
	for range 2 {
		for i, err := range q.Send(t.Context(), retryQueue, entriesOf("a", "b", "c")) {
			if err != nil {
				t.Errorf("entry %d: %v", i, err)
			}
		}
	}
	if got := strings.Join(f.calls, " "); got != "GetQueueUrl SendMessageBatch SendMessageBatch" {
		t.Error(got)
	}
	if f.lookups[0] != (lookup{"RetryQueue", "000000000000"}) {
		t.Errorf("looked up %+v", f.lookups[0])
	}
}

func TestWhatTravelsIsWhatWasGiven(t *testing.T) {
	f := &fakeSQS{t: t}
	out := pipeline.Outgoing{Body: "b", Group: "tenant", Delay: 1500 * time.Millisecond,
		Attributes: []push.Attribute{{Name: "s", Type: "String.Array", Value: "[1]"}, {Name: "b", Type: "Binary.png", Value: "AAEC"}}}
	if err := queueOn(t, f.answer).Send(t.Context(), "RetryQueue", []pipeline.Outgoing{out})[0]; err != nil {
		t.Fatal(err)
	}
	e := f.batches[0][0]
	if e.MessageBody != "b" || e.MessageGroupId != "tenant" || e.DelaySeconds != 2 {
		t.Errorf("%+v", e)
	}
	if a := e.MessageAttributes["s"]; a.DataType != "String.Array" || a.StringValue != "[1]" {
		t.Errorf("%+v", a)
	}
	if a := e.MessageAttributes["b"]; a.DataType != "Binary.png" || a.BinaryValue != "AAEC" || a.StringValue != "" {
		t.Errorf("%+v", a)
	}
}

func TestABatchOverOneMebibyteIsCut(t *testing.T) {
	f := &fakeSQS{t: t}
	big := strings.Repeat("x", 400<<10)
	for i, err := range queueOn(t, f.answer).Send(t.Context(), "q", entriesOf(big, big, "small", big, strings.Repeat("y", 1<<20), "last")) {
		if err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	var sizes []int
	sent := 0
	for _, b := range f.batches {
		n := 0
		for _, e := range b {
			n += len(e.MessageBody)
		}
		sizes = append(sizes, n)
		sent += len(b)
		if n > 1<<20 {
			t.Errorf("a call of %d bytes", n)
		}
	}
	if sent != 6 || len(f.batches) != 4 {
		t.Errorf("%d entries in calls of %v", sent, sizes)
	}
}

func TestEntriesThatFailAreSentAgainAloneAndThenGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSQS{t: t}
		f.fail = func(call int, e sentEntry) *failedEntry {
			if e.MessageBody == "never" || e.MessageBody == "later" && call < 3 {
				return &failedEntry{Code: "InternalError", Message: "busy"}
			}
			return nil
		}
		errs := queueOn(t, f.answer).Send(t.Context(), "q", entriesOf("a", "later", "never", "b"))
		for i, want := range []bool{true, true, false, true} {
			if (errs[i] == nil) != want {
				t.Errorf("entry %d: %v", i, errs[i])
			}
		}
		if _, final := pipeline.Refused(errs[2]); final {
			t.Errorf("a fault of SQS's own is a refusal: %v", errs[2])
		}
		var sizes []int
		for _, b := range f.batches {
			sizes = append(sizes, len(b))
		}
		if !slices.Equal(sizes, []int{4, 2, 2}) {
			t.Errorf("calls of %v entries", sizes)
		}
	})
}

func TestARefusedEntryIsNotSentAgain(t *testing.T) {
	f := &fakeSQS{t: t}
	f.fail = func(_ int, e sentEntry) *failedEntry {
		switch e.MessageBody {
		case "bad":
			return &failedEntry{Code: "InvalidMessageContents", SenderFault: true}
		case "odd":
			return &failedEntry{Code: "SomethingNew", SenderFault: true, Message: "told"}
		}
		return nil
	}
	errs := queueOn(t, f.answer).Send(t.Context(), "q", entriesOf("bad", "good", "odd"))
	for i, want := range []bool{true, false, true} {
		if _, refused := pipeline.Refused(errs[i]); refused != want || !want && errs[i] != nil {
			t.Errorf("entry %d: %v", i, errs[i])
		}
	}
	if len(f.batches) != 1 {
		t.Errorf("%d calls", len(f.batches))
	}
}

func TestAnEntryThatTheAnswerForgetsIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOn(t, func(operation string, _ []byte) (int, string, error) {
			if operation == "GetQueueUrl" {
				return http.StatusOK, `{"QueueUrl":"https://sqs.test/q"}`, nil
			}
			return http.StatusOK, `{"Successful":[{"Id":"0","MessageId":"m"},{"Id":"77","MessageId":"m"},{"Id":"x","MessageId":"m"}]}`, nil
		})
		errs := q.Send(t.Context(), "q", entriesOf("a", "b"))
		if errs[0] != nil || errs[1] == nil {
			t.Error(errs)
		}
	})
}

// TestErrorsAreFinalOrPassing: a refusal sends a dead letter elsewhere for good,
// so nothing that may pass, and nothing that is our own fault, may be one.
func TestErrorsAreFinalOrPassing(t *testing.T) {
	cases := map[string]struct {
		final bool
		says  string
	}{
		"QueueDoesNotExist":                          {true, "does not exist"},
		"AWS.SimpleQueueService.NonExistentQueue":    {true, "does not exist"},
		"AccessDenied":                               {true, "sqs:SendMessage"},
		"AccessDeniedException":                      {true, "sqs:SendMessage"},
		"KmsAccessDenied":                            {true, "kms:GenerateDataKey"},
		"KmsDisabled":                                {true, "kms:GenerateDataKey"},
		"InvalidMessageContents":                     {true, "characters"},
		"BatchRequestTooLong":                        {true, "BatchRequestTooLong"},
		"AWS.SimpleQueueService.BatchRequestTooLong": {true, "BatchRequestTooLong"},
		"InvalidParameterValue":                      {true, "InvalidParameterValue"},
		"UnsupportedOperation":                       {true, "UnsupportedOperation"},
		"RequestThrottled":                           {false, "throttled"},
		"ThrottlingException":                        {false, "throttled"},
		"KmsThrottled":                               {false, "throttled"},
		"OverLimit":                                  {false, "throttled"},
		"InternalFailure":                            {false, "SQS answers with an error"},
		"ServiceUnavailable":                         {false, "SQS answers with an error"},
		"ExpiredToken":                               {false, "credentials"},
		"InvalidClientTokenId":                       {false, "credentials"},
	}
	for code, c := range cases {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queueOn(t, func(operation string, _ []byte) (int, string, error) {
					if operation == "GetQueueUrl" {
						return http.StatusOK, `{"QueueUrl":"https://sqs.test/q"}`, nil
					}
					return http.StatusBadRequest, awstest.Refusal(code, "no"), nil
				})
				for _, err := range q.Send(t.Context(), "q", entriesOf("a", "b")) {
					if _, final := pipeline.Refused(err); err == nil || final != c.final || !strings.Contains(err.Error(), c.says) {
						t.Errorf("%v, want final %v and %q", err, c.final, c.says)
					}
				}
			})
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := queueOn(t, func(string, []byte) (int, string, error) {
				return 0, "", &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			})
			err := q.Send(t.Context(), "q", entriesOf("a"))[0]
			if _, final := pipeline.Refused(err); err == nil || final || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
				t.Error(err)
			}
		})
	})
}

func TestNamesThatNoQueueHasAreRefusedWithoutACall(t *testing.T) {
	q := queueOn(t, func(string, []byte) (int, string, error) { t.Error("a call was made"); return 200, "{}", nil })
	for _, name := range []string{"", "a b", "q.fifo", strings.Repeat("x", 81), "arn:aws:sqs:us-east-1", "arn:aws:sns:us-east-1:000000000000:q",
		"arn:aws:sqs:eu-west-1:000000000000:q", "arn:aws:sqs:us-east-1:000000000000:q.fifo", "https://sqs.test/q"} {
		if _, refused := pipeline.Refused(q.Send(t.Context(), name, entriesOf("a"))[0]); !refused {
			t.Errorf("%q was not refused", name)
		}
	}
}

// TestWhatIsSentHoldsOnlyWhatSQSTakes draws bodies of anything and checks the
// rule of the SQS API reference, SendMessage, on what comes through.
func TestWhatIsSentHoldsOnlyWhatSQSTakes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.Rune(), func(r rune) string { return "a" + string(r) })).Draw(rt, "body")
		legal := body != "" && strings.ToValidUTF8(body, "\x00") == body
		for _, r := range body {
			legal = legal && (r == 9 || r == 10 || r == 13 || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000)
		}
		err := sqsqueue.Check(pipeline.Outgoing{Body: body})
		if _, refused := pipeline.Refused(err); refused == legal || err != nil && !refused {
			rt.Fatalf("%q: %v", body, err)
		}
	})
}

func TestADelayAbove900SecondsIsRefusedHere(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: true, 900 * time.Second: true, 900*time.Second + 1: false, -1: false} {
		if err := sqsqueue.Check(pipeline.Outgoing{Body: "b", Delay: d}); (err == nil) != ok {
			t.Errorf("%v: %v", d, err)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	if _, err := sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(awstest.Stub(nil).Config(t))}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Error(err)
	}
	if _, err := sqsqueue.New(sqsqueue.Config{Region: "us-east-1"}); err == nil {
		t.Error("a queue without a client was made")
	}
}

func ExampleCheck() {
	fmt.Println(sqsqueue.Check(pipeline.Outgoing{Body: "\x07"}))
	// Output: queue refuses: the message's body has characters that SQS does not take
}
