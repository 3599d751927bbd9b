package host_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/cmd/postino/internal/host"
	"postino/shared/access"
	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/operator"
)

// settings are a server's on dir.
func settings(t *testing.T, dir string, change ...func(*config.Config)) config.Config {
	t.Helper()
	c := must[config.Config](t)(config.Load(func(string) string { return "" }))
	c.Data = dir
	for _, f := range change {
		f(&c)
	}
	return c
}

// firstKey makes a key in a directory that no server uses.
func firstKey(t *testing.T, dir string, g access.Grant) (id, secret string) {
	t.Helper()
	keys, done, err := stack.OpenKeys(t.Context(), settings(t, dir))
	ok(t, err)
	k, secret, err := keys.Add(t.Context(), g)
	ok(t, errors.Join(err, done()))
	return k.ID, secret
}

// as is the SDK with a key.
func (s *server) as(id, secret string) *sns.Client {
	return client(s.t, s.url, func(o *sns.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, "")
	})
}

// public serves on all addresses of this host, so that others could connect. Its
// public URL leads to this host alone, which must open nothing.
func public(t *testing.T, dir string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, events: newRecorder()}
	c := settings(t, dir, func(c *config.Config) { c.PublicURL = "http://localhost:1" })
	h, err := host.Open(t.Context(), host.Options{Listen: "0.0.0.0:0", Config: c, Log: slog.New(slog.DiscardHandler), Observer: s.events})
	ok(t, err)
	return run(t, h, s)
}

func TestPromise6ThePublicListenerServesKeyHoldersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, secret := firstKey(t, dir, access.Grant{})
	s := public(t, dir)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("programs on this host are sent to %s", s.url)
	}
	holder := s.as(id, secret)
	topic := must[*sns.CreateTopicOutput](t)(holder.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("t")})).TopicArn
	if status, body := post(t, s.url, nil, url.Values{"Action": {"ListTopics"}}); status != http.StatusForbidden || !strings.Contains(body, "MissingAuthenticationToken") {
		t.Errorf("an unsigned call is answered with %d %s", status, body)
	}
	if status, body := post(t, s.url, nil, url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {*topic}, "Token": {"ab"}}); status != http.StatusBadRequest || !strings.Contains(body, "Invalid parameter: Token") {
		t.Errorf("an unsigned confirmation is answered with %d %s", status, body)
	}

	// Endpoints on this host stay closed, and the last key's end opens nothing.
	r := receive(t, statuses(200))
	must[*sns.SubscribeOutput](t)(holder.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("http"), Endpoint: aws.String(r.at("/x"))}))
	r.nothing(t)
	must[operator.RevokedKey](t)(s.operator.RevokeKey(t.Context(), id))
	if status, body := post(t, s.url, nil, url.Values{"Action": {"ListTopics"}}); status != http.StatusForbidden {
		t.Errorf("without any key an unsigned call is answered with %d %s", status, body)
	}
}

func TestThePublicListenerIsKnownByTheAddressThatWasConnectedTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	firstKey(t, dir, access.Grant{})
	s := public(t, dir)
	for name, known := range map[string]bool{
		"192.0.2.7": true, "192.0.2.7:4575": true, "localhost": true, "127.0.0.1:4575": true,
		"192.0.2.8": false, "evil.example.com": false, "0.0.0.0:4575": false, "": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://192.0.2.7:4575/", nil)
		r = r.WithContext(host.At(t.Context(), "192.0.2.7:4575"))
		r.Host = name
		w := httptest.NewRecorder()
		s.host.Handler().ServeHTTP(w, r)
		if got := !strings.Contains(w.Body.String(), "Host header"); got != known {
			t.Errorf("known as %q: %v, want %v: %s", name, got, known, w.Body)
		}
	}
}

