package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/operator"
)

var exported = regexp.MustCompile(`^export AWS_ACCESS_KEY_ID=(POSTINO[A-Z2-7]{13}) AWS_SECRET_ACCESS_KEY=([A-Za-z0-9_-]{40})\nunset AWS_SESSION_TOKEN\n# (.*)\n$`)

// addKey runs `postino keys add` and gives what it printed.
func addKey(t *testing.T, dir string, more ...string) (id, secret, note string) {
	t.Helper()
	got := postino(t, "", nil, append([]string{"keys", "add", "--data", dir}, more...)...)
	m := exported.FindStringSubmatch(got.out)
	if got.code != exitOK || got.err != "" || m == nil {
		t.Fatalf("%+v", got)
	}
	return m[1], m[2], m[3]
}

// topics calls ListTopics on the server of dir with a key.
func topics(t *testing.T, dir, id, secret string) error {
	t.Helper()
	s, err := operator.ReadServerFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := awssns.New(awssns.Options{BaseEndpoint: &s.URL, Region: "eu-north-1", HTTPClient: &http.Client{Transport: transport}, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, "")})
	_, err = c.ListTopics(t.Context(), nil)
	return err
}

func TestAKeysLifeOnARunningServer(t *testing.T) {
	dir, _ := live(t)
	if err := topics(t, dir, "any", "any"); err != nil {
		t.Errorf("a server without keys: %v", err)
	}
	if got := postino(t, "", nil, "keys", "--data", dir); got.code != exitOK || !strings.HasPrefix(got.out, "There is no key: `postino keys add --data ") {
		t.Errorf("no keys are listed as %+v", got)
	}
	id, secret, note := addKey(t, dir, "--note", "shop")
	if note != "This key may call every action on every topic. Keep its secret: it is not shown again." {
		t.Errorf("it says %q", note)
	}
	limited, its, note := addKey(t, dir, "--actions", "publish,sns:List*", "--topics", "orders*")
	if note != "This key may call List*, Publish on orders*. Keep its secret: it is not shown again." {
		t.Errorf("it says %q", note)
	}
	if err := topics(t, dir, id, secret); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct{ id, secret, says string }{
		"no key any more does": {"any", "any", "InvalidClientTokenId"},
		"a wrong secret":       {id, its, "SignatureDoesNotMatch"},
		"a limited key":        {limited, its, "AuthorizationError"},
	} {
		if err := topics(t, dir, c.id, c.secret); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	listed := postino(t, "", nil, "keys", "list", "--data", dir)
	for _, says := range []string{id, limited, "shop", "List*, Publish", "orders*", "all"} {
		if !strings.Contains(listed.out, says) {
			t.Errorf("%q does not say %s", listed.out, says)
		}
	}
	if strings.Contains(listed.out, secret) || strings.Contains(listed.out, its) {
		t.Error("a list tells a secret")
	}
	var keys []operator.Key
	if got := postino(t, "", nil, "keys", "list", "--data", dir, "--json"); json.Unmarshal([]byte(got.out), &keys) != nil || len(keys) != 2 || strings.Contains(got.out, "ealed") {
		t.Errorf("as JSON: %s", got.out)
	}

	if got := postino(t, "", nil, "keys", "revoke", id, "--data", dir); got.code != exitOK || !strings.HasPrefix(got.out, "Revoked: calls signed with "+id) || strings.Contains(got.out, "last key") {
		t.Errorf("%+v", got)
	}
	if err := topics(t, dir, id, secret); err == nil || !strings.Contains(err.Error(), "InvalidClientTokenId") {
		t.Errorf("a revoked key: %v", err)
	}
	if got := postino(t, "", nil, "keys", "revoke", id, "--data", dir); got.code != exitFailure || !strings.Contains(got.err, "There is no key") {
		t.Errorf("%+v", got)
	}
	if got := postino(t, "", nil, "keys", "revoke", strings.ToLower(limited), "--data", dir); got.code != exitOK || !strings.Contains(got.out, "It was the last key: a server that only this host reaches takes every call now") {
		t.Errorf("%+v", got)
	}
	if err := topics(t, dir, "any", "any"); err != nil {
		t.Errorf("without keys again: %v", err)
	}
}

func TestAKeyMadeWhileNoServerRunsIsGoodOnTheNext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, verb := range [][]string{{"list"}, {"revoke", "POSTINOAAAAAAAAAAAAA"}} {
		got := postino(t, "", nil, append(append([]string{"keys"}, verb...), "--data", dir)...)
		if _, err := os.Stat(dir); got.code != exitFailure || !strings.Contains(got.err, "there is no data of Postino's in "+dir) || err == nil {
			t.Errorf("%v: %+v, %v", verb, got, err)
		}
	}
	id, secret, _ := addKey(t, dir)
	second, _, _ := addKey(t, dir)
	if got := postino(t, "", nil, "keys", "list", "--data", dir); got.code != exitOK || strings.Count(got.out, "POSTINO") != 2 {
		t.Errorf("%+v", got)
	}
	if got := postino(t, "", nil, "keys", "revoke", second, "--data", dir, "--json"); got.code != exitOK || !strings.Contains(got.out, `"id": "`+second+`"`) {
		t.Errorf("%+v", got)
	}
	liveOn(t, dir)
	if err := topics(t, dir, id, secret); err != nil {
		t.Error(err)
	}
	if err := topics(t, dir, second, secret); err == nil {
		t.Error("a revoked key is good")
	}
}

