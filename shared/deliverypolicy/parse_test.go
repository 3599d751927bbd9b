package deliverypolicy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSubscriptionPoliciesAreRefusedWithTheFieldsPath(t *testing.T) {
	retry := func(members string) string { return `{"healthyRetryPolicy":{` + members + `}}` }
	with := func(members string) string {
		return retry(`"minDelayTarget":1,"maxDelayTarget":2,"numRetries":3,` + members)
	}
	for _, c := range []struct{ doc, want string }{
		// Not a document.
		{``, "failed to parse JSON. unexpected end of JSON input at byte 0"},
		{`{invalid}`, "failed to parse JSON. invalid character 'i' looking for beginning of object key string at byte 2"},
		{`{"guaranteed":false}{}`, "failed to parse JSON. invalid character '{' after top-level value at byte 21"},
		{`{"guaranteed":false,}`, "failed to parse JSON. invalid character '}' looking for beginning of object key string at byte 21"},
		{`null`, "must be a JSON object"},
		{`[]`, "must be a JSON object"},
		{`"{}"`, "must be a JSON object"},
		// Members that have no place.
		{`{"http":{}}`, "Unexpected JSON member: http"},
		{`{"defaultHealthyRetryPolicy":null}`, "Unexpected JSON member: defaultHealthyRetryPolicy"},
		{`{"HealthyRetryPolicy":null}`, "Unexpected JSON member: HealthyRetryPolicy"},
		{`{"":null}`, "Unexpected JSON member: "},
		{with(`"numretries":3`), "Unexpected JSON member: healthyRetryPolicy.numretries"},
		{with(`"throttlePolicy":null`), "Unexpected JSON member: healthyRetryPolicy.throttlePolicy"},
		{`{"throttlePolicy":{"maxReceivesPerSecond":1,"burst":2}}`, "Unexpected JSON member: throttlePolicy.burst"},
		{`{"requestPolicy":{"contentType":"text/plain"}}`, "Unexpected JSON member: requestPolicy.contentType"},
		{"{\"a\\n\xff\":1}", "Unexpected JSON member: a\uFFFD\uFFFD"},
		// Members that come twice.
		{`{"guaranteed":false,"guaranteed":false}`, "Duplicate JSON member: guaranteed"},
		{with(`"numRetries":3`), "Duplicate JSON member: healthyRetryPolicy.numRetries"},
		{with(`"num\u0052etries":3`), "Duplicate JSON member: healthyRetryPolicy.numRetries"},
		// Wrong types.
		{`{"healthyRetryPolicy":[]}`, "healthyRetryPolicy must be a JSON object"},
		{`{"healthyRetryPolicy":3}`, "healthyRetryPolicy must be a JSON object"},
		{`{"throttlePolicy":"10"}`, "throttlePolicy must be a JSON object"},
		{`{"requestPolicy":"text/plain"}`, "requestPolicy must be a JSON object"},
		{`{"sicklyRetryPolicy":{}}`, "sicklyRetryPolicy must be null"},
		{`{"guaranteed":true}`, "guaranteed must be false"},
		{`{"guaranteed":"false"}`, "guaranteed must be true or false"},
		{with(`"backoffFunction":1`), "healthyRetryPolicy.backoffFunction must be a string"},
		{with(`"backoffFunction":"Linear"`), "healthyRetryPolicy.backoffFunction must be one of linear, arithmetic, geometric, exponential"},
		{with(`"backoffFunction":""`), "healthyRetryPolicy.backoffFunction must be one of linear, arithmetic, geometric, exponential"},
		{with(`"numNoDelayRetries":"1"`), "healthyRetryPolicy.numNoDelayRetries must be an integer"},
		{with(`"numNoDelayRetries":1.0`), "healthyRetryPolicy.numNoDelayRetries must be an integer"},
		{with(`"numNoDelayRetries":1e0`), "healthyRetryPolicy.numNoDelayRetries must be an integer"},
		{with(`"numNoDelayRetries":true`), "healthyRetryPolicy.numNoDelayRetries must be an integer"},
		{with(`"numNoDelayRetries":{}`), "healthyRetryPolicy.numNoDelayRetries must be an integer"},
		// Missing members.
		{retry(``), "healthyRetryPolicy.minDelayTarget must be specified"},
		{retry(`"numRetries":5`), "healthyRetryPolicy.minDelayTarget must be specified"},
		{retry(`"minDelayTarget":1,"numRetries":5`), "healthyRetryPolicy.maxDelayTarget must be specified"},
		{retry(`"minDelayTarget":1,"maxDelayTarget":1`), "healthyRetryPolicy.numRetries must be specified"},
		{retry(`"minDelayTarget":1,"maxDelayTarget":1,"numRetries":null`), "healthyRetryPolicy.numRetries must be specified"},
		// Ranges.
		{retry(`"numRetries":0,"minDelayTarget":0,"maxDelayTarget":0,"backoffFunction":"exponential"`), "healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"},
		{retry(`"numRetries":0,"minDelayTarget":-1,"maxDelayTarget":1`), "healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"},
		{retry(`"numRetries":0,"minDelayTarget":2,"maxDelayTarget":1`), "healthyRetryPolicy.maxDelayTarget must be greater than or equal to minDelayTarget"},
		{retry(`"numRetries":0,"minDelayTarget":1,"maxDelayTarget":3601`), "healthyRetryPolicy.maxDelayTarget must be less than or equal to 3600"},
		{retry(`"numRetries":0,"minDelayTarget":1,"maxDelayTarget":99999999999999999999999`), "healthyRetryPolicy.maxDelayTarget must be less than or equal to 3600"},
		{retry(`"numRetries":-1,"minDelayTarget":1,"maxDelayTarget":1`), "healthyRetryPolicy.numRetries must be greater than or equal to 0"},
		{retry(`"numRetries":-99999999999999999999999,"minDelayTarget":1,"maxDelayTarget":1`), "healthyRetryPolicy.numRetries must be greater than or equal to 0"},
		{retry(`"numRetries":101,"minDelayTarget":1,"maxDelayTarget":1`), "healthyRetryPolicy.numRetries must be less than or equal to 100"},
		{with(`"numNoDelayRetries":-1`), "healthyRetryPolicy.numNoDelayRetries must be greater than or equal to 0"},
		{with(`"numMinDelayRetries":-1`), "healthyRetryPolicy.numMinDelayRetries must be greater than or equal to 0"},
		{with(`"numMaxDelayRetries":-1`), "healthyRetryPolicy.numMaxDelayRetries must be greater than or equal to 0"},
		{with(`"numMaxDelayRetries":2,"numNoDelayRetries":1,"numMinDelayRetries":1`), "healthyRetryPolicy.numRetries must be greater than or equal to total of numMinDelayRetries, numNoDelayRetries and numMaxDelayRetries"},
		{with(`"numMaxDelayRetries":9223372036854775807,"numNoDelayRetries":9223372036854775807,"numMinDelayRetries":9223372036854775807`), "healthyRetryPolicy.numRetries must be greater than or equal to total of numMinDelayRetries, numNoDelayRetries and numMaxDelayRetries"},
		{`{"throttlePolicy":{"maxReceivesPerSecond":0}}`, "throttlePolicy.maxReceivesPerSecond must be greater than or equal to 1"},
		{`{"throttlePolicy":{"maxReceivesPerSecond":99999999999999999999}}`, "throttlePolicy.maxReceivesPerSecond must be less than or equal to 2147483647"},
		{`{"throttlePolicy":{"maxReceivesPerSecond":0.5}}`, "throttlePolicy.maxReceivesPerSecond must be an integer"},
		// The hour.
		{retry(`"numRetries":100,"minDelayTarget":36,"maxDelayTarget":37`), "healthyRetryPolicy total of all delays must be less than or equal to 3600 seconds, not 3649.951"},
		{retry(`"numRetries":2,"minDelayTarget":1800,"maxDelayTarget":1801`), "healthyRetryPolicy total of all delays must be less than or equal to 3600 seconds, not 3601"},
		{retry(`"numRetries":1,"numMaxDelayRetries":1,"numNoDelayRetries":0,"minDelayTarget":1,"maxDelayTarget":3600`), ""},
		{retry(`"numRetries":100,"minDelayTarget":1,"maxDelayTarget":71`), ""}, // 100 x 36 s to the dot
		{retry(`"numRetries":100,"minDelayTarget":3600,"maxDelayTarget":3600,"numNoDelayRetries":99`), ""},
	} {
		want := c.want
		if want != "" {
			want = "DeliveryPolicy: " + want
		}
		got := ""
		p, err := ParseSubscription(c.doc, false)
		if err != nil {
			got = err.Error()
			if p != (SubscriptionPolicy{}) {
				t.Errorf("%s\n  gives a policy with its error", c.doc)
			}
		}
		if got != want {
			t.Errorf("%s\n  says  %s\n  wants %s", c.doc, got, want)
		}
	}
}

