package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func with(i item, more ...string) item {
	out := item{}
	for k, v := range i {
		out[k] = v
	}
	for n := 0; n < len(more); n += 2 {
		out[more[n]] = text(more[n+1])
	}
	return out
}

func TestWritesAreBilledWithTheIndexesTheyMove(t *testing.T) {
	bare := item{"pk": text("p"), "sk": text("s")}
	listed := with(bare, "listPK", "l", "listSK", "1", "statePK", "live", "stateSK", "1")
	big := string(make([]byte, 1500))
	for name, c := range map[string]struct {
		before, after item
		want          float64
	}{
		"new, in no list":                   {nil, bare, 1},
		"new, in both lists":                {nil, listed, 3},
		"unlisted change":                   {bare, with(bare, "a", "b"), 1},
		"listed, keys stay":                 {listed, with(listed, "a", "b"), 1},
		"listed, moves in both":             {listed, with(listed, "listSK", "2", "stateSK", "2"), 5},
		"moves in one, seen by the other":   {listed, with(listed, "statePK", "dead"), 4},
		"leaves both lists":                 {listed, bare, 3},
		"deleted":                           {listed, nil, 3},
		"more than a kilobyte":              {nil, with(bare, "a", big), 2},
		"shrinks: billed as what it was":    {with(bare, "a", big), bare, 2},
		"nothing there and nothing written": {nil, nil, 1},
	} {
		if got := writeUnits(c.before, c.after); got != c.want {
			t.Errorf("%s: %v units, want %v", name, got, c.want)
		}
	}
}

func TestQueueCallsAreBilledByStartedChunks(t *testing.T) {
	for body, want := range map[string]float64{
		`{"QueueUrl":"q","MessageBody":"hello"}`: 1,
		`{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"a","MessageGroupId":"g"},{"Id":"2","MessageBody":"b"}]}`: 1,
		`{"QueueUrl":"q","Entries":[{"MessageBody":"` + zeros(64<<10) + `"}]}`:                                        1,
		`{"QueueUrl":"q","Entries":[{"MessageBody":"` + zeros(64<<10) + `"},{"MessageBody":"x"}]}`:                    2,
	} {
		bill, err := billSend([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if u, err := bill(200, nil); err != nil || u[SQSRequest] != want {
			t.Errorf("%.60s… is billed %v, want %v (%v)", body, u[SQSRequest], want, err)
		}
	}
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

func TestACallNobodyKnowsThePriceOfIsRefused(t *testing.T) {
	if _, err := (&Meter{}).bill(t.Context(), "DynamoDB.Scan", nil); err == nil {
		t.Error("it is counted as nothing")
	}
}
