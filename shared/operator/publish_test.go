package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

// front plays the public API: it records the form and answers.
func front(t *testing.T, status int, answer string, form *url.Values) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.URL.Path != "/" {
			t.Errorf("got %s and error %v", r.URL, err)
		}
		*form = r.PostForm
		form.Set("invocation", r.Header.Get("Amz-Sdk-Invocation-Id"))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return &Client{Server: ServerFile{URL: s.URL, Region: "eu-west-1", Account: "111122223333"}, HTTP: s.Client(), Dir: "DIR"}
}

func TestPublishSpeaksTheSNSWireForm(t *testing.T) {
	var form url.Values
	c := front(t, 200, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m-1</MessageId></PublishResult>`+
		`<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></PublishResponse>`, &form)
	id, err := c.Publish(t.Context(), PublishInput{Topic: "orders", Message: "a&b=ü", Subject: "hi", Invocation: "inv-1", Attributes: []push.Attribute{
		{Name: "colour", Type: "String", Value: "red"}, {Name: "blob", Type: "Binary.png", Value: "AAE="},
	}})
	if err != nil || id != "m-1" {
		t.Fatalf("got %q and error %v", id, err)
	}
	want := url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {orders}, "Message": {"a&b=ü"}, "Subject": {"hi"},
		"MessageAttributes.entry.1.Name": {"colour"}, "MessageAttributes.entry.1.Value.DataType": {"String"},
		"MessageAttributes.entry.1.Value.StringValue": {"red"}, "MessageAttributes.entry.2.Name": {"blob"},
		"MessageAttributes.entry.2.Value.DataType": {"Binary.png"}, "MessageAttributes.entry.2.Value.BinaryValue": {"AAE="},
		"invocation": {"inv-1"},
	}
	if d := cmp.Diff(want, form); d != "" {
		t.Error(d)
	}
}

func TestPublishGivesTheAPIsOwnText(t *testing.T) {
	var form url.Values
	c := front(t, 404, `<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>Topic does not exist</Message></Error><RequestId>r</RequestId></ErrorResponse>`, &form)
	_, err := c.Publish(t.Context(), PublishInput{Topic: orders, Message: "x"})
	refusal(t, err, push.CodeNotFound, "There is no topic")
	if form.Has("Subject") {
		t.Error("an empty subject was sent")
	}
	for _, answer := range []string{"", "<html></html>", "hello", "<PublishResponse/>"} {
		c := front(t, 200, answer, &form)
		if _, err := c.Publish(t.Context(), PublishInput{Topic: "t", Message: "x"}); err == nil || !strings.Contains(err.Error(), "is not the Postino server") {
			t.Errorf("%q gave %v", answer, err)
		}
	}
}