func TestTopicPoliciesAreRefusedWithTheFieldsPath(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`{"http":`, "failed to parse JSON. unexpected end of JSON input at byte 8"},
		{`{"http":[]}`, "http must be a JSON object"},
		{`{"https":{}}`, "Unexpected JSON member: https"},
		{`{"HTTP":{}}`, "Unexpected JSON member: HTTP"},
		{`{"throttlePolicy":{"maxReceivesPerSecond":1}}`, "Unexpected JSON member: throttlePolicy"},
		{`{"healthyRetryPolicy":{}}`, "Unexpected JSON member: healthyRetryPolicy"},
		{`{"http":{"throttlePolicy":null}}`, "Unexpected JSON member: http.throttlePolicy"},
		{`{"http":{"guaranteed":false}}`, "Unexpected JSON member: http.guaranteed"},
		{`{"http":{},"http":{}}`, "Duplicate JSON member: http"},
		{`{"http":{"disableSubscriptionOverrides":1}}`, "http.disableSubscriptionOverrides must be true or false"},
		{`{"http":{"disableSubscriptionOverrides":"true"}}`, "http.disableSubscriptionOverrides must be true or false"},
		{`{"http":{"defaultSicklyRetryPolicy":{}}}`, "http.defaultSicklyRetryPolicy must be null"},
		{`{"http":{"defaultHealthyRetryPolicy":{"numRetries":5}}}`, "http.defaultHealthyRetryPolicy.minDelayTarget must be specified"},
		{`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":101}}}`, "http.defaultHealthyRetryPolicy.numRetries must be less than or equal to 100"},
		{`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":3600,"maxDelayTarget":3600,"numRetries":2}}}`, "http.defaultHealthyRetryPolicy total of all delays must be less than or equal to 3600 seconds, not 7200"},
		{`{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":-1}}}`, "http.defaultThrottlePolicy.maxReceivesPerSecond must be greater than or equal to 1"},
		{`{"http":{"defaultRequestPolicy":{"headerContentType":"text/html"}}}`, "http.defaultRequestPolicy.headerContentType must be one of application/json, text/plain"},
		{`{"http":{"defaultRequestPolicy":{"headerContentType":5}}}`, "http.defaultRequestPolicy.headerContentType must be a string"},
	} {
		p, err := ParseTopic(c.doc)
		if want := "DeliveryPolicy: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s\n  says  %v\n  wants %s", c.doc, err, want)
		}
		if p != (TopicPolicy{}) {
			t.Errorf("%s\n  gives a policy with its error", c.doc)
		}
	}
}

