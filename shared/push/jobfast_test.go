package push

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestJobsAsWrittenAreReadTheQuickWay(t *testing.T) {
	at := time.UnixMilli(1709251200000)
	whole := Job{Kind: Notification, Subscription: "arn:aws:sns:us-east-1:0:t:1b", Generation: "5f", Attempt: 3, Phase: "backoff",
		NotBefore: at, Slot: at, WaitingSince: at, Stumbles: 1, Redrives: 2,
		Message: Message{ID: "m", TopicARN: "arn:aws:sns:us-east-1:0:t", Subject: "sì", Body: "ciao \u0001 \"", Timestamp: at, Token: "0a",
			Attributes: []Attribute{{"a", "String", "è"}, {"b", "Number", "1"}},
			Signature:  Signature{Version: "2", Value: "A+/=", CertURL: "http://127.0.0.1/x.pem"},
			Trace:      Trace{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=1,congo=2"}}}
	for _, j := range []Job{whole, {Kind: Notification, Subscription: "s", Attempt: 1, Message: Message{ID: "m", Body: "x"}}} {
		if _, ok := readJob(j.Encode()); !ok {
			t.Errorf("%s went the long way", j.Encode())
		}
	}
}

// FuzzReadJob holds the quick reader to encoding/json: what it accepts, it reads
// as the other does.
func FuzzReadJob(f *testing.F) {
	f.Add(Job{Kind: Notification, Subscription: "s", Attempt: 1, Message: Message{ID: "m", Body: "x"}}.Encode())
	f.Add(`{"v":1,"kind":"Notification","sub":"s","gen":"g","n":2,"phase":"backoff","notBefore":-0,"slot":1,"since":2,"stumbles":3,"redrives":4,"msg":{"id":"m","topic":"t","subject":"SGk=","body":"","attrs":[{"n":"a","t":"String","v":"eA=="},{"n":"b","t":"Binary","v":""}],"at":5,"token":"x","sv":"1","sig":"s","cert":"c","tp":"00-","ts":"a=b"}}`)
	f.Add(`{"v":1,"kind":"Notification","sub":"s","n":1,"msg":{"id":"m","topic":"t","body":"","at":5,"ts":"a=\u003c","tp":"x"}}`)
	f.Add(`{"v":01,"kind":"","sub":"","n":1,"msg":{"id":"","topic":"","body":"A","at":9999999999999999}}`)
	f.Fuzz(func(t *testing.T, s string) {
		quick, ok := readJob(s)
		if !ok {
			return
		}
		var slow jobWire
		if err := json.Unmarshal([]byte(s), &slow); err != nil {
			t.Fatalf("%q was read, and encoding/json says %v", s, err)
		}
		if d := cmp.Diff(slow, quick, cmp.AllowUnexported(jobWire{}, messageWire{}, attributeWire{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q is read differently:\n%s", s, d)
		}
	})
}
