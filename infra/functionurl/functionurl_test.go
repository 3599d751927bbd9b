package functionurl_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"postino/infra/functionurl"
	"postino/shared/sigv4"
)

var (
	key  = aws.Credentials{AccessKeyID: "POSTINOAAAAAAAAAAAAA", SecretAccessKey: "secret"}
	noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
)

// verified checks an event's signature and gives its form.
func verified(t *testing.T, raw []byte) url.Values {
	t.Helper()
	var e events.LambdaFunctionURLRequest
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			t.Fatal(err)
		}
	}
	r := sigv4.Request{Method: e.RequestContext.HTTP.Method, Path: e.RawPath, Header: http.Header{}, Body: body}
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	s, err := sigv4.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(key.SecretAccessKey, []sigv4.Place{{Host: e.Headers["host"], Path: "/"}}); err != nil || !s.Date.Equal(noon) || s.KeyID != key.AccessKeyID {
		t.Errorf("the signature is of %s's, of %v: %v", s.KeyID, s.Date, err)
	}
	if e.Headers["content-length"] != strconv.Itoa(len(body)) {
		t.Errorf("the body has %d bytes, Content-Length is %s", len(body), e.Headers["content-length"])
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func TestAnEventIsSignedAnewWithItsFormChangedWhereThatIsAskedFor(t *testing.T) {
	for _, name := range []string{"publish-function-url.json", "publish-function-url-base64-form.json", "publish-function-url-batch.json"} {
		raw, err := os.ReadFile("../../events/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for topic, changes := range map[string]url.Values{"arn:aws:sns:us-east-1:123456789012:orders": nil, "other": {"TopicArn": {"other"}}} {
			signed, err := functionurl.Sign(t.Context(), raw, changes, key, noon)
			if err != nil {
				t.Fatal(err)
			}
			if form := verified(t, signed); form.Get("TopicArn") != topic || form.Get("Action") == "" {
				t.Errorf("%s: the form is %v", name, form)
			}
		}
	}
}

func TestACallHasTheFormItWasGiven(t *testing.T) {
	raw, err := functionurl.Call(t.Context(), url.Values{"Action": {"Publish"}, "Message": {"a & b"}}, key, noon)
	if err != nil {
		t.Fatal(err)
	}
	if form := verified(t, raw); form.Get("Message") != "a & b" || len(form) != 2 {
		t.Errorf("the form is %v", form)
	}
}

func TestWhatIsNoPOSTOfAFunctionURLStaysAsItIs(t *testing.T) {
	for _, name := range []string{"publish-function-url-certificate.json", "publish-function-url-confirm-link.json", "publish-direct.json", "publish-eventbridge.json", "deliver-sqs.json"} {
		raw, err := os.ReadFile("../../events/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if signed, err := functionurl.Sign(t.Context(), raw, nil, key, noon); err != nil || string(signed) != string(raw) {
			t.Errorf("%s became %s, %v", name, signed, err)
		}
	}
}
