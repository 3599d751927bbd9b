package host_test

import (
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"

	"postino/shared/config"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// immediate is a delivery policy of n retries without delay.
func immediate(n int) string {
	return fmt.Sprintf(`{"healthyRetryPolicy":{"numRetries":%d,"numNoDelayRetries":%[1]d,"minDelayTarget":1,"maxDelayTarget":1}}`, n)
}

// everySecond is a delivery policy of n retries one second apart.
func everySecond(n int) string {
	return fmt.Sprintf(`{"healthyRetryPolicy":{"numRetries":%d,"minDelayTarget":1,"maxDelayTarget":1}}`, n)
}

// redriveTo is a redrive policy that names a queue.
func redriveTo(queue string) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s"}`, queue)
}

// show gives what the operator sees of the one delivery of a message.
func (s *server) show(id string) operator.Delivery {
	s.t.Helper()
	all := must[[]operator.Delivery](s.t)(s.operator.ShowDelivery(s.t.Context(), id, time.Time{}))
	if len(all) != 1 {
		s.t.Fatalf("%d deliveries of message %s", len(all), id)
	}
	return all[0]
}

func TestPromise3FailuresAreRetriedUntilTheEndpointTakesTheMessage(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(500, 503, 429, 200))
	topic := s.topic("flaky")
	s.subscribe(topic, r, r.at("/f"), "DeliveryPolicy", `{"healthyRetryPolicy":{"numRetries":5,"numNoDelayRetries":2,"minDelayTarget":1,"maxDelayTarget":1}}`)
	id := s.publish(topic, "hello")
	got := take(t, r.got, 4)
	s.events.wait(t, 1, kind(pipeline.EventDelivered))
	r.nothing(t)
	for _, a := range got {
		if a.id() != id || string(a.body) != string(got[0].body) {
			t.Errorf("attempt %d pushed %s, the first %s", a.nth, a.body, got[0].body)
		}
	}
	d := s.show(id)
	if d.State != push.Delivered || d.Attempts != 4 || d.LogOnly {
		t.Errorf("shown as %+v", d)
	}
	var timeline []string
	for _, a := range d.History {
		timeline = append(timeline, fmt.Sprintf("%d %s %d %s", a.Number, a.Phase, a.Status, a.Class))
		if a.Reason == "" || a.Started.IsZero() || a.Ended.Before(a.Started) {
			t.Errorf("attempt %+v", a)
		}
	}
	want := []string{"1 initial 500 retryable", "2 immediate 503 retryable", "3 immediate 429 retryable", "4 backoff 200 success"}
	if diff := cmp.Diff(want, timeline); diff != "" {
		t.Error(diff)
	}
}

func TestPromise4ARetryIsNeverEarlyAndHardlyLate(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503, 503, 503, 200))
	topic := s.topic("backoff")
	s.subscribe(topic, r, r.at("/b"), "DeliveryPolicy", everySecond(3))
	id := s.publish(topic, "hello")
	take(t, r.got, 4)
	s.events.wait(t, 1, kind(pipeline.EventDelivered))
	h := s.show(id).History
	for i := range h[1:] {
		gap := h[i+1].Started.Sub(h[i].Ended)
		// Jitter adds at most a tenth; the rest is room for a busy machine.
		if gap < time.Second || gap > 1100*time.Millisecond+time.Second {
			t.Errorf("attempt %d began %s after attempt %d ended, its delay is 1 s", i+2, gap, i+1)
		}
	}
}

func TestPromise3AtMostOneAttemptMoreThanRetriesIsMade(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503))
	topic := s.topic("down")
	s.subscribe(topic, r, r.at("/d"), "DeliveryPolicy", immediate(3))
	id := s.publish(topic, "hello")
	take(t, r.got, 4)
	s.events.wait(t, 1, kind(pipeline.EventDead))
	r.nothing(t)
	if d := s.show(id); d.State != push.Dead || d.Attempts != 4 || !strings.HasSuffix(d.Target, "DeadLetterQueue") {
		t.Errorf("shown as %+v", d)
	}
}

func TestWhatTheEndpointRefusesIsNotRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 400, 404, 410} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := receive(t, statuses(status))
			topic := s.topic("refusing")
			s.subscribe(topic, r, r.at("/r"), "DeliveryPolicy", immediate(3))
			id := s.publish(topic, "hello")
			s.events.wait(t, 1, kind(pipeline.EventDead))
			if a := next(t, r.got); a.path != "/r" {
				t.Errorf("pushed to %s", a.path)
			}
			r.nothing(t) // no retry, and no redirect followed
			if d := s.show(id); d.Attempts != 1 || d.History[0].Class != push.Permanent || d.History[0].Status != status {
				t.Errorf("shown as %+v", d)
			}
		})
	}
}

