package schedulertimer

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/aws/awstest"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// These tests talk to mocks; the integration tests run the same timer against an
// emulator.

const (
	retryQueue = "arn:aws:sqs:us-east-1:000000000000:RetryQueue"
	failedJobs = "arn:aws:sqs:us-east-1:000000000000:FailedJobsQueue"
	role       = "arn:aws:iam::000000000000:role/scheduler"
)

// epoch is a bubble's time at its start, which is a whole minute.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fakeQueues remember what was sent.
type fakeQueues struct {
	sent []pipeline.Outgoing
	err  error
}

func (f *fakeQueues) Send(_ context.Context, queue string, entries []pipeline.Outgoing) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		if errs[i] = f.err; f.err == nil && queue == retryQueue {
			f.sent = append(f.sent, e)
		}
	}
	return errs
}

type fakePayloads struct {
	kept    map[string]string
	expires time.Time
	err     error
}

func (f *fakePayloads) PutPayload(_ context.Context, name, body string, expires time.Time) error {
	if f.err != nil {
		return f.err
	}
	if f.kept == nil {
		f.kept = map[string]string{}
	}
	f.kept[name], f.expires = body, expires
	return nil
}

func (f *fakePayloads) Payload(_ context.Context, name string) (string, bool, error) {
	body, ok := f.kept[name]
	return body, ok, f.err
}

// schedule is what the tests read of a CreateSchedule request.
type schedule struct {
	GroupName, ScheduleExpression, ScheduleExpressionTimezone, ActionAfterCompletion string
	FlexibleTimeWindow                                                               struct{ Mode string }
	Target                                                                           struct {
		Arn, RoleArn, Input string
		DeadLetterConfig    struct{ Arn string }
		RetryPolicy         struct{ MaximumEventAgeInSeconds, MaximumRetryAttempts int }
	}
}

var (
	_ API            = (*scheduler.Client)(nil)
	_ pipeline.Timer = (*Timer)(nil)
)

type world struct {
	timer     *Timer
	queues    *fakeQueues
	payloads  *fakePayloads
	schedules []schedule
	// answer is what CreateSchedule answers, nothing for success.
	status int
	body   string
	err    error
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{queues: &fakeQueues{}, payloads: &fakePayloads{}, status: http.StatusOK, body: `{"ScheduleArn":"a"}`}
	stub := awstest.Stub(func(_ string, body []byte) (int, string, error) {
		var s schedule
		if err := json.Unmarshal(body, &s); err != nil {
			t.Error(err)
		}
		w.schedules = append(w.schedules, s)
		return w.status, w.body, w.err
	})
	var err error
	w.timer, err = New(Config{Client: scheduler.NewFromConfig(stub.Config(t)), Queues: w.queues, Payloads: w.payloads,
		Group: "postino", Role: role, DeadLetter: failedJobs})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAScheduleIsCompleteAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := epoch.Add(3*time.Hour + 17*time.Second)
		if err := w.timer.At(t.Context(), "n", at, retryQueue, pipeline.Outgoing{Body: "job", Group: "g", Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		var want schedule
		want.GroupName, want.ScheduleExpressionTimezone, want.ActionAfterCompletion, want.FlexibleTimeWindow.Mode = "postino", "UTC", "DELETE", "OFF"
		want.ScheduleExpression = "at(2000-01-01T02:59:00)"
		want.Target.Arn, want.Target.RoleArn, want.Target.Input, want.Target.DeadLetterConfig.Arn = retryQueue, role, "job", failedJobs
		want.Target.RetryPolicy.MaximumEventAgeInSeconds, want.Target.RetryPolicy.MaximumRetryAttempts = 86400, 185
		if diff := cmp.Diff([]schedule{want}, w.schedules); diff != "" || len(w.queues.sent) > 0 {
			t.Error(diff, w.queues.sent)
		}
	})
}

