package lambdaio

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"postino/shared/snsapi"
)

func TestAFunctionURLBodyIsBounded(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	cases := []struct {
		name   string
		body   string
		base64 bool
		status int
	}{
		{"plain at the limit", strings.Repeat("x", MaxBody), false, 200},
		{"plain above it", strings.Repeat("x", MaxBody+1), false, 413},
		{"base64 at the limit", encode(make([]byte, MaxBody)), true, 200},
		{"base64 one byte above it", encode(make([]byte, MaxBody+1)), true, 413},
		{"base64 two bytes above it", encode(make([]byte, MaxBody+2)), true, 413},
		{"padding without end", "eA" + strings.Repeat("=", MaxBody), true, 400},
		{"not base64", "?", true, 400},
		{"empty base64", "", true, 200},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, api, _ := newHandler()
			answer, err := h.HandleURL(context.Background(), events.LambdaFunctionURLRequest{Body: c.body, IsBase64Encoded: c.base64})
			if err != nil || answer.StatusCode != c.status {
				t.Errorf("got status %d, %v", answer.StatusCode, err)
			}
			if passed := len(api.requests) == 1; passed != (c.status == 200) {
				t.Errorf("passed on: %v", passed)
			}
			if c.status == 413 && !strings.Contains(answer.Body, "RequestEntityTooLarge") {
				t.Errorf("the refusal says %s", answer.Body)
			}
		})
	}
}

func TestTheAPISeesHeadersByTheirUsualNamesAndCookies(t *testing.T) {
	h, api, _ := newHandler()
	_, err := h.HandleURL(context.Background(), events.LambdaFunctionURLRequest{
		RawPath: "/a%2Fb", RawQueryString: "x=%41", Cookies: []string{"a=1", "b=2"},
		Headers:        map[string]string{"x-forwarded-for": "192.0.2.1,192.0.2.2"},
		RequestContext: events.LambdaFunctionURLRequestContext{HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: "PUT"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := snsapi.Request{
		Method: "PUT", Path: "/a%2Fb", RawQuery: "x=%41", Body: []byte{},
		Header: http.Header{"X-Forwarded-For": {"192.0.2.1,192.0.2.2"}, "Cookie": {"a=1; b=2"}},
	}
	if d := cmp.Diff(want, api.requests[0]); d != "" {
		t.Error(d)
	}
}

func TestAnAnswerThatIsNoTextIsEncoded(t *testing.T) {
	h, api, _ := newHandler()
	api.answer = snsapi.Response{Status: 200, Header: http.Header{"Vary": {"A", "B"}}, Body: []byte{0xff, 0x00}}
	got, err := h.HandleURL(context.Background(), events.LambdaFunctionURLRequest{})
	want := events.LambdaFunctionURLResponse{StatusCode: 200, Headers: map[string]string{"Vary": "A,B"}, Body: "/wA=", IsBase64Encoded: true}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}
