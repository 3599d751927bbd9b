package host_test

import (
	"net/http"
	"strings"
	"testing"

	"postino/shared/config"
)

const call, metrics, operations = "/", "/metrics", "/_postino/v1/queues"

// from asks for path as a client does that looked the server up as host.
func (s *server) from(host, path string) (status int, answer string) {
	s.t.Helper()
	method, body := http.MethodGet, ""
	if path == call {
		method, body = http.MethodPost, "Action=ListTopics"
	}
	r := must[*http.Request](s.t)(http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Host = host
	return do(s.t, r)
}

func TestARequestMeantForAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *config.Config) { c.PublicURL = "https://push.example.com:8443/sns" })
	for _, host := range []string{"127.0.0.1", "127.0.0.1:4575", "127.9.9.9:1", "localhost", "LocalHost:4575", "[::1]:4575", "[::1]", "push.example.com", "Push.Example.com:8443"} {
		for path, says := range map[string]string{call: "<Code>MissingAuthenticationToken</Code>", metrics: "Metrics need the token", operations: "needs the token"} {
			if status, body := s.from(host, path); !strings.Contains(body, says) {
				t.Errorf("%s%s answers %d %s", host, path, status, body)
			}
		}
	}
	for _, host := range []string{"evil.example.com", "127.0.0.1.evil.example.com:4575", "example.com", "localhost.example.com", "10.0.0.1", "0.0.0.0:4575", "[fe80::1]:80", "push.example.com.evil.com"} {
		for _, path := range []string{call, metrics, operations, "/anything"} {
			status, body := s.from(host, path)
			if status != http.StatusForbidden || !strings.Contains(body, "<Code>AuthorizationError</Code>") || !strings.Contains(body, "Host header") || strings.Contains(body, host) {
				t.Errorf("%s%s answers %d %s", host, path, status, body)
			}
		}
	}
	if status, _ := s.from("evil.example.com", "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answers %d", status)
	}
}

func TestWithoutAPublicURLOnlyThisHostsNamesAreKnown(t *testing.T) {
	t.Parallel()
	s := start(t)
	if status, body := s.from("push.example.com", call); status != http.StatusForbidden {
		t.Errorf("answered %d %s", status, body)
	}
	if status, body := s.from("localhost:1", call); status != http.StatusOK {
		t.Errorf("answered %d %s", status, body)
	}
}
