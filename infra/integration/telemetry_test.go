//go:build integration

package integration

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// A delivery that fails once, seen from its endpoint and in the functions' logs.
func TestADeliveryIsTracedCountedAndRecorded(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t) // other tests' batches and metrics would be in the same logs
	topic := s.topic()
	if _, err := s.sns.SetTopicAttributes(t.Context(), &sns.SetTopicAttributesInput{TopicArn: &topic,
		AttributeName: aws.String("HTTPSuccessFeedbackSampleRate"), AttributeValue: aws.String("100")}); err != nil {
		t.Fatal(err)
	}
	subscription := s.subscribe(topic, e, policy(2, 1))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	began := time.Now()
	parent := "00-" + traceID + "-00f067aa0ba902b7-01"
	s.publishTraced(topic, parent)
	first, second := e.next(), e.next()
	for _, p := range []pushed{first, second} {
		if got := p.header.Get("Traceparent"); got != parent {
			t.Errorf("a push has the traceparent %q", got)
		}
	}

	retry := s.logged("deliver", began, func(l map[string]any) bool { return l["msg"] == "retry" && l["message"] == first.MessageId })
	if retry["trace"] != traceID || retry["status"] != 503.0 || retry["timestamp"] == nil {
		t.Errorf("the retry's line is %v", retry)
	}
	record := s.logged("deliver", began, func(l map[string]any) bool {
		n, _ := l["notification"].(map[string]any)
		return n["messageId"] == first.MessageId
	})
	delivery, _ := record["delivery"].(map[string]any)
	own, _ := record["postino"].(map[string]any)
	if record["status"] != "SUCCESS" || delivery["attempts"] != 2.0 || own["subscriptionArn"] != subscription || own["trace"] != traceID {
		t.Errorf("the status record is %v", record)
	}
	batch := s.logged("deliver", began, func(l map[string]any) bool {
		return l["msg"] == "batch" && l["lane"] == "retry" && l["delivered"] == 1.0
	})
	if batch["records"].(float64) < 1 || batch["requestId"] == "" || !strings.Contains(batch["function"].(string), "DeliverFunction") || batch["remaining"].(float64) <= 0 {
		t.Errorf("the batch's line is %v", batch)
	}
	metrics := s.logged("deliver", began, func(l map[string]any) bool { return l["_aws"] != nil && l["Retried"] != nil })
	if metrics["Stack"] != s.name || metrics["Lane"] != "attempt" || len(metrics["AttemptDuration"].([]any)) == 0 {
		t.Errorf("the metrics are %v", metrics)
	}
	accepted := s.logged("publish", began, func(l map[string]any) bool { return l["_aws"] != nil && l["Accepted"] != nil })
	if accepted["DeliveriesQueued"] != 1.0 {
		t.Errorf("the metrics of the publish are %v", accepted)
	}
}

// publishTraced publishes as an SDK would in whose call a tracer had put its
// header.
func (s *stack) publishTraced(topic, parent string) {
	s.t.Helper()
	body := url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {topic}, "Message": {"traced"}}.Encode()
	request := s.request(body)
	request.Header.Set("Traceparent", parent)
	s.sign(request, body, time.Now(), s.key())
	if status, answer := do(s.t, request); status != http.StatusOK {
		s.t.Fatalf("Publish answers %d: %s", status, answer)
	}
}

// logged waits for the line of a function's log that fits. Lines that are no JSON
// object are Lambda's own.
func (s *stack) logged(function string, since time.Time, fits func(map[string]any) bool) map[string]any {
	s.t.Helper()
	group := "/postino/" + s.name + "/" + function
	var lines []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(300 * time.Millisecond) {
		pages := cloudwatchlogs.NewFilterLogEventsPaginator(s.logs, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, StartTime: aws.Int64(since.UnixMilli())})
		lines = nil
		for pages.HasMorePages() {
			page, err := pages.NextPage(s.t.Context())
			if err != nil {
				s.t.Fatal(err)
			}
			for _, e := range page.Events {
				lines = append(lines, *e.Message)
				var l map[string]any
				if json.Unmarshal([]byte(*e.Message), &l) == nil && fits(l) {
					return l
				}
			}
		}
	}
	s.t.Fatalf("none of these lines in %s is the one: %q", group, lines)
	return nil
}
