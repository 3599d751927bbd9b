//go:build external

package signing_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"postino/shared/envelope"
	"postino/shared/push"
	"postino/shared/signing"
)

// Where the validators of testdata/validator are installed, unless
// POSTINO_VALIDATOR_DIR names another folder.
const validatorDir = "../../.cache/validators"

// What each of the two validators answers to a signature that is wrong.
var complaint = map[string]string{
	"sns-validator":         "The message signature is invalid.",
	"sns-payload-validator": "Invalid Signature",
}

// check is one message, a validator, and whether that must accept it.
type check struct {
	name      string
	Validator string `json:"validator"`
	Body      string `json:"body"`
	good      bool
}

// Two validators that know nothing of Postino check what it signs: npm's
// sns-validator, and sns-payload-validator, which reads UnsubscribeConfirmation
// as the SNS developer guide has it, where the former forgets the Token.
func TestIndependentValidatorsAcceptOurSignatures(t *testing.T) {
	key, certPEM := pair(t, 2048)
	// The certificate and its path are the same whatever the links are.
	served, err := signing.New(key, certPEM, links)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != served.CertPath() {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(served.CertPEM())
	}))
	defer server.Close()

	var checks []check
	for validator, publicURL := range map[string]string{"sns-validator": server.URL, "sns-payload-validator": "https://sns.eu-west-1.amazonaws.com"} {
		s, err := signing.New(key, certPEM, envelope.Links{PublicURL: publicURL})
		if err != nil {
			t.Fatal(err)
		}
		checks = append(checks, checksFor(t, validator, s, envelope.Links{PublicURL: publicURL})...)
	}

	for i, got := range verify(t, server, checks) {
		want := ""
		if !checks[i].good {
			want = complaint[checks[i].Validator]
		}
		if got != want {
			t.Errorf("%s on %s answers %q, want %q", checks[i].Validator, checks[i].name, got, want)
		}
	}
}

// checksFor makes every kind of message in both versions, whole and tampered with.
func checksFor(t *testing.T, validator string, s *signing.Signer, l envelope.Links) []check {
	t.Helper()
	odd := withSubject("Ünïcødé <subject> & \"quotes\"")
	odd.Body = "<é> \u2028 \x01 \\ / 🙂\r\n" + strings.Repeat("long ", 1000)
	messages := []struct {
		name string
		kind push.Kind
		m    push.Message
	}{
		{"notification", push.Notification, message()},
		{"notification with subject", push.Notification, withSubject("Hi there")},
		{"notification with odd text", push.Notification, odd},
		{"subscription confirmation", push.SubscriptionConfirm, confirmation(push.SubscriptionConfirm)},
		{"unsubscribe confirmation", push.UnsubscribeConfirmation, confirmation(push.UnsubscribeConfirmation)},
	}
	var checks []check
	for _, message := range messages {
		for _, version := range []string{"1", "2"} {
			signature, err := s.Sign(message.kind, message.m, version)
			if err != nil {
				t.Fatal(err)
			}
			message.m.Signature = signature
			body := string(envelope.Build(message.kind, message.m, push.Subscription{ARN: topicARN + ":6b0e71bd-7e97-4d97-80ce-4a0994e55286"}, "", l).Body)
			tampered := strings.Replace(body, message.m.ID, strings.Replace(message.m.ID, "d", "e", 1), 1)
			// The quirk: sns-validator leaves the Token out of what it verifies.
			forgetsToken := validator == "sns-validator" && message.kind == push.UnsubscribeConfirmation
			name := message.name + ", version " + version
			checks = append(checks, check{name, validator, body, !forgetsToken}, check{name + ", tampered with", validator, tampered, false})
		}
	}
	return checks
}

// verify runs testdata/validator/verify.js and gives its answers.
func verify(t *testing.T, server *httptest.Server, checks []check) []string {
	t.Helper()
	dir := os.Getenv("POSTINO_VALIDATOR_DIR")
	if dir == "" {
		dir = validatorDir
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("validators are not installed: %v", err)
	}
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{"port": port, "checks": checks})
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "validator", "verify.js"))
	node.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+authority)
	node.Stdin, node.Stderr = bytes.NewReader(input), os.Stderr
	output, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var answers []string
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var answer string
		if err := d.Decode(&answer); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in %q", err, output)
		}
		answers = append(answers, answer)
	}
	if len(answers) != len(checks) {
		t.Fatalf("%d answers to %d checks", len(answers), len(checks))
	}
	return answers
}
