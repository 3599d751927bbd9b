package httpsend

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/icholy/digest"

	"postino/shared/push"
)

func withUser(url, user string) string { return strings.Replace(url, "://", "://"+user+"@", 1) }

func TestUserInfoIsSentAsBasicCredentialsAtOnce(t *testing.T) {
	for userinfo, want := range map[string][2]string{
		"user:secret":            {"user", "secret"},
		"user":                   {"user", ""},
		"user:":                  {"user", ""},
		":secret":                {"", "secret"},
		"us%40er:p%3Aw%2F%C3%BC": {"us@er", "p:w/ü"},
	} {
		var hits atomic.Int32
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			user, password, ok := r.BasicAuth()
			if !ok || user != want[0] || password != want[1] || strings.Contains(r.Host, "@") {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
		if r := send(loopbackSender(t), withUser(server.URL, userinfo)); r.Class != push.Success || hits.Load() != 1 {
			t.Errorf("%s: %+v after %d requests", userinfo, r, hits.Load())
		}
	}
}

func TestWithoutUserInfoNoCredentialsAreSent(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, sent := r.Header["Authorization"]; sent {
			t.Error("credentials out of nowhere")
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	if r := send(loopbackSender(t), server.URL); r.Class != push.Permanent || r.Status != 401 {
		t.Errorf("%+v", r)
	}
}

// The endpoint checks the answer by computing the same digest itself.
func TestADigestChallengeIsAnsweredOnce(t *testing.T) {
	for name, challenge := range map[string]string{
		"MD5, no qop":       `Digest realm="post", nonce="abc"`,
		"MD5, auth":         `Digest realm="post", nonce="abc", qop="auth", opaque="o"`,
		"SHA-256, auth":     `Digest realm="post", nonce="abc", algorithm=SHA-256, qop="auth"`,
		"SHA-256, auth-int": `Digest realm="post", nonce="abc", algorithm=SHA-256, qop="auth-int"`,
	} {
		for password, wantClass := range map[string]push.Class{"right": push.Success, "wrong": push.Permanent} {
			t.Run(name+", "+password+" password", func(t *testing.T) {
				var hits atomic.Int32
				server := serve(t, func(w http.ResponseWriter, r *http.Request) {
					hits.Add(1)
					body, _ := io.ReadAll(r.Body)
					got, err := digest.ParseCredentials(r.Header.Get("Authorization"))
					c, _ := digest.ParseChallenge(challenge)
					if err == nil {
						want, werr := digest.Digest(c, digest.Options{
							Method: "POST", URI: "/hook?x=1", Count: got.Nc, Cnonce: got.Cnonce, Username: "user", Password: "right",
							GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(body))), nil },
						})
						if werr == nil && want.Response == got.Response && got.Username == "user" && got.URI == "/hook?x=1" && string(body) == string(note.Body) {
							return
						}
					}
					w.Header().Set("WWW-Authenticate", challenge)
					w.WriteHeader(http.StatusUnauthorized)
				})
				r := send(loopbackSender(t), withUser(server.URL, "user:"+password)+"/hook?x=1")
				if r.Class != wantClass || hits.Load() != 2 {
					t.Errorf("%+v after %d requests", r, hits.Load())
				}
			})
		}
	}
}

func TestAChallengeThatCannotBeAnsweredLeavesTheRefusal(t *testing.T) {
	for _, challenge := range []string{
		"", "Basic realm=x", "Digest", "Digest ", `Digest realm="`, "Digest =,=,", `Digest realm="r", nonce="n", algorithm=ROT13`,
		`Digest realm="r", nonce="n", qop="other"`, `Digest realm="r\", nonce="n"`, "Bearer x", `Digest realm="` + strings.Repeat("x", 20000),
	} {
		var hits atomic.Int32
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			hits.Add(1)
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		})
		if r := send(loopbackSender(t), withUser(server.URL, "user:secret")); r.Class != push.Permanent || r.Status != 401 || hits.Load() > 2 {
			t.Errorf("%.60s: %+v after %d requests", challenge, r, hits.Load())
		}
	}
}
