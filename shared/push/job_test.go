package push_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/push"
)

const (
	topicARN        = "arn:aws:sns:eu-west-1:123456789012:orders"
	subscriptionARN = topicARN + ":6b0e71bd-7e97-4d97-80ce-4a0994e55286"
)

// moment is a time in whole milliseconds, or none.
func moment() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		return time.UnixMilli(rapid.Int64Range(1, 253402300799999).Draw(t, "ms")).UTC()
	})
}

func anyJob() *rapid.Generator[push.Job] {
	return rapid.Custom(func(t *rapid.T) push.Job {
		j := push.Job{
			Kind:         rapid.SampledFrom([]push.Kind{push.Notification, push.SubscriptionConfirm, push.UnsubscribeConfirmation}).Draw(t, "kind"),
			Subscription: subscriptionARN,
			Generation:   rapid.StringMatching(`[0-9a-f]{0,16}`).Draw(t, "generation"),
			Attempt:      rapid.IntRange(1, 100_016).Draw(t, "attempt"),
			Phase:        rapid.SampledFrom([]string{"", "initial", "backoff"}).Draw(t, "phase"),
			NotBefore:    moment().Draw(t, "notBefore"),
			Slot:         moment().Draw(t, "slot"),
			WaitingSince: moment().Draw(t, "since"),
			Stumbles:     rapid.IntRange(0, 1000).Draw(t, "stumbles"),
			Redrives:     rapid.IntRange(0, 10).Draw(t, "redrives"),
			Message: push.Message{
				ID: rapid.StringMatching(`[0-9a-f-]{1,36}`).Draw(t, "id"), TopicARN: topicARN,
				Subject: rapid.String().Draw(t, "subject"), Body: rapid.String().Draw(t, "body"),
				Timestamp: moment().Draw(t, "at"), Token: rapid.StringMatching(`[0-9a-f]{0,288}`).Draw(t, "token"),
				Trace: anyTrace().Draw(t, "trace"),
			},
		}
		if rapid.Bool().Draw(t, "signed") {
			j.Message.Signature = push.Signature{Version: "2", Value: "AA+/", CertURL: "https://push.example.com/x.pem"}
		}
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			j.Message.Attributes = append(j.Message.Attributes, push.Attribute{
				Name: rapid.StringMatching(`[a-z.]{1,9}`).Draw(t, "name"), Type: "String", Value: rapid.String().Draw(t, "value"),
			})
		}
		return j
	})
}

func TestAJobReadsBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyJob().Draw(t, "job")
		got, err := push.DecodeJob(want.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-wrote +read):\n%s", diff)
		}
	})
}

func TestAJobHoldsOnlyPrintableASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encoded := anyJob().Draw(t, "job").Encode()
		if i := strings.IndexFunc(encoded, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			t.Fatalf("character %q at %d", encoded[i], i)
		}
	})
}

