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
	url, arn := s.queue()
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
	for name, c := range map[string]struct {
		attributes map[string]string
		refused    string
	}{
		"no policy":         {nil, ""},
		"the queue is gone": {redrive("arn:aws:sqs:us-east-1:000000000000:no-such-queue"), "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := deployed(t), listen(t)
			topic := s.topic()
			s.subscribe(topic, e, c.attributes)
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

// A queue that the function may not send to refuses for good; one that fails does
// not, and is tried until it takes the letter.
func TestADeadLetterQueueThatIsDeniedIsPassedByAndOneThatFailsIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := own(t, nil)
	aws := stand(t, s, "Deliver")
	for name, c := range map[string]struct {
		fault   *fault
		refused string
	}{
		"denied":  {denied, "sqs:SendMessage"},
		"failing": {broken, ""},
	} {
		e := listen(t)
		topic := s.topic()
		url, arn := s.queue()
		s.subscribe(topic, e, redrive(arn))
		e.answer(http.StatusForbidden)
		s.failLetters(aws, url, c.fault)
		id := s.publish(topic, name)
		p := e.next()
		if c.refused != "" {
			letter := s.deadLetter(id)
			if n := note(t, letter); *letter.Body != p.body || !strings.Contains(n.Refused, c.refused) {
				t.Errorf("%s: the letter is %s, refused: %q", name, *letter.Body, n.Refused)
			}
			s.empty(url, anything)
			continue
		}
		s.eventually("the letter's queue has failed", func() bool { return count(aws.take(), toQueue(url)) > 0 })
		aws.failing(nil)
		if letter := s.takeFrom(url, anything); *letter.Body != p.body || note(t, letter).Attempts != 1 {
			t.Errorf("%s: the letter is %s with %+v", name, *letter.Body, note(t, letter))
		}
		e.quiet(time.Second)
		s.empty(s.output("DeadLetterQueueUrl"), holding(id))
	}
}

// failLetters lets what is sent to a subscriber's queue fail.
func (s *stack) failLetters(aws *between, url string, f *fault) {
	to := toQueue(url)
	aws.failing(func(c call) *fault {
		if to(c) {
			return f
		}
		return nil
	})
}

// toQueue tells sends to one queue by its URL; a letter's text may hold its name.
func toQueue(url string) func(call) bool {
	end := url[strings.LastIndexByte(url, '/'):] + `"`
	return func(c call) bool { return c.send() && strings.Contains(c.body, end) }
}
