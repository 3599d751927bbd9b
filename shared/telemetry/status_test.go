package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestStatusRecordsAreOfEveryFailureAndOfNoSuccessUnlessAskedFor(t *testing.T) {
	var b bytes.Buffer
	o := StatusLog(&b, 0)
	for _, k := range kinds {
		o.Observe(event(k))
	}
	var states []push.State
	for line := range strings.Lines(b.String()) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != "FAILURE" || r.Notification.MessageID != message {
			t.Errorf("%+v", r)
		}
		states = append(states, r.Postino.State)
	}
	if fmt.Sprint(states) != "[dead dropped]" {
		t.Errorf("records of %v", states)
	}
}

func TestTheTopicsShareOfSuccessesGoesBeforeTheInstallations(t *testing.T) {
	for _, c := range []struct {
		installation int
		topic        string
		want         int
	}{{0, "", 0}, {100, "", 1}, {0, "100", 1}, {100, "0", 0}} {
		var b bytes.Buffer
		StatusLog(&b, c.installation).Observe(event(pipeline.EventDelivered, func(e *pipeline.Event) { e.SampleRate = c.topic }))
		if got := strings.Count(b.String(), `"status":"SUCCESS"`); got != c.want {
			t.Errorf("%d %% and for the topic %q: %d records, want %d", c.installation, c.topic, got, c.want)
		}
	}
}

func TestALargerSampleHoldsAllOfASmallerOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := push.DeliveryKey{Subscription: rapid.String().Draw(t, "sub"), MessageID: rapid.String().Draw(t, "message"), Generation: rapid.String().Draw(t, "generation")}
		share := rapid.IntRange(0, 99).Draw(t, "share")
		if Sampled(k, share) && !Sampled(k, share+1) || Sampled(k, 0) || !Sampled(k, 100) {
			t.Fatalf("%+v at %d", k, share)
		}
	})
}

const firstSampled = 14

// These keys and no others are in the sample: what is recorded must not change
// with a new build.
func TestASampleIsWhatItSays(t *testing.T) {
	const all = 10_000
	in, first := 0, -1
	for n := range all {
		if Sampled(push.DeliveryKey{Subscription: subARN, MessageID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}, 5) {
			if in++; first < 0 {
				first = n
			}
		}
	}
	if in < all*4/100 || in > all*6/100 {
		t.Errorf("%d of %d are in a sample of 5 %%", in, all)
	}
	if first != firstSampled {
		t.Errorf("the first in the sample is %d, want %d", first, firstSampled)
	}
}

func TestAFunctionsLogIsAJSONObjectALineThatLambdasFilterCanRead(t *testing.T) {
	var b bytes.Buffer
	o := Log(slog.New(LambdaHandler(&b, slog.LevelDebug)))
	for _, k := range kinds {
		o.Observe(event(k))
	}
	n := 0
	for line := range strings.Lines(b.String()) {
		var l struct {
			Timestamp, Level, Msg string
			Duration              float64
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if _, err := time.Parse(time.RFC3339, l.Timestamp); err != nil {
			t.Error(err)
		}
		if l.Msg != string(kinds[n]) || l.Level == "" || strings.Contains(line, `"time":`) {
			t.Error(line)
		}
		if l.Msg == "retry" && l.Duration != 10 {
			t.Errorf("10 ms are %v", l.Duration)
		}
		n++
	}
	if n != len(kinds) {
		t.Errorf("%d lines", n)
	}
}

// broken is a log that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALogThatCannotBeWrittenHoldsNothingUp(t *testing.T) {
	StatusLog(broken{}, 100).Observe(event(pipeline.EventDead))
	m := newEMF(broken{})
	m.Observe(event(pipeline.EventDead))
	if got, err := m.Flush(noon); err == nil || got.Dead != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkStatusLog(b *testing.B) {
	o := StatusLog(&bytes.Buffer{}, 0)
	e := event(pipeline.EventDelivered)
	b.ReportAllocs()
	for b.Loop() {
		o.Observe(e)
	}
}
