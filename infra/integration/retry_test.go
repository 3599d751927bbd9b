//go:build integration

package integration

import (
	"net/http"
	"testing"
	"time"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
)

// noRetries makes the first failure of a seeded subscription the last.
func noRetries(sub *push.Subscription) { sub.DeliveryPolicy = policy(0, 1)["DeliveryPolicy"] }

// Every phase of a policy, through the delays of a real queue.
func TestRetriesFollowTheirScheduleAndAreNeverEarly(t *testing.T) {
	t.Parallel()
	const document = `{"healthyRetryPolicy":{"numRetries":7,"numNoDelayRetries":1,"minDelayTarget":1,"numMinDelayRetries":2,"maxDelayTarget":5,"numMaxDelayRetries":1,"backoffFunction":"linear"}}`
	own, err := deliverypolicy.ParseSubscription(document, true)
	if err != nil {
		t.Fatal(err)
	}
	schedule := deliverypolicy.EffectiveFor(deliverypolicy.TopicPolicy{}, own, false).Schedule
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, map[string]string{"DeliveryPolicy": document})
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "again and again")
	last := e.next()
	for n := 1; n <= schedule.Retries(); n++ {
		delay, _ := schedule.Delay(n)
		p := e.after(last, delay)
		if p.body != last.body {
			t.Errorf("retry %d pushed %s, before it was %s", n, p.body, last.body)
		}
		last = p
	}
	if n := note(t, s.deadLetter(id)); n.Attempts != 1+schedule.Retries() {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(2 * time.Second)
}

// Each class of outcome, seen from the endpoint: what is retried and what is not.
func TestEachAnswerIsRetriedOrFinalAsItsClassSays(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t)
	redirect := func(code int) answer {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, code) }
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	garbage := func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = c.Write([]byte("220 smtp.example.com\r\n")) // the sender may have gone
			_ = c.Close()
		}
	}
	for name, c := range map[string]struct {
		answer  answer
		retried bool
	}{
		"429":                {status(429), true},
		"500":                {status(500), true},
		"502":                {status(502), true},
		"503":                {status(503), true},
		"504":                {status(504), true},
		"599":                {status(599), true},
		"connection closed":  {hangUp, true},
		"answer is no HTTP":  {garbage, true},
		"301":                {redirect(301), false},
		"307":                {redirect(307), false},
		"400":                {status(400), false},
		"401":                {status(401), false},
		"403":                {status(403), false},
		"404":                {status(404), false},
		"408":                {status(408), false},
		"410":                {status(410), false},
		"204 is as good":     {status(204), false},
		"299 is a 2xx still": {status(299), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := deployed(t), listen(t)
			// On a kept connection that is cut, an attempt is made once more at once.
			e.server.Config.SetKeepAlivesEnabled(false)
			topic := s.topic()
			url, arn := s.queue("it")
			s.subscribe(topic, e, merged(policy(1, 1), redrive(arn)))
			e.on("Notification", c.answer)
			id := s.publish(topic, name)
			attempts, last := 1, e.next()
			if c.retried {
				attempts, last = 2, e.after(last, time.Second)
			}
			if last.MessageId != id {
				t.Errorf("pushed was %s", last.body)
			}
			if name[0] == '2' {
				e.quiet(2 * time.Second)
				s.empty(url, anything)
				return
			}
			letter := s.takeFrom(url, anything)
			if n := note(t, letter); n.Attempts != attempts || n.Status == 0 && n.Fault == "" {
				t.Errorf("the note says %+v, want %d attempts", n, attempts)
			}
			e.quiet(2 * time.Second)
			elsewhere.quiet(0)
		})
	}
}

// An endpoint that hangs costs an attempt once the timeout is over.
func TestAnEndpointThatHangsIsRetriedOnceTheTimeoutIsOver(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	s.change("Deliver", map[string]string{"POSTINO_REQUEST_TIMEOUT": "1s"})
	topic := s.topic()
	s.subscribe(topic, e, policy(2, 1))
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	e.on("Notification", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}, status(http.StatusOK))
	id := s.publish(topic, "slowly")
	first := e.next() // it has hung up by now
	if p := e.after(first, time.Second); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	if waited := first.answered.Sub(first.at); waited < 900*time.Millisecond || waited > late {
		t.Errorf("it hung up after %v, the timeout is 1 s", waited)
	}
	e.quiet(3 * time.Second)
}

// A throttle makes messages wait. Were a wait an attempt, the policy, which allows
// no retry, would make dead letters of them.
func TestAThrottledSubscriptionGetsEverythingAtItsPaceAndBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(redrive(arn), map[string]string{
		"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":0,"minDelayTarget":1,"maxDelayTarget":1},"throttlePolicy":{"maxReceivesPerSecond":2}}`}))
	s.publishAll(topic, ten()...)
	s.publishAll(topic, ten()...)
	got, times := map[string]int{}, make([]time.Time, 0, 20)
	for range 20 {
		p := e.next()
		got[p.Message]++
		times = append(times, p.at)
	}
	for _, m := range ten() {
		if got[m] != 2 {
			t.Errorf("%q was pushed %d times, want twice", m, got[m])
		}
	}
	// Of 20 slots at 2 a second the last is 9.5 s after the first; only the first
	// push can be late enough to shorten that.
	if took := times[19].Sub(times[0]); took < 7*time.Second {
		t.Errorf("20 messages came within %v, the policy allows 2 a second", took)
	}
	s.empty(url, anything)
	e.quiet(2 * time.Second)
}
