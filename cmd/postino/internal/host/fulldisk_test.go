package host_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestPromise1AFullDiskRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	h, s := open(t, t.TempDir())
	run(t, h, s)
	r := receive(t, statuses(200))
	topic := s.topic("full")
	arn := s.subscribe(topic, r, r.at("/f"), "RawMessageDelivery", "true")
	s.set(arn, "DeliveryPolicy", everySecond(50)) // what is accepted stays on the disk for a while
	r.answer(statuses(503, 200))
	ok(t, h.BoundDatabase(t.Context(), 200))

	message := strings.Repeat("x", 20_000)
	accepted := map[string]string{}
	publish := func(body string) (status int, answer string) {
		status, answer = post(t, s.url, nil, url.Values{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {body}})
		if status == http.StatusOK {
			var a struct {
				ID string `xml:"PublishResult>MessageId"`
			}
			if err := xml.Unmarshal([]byte(answer), &a); err != nil {
				t.Fatal(err)
			}
			accepted[a.ID] = body
		}
		return status, answer
	}
	status, answer := 200, ""
	for i := 0; i < 1000 && status == http.StatusOK; i++ {
		status, answer = publish(fmt.Sprint(i, " ", message))
	}
	if status != http.StatusInternalServerError || !strings.Contains(answer, "<Code>InternalError</Code>") || len(accepted) == 0 {
		t.Fatalf("after %d messages a full disk answers %d %s", len(accepted), status, answer)
	}
	get(t, s.url+"/healthz")
	for i := range 20 {
		publish(fmt.Sprint("still full ", i, " ", message))
	}

	// A write that shares its transaction with one that finds no room fails with it.
	eventually(t, "the bound is lifted", func() bool { return h.BoundDatabase(t.Context(), -1) == nil })
	eventually(t, "the server takes messages again", func() bool { status, _ := publish(message); return status == http.StatusOK })
	deadline := time.After(patience)
	for taken := map[string]bool{}; len(taken) < len(accepted); {
		select {
		case a := <-r.got:
			if body, ours := accepted[a.id()]; ours && a.nth >= 2 {
				taken[a.id()] = true
				if body != string(a.body) {
					t.Errorf("message %s came changed", a.id())
				}
			}
		case <-deadline:
			t.Fatalf("%d of %d accepted messages were taken", len(taken), len(accepted))
		}
	}
}
