//go:build integration

package schedulertimer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/aws/sqsqueue"
	"postino/shared/conformance"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// late is how long after its time a message may come: the emulator looks every
// half second when started by infra/local/ministack.sh.
const late = 3 * time.Second

// region is not that of the queues' own tests, which may run at the same time on
// a queue of the same name.
const region = "eu-west-1"

type setup struct {
	timer *Timer
	queue *sqsqueue.Queue
	store *dynamostore.Store
	aws   aws.Config
	name  string
}

func open(t *testing.T, queue string) setup {
	t.Helper()
	c := awstest.Config(t, config.WithRegion(region))
	client := scheduler.NewFromConfig(c)
	group := awstest.Name("postino")
	if _, err := client.CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &group}); err != nil {
		t.Fatal(err)
	}
	awstest.Queue(t, sqs.NewFromConfig(c), queue)
	q, err := sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(c), Region: region})
	if err != nil {
		t.Fatal(err)
	}
	db := dynamodb.NewFromConfig(c)
	store, err := dynamostore.New(dynamostore.Config{Client: db, Table: awstest.Table(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	timer, err := New(Config{Client: client, Queues: q, Payloads: store, Group: group, Role: role,
		DeadLetter: "arn:aws:sqs:" + region + ":000000000000:postino-failed"})
	if err != nil {
		t.Fatal(err)
	}
	return setup{timer, q, store, c, queue}
}

// TestTheTimerKeepsTheTimersPromises runs those promises that need no quarter of
// an hour; the rest are checked below with the timer's own limits shortened.
func TestTheTimerKeepsTheTimersPromises(t *testing.T) {
	conformance.ExerciseTimer(t, conformance.Harness[conformance.Timed]{
		Open: func(t *testing.T) conformance.Timed {
			s := open(t, "postino-conformance")
			return conformance.Timed{Timer: s.timer, Queue: s.queue}
		},
		Late: late, Longest: time.Minute,
	})
}

// shortened schedules whatever lies a second ahead, to the second.
func shortened(t *testing.T) setup {
	s := open(t, awstest.Name("postino-timer"))
	s.timer.Near, s.timer.minute = 0, time.Second
	return s
}

func (s setup) receive(t *testing.T, wait time.Duration) []pipeline.Incoming {
	t.Helper()
	in, err := s.queue.Receive(t.Context(), s.name, 10, time.Hour, wait)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestAScheduleSendsByItsTimeOnceAndDeletesItself(t *testing.T) {
	s := shortened(t)
	at := time.Now().Add(5 * time.Second)
	for body := range 3 { // the first call counts
		if err := s.timer.At(t.Context(), "one", at, s.name, pipeline.Outgoing{Body: fmt.Sprint(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if in := s.receive(t, 0); len(in) > 0 {
		t.Fatalf("came at once: %+v", in)
	}
	in := s.receive(t, 10*time.Second)
	if off := time.Since(at); len(in) != 1 || in[0].Body != "0" || off < -2*time.Second || off > late {
		t.Fatalf("%v from its time: %+v", off, in)
	}
	if more := s.receive(t, 3*time.Second); len(more) > 0 {
		t.Errorf("came again: %+v", more)
	}
	_, err := scheduler.NewFromConfig(s.aws).GetSchedule(t.Context(), &scheduler.GetScheduleInput{GroupName: &s.timer.Group, Name: aws.String("one")})
	var gone *types.ResourceNotFoundException
	if !errors.As(err, &gone) {
		t.Errorf("the schedule after it fired: %v", err)
	}
	// Its name is free again.
	if err := s.timer.At(t.Context(), "one", time.Now().Add(3*time.Second), s.name, pipeline.Outgoing{Body: "again"}); err != nil {
		t.Fatal(err)
	}
	if in := s.receive(t, 10*time.Second); len(in) != 1 || in[0].Body != "again" {
		t.Errorf("%+v", in)
	}
}

func TestALargeJobArrivesAsAReferenceAndOpensToItself(t *testing.T) {
	s := shortened(t)
	e := pipeline.Outgoing{Body: strings.Repeat("0123456789abcdef", 350<<10/16), Group: "g", Attributes: []push.Attribute{{Name: "a", Type: "Binary", Value: "AAEC"}}}
	if err := s.timer.At(t.Context(), "large", time.Now().Add(4*time.Second), s.name, e); err != nil {
		t.Fatal(err)
	}
	in := s.receive(t, 10*time.Second)
	if len(in) != 1 || len(in[0].Body) > 200 {
		t.Fatalf("received %d messages", len(in))
	}
	next := &handler{}
	o := Opener{Payloads: s.store, Trusted: []string{s.name}, Next: next}
	r := pipeline.Record{ID: in[0].ID, Body: in[0].Body, Queue: s.name}
	if failed := o.Handle(t.Context(), []pipeline.Record{r}); len(failed) > 0 {
		t.Fatal(failed)
	}
	r.Body, r.Group, r.Attributes = e.Body, e.Group, e.Attributes
	if diff := cmp.Diff([]pipeline.Record{r}, next.records); diff != "" {
		t.Error(diff)
	}
}

func TestAMissingScheduleGroupIsNamed(t *testing.T) {
	s := open(t, awstest.Name("postino-timer"))
	s.timer.Group = "postino-no-such-group"
	err := s.timer.At(t.Context(), "n", time.Now().Add(time.Hour), s.name, pipeline.Outgoing{Body: "b"})
	if err == nil || !strings.Contains(err.Error(), GroupVariable) {
		t.Error(err)
	}
}
