package lambdaio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
)

func batchOf(ids ...string) (e events.SQSEvent) {
	for _, id := range ids {
		e.Records = append(e.Records, events.SQSMessage{MessageId: id})
	}
	return e
}

func TestABatchAnswersWithExactlyWhatMustComeBack(t *testing.T) {
	cases := []struct {
		name    string
		process func() []string
		want    []string
	}{
		{"all done", func() []string { return nil }, []string{}},
		{"one comes back", func() []string { return []string{"b"} }, []string{"b"}},
		{"the same one named twice", func() []string { return []string{"b", "c", "b"} }, []string{"b", "c"}},
		{"a stranger brings all back", func() []string { return []string{"b", "x"} }, []string{"a", "b", "c"}},
		{"an empty id brings all back", func() []string { return []string{""} }, []string{"a", "b", "c"}},
		{"a panic brings all back", func() []string { panic("out of luck") }, []string{"a", "b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := BatchHandler{Process: func(context.Context, []pipeline.Record) []string { return c.process() }}
			answer, err := h.Handle(context.Background(), batchOf("a", "b", "c"))
			got := []string{}
			for _, f := range answer.BatchItemFailures {
				got = append(got, f.ItemIdentifier)
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Error(d, err)
			}
		})
	}
}

func TestTheListOfFailuresIsNeverNull(t *testing.T) {
	h := BatchHandler{Process: func(context.Context, []pipeline.Record) []string { return nil }}
	for _, e := range []events.SQSEvent{{}, batchOf("a")} {
		answer, err := h.Handle(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(answer); string(got) != `{"batchItemFailures":[]}` {
			t.Errorf("got %s", got)
		}
	}
}

func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	var log bytes.Buffer
	h := BatchHandler{Log: slog.New(slog.NewTextHandler(&log, nil)), Process: func(context.Context, []pipeline.Record) []string { panic("out of luck") }}
	if _, err := h.Handle(context.Background(), batchOf("a")); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); !strings.Contains(s, "out of luck") || !strings.Contains(s, "batch_test.go") {
		t.Errorf("the log says %q", s)
	}
}

func TestARecordWithoutAnIDFailsTheInvocation(t *testing.T) {
	h := BatchHandler{Process: func(context.Context, []pipeline.Record) []string { t.Error("it was processed"); return nil }}
	if _, err := h.Handle(context.Background(), batchOf("a", "")); err == nil {
		t.Error("no error")
	}
}

func BenchmarkBatchOfTen(b *testing.B) {
	var e events.SQSEvent
	for i := range 10 {
		r := pipeline.Record{ID: fmt.Sprint("id-", i), Body: strings.Repeat("x", 900), Group: "g", ReceiveCount: 1, Queue: "arn:aws:sqs:us-east-1:000000000000:AttemptQueue"}
		e.Records = append(e.Records, ToSQSMessage(r, "r", epoch))
	}
	h := BatchHandler{Process: func(context.Context, []pipeline.Record) []string { return nil }}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Handle(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
}
