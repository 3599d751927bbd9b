//go:build integration

package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/operator"
)

// request is a call of the SNS API made by hand, unsigned.
func (s *stack) request(form string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.output("EndpointUrl")+"/", strings.NewReader(form))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func (s *stack) sign(r *http.Request, form string, at time.Time, credentials aws.Credentials) {
	s.t.Helper()
	sum := sha256.Sum256([]byte(form))
	if err := v4.NewSigner().SignHTTP(s.t.Context(), credentials, r, hex.EncodeToString(sum[:]), "sns", "eu-south-2", at); err != nil {
		s.t.Fatal(err)
	}
}

func do(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestTheFrontDoorRefusesWhoHasNoKey(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	good, form := s.key(), url.Values{"Action": {"ListTopics"}}.Encode()
	wrong, unknown := good, good
	wrong.SecretAccessKey = strings.Repeat("x", 40)
	unknown.AccessKeyID = "POSTINOAAAAAAAAAAAAA"
	stranger := aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "x"}
	body := func(text string) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		}
	}
	for name, c := range map[string]struct {
		credentials aws.Credentials
		at          time.Duration
		change      func(*http.Request)
		status      int
		says        string
	}{
		"a good call":      {good, 0, nil, 200, "<ListTopicsResult>"},
		"an unsigned call": {good, 0, func(r *http.Request) { r.Header.Del("Authorization") }, 403, "<Code>MissingAuthenticationToken</Code>"},
		"a malformed one":  {good, 0, func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 nonsense") }, 400, "<Code>IncompleteSignature</Code>"},
		"an unknown key":   {unknown, 0, nil, 403, "<Code>InvalidClientTokenId</Code>"},
		"a key of AWS's":   {stranger, 0, nil, 403, "<Code>InvalidClientTokenId</Code>"},
		"a wrong secret":   {wrong, 0, nil, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"an altered body":  {good, 0, body(form + "&NextToken=x"), 403, "<Code>SignatureDoesNotMatch</Code>"},
		"an altered query": {good, 0, func(r *http.Request) { r.URL.RawQuery = "NextToken=x" }, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"an altered header": {good, 0, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		}, 403, "<Code>SignatureDoesNotMatch</Code>"},
		"an expired call": {good, -16 * time.Minute, nil, 403, "Signature expired"},
		"a call to come":  {good, 16 * time.Minute, nil, 403, "Signature not yet current"},
	} {
		r := s.request(form)
		s.sign(r, form, time.Now().Add(c.at), c.credentials)
		if c.change != nil {
			c.change(r)
		}
		if status, answer := do(t, r); status != c.status || !strings.Contains(answer, c.says) {
			t.Errorf("%s is answered with %d %s, want %d and %s", name, status, answer, c.status, c.says)
		}
	}
}

// recording hands requests on and keeps the last, as who listens in would.
type recording struct {
	request *http.Request
	body    string
}

func (c *recording) Do(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.request, c.body = r.Clone(r.Context()), string(b)
	r.Body = io.NopCloser(strings.NewReader(c.body))
	return plainBodies{http.DefaultClient}.Do(r)
}

// What docs/access.md says of copies: a process that has served the request
// refuses it, another one can make nothing of it but the same message.
func TestACopyOfAPublishIsNeverASecondMessage(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	wire := &recording{}
	out, err := s.client(func(o *sns.Options) { o.HTTPClient = wire }).Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("once")})
	if err != nil {
		t.Fatal(err)
	}
	if p := e.next(); p.MessageId != *out.MessageId {
		t.Errorf("pushed was %s", p.body)
	}
	again := wire.request.Clone(t.Context())
	again.Body = io.NopCloser(strings.NewReader(wire.body))
	switch status, answer := do(t, again); {
	case status == http.StatusForbidden && strings.Contains(answer, "<Code>SignatureDoesNotMatch</Code>") && strings.Contains(answer, "it is a copy"):
	case status == http.StatusOK && strings.Contains(answer, "<MessageId>"+*out.MessageId+"</MessageId>"):
		if p := e.next(); p.MessageId != *out.MessageId {
			t.Errorf("pushed was %s", p.body)
		}
	default:
		t.Errorf("the copy is answered with %d %s", status, answer)
	}
	e.quiet(2 * time.Second)
}

func TestAKeyIsMadeLimitedAndRevokedOnTheStack(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	topic := s.topic()
	name := topic[strings.LastIndexByte(topic, ':')+1:]
	var key operator.NewKey
	if err := json.Unmarshal([]byte(s.does([]string{"keys", "add", "--actions", "GetTopicAttributes", "--topics", name, "--note", "it", "--json"})), &key); err != nil {
		t.Fatal(err)
	}
	call := func(form url.Values) (int, string) {
		body := form.Encode()
		r := s.request(body)
		s.sign(r, body, time.Now(), aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret})
		return do(t, r)
	}
	allowed := url.Values{"Action": {"GetTopicAttributes"}, "TopicArn": {topic}}
	if status, answer := call(allowed); status != http.StatusOK {
		t.Errorf("what it is for is answered with %d %s", status, answer)
	}
	for _, form := range []url.Values{{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {"m"}}, {"Action": {"GetTopicAttributes"}, "TopicArn": {topic + "2"}}, {"Action": {"ListTopics"}}} {
		if status, answer := call(form); status != http.StatusForbidden || !strings.Contains(answer, "<Code>AuthorizationError</Code>") {
			t.Errorf("%v is answered with %d %s", form, status, answer)
		}
	}
	s.does([]string{"keys", "revoke", key.ID}, "Revoked")
	s.eventually("a revoked key is refused", func() bool {
		status, answer := call(allowed)
		return status == http.StatusForbidden && strings.Contains(answer, "<Code>InvalidClientTokenId</Code>")
	})
	if strings.Contains(s.does([]string{"keys", "list"}), key.ID) {
		t.Error("a revoked key is listed")
	}
}
