package snsapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestPublishHandsEverythingToThePipeline(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	pairs := []string{"Action", "Publish", "Message", "héllo & <x>\n", "Subject", "s", "MessageGroupId", "g",
		"MessageAttributes.entry.2.Name", "n", "MessageAttributes.entry.2.Value.DataType", "Number.price", "MessageAttributes.entry.2.Value.StringValue", "1.5",
		"MessageAttributes.entry.1.Name", "b", "MessageAttributes.entry.1.Value.DataType", "Binary", "MessageAttributes.entry.1.Value.BinaryValue", "AAE=",
		"MessageAttributes.entry.10.Name", "l", "MessageAttributes.entry.10.Value.DataType", "String.Array", "MessageAttributes.entry.10.Value.StringValue", `["a"]`}
	r := b.Serve(context.Background(), Request{Method: "POST", Path: "/", Body: []byte(form(append(pairs, "TopicArn", topic)...)),
		Header: http.Header{"Amz-Sdk-Invocation-Id": {"call-1"}}})
	if got := between(b.served(r), "MessageId"); got != "00000000-0000-4000-8000-000000000000" {
		t.Errorf("message id %q", got)
	}
	subject := "s"
	want := pipeline.PublishRequest{TopicARN: topic, Invocation: "call-1", Entries: []push.Publication{{
		Message: "héllo & <x>\n", Subject: &subject, GroupID: "g",
		Attributes: []push.Attribute{{Name: "b", Type: "Binary", Value: "AAE="}, {Name: "n", Type: "Number.price", Value: "1.5"}, {Name: "l", Type: "String.Array", Value: `["a"]`}},
	}}}
	if d := cmp.Diff(want, b.publisher.published[0]); d != "" {
		t.Error(d)
	}
	b.ok(append(pairs, "TargetArn", topic)...)
	if got := b.publisher.published[1]; got.TopicARN != topic || got.Invocation != "" {
		t.Errorf("by TargetArn: %+v", got)
	}
}

func TestAnInvocationIDOfNoReasonableLengthIsLeftOut(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	b.Serve(context.Background(), Request{Method: "POST", Path: "/", Body: []byte(form("Action", "Publish", "TopicArn", topic, "Message", "m")),
		Header: http.Header{"Amz-Sdk-Invocation-Id": {strings.Repeat("x", 129)}}})
	if got := b.publisher.published[0].Invocation; got != "" {
		t.Errorf("invocation %q", got)
	}
}

func TestTheTraceContextOfARequestGoesToEachOfItsMessagesAndIsCheckedFirst(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, c := range map[string]struct {
		header http.Header
		want   push.Trace
	}{
		"both headers":  {http.Header{"Traceparent": {parent}, "Tracestate": {"rojo=1"}}, push.Trace{Parent: parent, State: "rojo=1"}},
		"a wrong state": {http.Header{"Traceparent": {parent}, "Tracestate": {"rojo"}}, push.Trace{Parent: parent}},
		"a wrong trace": {http.Header{"Traceparent": {"00-0-0-0"}, "Tracestate": {"rojo=1"}}, push.Trace{}},
		"none":          {nil, push.Trace{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			topic := b.newTopic("t")
			for _, body := range []string{
				form("Action", "Publish", "TopicArn", topic, "Message", "m"),
				form("Action", "PublishBatch", "TopicArn", topic, "PublishBatchRequestEntries.member.1.Id", "a", "PublishBatchRequestEntries.member.1.Message", "m",
					"PublishBatchRequestEntries.member.2.Id", "b", "PublishBatchRequestEntries.member.2.Message", "m"),
			} {
				b.served(b.Serve(context.Background(), Request{Method: "POST", Path: "/", Body: []byte(body), Header: c.header}))
			}
			for _, call := range b.publisher.published {
				for _, p := range call.Entries {
					if p.Trace != c.want {
						t.Errorf("the trace is %+v, want %+v", p.Trace, c.want)
					}
				}
			}
			if len(b.publisher.published) != 2 {
				t.Errorf("%d calls", len(b.publisher.published))
			}
		})
	}
}

func TestABatchAnswersForEveryEntry(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	b.publisher.failEntry = map[string]error{"broken": errBroken}
	pairs := []string{"Action", "PublishBatch", "TopicArn", topic}
	for i, e := range [][2]string{{"good", "m"}, {"empty", ""}, {"broken", "m"}, {"fine", "m2"}} {
		member := "PublishBatchRequestEntries.member." + string("2479"[i]) // gaps are no matter
		pairs = append(pairs, member+".Id", e[0], member+".Message", e[1])
	}
	body := b.ok(pairs...)
	want := "<PublishBatchResult><Successful>" +
		"<member><Id>good</Id><MessageId>00000000-0000-4000-8000-000000000000</MessageId></member>" +
		"<member><Id>fine</Id><MessageId>00000000-0000-4000-8000-000000000003</MessageId></member></Successful><Failed>" +
		"<member><Id>empty</Id><Code>InvalidParameter</Code><Message>Invalid parameter: Empty message</Message><SenderFault>true</SenderFault></member>" +
		"<member><Id>broken</Id><Code>InternalError</Code><Message>The request failed because of a fault on the server. Send it again.</Message><SenderFault>false</SenderFault></member>" +
		"</Failed></PublishBatchResult>"
	if !strings.Contains(body, want) {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestABatchOfTenIsTheMost(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	body := b.ok(append(batch("id_-", 10, "m"), "TopicArn", topic)...)
	if n := strings.Count(body, "<MessageId>"); n != 10 {
		t.Errorf("%d ids in %s", n, body)
	}
}

// BenchmarkPublish is the front door's own share of a publication of 1 KB with
// three attributes: decoding, checking, answering.
func BenchmarkPublish(b *testing.B) {
	bench := newBench(nil)
	bench.Random = nil
	bench.post("Action", "CreateTopic", "Name", "t")
	pairs := []string{"Action", "Publish", "Version", version, "TopicArn", topicT, "Message", strings.Repeat("x ", 512)}
	for _, n := range []string{"1", "2", "3"} {
		member := "MessageAttributes.entry." + n
		pairs = append(pairs, member+".Name", "n"+n, member+".Value.DataType", "String", member+".Value.StringValue", "v")
	}
	r := Request{Method: "POST", Path: "/", Body: []byte(form(pairs...)), Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
	b.ReportAllocs()
	for b.Loop() {
		if answer := bench.Serve(context.Background(), r); answer.Status != 200 {
			b.Fatalf("%s", answer.Body)
		}
		bench.publisher.published = bench.publisher.published[:0]
	}
}
