package envelope_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/envelope"
	"postino/shared/push"
)

func TestParseReadsBackWhatBuildWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := push.Message{
			ID: rapid.StringN(1, -1, -1).Draw(t, "id"), TopicARN: rapid.StringN(1, -1, -1).Draw(t, "topic"),
			Subject: rapid.String().Draw(t, "subject"), Body: rapid.String().Draw(t, "body"),
			Timestamp: time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "at")).UTC(),
		}
		if rapid.Bool().Draw(t, "signed") {
			m.Signature = push.Signature{Version: "2", Value: rapid.StringN(1, -1, -1).Draw(t, "signature"), CertURL: rapid.String().Draw(t, "cert")}
		}
		for _, name := range rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "names") {
			m.Attributes = append(m.Attributes, push.Attribute{Name: name, Type: "String", Value: rapid.String().Draw(t, "value")})
		}
		body, _ := envelope.DeadLetter(m, push.Subscription{ARN: subscriptionARN}, links)
		got, err := envelope.Parse(body)
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("read back differently (-wrote +read):\n%s", diff)
		}
	})
}

func TestParseTakesAnyLayoutAndPassesOverUnknownMembers(t *testing.T) {
	got, err := envelope.Parse(`{"SequenceNumber":"10000000000000000000","X":[1],"Message":"m","Type":"Notification","MessageId":"i","TopicArn":"t","Timestamp":"2024-02-29T12:00:00Z","MessageAttributes":{}}`)
	want := push.Message{ID: "i", TopicARN: "t", Body: "m", Timestamp: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err %v, (-want +got):\n%s", err, diff)
	}
}

func TestParseRefusesWhatIsNoNotification(t *testing.T) {
	const good = `{"Type":"Notification","MessageId":"i","TopicArn":"t","Message":"secret","Timestamp":"2024-02-29T12:00:00.000Z"}`
	if _, err := envelope.Parse(good); err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the envelope", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	attributes := func(v string) string { return change(`"Type"`, `"MessageAttributes":`+v+`,"Type"`) }
	for name, body := range map[string]string{
		"empty":                       "",
		"plain text":                  "secret",
		"array":                       "[" + good + "]",
		"null":                        "null",
		"trailing text":               good + "secret",
		"cut short":                   good[:len(good)-1],
		"no type":                     change(`"Type":"Notification",`, ""),
		"confirmation":                change(`"Notification"`, `"SubscriptionConfirmation"`),
		"type in another case":        change(`"Notification"`, `"notification"`),
		"member in another case":      change(`"MessageId"`, `"messageid"`),
		"type is no string":           change(`"Notification"`, `["Notification"]`),
		"empty id":                    change(`"i"`, `""`),
		"empty topic":                 change(`"t"`, `""`),
		"null message":                change(`"secret"`, `null`),
		"object message":              change(`"secret"`, `{"default":"secret"}`),
		"no message":                  change(`"Message":"secret",`, ""),
		"no time":                     change(`2024-02-29T12:00:00.000Z`, "yesterday secret"),
		"time is a number":            change(`"2024-02-29T12:00:00.000Z"`, "17"),
		"subject is a number":         change(`"Type"`, `"Subject":7,"Type"`),
		"attributes are null":         attributes(`null`),
		"attributes are a list":       attributes(`[]`),
		"attribute is a string":       attributes(`{"a":"secret"}`),
		"attribute is null":           attributes(`{"a":null}`),
		"attribute without type":      attributes(`{"a":{"Value":"secret"}}`),
		"attribute without value":     attributes(`{"a":{"Type":"String"}}`),
		"attribute's value is null":   attributes(`{"a":{"Type":"String","Value":null}}`),
		"attribute's value is number": attributes(`{"a":{"Type":"Number","Value":7}}`),
		"attribute twice":             attributes(`{"a":{"Type":"String","Value":"1"},"a":{"Type":"String","Value":"2"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := envelope.Parse(body)
			if err == nil {
				t.Fatalf("accepted %s", body)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error quotes the message: %v", err)
			}
		})
	}
}

// Whatever Parse accepts can be delivered, and reads back as the same message.
func FuzzParse(f *testing.F) {
	body, _ := envelope.DeadLetter(rich(), push.Subscription{ARN: subscriptionARN}, links)
	f.Add(body)
	f.Add(`{"Type":"Notification","MessageId":"i","TopicArn":"t","Message":"\ud800","Timestamp":"0000-01-01T00:00:00+23:59"}`)
	f.Fuzz(func(t *testing.T, body string) {
		m, err := envelope.Parse(body)
		if err != nil {
			return
		}
		again, _ := envelope.DeadLetter(m, push.Subscription{ARN: subscriptionARN}, links)
		got, err := envelope.Parse(again)
		if m.Timestamp.Year() < 0 || m.Timestamp.Year() > 9999 {
			return // an offset took it over the edge of what RFC 3339 can write
		}
		if err != nil {
			t.Fatalf("accepted %q but not its own %q: %v", body, again, err)
		}
		if m.Signature.Value == "" {
			m.Signature = push.Signature{} // a version without a signature is not written
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("read back differently: %s", diff)
		}
	})
}