func TestContentTypesAreListedByLevelAndRawDelivery(t *testing.T) {
	everywhere := []string{"text/plain", "application/json", "text/plain; charset=UTF-8"}
	rawOnly := []string{
		"text/css", "text/csv", "text/html", "text/xml", "application/atom+xml", "application/octet-stream",
		"application/soap+xml", "application/x-www-form-urlencoded", "application/xhtml+xml", "application/xml",
	}
	nowhere := []string{"", " text/plain", "Text/Plain", "image/png", "text/plain; application/json", "text/csv; charset=UTF-8", "text/plain\r\nX-Evil: 1"}

	accepted := func(contentType string) [3]bool {
		b, err := json.Marshal(contentType)
		if err != nil {
			t.Fatal(err)
		}
		request := fmt.Sprintf(`{"headerContentType":%s}`, b)
		_, topic := ParseTopic(`{"http":{"defaultRequestPolicy":` + request + `}}`)
		_, enveloped := ParseSubscription(`{"requestPolicy":`+request+`}`, false)
		_, raw := ParseSubscription(`{"requestPolicy":`+request+`}`, true)
		return [3]bool{topic == nil, enveloped == nil, raw == nil}
	}
	for _, group := range []struct {
		types []string
		want  [3]bool // topic, subscription, raw subscription
	}{
		{everywhere, [3]bool{true, true, true}},
		{rawOnly, [3]bool{false, false, true}},
		{nowhere, [3]bool{false, false, false}},
	} {
		for _, contentType := range group.types {
			if got := accepted(contentType); got != group.want {
				t.Errorf("%q: topic, subscription, raw subscription accept %v, want %v", contentType, got, group.want)
			}
		}
	}
}

