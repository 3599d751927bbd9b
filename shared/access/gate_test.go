package access

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// tries are the headers by which SDKs tell their tries apart.
func tries(attempt string) http.Header {
	return http.Header{"Amz-Sdk-Invocation-Id": {"7c1e"}, "Amz-Sdk-Request": {"attempt=" + attempt}}
}

func TestACallIsGoodUnderEveryURLThatLeadsHere(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	for url, good := range map[string]bool{
		"https://" + host + "/":                   true,
		"https://" + host:                         true,
		"https://" + host + ":443/":               true,
		"https://push.example.com/sns/":           true, // what AWS's SDKs make of the public URL
		"https://push.example.com/sns":            true, // what boto3 does
		"https://push.example.com/":               true, // the proxy adds the path
		"https://" + host + "/sns/":               true, // the proxy keeps the host
		"https://push.example.com/other":          false,
		"https://push.example.com:8443/sns/":      false,
		"https://elsewhere.example.com/":          false,
		"https://" + host + "/?Action=ListTopics": false, // the query is not what arrives
	} {
		id, err := w.gate().Admit(t.Context(), w.call(t, k.ID, secret, url, nil), "Publish", orders)
		if good && (err != nil || id != k.ID) {
			t.Errorf("%s: %v", url, err)
		}
		if !good {
			wantCode(t, url, err, push.CodeSignatureMismatch, "does not match the signature you provided")
		}
	}
}

func TestThePlacesOfAnInstallationWithoutAPublicURL(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	g := &Gate{Keys: w.Keyring, Now: w.Now}
	if _, err := g.Admit(t.Context(), w.call(t, k.ID, secret, "https://"+host+"/", nil), "Publish", orders); err != nil {
		t.Error(err)
	}
	_, err := g.Admit(t.Context(), w.call(t, k.ID, secret, "https://push.example.com/", nil), "Publish", orders)
	wantCode(t, "another host", err, push.CodeSignatureMismatch, "does not match")
}

func TestTheGateRefuses(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	limited, its := w.add(t, Grant{Actions: []string{"Publish", "ListTopics"}, Topics: []string{"orders"}})
	const here = "https://" + host + "/"
	unsigned := w.call(t, k.ID, secret, here, nil)
	unsigned.Header.Del("Authorization")
	altered := w.call(t, k.ID, secret, here, nil)
	altered.Body = []byte("Action=DeleteTopic")
	late := w.call(t, k.ID, secret, here, nil)
	for name, c := range map[string]struct {
		r             sigv4.Request
		action, topic string
		after         time.Duration
		code          push.Code
		says          string
	}{
		"an unsigned call":               {unsigned, "Publish", orders, 0, push.CodeMissingToken, "sign it with a key"},
		"an unknown key":                 {w.call(t, "AKIAIOSFODNN7EXAMPLE", secret, here, nil), "Publish", orders, 0, push.CodeInvalidClientToken, "AKIAIOSFODNN7EXAMPLE is no key of this installation"},
		"a wrong secret":                 {w.call(t, k.ID, its, here, nil), "Publish", orders, 0, push.CodeSignatureMismatch, "does not match"},
		"an altered call":                {altered, "Publish", orders, 0, push.CodeSignatureMismatch, "does not match"},
		"a late call":                    {late, "Publish", orders, time.Hour, push.CodeSignatureMismatch, "clock"},
		"an early call":                  {late, "Publish", orders, -time.Hour, push.CodeSignatureMismatch, "clock"},
		"an action that is not allowed":  {w.call(t, limited.ID, its, here, nil), "DeleteTopic", orders, 0, push.CodeAuthorizationError, "Key " + limited.ID + " is not authorized to perform: SNS:DeleteTopic on resource: " + orders},
		"a topic that is not allowed":    {w.call(t, limited.ID, its, here, nil), "Publish", invoices, 0, push.CodeAuthorizationError, "SNS:Publish on resource: " + invoices},
		"what names no topic":            {w.call(t, limited.ID, its, here, nil), "ListTopics", "", 0, push.CodeAuthorizationError, "SNS:ListTopics on resource: *"},
		"a topic of a thousand letters":  {w.call(t, limited.ID, its, here, nil), "Publish", strings.Repeat("x", 1000), 0, push.CodeAuthorizationError, "…"},
		"a limited key's permitted call": {w.call(t, limited.ID, its, here, nil), "Publish", orders, 0, "", ""},
	} {
		w.now = noon.Add(c.after)
		_, err := w.gate().Admit(t.Context(), c.r, c.action, c.topic)
		if c.code == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		wantCode(t, name, err, c.code, c.says)
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), its) {
			t.Errorf("%s tells a secret: %v", name, err)
		}
	}
}

