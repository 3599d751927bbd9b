package host_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

type snsSubscription = types.Subscription

// letter gives the one dead letter of a queue, whole.
func (s *server) letter(queue string) operator.DeadLetter {
	s.t.Helper()
	page := must[operator.DeadLetterPage](s.t)(s.operator.ListDeadLetters(s.t.Context(), queue, "", 10))
	if len(page.DeadLetters) != 1 {
		s.t.Fatalf("%s holds %d letters", queue, len(page.DeadLetters))
	}
	return must[operator.DeadLetter](s.t)(s.operator.ShowDeadLetter(s.t.Context(), queue, page.DeadLetters[0].ID))
}

func (s *server) redrive(queue string, r operator.RedriveRequest) operator.RedriveResult {
	s.t.Helper()
	return must[operator.RedriveResult](s.t)(s.operator.Redrive(s.t.Context(), queue, r))
}

func TestADeadDeliveryGoesToTheSubscriptionsOwnQueueAsItWasPushed(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503))
	topic := s.topic("own")
	arn := s.subscribe(topic, r, r.at("/o"), "DeliveryPolicy", immediate(1), "RedrivePolicy", redriveTo("own-dlq"))
	id := s.publish(topic, "hello")
	pushed := take(t, r.got, 2)[1]
	s.events.wait(t, 1, kind(pipeline.EventDead))
	l := s.letter("own-dlq")
	if l.Body != string(pushed.body) {
		t.Errorf("the letter is %s, pushed was %s", l.Body, pushed.body)
	}
	verify(t, read(t, []byte(l.Body)))
	note := l.Note
	if note == nil || note.Subscription != arn || note.MessageID != id || note.Attempts != 2 || note.Status != 503 || note.Topic != topic || note.Reason == "" {
		t.Errorf("the note is %+v", note)
	}
	if d := s.show(id); !strings.HasSuffix(d.Target, ":own-dlq") || d.State != push.Dead {
		t.Errorf("shown as %+v", d)
	}
	queues := must[[]operator.QueueInfo](t)(s.operator.ListQueues(t.Context()))
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
	}
	if d := cmp.Diff([]string{"DeadLetterQueue", "FailedJobsQueue", "own-dlq"}, names); d != "" {
		t.Error(d)
	}
}

func TestARawDeadLetterIsTheMessageWithItsAttributes(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(404))
	topic := s.topic("raw")
	s.subscribe(topic, r, r.at("/r"), "RawMessageDelivery", "true", "RedrivePolicy", redriveTo("raw-dlq"))
	must[*sns.PublishOutput](t)(s.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("hello"), Subject: aws.String("s"),
		MessageAttributes: map[string]types.MessageAttributeValue{"colour": {DataType: aws.String("String"), StringValue: aws.String("red")}}}))
	s.events.wait(t, 1, kind(pipeline.EventDead))
	l := s.letter("raw-dlq")
	if l.Body != "hello" || len(l.Attributes) != 2 || l.Attributes[0] != (operator.Attribute{Name: "colour", Type: "String", Value: "red"}) {
		t.Errorf("the letter is %+v", l)
	}
}

func TestPromise1WithoutARedrivePolicyADeadDeliveryIsNotLost(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(410))
	topic := s.topic("none")
	s.subscribe(topic, r, r.at("/n"))
	s.publish(topic, "hello")
	pushed := next(t, r.got)
	s.events.wait(t, 1, kind(pipeline.EventDead))
	if l := s.letter("DeadLetterQueue"); l.Body != string(pushed.body) {
		t.Errorf("the letter is %s, pushed was %s", l.Body, pushed.body)
	}
}

func TestADeadLetterIsSentAgainOnceUnderItsMessageID(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503))
	topic := s.topic("again")
	arn := s.subscribe(topic, r, r.at("/a"), "DeliveryPolicy", immediate(1), "RedrivePolicy", redriveTo("dlq"))
	id := s.publish(topic, "hello")
	first := take(t, r.got, 2)[0]
	dead := kind(pipeline.EventDead)
	s.events.wait(t, 1, dead)

	// It dies again, all attempts of a new generation made.
	if done := s.redrive("dlq", operator.RedriveRequest{IDs: []string{s.letter("dlq").ID}}); done.Redriven != 1 || len(done.Kept) != 0 {
		t.Fatalf("redrive answers %+v", done)
	}
	for _, a := range take(t, r.got, 2) {
		if a.id() != id || string(a.body) != string(first.body) {
			t.Errorf("sent again was %s, at first %s", a.body, first.body)
		}
	}
	s.events.wait(t, 2, dead)
	l := s.letter("dlq")
	if l.Note.Redrives != 1 {
		t.Errorf("the note is %+v", l.Note)
	}

	// Not a second time, unless forced.
	r.answer(statuses(200))
	refused := s.redrive("dlq", operator.RedriveRequest{All: true})
	if refused.Redriven != 0 || len(refused.Kept) != 1 || !strings.Contains(refused.Kept[0].Reason, "sent again") {
		t.Errorf("redrive answers %+v", refused)
	}
	r.nothing(t)
	if forced := s.redrive("dlq", operator.RedriveRequest{All: true, Force: true}); forced.Redriven != 1 {
		t.Errorf("forced, redrive answers %+v", forced)
	}
	if a := next(t, r.got); a.id() != id || a.header.Get("x-amz-sns-subscription-arn") != arn {
		t.Errorf("sent again was %s", a.body)
	}
	s.events.wait(t, 1, kind(pipeline.EventDelivered))
	if page := must[operator.DeadLetterPage](t)(s.operator.ListDeadLetters(t.Context(), "dlq", "", 10)); len(page.DeadLetters) != 0 {
		t.Errorf("left are %+v", page)
	}
}

func TestADeadLetterOfARemovedSubscriptionStays(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(410))
	topic := s.topic("removed")
	arn := s.subscribe(topic, r, r.at("/r"), "RedrivePolicy", redriveTo("dlq"))
	s.publish(topic, "hello")
	s.events.wait(t, 1, kind(pipeline.EventDead))
	must[*sns.UnsubscribeOutput](t)(s.Unsubscribe(t.Context(), &sns.UnsubscribeInput{SubscriptionArn: &arn}))
	done := s.redrive("dlq", operator.RedriveRequest{All: true})
	if done.Redriven != 0 || len(done.Kept) != 1 || done.Kept[0].Reason != "its subscription no longer exists" {
		t.Errorf("redrive answers %+v", done)
	}
	s.letter("dlq")
}