// TestASchedulesMinuteEndsByItsTimeAndIsNeverPast: at() fires up to 59 s into its
// minute, and AWS refuses a time that has passed.
func TestASchedulesMinuteEndsByItsTimeAndIsNeverPast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		now := epoch.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(rt, "now")))
		wait := time.Duration(rapid.Int64Range(int64(-time.Hour), int64(30*24*time.Hour)).Draw(rt, "wait"))
		w.timer.Now = func() time.Time { return now }
		if err := w.timer.At(context.Background(), "n", now.Add(wait), retryQueue, pipeline.Outgoing{Body: "job"}); err != nil {
			rt.Fatal(err)
		}
		if wait <= pipeline.MaxDelay {
			if len(w.schedules) != 0 || len(w.queues.sent) != 1 || w.queues.sent[0].Delay != max(wait, 0) {
				rt.Fatalf("a wait of %v: %d schedules, sent %+v", wait, len(w.schedules), w.queues.sent)
			}
			return
		}
		if len(w.schedules) != 1 || len(w.queues.sent) != 0 {
			rt.Fatalf("a wait of %v: %d schedules, sent %+v", wait, len(w.schedules), w.queues.sent)
		}
		fire, err := time.Parse("at(2006-01-02T15:04:05)", w.schedules[0].ScheduleExpression)
		if err != nil {
			rt.Fatal(err)
		}
		early := now.Add(wait).Sub(fire)
		if early < time.Minute || early >= 2*time.Minute || fire.Before(now) || fire.Second() != 0 {
			rt.Fatalf("a wait of %v fires in the minute of %v, %v before its time", wait, fire, early)
		}
	})
}

func TestTheSameWaitTwiceIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.status, w.body = http.StatusConflict, awstest.Refusal("ConflictException", "exists")
		if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, pipeline.Outgoing{Body: "job"}); err != nil || len(w.queues.sent) > 0 {
			t.Error(err, w.queues.sent)
		}
	})
}

func TestWhatSchedulerCannotTakeNowHopsThroughTheQueue(t *testing.T) {
	for name, answer := range map[string]func(*world){
		"throttled":     func(w *world) { w.status, w.body = 429, awstest.Refusal("ThrottlingException", "") },
		"quota is full": func(w *world) { w.status, w.body = 402, awstest.Refusal("ServiceQuotaExceededException", "") },
		"its own fault": func(w *world) { w.status, w.body = 500, awstest.Refusal("InternalServerException", "") },
		"nobody there":  func(w *world) { w.err = &net.OpError{Op: "dial", Err: errors.New("refused")} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				answer(w)
				e := pipeline.Outgoing{Body: "job", Group: "g"}
				if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, e); err != nil {
					t.Fatal(err)
				}
				e.Delay = 900 * time.Second
				if diff := cmp.Diff([]pipeline.Outgoing{e}, w.queues.sent); diff != "" {
					t.Error(diff)
				}
				w.queues.err = errors.New("down too")
				if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, e); err == nil {
					t.Error("nobody has the job and no error")
				}
			})
		})
	}
}

func TestADeniedOrWrongSetupIsAnErrorThatSaysWhat(t *testing.T) {
	for code, says := range map[string]string{
		"AccessDeniedException":     "scheduler:CreateSchedule",
		"ResourceNotFoundException": GroupVariable,
		"ValidationException":       RoleVariable,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.status, w.body = 400, awstest.Refusal(code, "no")
			err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, pipeline.Outgoing{Body: "job"})
			if err == nil || !strings.Contains(err.Error(), says) || len(w.queues.sent) > 0 {
				t.Errorf("%s: %v", code, err)
			}
		})
	}
}

func TestLargeJobsGoByReferenceAndComeBackWhole(t *testing.T) {
	large := pipeline.Outgoing{Body: strings.Repeat("x", maxInput+1), Group: "g"}
	attributed := pipeline.Outgoing{Body: "b", Group: "g", Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "v"}}}
	keyword := pipeline.Outgoing{Body: "<aws.scheduler.attempt-number>", Group: "g"}
	for _, e := range []pipeline.Outgoing{large, attributed, keyword} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			at := epoch.Add(time.Hour)
			if err := w.timer.At(t.Context(), "name", at, retryQueue, e); err != nil {
				t.Fatal(err)
			}
			if want := at.Add(14 * 24 * time.Hour); !w.payloads.expires.Equal(want) {
				t.Errorf("the payload is kept until %v, want %v", w.payloads.expires, want)
			}
			next := &handler{}
			o := Opener{Payloads: w.payloads, Trusted: []string{"RetryQueue"}, Next: next}
			in := pipeline.Record{ID: "1", Queue: retryQueue, Body: w.schedules[0].Target.Input}
			if len(in.Body) > 200 {
				t.Errorf("the schedule carries %d bytes", len(in.Body))
			}
			if failed := o.Handle(t.Context(), []pipeline.Record{in}); len(failed) > 0 {
				t.Error(failed)
			}
			want := pipeline.Record{ID: "1", Queue: retryQueue, Body: e.Body, Group: e.Group, Attributes: e.Attributes}
			if diff := cmp.Diff([]pipeline.Record{want}, next.records); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAJobThatNoItemHoldsHops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.payloads.err = &pipeline.RefusedError{Reason: "too large"}
		e := pipeline.Outgoing{Body: strings.Repeat("x", maxInput+1)}
		if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, e); err != nil || len(w.queues.sent) != 1 || len(w.schedules) != 0 {
			t.Error(err, len(w.queues.sent))
		}
		w.payloads.err = errors.New("down")
		if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, e); err == nil {
			t.Error("a payload that was not stored is no error")
		}
	})
}

func TestWhatAQueueWouldRefuseIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct{ queue, body string }{
		"a control character": {retryQueue, "\x01"},
		"no body":             {retryQueue, ""},
		"another region":      {"arn:aws:sqs:eu-west-1:000000000000:q", "b"},
		"no queue":            {"arn:aws:sns:us-east-1:000000000000:q", "b"},
	} {
		err := w.timer.At(t.Context(), "n", time.Now().Add(time.Hour), c.queue, pipeline.Outgoing{Body: c.body})
		if _, refused := pipeline.Refused(err); !refused || len(w.schedules) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryNameFits(t *testing.T) {
	legal := regexp.MustCompile(`^[0-9a-zA-Z-_.]{1,64}$`)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9a-zA-Z._-]{1,80}`)).Draw(rt, "name")
		got := fit(name)
		if !legal.MatchString(got) || legal.MatchString(name) && got != name || fit(name) != got {
			rt.Fatalf("%q became %q", name, got)
		}
	})
}

func TestNewNamesTheVariableThatIsWrong(t *testing.T) {
	good := newWorld(t).timer.Config
	for says, spoil := range map[string]func(*Config){
		GroupVariable: func(c *Config) { c.Group = "" },
		RoleVariable:  func(c *Config) { c.Role = "scheduler" },
		DeadVariable:  func(c *Config) { c.DeadLetter = "FailedJobsQueue" },
		"queues":      func(c *Config) { c.Queues = nil },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %s", err, says)
		}
	}
}

type handler struct {
	records []pipeline.Record
	failed  []string
}

func (h *handler) Handle(_ context.Context, records []pipeline.Record) []string {
	h.records = append(h.records, records...)
	return h.failed
}

type observed []pipeline.Event

func (o *observed) Observe(e pipeline.Event) { *o = append(*o, e) }

// TestOnlyOurOwnQueuesAreTrustedWithReferences: the body of a dead letter is a
// publisher's, who must not read others' jobs through it.
func TestOnlyOurOwnQueuesAreTrustedWithReferences(t *testing.T) {
	payloads := &fakePayloads{kept: map[string]string{"n": `{"v":1,"body":"secret"}`}}
	ref := `{"postino":"payload","v":1,"name":"n"}`
	dead := "arn:aws:sqs:us-east-1:000000000000:DeadLetterQueue"
	records := []pipeline.Record{
		{ID: "trusted", Queue: failedJobs, Body: ref},
		{ID: "dead letter", Queue: dead, Body: ref},
		{ID: "gone", Queue: failedJobs, Body: `{"postino":"payload","v":1,"name":"gone"}`},
		{ID: "a job", Queue: failedJobs, Body: `{"v":1}`},
	}
	next := &handler{failed: []string{"a job"}}
	o := Opener{Payloads: payloads, Trusted: []string{retryQueue, failedJobs}, Next: next}
	failed := o.Handle(t.Context(), records)
	records[0].Body = "secret"
	if diff := cmp.Diff(records, next.records); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a job"}, failed); diff != "" {
		t.Error(diff)
	}
}

func TestAPayloadThatCannotBeReadNowComesBackAndSaysSo(t *testing.T) {
	payloads := &fakePayloads{kept: map[string]string{"new": `{"v":2,"body":"b"}`}}
	var events observed
	next := &handler{}
	o := Opener{Payloads: payloads, Trusted: []string{failedJobs}, Next: next, Observer: &events, Now: time.Now}
	records := []pipeline.Record{{ID: "1", Queue: failedJobs, Body: `{"postino":"payload","v":1,"name":"new"}`}}
	if failed := o.Handle(t.Context(), records); len(failed) != 1 || len(events) != 1 || events[0].Err == nil {
		t.Error("a payload of a later build:", failed, events)
	}
	payloads.err = errors.New("down")
	if failed := o.Handle(t.Context(), records); len(failed) != 1 || len(events) != 2 || len(next.records) != 0 {
		t.Error("a store that is down:", failed, events, next.records)
	}
}

func FuzzReferences(f *testing.F) {
	f.Add(`{"postino":"payload","v":1,"name":"n"}`)
	f.Add(`{"postino":"payload","v":9,"name":""}`)
	f.Fuzz(func(t *testing.T, body string) {
		if name, ok := referred(body); ok && (name == "" || len(body) > 200) {
			t.Errorf("%q refers to %q", body, name)
		}
	})
}