func TestAKeyHoldersTrafficGoesThroughWholeWithTheSDK(t *testing.T) {
	t.Parallel()
	s := start(t)
	k := must[operator.NewKey](t)(s.operator.AddKey(t.Context(), access.Grant{}))
	limited := must[operator.NewKey](t)(s.operator.AddKey(t.Context(), access.Grant{Actions: []string{"Publish*"}, Topics: []string{"t"}}))
	s.Client = s.as(k.ID, k.Secret)
	r := receive(t, statuses(200))
	topic := s.topic("t")
	s.subscribe(topic, r, r.at("/x"))
	s.Client = s.as(limited.ID, limited.Secret)
	id := s.publish(topic, "caffè & latte <signed>")
	if got := next(t, r.got); !strings.Contains(string(got.body), id) {
		t.Errorf("pushed was %s", got.body)
	}
	if _, err := s.ListTopics(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "AuthorizationError") || !strings.Contains(err.Error(), "SNS:ListTopics on resource: *") {
		t.Errorf("what it may not do: %v", err)
	}
	if _, err := s.operator.ListKeys(t.Context()); err != nil {
		t.Errorf("the command line: %v", err)
	}
}

// The answer to the SDK's first try gets lost: its second is taken for the same
// message, and a copy of either is refused.
func TestATryOfTheSDKsIsGoodAndACopyOfItIsNot(t *testing.T) {
	t.Parallel()
	s := start(t)
	k := must[operator.NewKey](t)(s.operator.AddKey(t.Context(), access.Grant{}))
	s.Client = s.as(k.ID, k.Secret)
	topic := s.topic("t")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	log := &recording{next: &lossy{transport: transport}}
	c := client(t, s.url, func(o *sns.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(k.ID, k.Secret, "")
		o.HTTPClient, o.Retryer = log, nil
	})
	must[*sns.PublishOutput](t)(c.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("m")}))
	if len(log.sent) != 2 {
		t.Fatalf("%d tries", len(log.sent))
	}
	for n, r := range log.sent {
		copied := r.Clone(t.Context())
		copied.Body = io.NopCloser(strings.NewReader(log.bodies[n]))
		if status, body := do(t, copied); status != http.StatusForbidden || !strings.Contains(body, "SignatureDoesNotMatch") || !strings.Contains(body, "it is a copy") {
			t.Errorf("the copy of try %d is answered with %d %s", n+1, status, body)
		}
	}
}

// recording keeps what it sends.
type recording struct {
	next   sns.HTTPClient
	sent   []*http.Request
	bodies []string
}

func (l *recording) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	l.sent, l.bodies = append(l.sent, r), append(l.bodies, string(body))
	return l.next.Do(r)
}

// A server behind a proxy: the client signs for the public URL, the request
// arrives under the server's own.
func TestACallSignedForThePublicURLIsGoodBehindAProxy(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://push.example.com", "https://push.example.com/sns", "https://push.example.com:8443/a/b"} {
		s := start(t, func(c *config.Config) { c.PublicURL = base })
		k := must[operator.NewKey](t)(s.operator.AddKey(t.Context(), access.Grant{}))
		at := must[*url.URL](t)(url.Parse(s.url))
		c := client(t, base, func(o *sns.Options) {
			o.Credentials = credentials.NewStaticCredentialsProvider(k.ID, k.Secret, "")
			o.HTTPClient = proxy{t, at, o.HTTPClient}
		})
		if _, err := c.ListTopics(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// proxy sends on what was meant for the public URL, its path cut off.
type proxy struct {
	t    *testing.T
	to   *url.URL
	next sns.HTTPClient
}

func (p proxy) Do(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.URL.Path, out.URL.RawPath = p.to.Scheme, p.to.Host, "/", ""
	out.Host = p.to.Host
	return p.next.Do(out)
}

func TestMetricsAndOperationsAreForProgramsOnThisHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	firstKey(t, dir, access.Grant{})
	s := public(t, dir)
	file := must[operator.ServerFile](t)(operator.ReadServerFile(dir))
	ask := func(path string, header http.Header) (int, string) {
		r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil))
		r.Header = header
		return do(t, r)
	}
	bearer := http.Header{"Authorization": {"Bearer " + file.Token}}
	// A proxy on this host passes strangers on, and some say nothing of it.
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip", "X-Nothing"} {
		if status, body := ask(metrics, http.Header{name: {"x"}}); status != http.StatusForbidden || !strings.Contains(body, "AuthorizationError") {
			t.Errorf("passed on with %s: %d %s", name, status, body)
		}
		with := bearer.Clone()
		with.Set(name, "x")
		if status, body := ask(metrics, with); status != http.StatusOK {
			t.Errorf("with the token and %s: %d %s", name, status, body)
		}
	}
	if status, _ := ask(operations, bearer); status != http.StatusOK {
		t.Errorf("the operator's API: %d", status)
	}
}

