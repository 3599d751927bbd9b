package lambdaio

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

var epoch = time.UnixMilli(1796120783123)

func TestARecordSurvivesTheWayThroughAnSQSEvent(t *testing.T) {
	attribute := rapid.Custom(func(t *rapid.T) push.Attribute {
		a := push.Attribute{
			Name: rapid.StringMatching(`[A-Za-z0-9_.-]{1,12}`).Draw(t, "name"),
			Type: rapid.SampledFrom([]string{"String", "Number", "Number.int", "String.Array", "Binary", "Binary.png", "BinaryLike"}).Draw(t, "type"),
		}
		if a.Value = rapid.String().Draw(t, "value"); a.Binary() {
			a.Value = base64.StdEncoding.EncodeToString(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		want := pipeline.Record{
			ID: rapid.StringN(1, 40, -1).Draw(t, "id"), Body: rapid.String().Draw(t, "body"), Group: rapid.String().Draw(t, "group"),
			Attributes:   rapid.SliceOfNDistinct(attribute, 0, 10, func(a push.Attribute) string { return a.Name }).Draw(t, "attributes"),
			ReceiveCount: rapid.IntRange(1, 1000).Draw(t, "receives"), Queue: "arn:aws:sqs:eu-west-1:000000000000:q",
		}
		slices.SortFunc(want.Attributes, func(a, b push.Attribute) int { return strings.Compare(a.Name, b.Name) })
		m := ToSQSMessage(want, "receipt", epoch)
		if m.AWSRegion != "eu-west-1" || m.EventSource != "aws:sqs" || m.ReceiptHandle != "receipt" || m.Attributes["SentTimestamp"] != "1796120783123" {
			t.Errorf("the message is %+v", m)
		}
		wire, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{m}})
		if err != nil {
			t.Fatal(err)
		}
		var e events.SQSEvent
		if err := json.Unmarshal(wire, &e); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, FromSQSMessage(e.Records[0]), cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}

func TestAReceiveCountThatCannotBeReadIsOne(t *testing.T) {
	for _, count := range []string{"", "0", "-3", "many", "99999999999999999999"} {
		r := FromSQSMessage(events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": count}})
		if r.ReceiveCount != 1 {
			t.Errorf("%q reads as %d", count, r.ReceiveCount)
		}
	}
}

func TestAnAttributeWithoutAValueReadsAsEmpty(t *testing.T) {
	r := FromSQSMessage(events.SQSMessage{MessageAttributes: map[string]events.SQSMessageAttribute{"a": {DataType: "String"}, "b": {DataType: "Binary"}}})
	want := []push.Attribute{{Name: "a", Type: "String"}, {Name: "b", Type: "Binary"}}
	if d := cmp.Diff(want, r.Attributes); d != "" {
		t.Error(d)
	}
}
