package lambdaio

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/push"
	"postino/shared/snsapi"
)

func TestAnHTTPRequestBecomesTheEventAFunctionURLWouldMake(t *testing.T) {
	r := httptest.NewRequest("POST", "http://push.example.com/a%2Fb?x=%41&x=2", strings.NewReader("Action=Publish"))
	r.Header = http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "X-Twice": {"1", "2"},
		"Cookie": {"a=1; b=2", "c=3"}, "User-Agent": {"aws-sdk"},
	}
	r.RemoteAddr = "[2001:db8::1]:4575"
	got, err := FromHTTP(r, MaxBody)
	if err != nil {
		t.Fatal(err)
	}
	want := events.LambdaFunctionURLRequest{
		Version: "2.0", RawPath: "/a%2Fb", RawQueryString: "x=%41&x=2", Cookies: []string{"a=1", "b=2", "c=3"},
		Headers: map[string]string{"host": "push.example.com", "content-type": "application/x-www-form-urlencoded", "x-twice": "1,2", "user-agent": "aws-sdk"},
		RequestContext: events.LambdaFunctionURLRequestContext{
			DomainName: "push.example.com",
			HTTP:       events.LambdaFunctionURLRequestContextHTTPDescription{Method: "POST", Path: "/a%2Fb", Protocol: "HTTP/1.1", SourceIP: "2001:db8::1", UserAgent: "aws-sdk"},
		},
		Body: "Action=Publish",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestABodySurvivesTheWayThroughTheEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "body")
		e, err := FromHTTP(httptest.NewRequest("POST", "/", strings.NewReader(string(body))), MaxBody)
		if err != nil {
			t.Fatal(err)
		}
		h, api, _ := newHandler()
		api.answer.Body = body
		answer, err := h.HandleURL(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		WriteHTTP(w, answer)
		if got := string(api.requests[0].Body); got != string(body) {
			t.Errorf("the API saw %q of %q", got, body)
		}
		if got := w.Body.String(); got != string(body) {
			t.Errorf("the client saw %q of %q", got, body)
		}
	})
}

// countingBody gives out up to left bytes and counts what was taken.
type countingBody struct{ left, taken int64 }

func (b *countingBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), b.left)
	b.left -= n
	b.taken += n
	return int(n), nil
}

func TestATooLongBodyIsRefusedBeforeItIsReadWhole(t *testing.T) {
	cases := []struct {
		name             string
		length, declared int64
		refused          bool
		mostTaken        int64
	}{
		{"declared and too long", 1 << 40, 1 << 40, true, 0},
		{"declared one byte too long", 1001, 1001, true, 0},
		{"declared and just short enough", 1000, 1000, false, 1000},
		{"chunked and too long", 1 << 40, -1, true, 4096},
		{"chunked one byte too long", 1001, -1, true, 1001},
		{"chunked and just short enough", 1000, -1, false, 1000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := &countingBody{left: c.length}
			r := httptest.NewRequest("POST", "/", body)
			r.ContentLength = c.declared
			_, err := FromHTTP(r, 1000)
			if refused := err != nil && push.CodeOf(err) == push.CodeRequestTooLarge; refused != c.refused {
				t.Errorf("got %v", err)
			}
			if body.taken > c.mostTaken {
				t.Errorf("%d bytes were read, at most %d should be", body.taken, c.mostTaken)
			}
		})
	}
}

func TestABodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("Act"), brokenReader{}))
	r.ContentLength = 14
	_, err := FromHTTP(r, MaxBody)
	if err == nil || push.CodeOf(err) != push.CodeValidationError {
		t.Errorf("got %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestTheGatewayServesOverARealConnection(t *testing.T) {
	h, api, _ := newHandler()
	api.answer = snsapi.Response{Status: 404, Header: http.Header{"Content-Type": {"text/xml"}, "X-Amzn-Requestid": {"r"}}, Body: []byte("<no/>")}
	server := httptest.NewServer(Gateway{Handle: h.HandleURL, Refuse: refuse})
	defer server.Close()
	res, body := post(t, server.URL+"/?a=b", strings.NewReader("Action=X"))
	if res.StatusCode != 404 || body != "<no/>" || res.Header.Get("X-Amzn-RequestId") != "r" {
		t.Errorf("got %v %s", res, body)
	}
	if r := api.requests[0]; string(r.Body) != "Action=X" || r.RawQuery != "a=b" || r.Header.Get("Host") == "" {
		t.Errorf("the API saw %+v", r)
	}
}

func TestTheGatewayRefusesAndHangsUpOnTooLongBodies(t *testing.T) {
	h, api, _ := newHandler()
	server := httptest.NewServer(Gateway{Handle: h.HandleURL, Refuse: refuse, Limit: 10})
	defer server.Close()
	for name, body := range map[string]io.Reader{
		"declared": strings.NewReader("01234567890"),
		"chunked":  io.MultiReader(strings.NewReader("012345"), strings.NewReader("67890")),
	} {
		res, text := post(t, server.URL, body)
		if res.StatusCode != 413 || !strings.Contains(text, "<Code>RequestEntityTooLarge</Code>") || !res.Close {
			t.Errorf("%s: got %v %s", name, res, text)
		}
	}
	if len(api.requests) != 0 {
		t.Error("a refused request was passed on")
	}
}

func TestTheGatewayAnswers500WhenTheHandlerFails(t *testing.T) {
	fails := func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		return events.LambdaFunctionURLResponse{}, errors.New("key=s3cret")
	}
	w := httptest.NewRecorder()
	Gateway{Handle: fails, Refuse: refuse}.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "s3cret") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestAnswersAreWrittenAsFunctionURLsWriteThem(t *testing.T) {
	cases := []struct {
		name   string
		answer events.LambdaFunctionURLResponse
		status int
		body   string
	}{
		{"no status is 200", events.LambdaFunctionURLResponse{Body: "x"}, 200, "x"},
		{"base64 is decoded", events.LambdaFunctionURLResponse{StatusCode: 201, Body: "/wA=", IsBase64Encoded: true}, 201, "\xff\x00"},
		{"bad base64 is a bad gateway", events.LambdaFunctionURLResponse{StatusCode: 201, Body: "?", IsBase64Encoded: true}, 502, ""},
	}
	for _, c := range cases {
		w := httptest.NewRecorder()
		WriteHTTP(w, c.answer)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: got %d %q", c.name, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	WriteHTTP(w, events.LambdaFunctionURLResponse{Cookies: []string{"a=1", "b=2"}})
	if d := cmp.Diff([]string{"a=1", "b=2"}, w.Header()["Set-Cookie"]); d != "" {
		t.Error(d)
	}
}

func post(t *testing.T, url string, body io.Reader) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(url, "application/x-www-form-urlencoded", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func BenchmarkPublishFromHTTPToAnswer(b *testing.B) {
	h, api, _ := newHandler()
	form := "Action=Publish&Version=2010-03-31&TopicArn=" + topicARN + "&Message=" + strings.Repeat("x", 256)
	b.ReportAllocs()
	for b.Loop() {
		r := &http.Request{Method: "POST", URL: rootURL, Proto: "HTTP/1.1", Host: "localhost:4575", RemoteAddr: "127.0.0.1:9",
			ContentLength: int64(len(form)), Body: io.NopCloser(strings.NewReader(form)), Header: sdkHeader}
		e, err := FromHTTP(r, MaxBody)
		if err != nil {
			b.Fatal(err)
		}
		if answer, err := h.HandleURL(context.Background(), e); err != nil || answer.StatusCode != 200 {
			b.Fatal(answer, err)
		}
		api.requests = api.requests[:0]
	}
}

var (
	rootURL   = httptest.NewRequest("POST", "/", nil).URL
	sdkHeader = http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Amz-Sdk-Invocation-Id": {"2f6f3f70-8a0b-4c2b-8d0e-6f4a5c1d9e33"},
		"Amz-Sdk-Request": {"attempt=1; max=3"}, "X-Amz-Date": {"20261201T102623Z"}, "Authorization": {"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE"},
		"User-Agent": {"aws-sdk-go-v2"}, "Accept-Encoding": {"identity"}, "Content-Length": {"360"},
	}
)
