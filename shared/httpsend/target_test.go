package httpsend

import (
	"strings"
	"testing"

	"postino/shared/outcome"
	"postino/shared/push"
)

func TestAnEndpointThatCannotBeOneIsPermanentAndSaysWhy(t *testing.T) {
	s := New(Options{})
	t.Cleanup(s.Close)
	for endpoint, why := range map[string]string{
		"":                         "scheme",
		"h.example/path":           "scheme",
		"ftp://h.example":          "scheme",
		"unix:///var/run/x.sock":   "scheme",
		"javascript:alert(1)":      "scheme",
		"http:opaque":              "no host",
		"http://":                  "no host",
		"http://:80/":              "no host",
		"http://user:pw@/":         "no host",
		"http://a_b.example/":      "underscore",
		"http://2130706433/":       "dotted",
		"http://0x7f000001/":       "dotted",
		"http://0177.0.0.1/":       "", // 0177 is refused by the resolver or not a literal
		"http://127.1/":            "dotted",
		"http://1.2.3.4.5/":        "dotted",
		"http://1.2.3.256/":        "dotted",
		"http://a.example.0x/":     "dotted",
		"http://1.2.3.4./":         "dotted",
		"http://h.example:0/":      "port",
		"http://h.example:65536/":  "port",
		"http://h.example:x/":      "no URL",
		"http://h.example\r\nX: 1": "no URL",
		"http://[::1":              "no URL",
		"http://%31.example/":      "no URL",
	} {
		r := send(s, endpoint)
		if r.Class != push.Permanent || r.Fault != outcome.Blocked || !strings.Contains(r.Detail, why) || r.Connected {
			t.Errorf("%q: %+v, want a word on %q", endpoint, r, why)
		}
	}
}

func TestOrdinaryEndpointsHaveNoFlaw(t *testing.T) {
	for _, endpoint := range []string{
		"http://h.example", "HTTPS://h.example/", "https://h.example:8443/a/b?c=d#e", "http://1.2.3.4/", "http://[2606::1]:8080/x",
		"http://3com.example/", "http://a.0xyz/", "http://bücher.example/", "http://u:p@h.example/", "http://h.example./", "http://xn--bcher-kva.example/",
		"http://h.example:/",
	} {
		if target := parseTarget(endpoint); target.flaw != "" || target.url.User != nil || target.url.Fragment != "" {
			t.Errorf("%s: %+v", endpoint, target)
		}
	}
}

// Endpoints come from whoever may subscribe.
func FuzzEndpointsAreReadWithoutHarm(f *testing.F) {
	for _, s := range []string{"http://u:p@h.example:80/a?b#c", "https://[::1%25lo]/", "http://0x7f.1/", "http://a_b/", "://", "http://①.②/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, endpoint string) {
		target := parseTarget(endpoint)
		if target.flaw != "" {
			return
		}
		if target.url.User != nil || target.url.Hostname() == "" || (target.url.Scheme != "http" && target.url.Scheme != "https") {
			t.Errorf("%q gives %v", endpoint, target.url)
		}
		newRequest(t.Context(), target, note, target.basic)
	})
}
