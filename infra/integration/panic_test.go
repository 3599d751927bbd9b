//go:build integration

package integration

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"postino/shared/aws/schedulertimer"
	"postino/shared/aws/sqsqueue"
	"postino/shared/config"
	"postino/shared/envelope"
	"postino/shared/installation"
	"postino/shared/push"
	"postino/shared/signing"
)

// panicking is a store whose reads of one subscription panic.
type panicking struct {
	installation.Store
	at string
}

func (p *panicking) Subscription(ctx context.Context, arn string, strong bool) (push.Subscription, error) {
	if arn == p.at {
		panic("a fault in the code")
	}
	return p.Store.Subscription(ctx, arn, strong)
}

// No event makes a deployed function panic, so the panic is put into the handler
// here, over the deployed stack's table and queues.
func TestInProcessAPanicInOneJobOfTenBringsThatOneBack(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	s.eventSource("Deliver", "AttemptQueueUrl", false)
	topic := s.topic()
	good, bad := s.seed(topic, e.url), s.seed(topic, e.url+"/bad")
	store := &panicking{s.store(), bad}
	handler := s.handler(store)

	var event events.SQSEvent
	for n, m := range ten() {
		j := job(good, m)
		if n == 7 {
			j = job(bad, m)
		}
		event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint("m", n), Body: j.Encode(), EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:any"})
	}
	out, err := handler.Deliver.Handle(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]events.SQSBatchItemFailure{{ItemIdentifier: "m7"}}, out.BatchItemFailures); d != "" {
		t.Error(d)
	}
	if got := e.messages(9); got[ten()[7]] != 0 {
		t.Errorf("pushed were %v", got)
	}
	store.at = ""
	again := events.SQSEvent{Records: event.Records[7:8]}
	if out, err := handler.Deliver.Handle(t.Context(), again); err != nil || len(out.BatchItemFailures) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if p := e.next(); p.Message != ten()[7] {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(time.Second)
}

// handler is the functions as they are deployed, in this process.
func (s *stack) handler(store installation.Store) installation.Functions {
	s.t.Helper()
	environment := s.environment("Deliver")
	c, err := config.Load(func(name string) string { return environment[name] })
	if err != nil {
		s.t.Fatal(err)
	}
	queue, err := sqsqueue.New(sqsqueue.Config{Client: s.sqs, Region: c.Region})
	if err != nil {
		s.t.Fatal(err)
	}
	timer, err := schedulertimer.New(schedulertimer.Config{Client: s.scheduler, Queues: queue, Payloads: s.store(),
		Group: c.ScheduleGroup, Role: c.ScheduleRole, DeadLetter: c.Queues.Failed})
	if err != nil {
		s.t.Fatal(err)
	}
	links := envelope.Links{PublicURL: c.PublicURL}
	pem, err := signing.NewPEM(time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := signing.FromPEM(pem, links)
	if err != nil {
		s.t.Fatal(err)
	}
	return installation.New(c, installation.Adapters{Store: store, Queues: queue, Timer: timer, Signer: signer, Links: links, Log: slog.New(slog.DiscardHandler)})
}