func TestConnectionFaultsAreRetriedAndNamed(t *testing.T) {
	t.Parallel()
	for fault, broken := range map[string]func(t *testing.T, r *receiver){
		"refused": func(_ *testing.T, r *receiver) { r.Close() },
		"timeout": func(_ *testing.T, r *receiver) { r.answer(statuses(hang)) },
		"reset": func(t *testing.T, r *receiver) {
			l := must[net.Listener](t)(rebind(r.Server))
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_ = c.(*net.TCPConn).SetLinger(0)
					_ = c.Close()
				}
			}()
		},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(c *config.Config) { c.RequestTimeout = 300 * time.Millisecond })
			r := receive(t, statuses(200))
			topic := s.topic("broken")
			s.subscribe(topic, r, r.at("/b"), "DeliveryPolicy", immediate(2))
			broken(t, r)
			id := s.publish(topic, "hello")
			s.events.wait(t, 1, kind(pipeline.EventDead))
			d := s.show(id)
			if d.Attempts != 3 {
				t.Errorf("shown as %+v", d)
			}
			for _, a := range d.History {
				if a.Fault != fault || a.Class != push.Retryable || a.Status != 0 {
					t.Errorf("attempt %+v, want fault %s", a, fault)
				}
			}
		})
	}
}

// rebind takes over the address of a server that it closes.
func rebind(s *httptest.Server) (net.Listener, error) {
	address := s.Listener.Addr().String()
	s.Close()
	return net.Listen("tcp", address)
}

func TestPromise1ADeliveryThatSucceedsAtOnceIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(204))
	topic := s.topic("fine")
	arn := s.subscribe(topic, r, r.at("/f"))
	id := s.publish(topic, "hello")
	next(t, r.got)
	var listed []operator.Delivery
	eventually(t, "the delivery is listed", func() bool {
		listed = must[operator.DeliveryList](t)(s.operator.ListDeliveries(t.Context(), operator.ListRequest{State: "delivered", Subscription: arn})).Deliveries
		return len(listed) > 0 && listed[0].MessageID == id // the confirmation is further down
	})
	d := s.show(id)
	if !d.LogOnly || d.State != push.Delivered || d.Attempts != 1 || len(d.History) != 1 || d.History[0].Status != 204 || d.Subscription != arn {
		t.Errorf("shown as %+v", d)
	}
	if diff := cmp.Diff(d, listed[0]); diff != "" {
		t.Errorf("listed otherwise than shown: %s", diff)
	}
}

func TestPromise6AnEndpointInsideTheNetworkIsNeverDialled(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, endpoint := range []string{"http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fd00::1]/", "http://[::ffff:192.168.0.1]/"} {
		topic := s.topic("inside")
		protocol := "http"
		must[*sns.SubscribeOutput](t)(s.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: &topic, Protocol: &protocol, Endpoint: &endpoint}))
		confirmation := func(e pipeline.Event) bool {
			return e.Push == push.SubscriptionConfirm && e.Kind == pipeline.EventDropped && strings.HasPrefix(endpoint, strings.TrimSuffix(e.Endpoint, "/"))
		}
		e := s.events.wait(t, 1, confirmation)[0]
		if e.Attempt.Fault != "blocked" || e.Attempt.Class != push.Permanent || e.Attempt.Number != 1 {
			t.Errorf("%s: %+v", endpoint, e)
		}
	}
}

func TestPromise8FailedDeliveriesNeverChangeASubscription(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, status := range map[string]int{"gone": 410, "down": 503, "forbidden": 403} {
		r := receive(t, statuses(status))
		topic := s.topic(name)
		arn := s.subscribe(topic, r, r.at("/x"), "DeliveryPolicy", immediate(1), "RedrivePolicy", redriveTo("own"))
		before := s.attributes(arn)
		for i := range 5 {
			s.publish(topic, fmt.Sprint("message ", i))
		}
		s.events.wait(t, 5, func(e pipeline.Event) bool { return e.Kind == pipeline.EventDead && e.Subscription == arn })
		if d := cmp.Diff(before, s.attributes(arn)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		r.answer(statuses(200))
		id := s.publish(topic, "after all that")
		for {
			if a := next(t, r.got); a.id() == id {
				break
			}
		}
	}
	if subs := must[*sns.ListSubscriptionsOutput](t)(s.ListSubscriptions(t.Context(), nil)).Subscriptions; len(subs) != 3 ||
		slices.ContainsFunc(subs, func(x snsSubscription) bool { return *x.SubscriptionArn == "PendingConfirmation" }) {
		t.Errorf("left are %v", subs)
	}
}