func TestACopyOfACallIsRefusedAndAnotherTryIsNot(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	g, here := w.gate(), "https://"+host+"/"
	admit := func(r sigv4.Request) error { _, err := g.Admit(t.Context(), r, "Publish", orders); return err }
	first, second := w.call(t, k.ID, secret, here, tries("1; max=3")), w.call(t, k.ID, secret, here, tries("2; max=3"))
	for _, r := range []sigv4.Request{first, second} {
		if err := admit(r); err != nil {
			t.Error(err)
		}
		w.now = w.now.Add(time.Minute)
		wantCode(t, "the copy", admit(r), push.CodeSignatureMismatch, "it is a copy")
	}
	w.now = noon
	plain := w.call(t, k.ID, secret, here, nil) // of a client that signs no tries
	half := w.call(t, k.ID, secret, here, http.Header{"Amz-Sdk-Invocation-Id": {"x"}})
	for range 2 {
		if err := errors.Join(admit(plain), admit(half)); err != nil {
			t.Error(err)
		}
	}
	// What is remembered is the process's own.
	if _, err := w.gate().Admit(t.Context(), first, "Publish", orders); err != nil {
		t.Errorf("another process refuses what this one has served: %v", err)
	}
}

func TestARefusedCallIsNotRemembered(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	g := w.gate()
	r := w.call(t, k.ID, secret, "https://"+host+"/", tries("1"))
	bad := r
	bad.Body = []byte("altered")
	_, err := g.Admit(t.Context(), bad, "Publish", orders)
	wantCode(t, "altered", err, push.CodeSignatureMismatch, "does not match")
	w.now = w.now.Add(cacheFor)
	w.err = errors.New("down")
	if _, err := g.Admit(t.Context(), r, "Publish", orders); !errors.Is(err, w.err) {
		t.Error(err)
	}
	w.err = nil
	if _, err := g.Admit(t.Context(), r, "Publish", orders); err != nil {
		t.Errorf("the call itself: %v", err)
	}
}

func TestSignaturesRememberedAreBounded(t *testing.T) {
	var r replays
	sig := func(n int) string { return strings.Repeat("0", 56) + hex8(n) }
	for n := range remembered + 10 {
		if !r.first(sig(n)) {
			t.Fatalf("signature %d was seen before", n)
		}
	}
	if r.seen.Len() != remembered || r.first(sig(remembered+9)) {
		t.Errorf("%d are remembered", r.seen.Len())
	}
}

func hex8(n int) string {
	const digits = "0123456789abcdef"
	var b [8]byte
	for i := range b {
		b[7-i] = digits[n>>(4*i)&15]
	}
	return string(b[:])
}

func TestAGateMayStandOpenWhileThereIsNoKey(t *testing.T) {
	w := newWorld()
	g := w.gate()
	g.OpenWhileEmpty = true
	unsigned := sigv4.Request{Method: "POST", Path: "/", Header: http.Header{"Host": {host}}}
	stranger := w.call(t, "id", "secret", "https://"+host+"/", nil)
	for _, r := range []sigv4.Request{unsigned, stranger} {
		if id, err := g.Admit(t.Context(), r, "Publish", orders); err != nil || id != "" {
			t.Errorf("%q, %v", id, err)
		}
	}
	_, err := w.gate().Admit(t.Context(), unsigned, "Publish", orders)
	wantCode(t, "a gate that is always on", err, push.CodeMissingToken, "sign it")

	k, secret := w.add(t, Grant{})
	_, err = g.Admit(t.Context(), unsigned, "Publish", orders)
	wantCode(t, "once there is a key", err, push.CodeMissingToken, "sign it")
	if _, err := g.Admit(t.Context(), w.call(t, k.ID, secret, "https://"+host+"/", nil), "Publish", orders); err != nil {
		t.Error(err)
	}
	w.err, w.now = errors.New("down"), w.now.Add(cacheFor)
	if _, err := g.Admit(t.Context(), unsigned, "Publish", orders); !errors.Is(err, w.err) {
		t.Errorf("a store that is down opens the gate: %v", err)
	}
}
