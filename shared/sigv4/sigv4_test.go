package sigv4_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"postino/shared/push"
	"postino/shared/sigv4"
)

const (
	keyID  = "POSTINOABCDEFGHIJKLM"
	secret = "wJalrXUtnFEMI-K7MDENG_bPxRfiCYEXAMPLEKEY"
	target = "https://push.example.com/"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// request is one that the SDK's own signer will sign.
func request(t testing.TB, method, url, body string, header http.Header) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return r
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// received is r as a server gets it.
func received(r *http.Request, body string) sigv4.Request {
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	return sigv4.Request{Method: r.Method, Path: path, RawQuery: r.URL.RawQuery, Header: header, Body: []byte(body)}
}

// signed is a request that AWS's SDK has signed, as a server gets it.
func signed(t testing.TB, method, url, body string, header http.Header) sigv4.Request {
	t.Helper()
	return signedFor(t, method, url, body, header, "sns", "eu-south-1", noon)
}

func signedFor(t testing.TB, method, url, body string, header http.Header, service, region string, at time.Time) sigv4.Request {
	t.Helper()
	r := request(t, method, url, body, header)
	if err := v4.NewSigner().SignHTTP(context.Background(), credentials(), r, hashOf(body), service, region, at); err != nil {
		t.Fatal(err)
	}
	return received(r, body)
}

// presigned is one whose signature is in the query string.
func presigned(t testing.TB, method, url, body string, header http.Header) sigv4.Request {
	t.Helper()
	to, must, err := v4.NewSigner().PresignHTTP(context.Background(), credentials(), request(t, method, url, body, header), hashOf(body), "sns", "eu-south-1", noon)
	if err != nil {
		t.Fatal(err)
	}
	return received(request(t, method, to, body, must), body)
}

func credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
}

// check does all there is to do with a request at noon.
func check(r sigv4.Request, places ...sigv4.Place) error { return checkAt(noon, r, places...) }

func checkAt(now time.Time, r sigv4.Request, places ...sigv4.Place) error {
	s, err := sigv4.Parse(r)
	if err != nil {
		return err
	}
	if err := s.Current(now); err != nil {
		return err
	}
	if s.KeyID != keyID { // whose secret would be another
		return push.Errorf(push.CodeInvalidClientToken, "unknown key")
	}
	if places == nil {
		places = []sigv4.Place{{Host: r.Header.Get("Host"), Path: r.Path}}
	}
	return s.Verify(secret, places)
}

const form = "Action=Publish&Message=caff%C3%A8+%26+latte&TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Aorders"

// sdkHeaders are what SDKs send with a call.
func sdkHeaders() http.Header {
	return http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {"test"},
		"Amz-Sdk-Invocation-Id": {"7c1e"}, "Amz-Sdk-Request": {"attempt=1; max=3"}}
}

func post(t testing.TB) sigv4.Request { return signed(t, "POST", target, form, sdkHeaders()) }

func TestARequestThatAnSDKHasSignedIsGood(t *testing.T) {
	for name, r := range map[string]sigv4.Request{
		"a call":                  post(t),
		"a call without headers":  signed(t, "POST", target, form, nil),
		"an empty body":           signed(t, "POST", target, "", nil),
		"a path and a query":      signed(t, "GET", target+"a%20b/%E2%82%AC/c+d?z=1&a=%2F&a=-&b=&%C3%A9=x+y&c", "", nil),
		"repeated headers":        signed(t, "POST", target, form, http.Header{"X-Amz-Meta-A": {" a   b ", "c"}, "X-Other": {"é"}}),
		"a default port":          signed(t, "POST", "https://push.example.com:443/", form, nil),
		"another port":            signed(t, "POST", "http://127.0.0.1:4575/", form, nil),
		"presigned":               presigned(t, "GET", target+"?Action=ListTopics", "", nil),
		"presigned with a body":   presigned(t, "POST", target, form, sdkHeaders()),
		"presigned for a week":    presigned(t, "GET", target+"?Action=ListTopics&X-Amz-Expires=604800", "", nil),
		"with a hash of the body": signed(t, "POST", target, form, http.Header{"X-Amz-Content-Sha256": {hashOf(form)}}),
	} {
		if err := check(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDateHeaderStandsInForXAmzDate(t *testing.T) {
	// Signed by hand from AWS's description: no SDK does so.
	r := sigv4.Request{Method: "POST", Path: "/", Header: http.Header{"Host": {"push.example.com"}, "Date": {noon.Format(http.TimeFormat)}, "Authorization": {
		"AWS4-HMAC-SHA256 Credential=" + keyID + "/20261201/us-east-1/sns/aws4_request, SignedHeaders=date;host, Signature=" + byHand(noon)}}}
	if err := check(r); err != nil {
		t.Error(err)
	}
}

func TestWhatAProxyMayChangeDoesNotMatter(t *testing.T) {
	r := post(t)
	r.Header.Del("Content-Length")
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	r.Header.Set("X-Amz-Cf-Id", "CloudFront's own")
	r.Header.Set("User-Agent", "another")
	if err := check(r); err != nil {
		t.Error(err)
	}
	r.Header.Set("Host", "10.0.0.7:8080")
	r.Path = "/behind"
	if err := check(r); err == nil {
		t.Error("a request for another host is good")
	}
	if err := check(r, sigv4.Place{Host: "10.0.0.7:8080", Path: "/behind"}, sigv4.Place{Host: "push.example.com", Path: "/"}); err != nil {
		t.Error(err)
	}
}

func TestASignatureIsGoodFifteenMinutesEitherWay(t *testing.T) {
	plain, weekly := post(t), presigned(t, "GET", target+"?Action=ListTopics&X-Amz-Expires=604800", "", nil)
	short := presigned(t, "GET", target+"?Action=ListTopics&X-Amz-Expires=60", "", nil)
	const ok, expired, future = "", "Signature expired", "Signature not yet current"
	for _, c := range []struct {
		name  string
		r     sigv4.Request
		after time.Duration
		says  string
	}{
		{"in time", plain, 0, ok},
		{"at the end of the window", plain, sigv4.Window, ok},
		{"past the window", plain, sigv4.Window + time.Second, expired},
		{"from the future", plain, -sigv4.Window, ok},
		{"from too far in the future", plain, -sigv4.Window - time.Second, future},
		{"a week later", weekly, 7 * 24 * time.Hour, ok},
		{"more than a week later", weekly, 7*24*time.Hour + time.Second, expired},
		{"a minute later", short, time.Minute, ok},
		{"more than a minute later", short, time.Minute + time.Second, expired},
		{"presigned in the future", weekly, -sigv4.Window - time.Second, future},
	} {
		err := checkAt(noon.Add(c.after), c.r)
		if c.says == ok && err != nil || c.says != ok && (err == nil || push.CodeOf(err) != push.CodeSignatureMismatch || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.says != ok && c.says != "" && strings.HasPrefix(c.name, "p") && !strings.Contains(err.Error(), "clock") {
			t.Errorf("%s does not name the clock: %v", c.name, err)
		}
	}
}
