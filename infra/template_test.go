// Package infra_test reads the templates for what neither the linter nor a
// deployment to an emulator notices.
package infra_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"postino/shared/config"
)

// block is a mapping of the template. Intrinsic functions read as their argument:
// !GetAtt Table.Arn is the text "Table.Arn", !If [A, b, c] a list.
type block map[string]any

type template struct {
	Parameters map[string]block `yaml:"Parameters"`
	Globals    struct {
		Function block `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]struct {
		Type                string `yaml:"Type"`
		Condition           string `yaml:"Condition"`
		UpdateReplacePolicy string `yaml:"UpdateReplacePolicy"`
		Properties          block  `yaml:"Properties"`
	} `yaml:"Resources"`
}

func read(t *testing.T) template {
	t.Helper()
	return readFrom(t, "../template.yaml")
}

func readFrom(t *testing.T, path string) (tpl template) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text(t, path)), &tpl); err != nil {
		t.Fatal(err)
	}
	return tpl
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// of gives the resources of a type in the order of their names, at least n.
func (tpl template) of(t *testing.T, kind string, n int) (names []string) {
	t.Helper()
	for name, r := range tpl.Resources {
		if r.Type == kind {
			names = append(names, name)
		}
	}
	if len(names) < n {
		t.Fatalf("%d resources are of the type %s: %q", len(names), kind, names)
	}
	slices.Sort(names)
	return names
}

// at follows keys into a block; a missing one reads as nil.
func (b block) at(keys ...string) any {
	var v any = b
	for _, k := range keys {
		m, ok := v.(block)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func TestQueuesKeepTheLongestAndTheirMessagesComeBackInTime(t *testing.T) {
	tpl := read(t)
	timeout, _ := tpl.Globals.Function["Timeout"].(int)
	for _, name := range tpl.of(t, "AWS::SQS::Queue", 5) {
		q := tpl.Resources[name].Properties
		got := []any{q["MessageRetentionPeriod"], q["SqsManagedSseEnabled"], q["VisibilityTimeout"]}
		if d := cmp.Diff([]any{14 * 24 * 3600, true, 6 * timeout}, got); d != "" {
			t.Errorf("%s: retention, encryption, visibility: %s", name, d)
		}
		working := name != "DeadLetterQueue" && name != "FailedJobsQueue"
		if target := q.at("RedrivePolicy", "deadLetterTargetArn"); working != (target == "FailedJobsQueue.Arn") || !working && q["RedrivePolicy"] != nil {
			t.Errorf("%s: what is received too often goes to %v", name, target)
		}
		if n, _ := q.at("RedrivePolicy", "maxReceiveCount").(int); working && n != 100 {
			t.Errorf("%s: a message is received %d times", name, n)
		}
	}
}

func TestFunctionsHaveRolesAndLogsOfTheirOwn(t *testing.T) {
	tpl := read(t)
	g := tpl.Globals.Function
	if g["Runtime"] != "provided.al2023" || g["Timeout"] != 60 || !cmp.Equal(g["Architectures"], []any{"Arch"}) || tpl.Parameters["Arch"]["Default"] != "arm64" {
		t.Errorf("functions are %v on %v", g, tpl.Parameters["Arch"])
	}
	for _, name := range tpl.of(t, "AWS::Serverless::Function", 4) {
		kind := strings.TrimSuffix(name, "Function")
		p := tpl.Resources[name].Properties
		if p["Role"] != kind+"Role.Arn" || p.at("LoggingConfig", "LogGroup") != kind+"Log" {
			t.Errorf("%s runs as %v and logs to %v", name, p["Role"], p.at("LoggingConfig", "LogGroup"))
		}
		if days := tpl.Resources[kind+"Log"].Properties["RetentionInDays"]; days != "LogRetentionDays" {
			t.Errorf("%s keeps its log %v days", name, days)
		}
	}
}

// A MaximumConcurrency that is no literal stops all polling of an emulator.
func TestMappingsReportWhatFailedAndAreBounded(t *testing.T) {
	tpl := read(t)
	type mapping struct {
		enabled bool
		// batch is how many messages an invocation takes: a page is work for a
		// whole one, of jobs ten share what is read (docs/cost.md counts on it).
		batch, most any
	}
	got := map[string]mapping{}
	for _, name := range tpl.of(t, "AWS::Serverless::Function", 4) {
		sources, _ := tpl.Resources[name].Properties["Events"].(block)
		for event := range sources {
			m := sources.at(event, "Properties").(block)
			if most, _ := m.at("ScalingConfig", "MaximumConcurrency").(int); most < 2 || !cmp.Equal(m["FunctionResponseTypes"], []any{"ReportBatchItemFailures"}) {
				t.Errorf("%s of %s: at most %v at once, answers %v", event, name, m.at("ScalingConfig", "MaximumConcurrency"), m["FunctionResponseTypes"])
			}
			got[fmt.Sprint(m["Queue"])] = mapping{m["Enabled"] != false, m["BatchSize"], m.at("ScalingConfig", "MaximumConcurrency")}
		}
	}
	want := map[string]mapping{"AttemptQueue.Arn": {true, 10, 50}, "RetryQueue.Arn": {true, 10, 20}, "FanoutQueue.Arn": {true, 1, 10},
		"DeadLetterQueue.Arn": {false, 10, 2}, "FailedJobsQueue.Arn": {false, 10, 2}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); d != "" {
		t.Error(d)
	}
}

func TestTheTableIsKeptAndCanBeRestored(t *testing.T) {
	tpl := read(t)
	table := tpl.Resources["Table"]
	p := table.Properties
	got := []any{table.UpdateReplacePolicy, p["DeletionProtectionEnabled"], tpl.Parameters["ProtectTable"]["Default"],
		p.at("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), tpl.Parameters["TableRecovery"]["Default"],
		p.at("SSESpecification", "SSEEnabled"), p.at("TimeToLiveSpecification", "AttributeName"), p.at("TimeToLiveSpecification", "Enabled")}
	want := []any{"Retain", []any{"ProtectsTable", true, false}, "true", []any{"RecoversTable", true, false}, "true", true, "ttl", true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNoInvocationIsLost(t *testing.T) {
	tpl := read(t)
	// Three tries within six hours, the most that Lambda allows for both (Lambda API
	// reference, PutFunctionEventInvokeConfig).
	want := block{"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 6 * 3600,
		"DestinationConfig": block{"OnFailure": block{"Type": "SQS", "Destination": "FailedJobsQueue.Arn"}}}
	if d := cmp.Diff(want, tpl.Resources["PublishFunction"].Properties["EventInvokeConfig"]); d != "" {
		t.Errorf("failed asynchronous invocations: %s", d)
	}
	// A day and 185 tries, the most that EventBridge allows (EventBridge API
	// reference, RetryPolicy).
	retries := block{"MaximumRetryAttempts": 185, "MaximumEventAgeInSeconds": 24 * 3600}
	for _, name := range tpl.of(t, "AWS::Events::Rule", 1) {
		for _, target := range tpl.Resources[name].Properties["Targets"].([]any) {
			if to := target.(block).at("DeadLetterConfig", "Arn"); to != "FailedJobsQueue.Arn" || !cmp.Equal(retries, target.(block)["RetryPolicy"]) {
				t.Errorf("%s: events that cannot be handed over go to %v, after %v", name, to, target.(block)["RetryPolicy"])
			}
		}
	}
}

// A cached build looks at a function's own folder alone: it would deploy what
// shared/ was.
func TestBuildsTakeEveryChange(t *testing.T) {
	if !regexp.MustCompile(`(?m)^cached = false$`).MatchString(text(t, "../samconfig.toml")) {
		t.Error("samconfig.toml does not say cached = false")
	}
}

func TestTheTemplateSetsOnlyVariablesThatAreRead(t *testing.T) {
	tpl := read(t)
	known := map[string]bool{}
	for _, v := range config.Variables() {
		known[v.Name] = true
	}
	set := slices.Collect(maps.Keys(tpl.Globals.Function.at("Environment", "Variables").(block)))
	for _, name := range tpl.of(t, "AWS::Serverless::Function", 4) {
		own, _ := tpl.Resources[name].Properties.at("Environment", "Variables").(block)
		set = append(set, slices.Collect(maps.Keys(own))...)
	}
	for _, name := range set {
		if !known[name] {
			t.Errorf("%s is set and nothing reads it", name)
		}
	}
}

// The page lists each parameter with its default, and nothing else.
func TestThePageListsTheParameters(t *testing.T) {
	page := text(t, "../docs/deploy.md")
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\S.*?) \\|").FindAllStringSubmatch(page, -1) {
		got[row[1]] = strings.Trim(row[2], "`")
	}
	want := map[string]string{}
	for name, p := range read(t).Parameters {
		if want[name] = fmt.Sprint(p["Default"]); want[name] == "" {
			want[name] = "none"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What a stack costs that nobody uses is counted in one place.
func TestThePageNamesTheIdleCostThatIsCounted(t *testing.T) {
	sums := regexp.MustCompile(`(?m)^\| \*\*sum\*\* \| \*\*(\$[0-9.]+)\*\* \|$`).FindAllStringSubmatch(text(t, "../docs/cost.md"), -1)
	if len(sums) != 1 || !strings.Contains(strings.Join(strings.Fields(text(t, "../docs/deploy.md")), " "), "costs "+sums[0][1]+" a month") {
		t.Errorf("docs/deploy.md does not name what docs/cost.md counts: %q", sums)
	}
}
