package dynamostore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

// size is the item's as DynamoDB bills it, or a little less.
func (i item) size() (n int) {
	for name, v := range i {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)
		}
	}
	return n
}

// failed is the record after n attempts on an endpoint that fails in changing
// ways, at times that share nothing but their beginning.
func failed(topic string, n int) push.Delivery {
	const id = "6f2c1d0a-2222-4333-8444-555555555555"
	d := push.Delivery{Key: push.DeliveryKey{Subscription: "arn:aws:sns:us-east-1:000000000000:" + topic + ":" + id, MessageID: id}, Attempt: n, State: push.Finished, Owner: id}
	at := time.Date(2026, 12, 1, 10, 0, 0, 123456789, time.UTC)
	d.CreatedAt = at
	for k := 1; k <= n; k++ {
		a := push.Attempt{Number: k, Phase: "backoff", Started: at, Ended: at.Add(time.Duration(k*7919377%1_000_000) * time.Microsecond), Class: push.Retryable}
		wait := 20*time.Second + time.Duration(k*15485863)%time.Second
		what := "timeout"
		switch k % 3 {
		case 0:
			a.Status, a.Detail = 503, "503 Service Unavailable"
			what = a.Detail
		case 1:
			a.Status, a.Detail = 502, "502 Bad Gateway"
			what = a.Detail
		default:
			a.Fault, a.Detail = "timeout", "no answer in time"
		}
		a.Reason = fmt.Sprintf("%s is retryable: attempt %d of 100016 (backoff) in %v", what, k+1, wait)
		d.Remember(a)
		at = a.Ended.Add(wait)
		d.Reason, d.UpdatedAt, d.NextAt, d.NextPhase = a.Reason, a.Ended, at, "backoff"
		d.LeaseEnd, d.Expires = at, at.Add(16*24*time.Hour)
	}
	return d
}

// docs/cost.md promises that a late retry costs what an early one does.
func TestARecordStaysWithinTwoKilobytesHoweverOftenTheEndpointFails(t *testing.T) {
	for _, topic := range []string{"orders", strings.Repeat("orders", 20)} {
		for _, n := range []int{1, 2, 10, push.HistoryKept, 50, 100_000} {
			i, err := deliveryItem(failed(topic, n), "6f2c1d0a-2222-4333-8444-555555555555")
			if err != nil {
				t.Fatal(err)
			}
			if size := i.size(); size > 2<<10 {
				t.Errorf("after %d attempts, topic of %d letters: %d bytes", n, len(topic), size)
			}
		}
	}
}

func TestAHistoryThatCannotBeReadIsAnErrorNotAnEmptyOne(t *testing.T) {
	whole, err := packHistory(failed("orders", 3).Attempts)
	if err != nil {
		t.Fatal(err)
	}
	packed := whole.(*types.AttributeValueMemberB).Value
	for name, v := range map[string]types.AttributeValue{
		"cut off":    &types.AttributeValueMemberB{Value: packed[:len(packed)/2]},
		"something":  &types.AttributeValueMemberB{Value: []byte("something")},
		"no bytes":   &types.AttributeValueMemberB{},
		"not packed": text("[]"),
		"a number":   number(1),
	} {
		f := &fields{item: item{"history": v}}
		if got := f.history("history"); f.err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

func TestAHistoryIsReadAsItWasKept(t *testing.T) {
	want := failed("orders", 30)
	i, err := deliveryItem(want, "w")
	if err != nil {
		t.Fatal(err)
	}
	got, err := readDelivery(i)
	if err != nil || fmt.Sprint(got.Attempts) != fmt.Sprint(want.Attempts) {
		t.Errorf("%v (%v), want %v", got.Attempts, err, want.Attempts)
	}
}
