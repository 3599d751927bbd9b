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
	awsstack "postino/shared/aws/stack"
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

// No event makes a deployed function panic, so the panic is put into handlers of
// this process, over the deployed stack's table and queues.
func TestInProcessAPanicInOneJobOfTenBringsThatOneBack(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	s.eventSource("Deliver", "AttemptQueueUrl", false)
	topic := s.topic()
	good, bad := s.seed(topic, e.url), s.seed(topic, e.url+"/bad")
	store := &panicking{s.store(), bad}
	handler := s.inProcess(store)

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

// inProcess is the functions in this process, over store and the stack's queues:
// wired by the package that wires the deployed ones (installation), with their
// settings and adapters, but a signing key of its own and no log.
func (s *stack) inProcess(store installation.Store) installation.Functions {
	s.t.Helper()
	environment := s.environment("Deliver")
	c, err := config.Load(func(name string) string { return environment[name] })
	if err != nil {
		s.t.Fatal(err)
	}
	clients, err := settings()
	if err != nil {
		s.t.Fatal(err)
	}
	adapters, err := awsstack.Open(clients, c)
	if err != nil {
		s.t.Fatal(err)
	}
	timer, err := schedulertimer.New(schedulertimer.Config{Client: s.scheduler, Queues: adapters.Queue, Payloads: adapters.Store,
		Group: c.ScheduleGroup, Role: c.ScheduleRole, DeadLetter: c.Queues.Failed, Near: c.MaxQueueDelay})
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
	return installation.New(c, installation.Adapters{Store: store, Queues: adapters.Queue, Timer: timer, Signer: signer, Links: links, Log: slog.New(slog.DiscardHandler)})
}
