//go:build integration

package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAnExhaustedDeliveryEndsInItsOwnQueueWithTheExactBody(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(policy(1, 1), redrive(arn)))
	e.answer(http.StatusInternalServerError)
	id := s.publish(topic, "never taken")
	first := e.next()
	second := e.after(first, time.Second)
	letter := s.takeFrom(url, anything)
	if *letter.Body != first.body || *letter.Body != second.body {
		t.Errorf("the letter is\n%s\npushed was\n%s\nand\n%s", *letter.Body, first.body, second.body)
	}
	if n := note(t, letter); n.MessageID != id || n.Attempts != 2 || n.Status != http.StatusInternalServerError || n.Refused != "" {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(3 * time.Second)
	s.empty(url, anything)
	s.empty(s.output("DeadLetterQueueUrl"), holding(id))
}

func TestADeadLetterWithoutAUsableQueueGoesToTheInstallationsOwn(t *testing.T) {
	t.Parallel()
	none := func(*stack) map[string]string { return nil }
	gone := func(*stack) map[string]string { return redrive("arn:aws:sqs:us-east-1:000000000000:it-no-such-queue") }
	denied := func(s *stack) map[string]string {
		_, arn := s.queue("elsewhere")
		return redrive(arn)
	}
	for name, c := range map[string]struct {
		attributes func(*stack) map[string]string
		refused    string
	}{
		"no policy":           {none, ""},
		"the queue is gone":   {gone, "does not exist"},
		"the queue is denied": {denied, "the permission sqs:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, map[string]string{"DeadLetterQueueArns": "arn:aws:sqs:us-east-1:000000000000:it-*"}), listen(t)
			topic := s.topic()
			s.subscribe(topic, e, c.attributes(s))
			e.answer(http.StatusForbidden)
			id := s.publish(topic, "unwanted")
			p := e.next()
			letter := s.deadLetter(id)
			if *letter.Body != p.body {
				t.Errorf("the letter is %s, pushed was %s", *letter.Body, p.body)
			}
			if n := note(t, letter); c.refused == "" && n.Refused != "" || !strings.Contains(n.Refused, c.refused) {
				t.Errorf("refused: %q, want %q", n.Refused, c.refused)
			}
		})
	}
}

// A queue that fails is no queue that refuses: it is tried until it takes the letter.
func TestADeadLetterWaitsForItsQueueWhileThatFails(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Deliver")
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, redrive(arn))
	e.answer(http.StatusForbidden)
	letters := toQueue(url)
	aws.failing(func(c call) *fault {
		if letters(c) {
			return broken
		}
		return nil
	})
	id := s.publish(topic, "kept waiting")
	p := e.next()
	s.eventually("its queue has failed", func() bool { return count(aws.take(), letters) > 0 })
	aws.failing(nil)
	if letter := s.takeFrom(url, anything); *letter.Body != p.body || note(t, letter).Attempts != 1 {
		t.Errorf("the letter is %s with %+v", *letter.Body, note(t, letter))
	}
	e.quiet(time.Second)
	s.empty(s.output("DeadLetterQueueUrl"), holding(id))
}

// toQueue tells sends to one queue by its URL; a letter's text may hold its name.
func toQueue(url string) func(call) bool {
	end := url[strings.LastIndexByte(url, '/'):] + `"`
	return func(c call) bool { return c.send() && strings.Contains(c.body, end) }
}