func TestKeysAreToldWhatIsWrongWithThem(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--actions", "Publsh"}, `"Publsh" is no action of SNS: give one like Publish`},
		{[]string{"--topics", "a b"}, `"a b" is no topic`},
		{[]string{"--topics", "arn:aws:sns:eu-west-1:000000000000:a"}, "whose ARNs begin with arn:aws:sns:us-east-1:000000000000:"},
		{[]string{"--topics", ""}, "is empty: is a shell variable unset?"},
		{[]string{"--topics", "a,,b"}, "is empty: is a shell variable unset?"},
		{[]string{"--actions="}, "is empty: is a shell variable unset?"},
		{[]string{"--note", "two\nlines"}, "on one line"},
	} {
		got := postino(t, "", nil, append([]string{"keys", "add", "--data", dir}, c.args...)...)
		if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, c.says) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%q: %+v", c.args, got)
		}
	}
	if got := postino(t, "", nil, "keys", "list", "--data", dir); strings.Contains(got.out, "POSTINO") {
		t.Errorf("a refused key is there: %s", got.out)
	}
}

func TestEnvPrintsNoStandInsForAServerWithKeys(t *testing.T) {
	dir, _ := live(t)
	id, secret, _ := addKey(t, dir)
	got := postino(t, "", nil, "env", "--data", dir)
	if strings.Contains(got.out, "AWS_ACCESS_KEY_ID") || !strings.Contains(got.out, "AWS_ENDPOINT_URL_SNS") || !strings.Contains(got.err, "`postino keys add --data ") {
		t.Errorf("%+v", got)
	}
	got = postino(t, "", map[string]string{"AWS_ACCESS_KEY_ID": id}, "env", "--data", dir)
	if got.err != "" || !strings.Contains(got.out, "# credentials are left alone: they look like a key of Postino's\n") || strings.Contains(got.out, secret) {
		t.Errorf("%+v", got)
	}
}