func TestMetricsNeedTheTokenWhereverOthersReachTheServer(t *testing.T) {
	t.Parallel()
	for url, open := range map[string]bool{
		"": true, "http://127.0.0.1:9": true, "http://localhost/sns": true, "http://[::1]:9": true,
		"https://push.example.com": false, "http://10.0.0.1:4575": false,
	} {
		s := start(t, func(c *config.Config) { c.PublicURL = url })
		for _, c := range []struct {
			name, value string
			open        bool
		}{{"", "", open}, {"Via", "1.1 proxy", false}, {"Authorization", "Bearer " + must[operator.ServerFile](t)(operator.ReadServerFile(s.dir)).Token, true}} {
			r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+metrics, nil))
			if c.name != "" {
				r.Header.Set(c.name, c.value)
			}
			if status, body := do(t, r); (status == http.StatusOK) != c.open {
				t.Errorf("public URL %q, %s: %d %.200s", url, c.name, status, body)
			}
		}
	}
}

func TestWhoComesFromElsewhereSeesNeitherMetricsNorOperations(t *testing.T) {
	t.Parallel()
	s := start(t)
	token := must[operator.ServerFile](t)(operator.ReadServerFile(s.dir)).Token
	for _, c := range []struct {
		from, at, path, token string
		status                int
	}{
		{"127.0.0.1:1000", "127.0.0.1:4575", metrics, "", 200},
		{"[::1]:1000", "[::1]:4575", metrics, "", 200},
		{"192.0.2.7:1000", "192.0.2.7:4575", metrics, "", 200}, // this host, by its own address
		{"192.0.2.8:1000", "192.0.2.7:4575", metrics, "", 403},
		{"192.0.2.8:1000", "192.0.2.7:4575", metrics, token, 200},
		{"192.0.2.8:1000", "192.0.2.7:4575", operations, token, 404},
		{"192.0.2.7:1000", "192.0.2.7:4575", operations, token, 200},
		{"192.0.2.7:1000", "192.0.2.7:4575", operations, "wrong", 401},
		{"", "192.0.2.7:4575", metrics, "", 403},
	} {
		if status := s.recorded(c.from, c.at, c.path, c.token); status != c.status {
			t.Errorf("%s from %s at %s with %q: %d, want %d", c.path, c.from, c.at, c.token, status, c.status)
		}
	}
}

// recorded asks the server's handler as if the connection came from one address
// to another.
func (s *server) recorded(from, at, path, token string) int {
	r := httptest.NewRequest(http.MethodGet, "http://"+at+path, nil)
	r = r.WithContext(host.At(s.t.Context(), at))
	r.RemoteAddr = from
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.host.Handler().ServeHTTP(w, r)
	return w.Code
}

func TestWhoMayCallIsTold(t *testing.T) {
	t.Parallel()
	elsewhere := func(c *config.Config) { c.PublicURL = "https://push.example.com" }
	for name, c := range map[string]struct {
		key    bool
		change func(*config.Config)
		want   host.Callers
	}{
		"a newcomer's server":      {false, func(*config.Config) {}, host.Anybody},
		"one with a key":           {true, func(*config.Config) {}, host.KeyHolders},
		"one behind a proxy":       {false, elsewhere, host.Nobody},
		"one behind it with a key": {true, elsewhere, host.KeyHolders},
	} {
		dir := t.TempDir()
		if c.key {
			firstKey(t, dir, access.Grant{})
		}
		h, _ := open(t, dir, c.change)
		got, err := h.Callers(context.Background())
		if err = errors.Join(err, h.Close()); err != nil || got != c.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}
