package deliverypolicy

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
)

// readbackCase is one entry of the golden files: a document as sent, and what
// the two attributes read afterwards. Those named "recorded from SNS" were seen
// on the service itself (LocalStack's snapshots of AWS, October 2024).
type readbackCase struct {
	Name                           string
	Raw                            bool
	Topic, Sent, Stored, Effective json.RawMessage
}

func readbackCases(t *testing.T, file string) []readbackCase {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []readbackCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 5 {
		t.Fatalf("%s holds %d cases", file, len(cases))
	}
	return cases
}

// oneLine keeps the order of keys, unlike unmarshalling.
func oneLine(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestATopicsPolicyReadsBackAsSNSPrintsIt(t *testing.T) {
	for _, c := range readbackCases(t, "testdata/topic_readback.json") {
		t.Run(c.Name, func(t *testing.T) {
			p, err := ParseTopic(string(c.Sent))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oneLine(t, c.Stored), p.String()); diff != "" {
				t.Errorf("DeliveryPolicy:\n%s", diff)
			}
			if diff := cmp.Diff(oneLine(t, c.Effective), p.EffectiveString()); diff != "" {
				t.Errorf("EffectiveDeliveryPolicy:\n%s", diff)
			}
		})
	}
}

func TestASubscriptionsPolicyReadsBackAsSNSPrintsIt(t *testing.T) {
	for _, c := range readbackCases(t, "testdata/subscription_readback.json") {
		t.Run(c.Name, func(t *testing.T) {
			p, err := ParseSubscription(string(c.Sent), c.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oneLine(t, c.Stored), p.String()); diff != "" {
				t.Errorf("DeliveryPolicy:\n%s", diff)
			}
			topic, err := ParseTopic(string(c.Topic))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oneLine(t, c.Effective), EffectiveFor(topic, p, c.Raw).String()); diff != "" {
				t.Errorf("EffectiveDeliveryPolicy:\n%s", diff)
			}
		})
	}
}

// drawRetry draws a retry policy that SNS would take: any legal counts and
// delays whose sum stays within the hour.
func drawRetry(t *rapid.T) *RetryPolicy {
	if !rapid.Bool().Draw(t, "has retry policy") {
		return nil
	}
	optional := func(name string, most int) *int {
		if !rapid.Bool().Draw(t, "has "+name) {
			return nil
		}
		n := rapid.IntRange(0, most).Draw(t, name)
		return &n
	}
	left := rapid.IntRange(0, maxRetries).Draw(t, "retries")
	r := RetryPolicy{NumRetries: left}
	for _, count := range []struct {
		name string
		into **int
	}{
		{"no delay", &r.NumNoDelayRetries}, {"min delay", &r.NumMinDelayRetries}, {"max delay", &r.NumMaxDelayRetries},
	} {
		if *count.into = optional(count.name, left); *count.into != nil {
			left -= **count.into
		}
	}
	longest := maxDelay / max(r.NumRetries, 1)
	r.MinDelayTarget = rapid.IntRange(1, longest).Draw(t, "min")
	r.MaxDelayTarget = rapid.IntRange(r.MinDelayTarget, longest).Draw(t, "max")
	r.BackoffFunction = rapid.SampledFrom([]Curve{"", Linear, Arithmetic, Geometric, Exponential}).Draw(t, "curve")
	return &r
}

func drawTopic(t *rapid.T) TopicPolicy {
	return TopicPolicy{
		Retry:                        drawRetry(t),
		DisableSubscriptionOverrides: rapid.Bool().Draw(t, "disable"),
		MaxReceivesPerSecond:         rapid.IntRange(0, 1000).Draw(t, "topic rate"),
		ContentType:                  rapid.SampledFrom([]string{"", DefaultContentType, "text/plain", "application/json"}).Draw(t, "topic type"),
	}
}

func drawSubscription(t *rapid.T) SubscriptionPolicy {
	types := append([]string{"", DefaultContentType, "text/plain", "application/json"}, rawTypes()...)
	return SubscriptionPolicy{
		Retry:                drawRetry(t),
		MaxReceivesPerSecond: rapid.IntRange(0, 1000).Draw(t, "rate"),
		ContentType:          rapid.SampledFrom(types).Draw(t, "type"),
	}
}

func TestWhatIsPrintedParsesToTheSamePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := drawTopic(t)
		if again, err := ParseTopic(topic.String()); err != nil || !cmp.Equal(topic, again) {
			t.Fatalf("%s: %v\n%s", topic, err, cmp.Diff(topic, again))
		}
		sub := drawSubscription(t)
		if again, err := ParseSubscription(sub.String(), true); err != nil || !cmp.Equal(sub, again) {
			t.Fatalf("%s: %v\n%s", sub, err, cmp.Diff(sub, again))
		}
	})
}

// TestEffectivePoliciesAreFixedPoints: sending an effective policy back as one's
// own changes nothing that applies.
func TestEffectivePoliciesAreFixedPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic, raw := drawTopic(t), rapid.Bool().Draw(t, "raw")
		e := EffectiveFor(topic, drawSubscription(t), raw)
		own, err := ParseSubscription(e.String(), raw)
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if again := EffectiveFor(topic, own, raw); !cmp.Equal(e, again) {
			t.Fatalf("not the same: %s", cmp.Diff(e, again))
		}
		topicOwn, err := ParseTopic(topic.EffectiveString())
		if err != nil || topicOwn.EffectiveString() != topic.EffectiveString() {
			t.Fatalf("%s: %v, then %s", topic.EffectiveString(), err, topicOwn.EffectiveString())
		}
	})
}

func TestSectionsAreInheritedOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic, sub := drawTopic(t), drawSubscription(t)
		raw := rapid.Bool().Draw(t, "raw")
		e := EffectiveFor(topic, sub, raw)
		overrides := !topic.DisableSubscriptionOverrides

		wantRetry := defaultRetry()
		switch {
		case overrides && sub.Retry != nil:
			wantRetry = sub.Retry.filled()
		case topic.Retry != nil:
			wantRetry = topic.Retry.filled()
		}
		if !cmp.Equal(e.Retry, wantRetry) || e.Schedule != wantRetry.Schedule() {
			t.Fatalf("retry policy:\n%s", cmp.Diff(wantRetry, e.Retry))
		}

		wantRate := topic.MaxReceivesPerSecond
		if overrides && sub.MaxReceivesPerSecond > 0 {
			wantRate = sub.MaxReceivesPerSecond
		}
		if e.MaxReceivesPerSecond != wantRate {
			t.Fatalf("rate %d, want %d", e.MaxReceivesPerSecond, wantRate)
		}

		wantType := DefaultContentType
		switch {
		case overrides && sub.ContentType != "" && (raw || common(sub.ContentType)):
			wantType = sub.ContentType
		case topic.ContentType != "":
			wantType = topic.ContentType
		}
		if e.ContentType != wantType {
			t.Fatalf("content type %q, want %q", e.ContentType, wantType)
		}
	})
}

func TestEffectivePoliciesShareNothingWithTheirSources(t *testing.T) {
	n := 1
	sub := SubscriptionPolicy{Retry: &RetryPolicy{MinDelayTarget: 1, MaxDelayTarget: 1, NumRetries: 2, NumMaxDelayRetries: &n}}
	before := sub.String()
	_ = EffectiveFor(TopicPolicy{}, sub, false).String()
	if sub.String() != before {
		t.Errorf("asking for the effective policy changed the stored one to %s", sub)
	}
}