func TestDeepNestingAndHugeNamesAreHarmless(t *testing.T) {
	for _, doc := range []string{
		strings.Repeat("[", 1_000_000),
		strings.Repeat(`{"http":`, 100_000),
		`{"healthyRetryPolicy":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
		`{"` + strings.Repeat("é", 100_000) + `":1}`,
		`{"throttlePolicy":{"maxReceivesPerSecond":` + strings.Repeat("9", 100_000) + `}}`,
	} {
		_, err := ParseSubscription(doc, true)
		if err == nil || len(err.Error()) > 400 {
			t.Errorf("%.30s… says %.100v", doc, err)
		}
		if _, err := ParseTopic(doc); err == nil || len(err.Error()) > 400 {
			t.Errorf("as a topic's: %.30s… says %.100v", doc, err)
		}
	}
}

// TestExactlyThePoliciesWithinAnHourAreTaken draws policies that are legal but
// for their total, and compares with a sum made independently of Total.
func TestExactlyThePoliciesWithinAnHourAreTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		retries := rapid.IntRange(0, 100).Draw(t, "retries")
		least := rapid.IntRange(1, 80).Draw(t, "min")
		most := rapid.IntRange(least, 120).Draw(t, "max")
		shape := rapid.SampledFrom([]Curve{Linear, Arithmetic, Geometric, Exponential}).Draw(t, "curve")
		p := SubscriptionPolicy{Retry: &RetryPolicy{MinDelayTarget: least, MaxDelayTarget: most, NumRetries: retries, BackoffFunction: shape}}
		seconds := 0.0
		for retry := 1; retry <= retries; retry++ {
			d, _ := p.Retry.Schedule().Delay(retry)
			seconds += d.Seconds()
		}
		if math.Abs(seconds-3600) < 1e-6 { // too near for floating point to tell
			return
		}
		if _, err := ParseSubscription(p.String(), false); (err == nil) != (seconds < 3600) {
			t.Fatalf("%v s: %v", seconds, err)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); !strings.HasPrefix(s, "DeliveryPolicy: ") || !utf8.ValidString(s) || len(s) > 500 {
		t.Fatalf("error text %q", s)
	}
}

func checkRetry(t *testing.T, r *RetryPolicy) {
	t.Helper()
	if r == nil {
		return
	}
	s := r.Schedule()
	if s.Total() > maxTotal || s.Retries() != r.NumRetries || s.Min < 1 || s.Max < s.Min {
		t.Fatalf("accepted %+v", s)
	}
}

// accepted documents mean to encoding/json what they mean here.
func checkAgainstEncodingJSON[W any](t *testing.T, doc string, wire func(W) string, want string) {
	t.Helper()
	var w W
	if err := json.Unmarshal([]byte(doc), &w); err != nil {
		t.Fatalf("accepted what encoding/json refuses: %v", err)
	}
	if got := wire(w); got != want {
		t.Fatalf("encoding/json reads %s, ours is %s", got, want)
	}
}

func FuzzParseSubscription(f *testing.F) {
	f.Add(`{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":60,"numRetries":50,"numNoDelayRetries":3,"numMinDelayRetries":2,"numMaxDelayRetries":35,"backoffFunction":"exponential"},"throttlePolicy":{"maxReceivesPerSecond":10},"requestPolicy":{"headerContentType":"application/json"}}`, false)
	f.Add(`{"sicklyRetryPolicy":null,"guaranteed":false,"requestPolicy":{"headerContentType":"text/csv"}}`, true)
	f.Add(`{"healthyRetryPolicy":{"num\u0052etries":1e2,"numRetries":-0}}`, false)
	f.Add("{\"\xff\":[[{}]]}", true)
	f.Fuzz(func(t *testing.T, doc string, raw bool) {
		p, err := ParseSubscription(doc, raw)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		checkRetry(t, p.Retry)
		again, err := ParseSubscription(p.String(), raw)
		if err != nil || again.String() != p.String() {
			t.Fatalf("%s printed and read again is %s, %v", p, again, err)
		}
		checkAgainstEncodingJSON(t, doc, func(w subscriptionWire) string {
			if w.ThrottlePolicy != nil && w.ThrottlePolicy.MaxReceivesPerSecond == 0 {
				w.ThrottlePolicy = nil
			}
			if w.RequestPolicy != nil && w.RequestPolicy.HeaderContentType == "" {
				w.RequestPolicy = nil
			}
			return compact(w)
		}, p.String())
		if e := EffectiveFor(TopicPolicy{}, p, raw); e.ContentType == "" || e.Schedule.Total() > maxTotal {
			t.Fatalf("effective %s", e)
		}
	})
}

func FuzzParseTopic(f *testing.F) {
	f.Add(`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1},"disableSubscriptionOverrides":true,"defaultThrottlePolicy":{"maxReceivesPerSecond":10},"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`)
	f.Add(`{"http":{"defaultHealthyRetryPolicy":null,"defaultSicklyRetryPolicy":null}}`)
	f.Add(`{"http":null}`)
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := ParseTopic(doc)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		checkRetry(t, p.Retry)
		again, err := ParseTopic(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%s printed and read again is %s, %v", p, again, err)
		}
		checkAgainstEncodingJSON(t, doc, func(w topicWire) string {
			if w.HTTP.DefaultThrottlePolicy != nil && w.HTTP.DefaultThrottlePolicy.MaxReceivesPerSecond == 0 {
				w.HTTP.DefaultThrottlePolicy = nil
			}
			if w.HTTP.DefaultRequestPolicy != nil && w.HTTP.DefaultRequestPolicy.HeaderContentType == "" {
				w.HTTP.DefaultRequestPolicy = nil
			}
			return compact(w)
		}, p.String())
		if _, err := ParseTopic(p.EffectiveString()); err != nil {
			t.Fatalf("effective %s: %v", p.EffectiveString(), err)
		}
	})
}
