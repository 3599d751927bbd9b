// Package archtest holds the dependency rule: which package may know which.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A rule says what the packages under a path may import of this module and of
// others. The first rule whose path matches counts.
type rule struct {
	path string
	// own are allowed prefixes inside this module, without "postino/".
	own []string
	// outside are allowed prefixes of other modules; the standard library is
	// always allowed.
	outside []string
}

var (
	pure     = []string{"shared/push"}
	anything = []string{""}
)

var rules = []rule{
	{"shared/push", nil, nil},
	{"shared/deliverypolicy", pure, nil},
	{"shared/redrivepolicy", pure, nil},
	{"shared/outcome", pure, nil},
	{"shared/envelope", pure, nil},
	{"shared/wholefile", nil, nil},
	{"shared/signing", []string{"shared/push", "shared/envelope", "shared/wholefile"}, nil},
	{"shared/sigv4", pure, []string{"github.com/aws/smithy-go/aws-http-auth"}},
	{"shared/access", []string{"shared/push", "shared/sigv4"}, []string{"github.com/hashicorp/golang-lru", "golang.org/x/time"}},
	{"shared/crew", nil, nil},
	{"shared/pipeline", []string{"shared/push", "shared/crew", "shared/deliverypolicy", "shared/redrivepolicy", "shared/envelope"},
		[]string{"github.com/google/uuid", "github.com/hashicorp/golang-lru", "golang.org/x/sync"}},
	{"shared/httpsend", []string{"shared/push", "shared/outcome", "shared/envelope"},
		[]string{"code.dny.dev/ssrf", "github.com/hashicorp/golang-lru", "github.com/icholy/digest"}},
	{"shared/snsapi", []string{"shared/push", "shared/deliverypolicy", "shared/redrivepolicy", "shared/pipeline", "shared/sigv4"}, []string{"github.com/google/uuid", "golang.org/x/time"}},
	{"shared/telemetry", []string{"shared/push", "shared/pipeline"}, nil},
	{"shared/metrics", []string{"shared/push", "shared/pipeline"}, []string{"github.com/prometheus/client_golang"}},
	{"shared/config", []string{"shared/push", "shared/pipeline"}, nil},
	{"shared/conformance", []string{"shared/access", "shared/push", "shared/pipeline", "shared/operator", "shared/snsapi"}, []string{"github.com/google/go-cmp"}},
	{"shared/lambdaio", []string{"shared/push", "shared/pipeline", "shared/snsapi"}, []string{"github.com/aws/aws-lambda-go"}},
	{"shared/installation", []string{"shared/access", "shared/push", "shared/config", "shared/envelope", "shared/httpsend", "shared/lambdaio", "shared/pipeline", "shared/signing", "shared/snsapi"},
		[]string{"github.com/google/uuid"}},
	{"shared/operator", []string{"shared/access", "shared/push", "shared/pipeline", "shared/redrivepolicy", "shared/wholefile"}, []string{"github.com/google/uuid"}},
	{"shared/embedded", []string{"shared/push", "shared/crew", "shared/pipeline", "shared/lambdaio", "shared/operator", "shared/config", "shared/envelope", "shared/installation", "shared/signing", "shared/access", "shared/wholefile"},
		[]string{"github.com/aws/aws-lambda-go", "modernc.org/sqlite"}},
	{"shared/aws", []string{"shared/access", "shared/installation", "shared/push", "shared/pipeline", "shared/operator", "shared/config", "shared/lambdaio", "shared/telemetry"},
		[]string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/google/uuid"}},
	{"cmd", anything, anything},
	{"functions", anything, anything},
	{"infra", anything, anything},
	{"samples", nil, anything},
}

// adapters may be imported by themselves, cmd, functions and infra only.
var adapters = []string{"shared/embedded", "shared/aws"}

// suites are imported by tests, whose imports go list keeps apart, and by nothing
// else.
var suites = []string{"shared/conformance", "shared/pipeline/pipelinetest"}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestEveryPackageImportsOnlyWhatTheDependencyRuleAllows(t *testing.T) {
	used := map[string]bool{} // by rule and allowance
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "postino/")
		i := slices.IndexFunc(rules, func(r rule) bool { return under(name, r.path) })
		if i < 0 {
			if name != "shared/archtest" {
				t.Errorf("%s has no rule: add one that says what it may import", name)
			}
			continue
		}
		used[rules[i].path] = true
		for _, imported := range p.Imports {
			for _, a := range slices.Concat(rules[i].own, rules[i].outside) {
				if strings.HasPrefix(strings.TrimPrefix(imported, "postino/"), a) {
					used[rules[i].path+" imports "+a] = true
				}
			}
			if why := forbidden(rules[i], name, imported); why != "" {
				t.Errorf("%s imports %s: %s", name, imported, why)
			}
		}
	}
	for _, r := range rules {
		if !used[r.path] {
			t.Errorf("the rule for %s is about no package", r.path)
		}
		for _, a := range slices.Concat(r.own, r.outside) {
			if a != "" && !used[r.path+" imports "+a] {
				t.Errorf("nothing under %s imports %s any more: drop the allowance", r.path, a)
			}
		}
	}
}

func TestTheMapNamesEveryPackageFolder(t *testing.T) {
	guide, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(guide)) {
		if folder, _, _ := strings.Cut(line, " "); strings.HasPrefix(folder, "shared/") {
			named[strings.TrimSuffix(folder, "/")] = true
		}
	}
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if name := "shared/" + f.Name(); f.IsDir() && !named[name] {
			t.Errorf("the map in CONTRIBUTING.md does not name %s", name)
		}
	}
	for name := range named {
		if _, err := os.Stat("../../" + name); err != nil {
			t.Errorf("the map in CONTRIBUTING.md names %s, which is not there", name)
		}
	}
}

func forbidden(r rule, name, imported string) string {
	if inside, ok := strings.CutPrefix(imported, "postino/"); ok {
		if slices.ContainsFunc(suites, func(s string) bool { return under(inside, s) && !under(name, s) }) {
			return "it is for tests, and has no place in what is built"
		}
		isAdapter := slices.ContainsFunc(adapters, func(a string) bool { return under(inside, a) })
		if isAdapter && strings.HasPrefix(name, "shared/") && !slices.ContainsFunc(adapters, func(a string) bool { return under(name, a) }) {
			return "only cmd and functions import adapters"
		}
		if under(inside, r.path) || slices.ContainsFunc(r.own, func(o string) bool { return under(inside, o) }) {
			return ""
		}
		return "not among the packages it may know"
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if slices.ContainsFunc(r.outside, func(o string) bool { return strings.HasPrefix(imported, o) }) {
		return ""
	}
	return "no other module's package is allowed here"
}

func under(name, path string) bool {
	return path == "" || name == path || strings.HasPrefix(name, path+"/")
}

func packages(t *testing.T) (out []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "postino/...")
	cmd.Dir = "../.."
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(b))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}
