package main

import (
	"bytes"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
	"postino/shared/signing"
)

// sender is a server that signs, serves its certificate and takes confirmations.
type sender struct {
	*httptest.Server
	signer    *signing.Signer
	confirmed []string
}

func newSender(t *testing.T) *sender {
	t.Helper()
	s := &sender{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == s.signer.CertPath() {
			_, _ = w.Write(s.signer.CertPEM())
			return
		}
		s.confirmed = append(s.confirmed, r.URL.Query().Get("Token"))
	}))
	t.Cleanup(s.Close)
	var err error
	if s.signer, err = signing.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now(), envelope.Links{PublicURL: s.URL}); err != nil {
		t.Fatal(err)
	}
	return s
}

// body is a push of the given kind, signed.
func (s *sender) body(t *testing.T, kind push.Kind, version, subject string) string {
	t.Helper()
	links := envelope.Links{PublicURL: s.URL}
	m := push.Message{ID: "m1", TopicARN: "arn:aws:sns:us-east-1:000000000000:t", Subject: subject, Body: "hello", Timestamp: time.UnixMilli(1), Token: "tok"}
	var err error
	if m.Signature, err = s.signer.Sign(kind, m, version); err != nil {
		t.Fatal(err)
	}
	return string(envelope.Build(kind, m, push.Subscription{ARN: m.TopicARN + ":s"}, "", links).Body)
}

func post(r *receiver, body string) int {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w.Code
}

func TestMain(m *testing.M) {
	log.SetOutput(&bytes.Buffer{})
	os.Exit(m.Run())
}

func TestTheReceiverConfirmsAndPrintsWhatIsSigned(t *testing.T) {
	s := newSender(t)
	var out bytes.Buffer
	r := &receiver{from: s.URL, status: 503, out: &out, client: s.Client()}
	for _, version := range []string{"1", "2"} {
		if code := post(r, s.body(t, push.SubscriptionConfirm, version, "")); code != 200 {
			t.Errorf("a confirmation is answered %d", code)
		}
		for _, subject := range []string{"", "paid"} {
			if code := post(r, s.body(t, push.Notification, version, subject)); code != 503 {
				t.Errorf("a notification is answered %d, not as told", code)
			}
		}
		if code := post(r, s.body(t, push.UnsubscribeConfirmation, version, "")); code != 200 {
			t.Errorf("a farewell is answered %d", code)
		}
	}
	if len(s.confirmed) != 2 || s.confirmed[0] != "tok" {
		t.Errorf("confirmed with %q", s.confirmed)
	}
	if !strings.Contains(out.String(), `m1 paid "hello"`) {
		t.Errorf("printed %s", out.String())
	}
}

func TestTheReceiverTrustsNothingElse(t *testing.T) {
	s, stranger := newSender(t), newSender(t)
	var out bytes.Buffer
	r := &receiver{from: s.URL, status: 200, out: &out, client: s.Client()}
	good := s.body(t, push.Notification, "1", "")
	for name, body := range map[string]string{
		"no JSON":                 "hello",
		"changed":                 strings.Replace(good, "hello", "jello", 1),
		"a subject added":         strings.Replace(good, `"Message" :`, `"Subject" : "s", "Message" :`, 1),
		"another version":         strings.Replace(good, `"SignatureVersion" : "1"`, `"SignatureVersion" : "3"`, 1),
		"no signature":            `{"Type":"Notification","Message":"hello"}`,
		"signed by a stranger":    stranger.body(t, push.Notification, "1", ""),
		"a stranger's invitation": stranger.body(t, push.SubscriptionConfirm, "1", ""),
		"another certificate":     strings.Replace(good, s.URL+"/Simple", s.URL+"@127.0.0.1:1/Simple", 1),
	} {
		if code := post(r, body); code != 403 && code != 400 {
			t.Errorf("%s is answered %d", name, code)
		}
	}
	if out.Len() > 0 || len(s.confirmed)+len(stranger.confirmed) > 0 {
		t.Errorf("printed %q, confirmed %q", out.String(), stranger.confirmed)
	}
}