func TestAMessageEncodedOnceMakesTheSameJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := anyJob().Draw(t, "job")
		if got, want := j.EncodeWith(j.Message.Encode()), j.Encode(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestTheLargestMessageMakesAJobOfAtMost400KB(t *testing.T) {
	j := push.Job{Kind: push.Notification, Subscription: subscriptionARN, Attempt: 1, Message: push.Message{ID: "i", Body: strings.Repeat("\x00", push.MaxPublication),
		Trace: push.ParseTrace(parent, "a="+strings.Repeat("<", 250)+",b="+strings.Repeat("<", 250))}}
	if n := len(j.Encode()); n > 400_000 {
		t.Errorf("%d bytes", n)
	}
	// Many small attributes carry the most overhead; even so the job must fit a
	// queue message, 1 MiB (SQS developer guide, message quotas).
	j.Message.Body = "m"
	for n := 1; n+9 <= push.MaxPublication; n += 9 {
		j.Message.Attributes = append(j.Message.Attributes, push.Attribute{Name: "ab", Type: "String", Value: "v"})
	}
	if n := len(j.Encode()); n > 1<<20 {
		t.Errorf("%d attributes make %d bytes", len(j.Message.Attributes), n)
	}
}

// The schema of a job outlives a deployment: a queue may hold jobs for 14 days.
func TestAJobWrittenByVersion1IsStillRead(t *testing.T) {
	file := filepath.Join("testdata", "job-v1.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written := strings.TrimSpace(string(b))
	want := push.Job{
		Kind: push.Notification, Subscription: subscriptionARN, Generation: "5f2e", Attempt: 4, Phase: "backoff",
		NotBefore: time.UnixMilli(1709251199007).UTC(), Slot: time.UnixMilli(1709251200000).UTC(),
		WaitingSince: time.UnixMilli(1709251198000).UTC(), Stumbles: 2, Redrives: 1,
		Message: push.Message{
			ID: "dc1e94d9-56c5-5e96-808d-cc7f68faa162", TopicARN: topicARN, Subject: "Hi", Body: "héllo\n",
			Attributes: []push.Attribute{{Name: "price", Type: "Number", Value: "12.5"}},
			Timestamp:  time.UnixMilli(1709251190000).UTC(), Token: "0af9",
			Signature: push.Signature{Version: "1", Value: "AA+/", CertURL: "https://push.example.com/x.pem"},
		},
	}
	got, err := push.DecodeJob(written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := want.Encode(); push.JobVersion == 1 && got != written {
		t.Errorf("version 1 is written differently now:\ngot  %s\nwant %s", got, written)
	}
}

// While a deployment is under way old functions meet jobs that new ones wrote.
func TestAMemberThatALaterBuildAddsIsPassedOver(t *testing.T) {
	want := push.Job{Kind: push.Notification, Subscription: subscriptionARN, Attempt: 1, Message: push.Message{ID: "i", TopicARN: topicARN, Body: "b"}}
	later := strings.NewReplacer(`"msg":{`, `"later":{"a":[1]},"msg":{`, `"at":0}}`, `"at":0,"later":"x"}}`).Replace(want.Encode())
	if strings.Count(later, "later") != 2 {
		t.Fatal(later)
	}
	got, err := push.DecodeJob(later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoJobIsRefusedWithoutQuotingIt(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString([]byte("secret"))
	good := push.Job{Kind: push.Notification, Subscription: subscriptionARN, Attempt: 1, Message: push.Message{ID: "i", Body: "secret"}}.Encode()
	change := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ job, want string }{
		"empty":                {"", "not a job"},
		"an SNS envelope":      {`{"Type":"Notification","Message":"secret"}`, "schema version 0"},
		"a later version":      {change(`"v":1`, `"v":2`), "schema version 2"},
		"a negative version":   {change(`"v":1`, `"v":-1`), "schema version -1"},
		"unknown kind":         {change(`"Notification"`, `"Other"`), "unknown kind"},
		"no subscription":      {change(subscriptionARN, ""), "names no subscription"},
		"a topic only":         {change(subscriptionARN, topicARN), "names no subscription"},
		"attempt 0":            {change(`"n":1`, `"n":0`), "attempt number 0"},
		"no message":           {change(`"msg":{`, `"other":{`), "has no id"},
		"message is a string":  {change(`"msg":{`, `"msg":"secret","x":{`), "not a job: member"},
		"body is no base64":    {change(secret, "secret!"), "illegal base64"},
		"message without id":   {change(`"id":"i"`, `"id":""`), "has no id"},
		"two jobs in one text": {good + good, "not a job"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := push.DecodeJob(c.job)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), secret) {
				t.Errorf("error quotes the message: %v", err)
			}
		})
	}
}

// Whatever DecodeJob accepts is a job that can be written and read again, and
// whose key and subscription's id can be taken.
func FuzzDecodeJob(f *testing.F) {
	f.Add(push.Job{Kind: push.Notification, Subscription: subscriptionARN, Attempt: 1, Message: push.Message{ID: "i", Body: "b"}}.Encode())
	if b, err := os.ReadFile(filepath.Join("testdata", "job-v1.json")); err == nil {
		f.Add(string(b))
	}
	f.Add(`{"v":1,"kind":"Notification","sub":"::::::","n":1,"msg":{"id":"i","body":"","at":-62135596800000}}`)
	f.Fuzz(func(t *testing.T, s string) {
		j, err := push.DecodeJob(s)
		if err != nil {
			return
		}
		again, err := push.DecodeJob(j.Encode())
		if err != nil {
			t.Fatalf("accepted, but not when written again: %v", err)
		}
		if diff := cmp.Diff(j, again); diff != "" {
			t.Fatalf("read back differently:\n%s", diff)
		}
		if j.Key().Subscription != j.Subscription || j.Attempt < 1 {
			t.Fatalf("%+v", j)
		}
		_ = push.Subscription{ARN: j.Subscription}.ID()
	})
}

func BenchmarkJob(b *testing.B) {
	j := push.Job{Kind: push.Notification, Subscription: subscriptionARN, Attempt: 1, Message: push.Message{ID: "dc1e94d9-56c5-5e96-808d-cc7f68faa162", TopicARN: topicARN, Body: strings.Repeat("0123456789abcdef", 16), Timestamp: time.UnixMilli(1709251190000)}}
	encoded, message := j.Encode(), j.Message.Encode()
	b.Run("EncodeWith", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			j.EncodeWith(message)
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := push.DecodeJob(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}