func TestTheDemonstrationNeedsAServerThatTakesEveryCall(t *testing.T) {
	dir := t.TempDir()
	addKey(t, dir)
	for name, c := range map[string]struct {
		dir  string
		env  map[string]string
		says string
	}{
		"keys":         {dir, nil, "choose another directory with --data, or see them with `postino keys list --data DIR`"},
		"a way out":    {dir, nil, "and remove each with `postino keys revoke ID --data DIR`"},
		"a public URL": {t.TempDir(), map[string]string{"POSTINO_PUBLIC_URL": "https://push.example.com"}, "POSTINO_PUBLIC_URL lets others in"},
	} {
		got := postino(t, "", c.env, "serve", "--demo", "--listen", "127.0.0.1:0", "--data", c.dir)
		if got.code != exitFailure || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEnvKnowsTheKeysOfADirectoryWhoseServerIsNotRunning(t *testing.T) {
	dir := t.TempDir()
	if got := postino(t, "", nil, "env", "--data", dir); !strings.Contains(got.out, "AWS_ACCESS_KEY_ID='postino'") {
		t.Errorf("without keys: %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("looking made %v, %v", left, err)
	}
	id, _, _ := addKey(t, dir)
	died := t.TempDir()
	addKey(t, died)
	if err := operator.WriteServerFile(died, operator.ServerFile{URL: "http://127.0.0.1:1", Token: token}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, key, says string
	}{
		{dir, "", "takes calls that its own keys sign and no others"}, {dir, "AKIA", "takes calls that its own keys sign and no others"},
		{dir, id, "they look like a key of Postino's"}, {died, "", "takes calls that its own keys sign and no others"},
	} {
		got := postino(t, "", map[string]string{"AWS_ACCESS_KEY_ID": c.key}, "env", "--data", c.dir)
		if got.code != exitOK || strings.Contains(got.out, "export AWS_ACCESS_KEY_ID") || strings.Contains(got.out, "takes any") || !strings.Contains(got.out, c.says) {
			t.Errorf("with %q: %+v", c.key, got)
		}
	}
}

// TestARevocationIsNoFailureWhateverFollows has the list fail that tells whether a
// key was left.
func TestARevocationIsNoFailureWhateverFollows(t *testing.T) {
	lists := 0
	dir := server(t, map[string]any{
		"POST keys/POSTINOA/revoke": operator.RevokedKey{ID: "POSTINOA"},
		"GET keys": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if lists++; lists > 1 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = w.Write([]byte("[]"))
		}),
	})
	if got := postino(t, "", nil, "keys", "revoke", "POSTINOA", "--data", dir); got.code != exitOK || got.err != "" || got.out != "Revoked: calls signed with POSTINOA are refused from now on.\n" || lists != 2 {
		t.Errorf("%+v after %d lists", got, lists)
	}
}

func TestARevocationSaysWhatItMeansWhereItWasMade(t *testing.T) {
	const add = "postino keys add"
	for name, c := range map[string]struct {
		target    chosen
		last      bool
		says, not string
	}{
		"a server":              {chosen{data: "d"}, false, "from now on", "function"},
		"a server's last key":   {chosen{data: "d"}, true, "takes every call now", "function"},
		"a stack":               {chosen{stack: "s"}, false, "by every function within 5 seconds", "only this host"},
		"a stack's last key":    {chosen{stack: "s"}, true, "no call is taken until there is another; `postino keys add`", "only this host"},
		"a table":               {chosen{table: "t"}, false, "by every function within 5 seconds", "last key"},
		"the last of a table's": {chosen{table: "t"}, true, "no call is taken", "takes every call"},
	} {
		got := strings.Join(revoked("POSTINOA", c.target, c.last, add), "\n")
		if !strings.HasPrefix(got, "Revoked: calls signed with POSTINOA are refused") || !strings.Contains(got, c.says) || strings.Contains(got, c.not) || strings.Contains(got, "last key") != c.last {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPostinosOwnKeysAreNoCredentialsOfAWS(t *testing.T) {
	for _, id := range []string{"POSTINOABCDEFGHIJKLM", standInKey} {
		for _, flag := range []string{"--stack", "--table"} {
			for _, command := range [][]string{{"pause"}, {"keys", "list"}, {"dlq", "list"}} {
				got := postino(t, "", map[string]string{"AWS_ACCESS_KEY_ID": id}, append(command, flag, "s")...)
				if got.code != exitFailure || got.out != "" || !strings.HasPrefix(got.err, "postino: AWS_ACCESS_KEY_ID is one of Postino's keys; "+flag+" needs your AWS credentials: unset") {
					t.Errorf("%v %s with %s: %+v", command, flag, id, got)
				}
			}
		}
	}
}
