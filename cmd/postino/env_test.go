package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/operator"
)

const (
	ourRegion = "export AWS_REGION='eu-west-1'\nexport AWS_DEFAULT_REGION='eu-west-1'\n"
	ourKeys   = "export AWS_ACCESS_KEY_ID='postino'\nexport AWS_SECRET_ACCESS_KEY='postino'\n"
	ourURL    = "export AWS_ENDPOINT_URL_SNS='http://127.0.0.1:4999'\n"
)

func TestEnvLeavesWhatTheUserHasSetAlone(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := operator.WriteServerFile(dir, operator.ServerFile{URL: "http://127.0.0.1:4999", Token: token, Region: "eu-west-1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	credentials := filepath.Join(home, ".aws", "credentials")
	if err := os.WriteFile(credentials, []byte("[work]\nregion=x\n[default]\naws_access_key_id = AKIA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const keysStay, regionStays = "# credentials are left alone: ", "# the region is left alone: "
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing is set":     {nil, ourURL + ourRegion + ourKeys},
		"it ran before":      {map[string]string{"AWS_ACCESS_KEY_ID": "postino", "AWS_REGION": "eu-west-1"}, ourURL + ourRegion + ourKeys},
		"real keys":          {map[string]string{"AWS_ACCESS_KEY_ID": "AKIA"}, ourURL + ourRegion + keysStay + "AWS_ACCESS_KEY_ID is set; a server without keys takes any\n"},
		"a role in a pod":    {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/t"}, ourURL + ourRegion + keysStay + "AWS_WEB_IDENTITY_TOKEN_FILE is set; a server without keys takes any\n"},
		"another region":     {map[string]string{"AWS_DEFAULT_REGION": "us-west-2"}, ourURL + ourKeys + regionStays + "AWS_DEFAULT_REGION is set\n"},
		"a default profile":  {map[string]string{"HOME": home}, ourURL + ourRegion + keysStay + credentials + " has some; a server without keys takes any\n"},
		"a file elsewhere":   {map[string]string{"AWS_CONFIG_FILE": credentials}, ourURL + ourRegion + keysStay + credentials + " has some; a server without keys takes any\n"},
		"an empty home":      {map[string]string{"HOME": dir}, ourURL + ourRegion + ourKeys},
		"a profile by name":  {map[string]string{"AWS_PROFILE": "work"}, ourURL + regionStays + "AWS_PROFILE is set and may name one\n" + keysStay + "AWS_PROFILE is set; a server without keys takes any\n"},
		"profile and region": {map[string]string{"AWS_PROFILE": "work", "AWS_REGION": "eu-west-1"}, ourURL + ourRegion + keysStay + "AWS_PROFILE is set; a server without keys takes any\n"},
	} {
		got := postino(t, "", c.env, "env", "--data", dir)
		if got.code != exitOK || got.err != "" {
			t.Errorf("%s: %+v", name, got)
		}
		if d := cmp.Diff(c.want, got.out); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if strings.Contains(got.out, token) || strings.Contains(got.out, "AKIA") {
			t.Errorf("%s: a secret in %q", name, got.out)
		}
	}
}

func TestEnvWithoutAServerPointsWhereOneWouldListen(t *testing.T) {
	dir := t.TempDir()
	got := postino(t, "", nil, "env", "--data", dir)
	want := "export AWS_ENDPOINT_URL_SNS='http://127.0.0.1:4575'\nexport AWS_REGION='us-east-1'\nexport AWS_DEFAULT_REGION='us-east-1'\n" + ourKeys +
		"# no server is running on " + dir + ": this is where `postino serve` listens by itself\n"
	said := "postino: no server is running on " + dir + ": this is where `postino serve` listens by itself\n"
	if d := cmp.Diff(ran{exitOK, want, said}, got, cmp.AllowUnexported(ran{})); d != "" {
		t.Error(d)
	}
	got = postino(t, "", nil, "env", "--data", dir, "--url", "https://push.example.com")
	if !strings.HasPrefix(got.out, "export AWS_ENDPOINT_URL_SNS='https://push.example.com'\n") || strings.Contains(got.out, "#") {
		t.Errorf("got %+v", got)
	}
}

func TestEnvOfATableNeedsItsFrontDoorsURL(t *testing.T) {
	keys(t, "AKIA")
	if got := postino(t, "", nil, "env", "--table", "t"); got.code != exitFailure || !strings.Contains(got.err, "give its URL with --url, or --stack") {
		t.Errorf("got %+v", got)
	}
	for region, env := range map[string]map[string]string{"eu-west-1": nil, "eu-south-1": {"POSTINO_REGION": "eu-south-1"}} {
		got := postino(t, "", env, "env", "--table", "t", "--url", "https://push.example.com")
		if got.code != exitOK || got.err != "" || !strings.HasPrefix(got.out, "export AWS_ENDPOINT_URL_SNS='https://push.example.com'\nexport AWS_REGION='"+region+"'\n") ||
			!strings.Contains(got.out, "`postino keys add --table t` makes one") || strings.Contains(got.out, "ACCESS_KEY") {
			t.Errorf("%s: %+v", region, got)
		}
	}
}

func TestEnvLeavesTheRegionOfTheDefaultProfileAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	for content, stays := range map[string]bool{"[default]\nregion = eu-north-1\n": true, "[default]\noutput=json\n[profile work]\nregion=x\n": false} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := postino(t, "", map[string]string{"AWS_CONFIG_FILE": file}, "env", "--url", "http://h")
		if strings.Contains(got.out, "# the region is left alone: "+file+" has one") != stays || strings.Contains(got.out, "AWS_REGION") == stays {
			t.Errorf("%q: %+v", content, got)
		}
	}
}

func TestADefaultProfileIsOneWithCredentials(t *testing.T) {
	for content, want := range map[string]bool{
		"[default]\naws_access_key_id=x": true, "\n\n[default]\nregion = x\nrole_arn=y\n": true, "[default]\nsso_session = s\n": true,
		"[default]\nregion=eu-west-1\n[work]\naws_access_key_id=x": false, "[work]\naws_access_key_id=x": false, "": false,
		"[default]\n# aws_access_key_id=x": false,
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := defaultProfile(file, credentialLine); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
}

// A real shell must give back what was quoted, and run none of it.
func TestAShellReadsTheQuotedValueBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("'\"\\$`!;&|<>(){}*?~# \n\t-")), rapid.Rune())).
			Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }).Draw(t, "value")
		got, err := exec.Command("sh", "-c", "export V="+shellQuote(want)+"; printf %s \"$V\"").Output()
		if err != nil || string(got) != want {
			t.Fatalf("got %q and error %v", got, err)
		}
	})
}

func TestTheLinesCanBeEvaluatedWithAndWithoutQuotes(t *testing.T) {
	out := postino(t, "", nil, "env", "--data", filepath.Join(t.TempDir(), "it's; touch pwned"), "--url", "http://h/$(id)").out +
		postino(t, "", nil, "env", "--data", t.TempDir()).out
	for _, eval := range []string{`eval "$OUT"`, `eval $OUT`} {
		cmd := exec.Command("sh", "-c", eval+`; printf '%s %s %s' "$AWS_ENDPOINT_URL_SNS" "$AWS_REGION" "$AWS_SECRET_ACCESS_KEY"`)
		cmd.Env = []string{"OUT=" + out}
		got, err := cmd.CombinedOutput()
		if err != nil || string(got) != "http://127.0.0.1:4575 us-east-1 postino" {
			t.Errorf("%s gave %q and error %v", eval, got, err)
		}
	}
}
