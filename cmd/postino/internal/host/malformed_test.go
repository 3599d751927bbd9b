package host_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"postino/shared/lambdaio"
)

// query makes a request with a form for a body.
func query(t *testing.T, url, method, body string) *http.Request {
	t.Helper()
	r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, url+"/", strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return r
}

func TestMalformedRequestsAreAnsweredInXML(t *testing.T) {
	t.Parallel()
	s := start(t)
	topic := url.QueryEscape(s.topic("t"))
	for name, c := range map[string]struct {
		method, body string
		change       func(*http.Request)
		status       int
		code         string
	}{
		"nothing at all":             {"POST", "", nil, 400, "MissingAction"},
		"no action":                  {"POST", "Version=2010-03-31", nil, 400, "MissingAction"},
		"unknown action":             {"POST", "Action=Frobnicate", nil, 400, "InvalidAction"},
		"action of another case":     {"POST", "Action=publish", nil, 400, "InvalidAction"},
		"bad percent-encoding":       {"POST", "Action=Publish&Message=%zz", nil, 400, ""},
		"truncated percent":          {"POST", "Action=Publish&Message=%", nil, 400, ""},
		"semicolons":                 {"POST", "Action=Publish;Message=m", nil, 400, ""},
		"not UTF-8":                  {"POST", "Action=Publish&TopicArn=" + topic + "&Message=%ff%fe", nil, 400, "InvalidParameter"},
		"raw bytes":                  {"POST", "\x00\xff\xfe", nil, 400, ""},
		"JSON":                       {"POST", `{"Action":"Publish"}`, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, 400, ""},
		"no content type":            {"POST", "Action=Frobnicate", func(r *http.Request) { r.Header.Del("Content-Type") }, 400, "InvalidAction"},
		"multipart":                  {"POST", "--x\r\n\r\n--x--", func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") }, 400, ""},
		"the JSON protocol":          {"POST", "{}", func(r *http.Request) { r.Header.Set("X-Amz-Target", "SNS.ListTopics") }, 400, "InvalidAction"},
		"an action twice":            {"POST", "Action=ListTopics&Action=Frobnicate", nil, 400, ""},
		"no topic":                   {"POST", "Action=Publish&Message=m", nil, 400, "InvalidParameter"},
		"topic is no ARN":            {"POST", "Action=Publish&Message=m&TopicArn=x", nil, 400, "InvalidParameter"},
		"topic of another account":   {"POST", "Action=Publish&Message=m&TopicArn=arn:aws:sns:us-east-1:111111111111:t", nil, 400, ""},
		"no such topic":              {"POST", "Action=Publish&Message=m&TopicArn=arn:aws:sns:us-east-1:000000000000:gone", nil, 404, "NotFound"},
		"no message":                 {"POST", "Action=Publish&TopicArn=" + topic, nil, 400, ""},
		"list begins at two":         {"POST", "Action=Publish&Message=m&TopicArn=" + topic + "&MessageAttributes.entry.2.Name=a", nil, 400, ""},
		"list index is huge":         {"POST", "Action=Publish&Message=m&TopicArn=" + topic + "&MessageAttributes.entry.99999999999999999999.Name=a", nil, 400, ""},
		"list index is negative":     {"POST", "Action=Publish&Message=m&TopicArn=" + topic + "&MessageAttributes.entry.-1.Name=a", nil, 400, ""},
		"attribute without type":     {"POST", "Action=Publish&Message=m&TopicArn=" + topic + "&MessageAttributes.entry.1.Name=a", nil, 400, ""},
		"binary is no base64":        {"POST", "Action=Publish&Message=m&TopicArn=" + topic + "&MessageAttributes.entry.1.Name=a&MessageAttributes.entry.1.Value.DataType=Binary&MessageAttributes.entry.1.Value.BinaryValue=~", nil, 400, ""},
		"empty batch":                {"POST", "Action=PublishBatch&TopicArn=" + topic, nil, 400, "EmptyBatchRequest"},
		"page token of nobody":       {"POST", "Action=ListTopics&NextToken=%00", nil, 400, ""},
		"token of nobody":            {"POST", "Action=ConfirmSubscription&TopicArn=" + topic + "&Token=" + strings.Repeat("a", 288), nil, 400, ""},
		"very deep policy":           {"POST", "Action=SetTopicAttributes&TopicArn=" + topic + "&AttributeName=DeliveryPolicy&AttributeValue=" + strings.Repeat("[", 100_000), nil, 400, "InvalidParameter"},
		"an endpoint with a newline": {"POST", "Action=Subscribe&Protocol=http&TopicArn=" + topic + "&Endpoint=http://a.example/%0d%0aX:y", nil, 400, ""},
		"publish by GET":             {"GET", "", func(r *http.Request) { r.URL.RawQuery = "Action=Publish&Message=m" }, 400, ""},
		"an unknown method":          {"DELETE", "", nil, 400, ""},
		"an odd path":                {"POST", "Action=Frobnicate", func(r *http.Request) { r.URL.Path = "/../%2e%2e/x" }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := query(t, s.url, c.method, c.body)
			if c.change != nil {
				c.change(r)
			}
			status, body := do(t, r)
			if c.status != 0 && (status < 400 || status >= 500) || c.status == 404 && status != 404 {
				t.Errorf("status %d: %s", status, body)
			}
			if c.status != 0 && (!strings.Contains(body, "<ErrorResponse") || !strings.Contains(body, "<RequestId>") || !strings.Contains(body, "<Code>"+c.code)) {
				t.Errorf("want the code %q: %s", c.code, body)
			}
		})
	}
	s.topic("still-serving")
}

func TestABodyTooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := must[net.Conn](t)(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	// Not a byte of the body is sent: an answer means that none was waited for.
	_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n", lambdaio.MaxBody+1)
	resp := must[*http.Response](t)(http.ReadResponse(bufio.NewReader(c), nil))
	defer resp.Body.Close()
	body := must[[]byte](t)(io.ReadAll(resp.Body))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "<Code>RequestEntityTooLarge</Code>") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestAChunkedBodyTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	endless := io.LimitReader(zeros{}, 64<<20)
	r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/", endless))
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body := do(t, r)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "<Code>RequestEntityTooLarge</Code>") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := post(t, s.url, nil, url.Values{"Action": {"ListTopics"}}); status != http.StatusOK {
		t.Errorf("afterwards a good request answers %d", status)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestNoiseOnTheWireHurtsNobody(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, noise := range []string{
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", // a TLS hello
		"GET /\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("y", 128<<10) + "\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nAction=Publish", // and no more
		"",
	} {
		c := must[net.Conn](t)(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
		_, _ = io.WriteString(c, noise)
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetDeadline(time.Now().Add(patience))
		if b, err := io.ReadAll(c); err != nil && len(b) == 0 {
			t.Logf("%.20q: %v", noise, err) // a reset is an answer as well
		}
		_ = c.Close()
	}
	s.topic("still-serving")
}
