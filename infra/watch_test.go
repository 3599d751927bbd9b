package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/telemetry"
)

// Alarms and dashboard name metrics, and what they are of, as text: nobody complains
// of a wrong one, it has no data.

// awsMetrics are the metrics of AWS that are looked at, with the sets of dimensions
// that AWS writes them with.
var awsMetrics = map[string]map[string][]string{
	// Amazon SQS developer guide, "Available CloudWatch metrics for Amazon SQS".
	"AWS/SQS": {
		"ApproximateNumberOfMessagesVisible": {"QueueName"},
		"ApproximateNumberOfMessagesDelayed": {"QueueName"},
		"ApproximateAgeOfOldestMessage":      {"QueueName"},
		"NumberOfMessagesReceived":           {"QueueName"},
	},
	// AWS Lambda developer guide, "Types of metrics for Lambda functions" and
	// "Monitoring Lambda function URLs".
	"AWS/Lambda": {
		"Errors":                      {"FunctionName"},
		"Throttles":                   {"FunctionName"},
		"Duration":                    {"FunctionName"},
		"ConcurrentExecutions":        {"FunctionName"},
		"DestinationDeliveryFailures": {"FunctionName"},
		"UrlRequestCount":             {"FunctionName"},
		"Url4xxCount":                 {"FunctionName"},
		"Url5xxCount":                 {"FunctionName"},
		"UrlRequestLatency":           {"FunctionName"},
	},
	// Amazon DynamoDB developer guide, "DynamoDB metrics and dimensions".
	"AWS/DynamoDB": {
		"ConsumedReadCapacityUnits":  {"TableName", "GlobalSecondaryIndexName,TableName"},
		"ConsumedWriteCapacityUnits": {"TableName", "GlobalSecondaryIndexName,TableName"},
		"ReadThrottleEvents":         {"TableName", "GlobalSecondaryIndexName,TableName"},
		"WriteThrottleEvents":        {"TableName", "GlobalSecondaryIndexName,TableName"},
		"SystemErrors":               {"Operation,TableName"},
	},
	// EventBridge Scheduler user guide, "Monitoring with Amazon CloudWatch".
	"AWS/Scheduler": {
		"InvocationAttemptCount":                     {"ScheduleGroup"},
		"TargetErrorCount":                           {"ScheduleGroup"},
		"InvocationThrottleCount":                    {"ScheduleGroup"},
		"InvocationDroppedCount":                     {"ScheduleGroup"},
		"InvocationsSentToDeadLetterCount":           {"ScheduleGroup"},
		"InvocationsFailedToBeSentToDeadLetterCount": {"ScheduleGroup"},
	},
}

// metrics are awsMetrics and Postino's own.
func metrics() map[string]map[string][]string {
	all := maps.Clone(awsMetrics)
	all["Postino"] = map[string][]string{}
	for _, m := range telemetry.Metrics() {
		all["Postino"][m.Name] = []string{"Stack"}
		if m.ByLane {
			all["Postino"][m.Name] = []string{"Lane,Stack"}
		}
	}
	return all
}

// fixed are the values of dimensions that are no resource of the template.
var fixed = map[string][]string{
	"Lane":                     {"attempt", "retry", "fanout", "dead-letter", "failed"},
	"Operation":                {"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "TransactWriteItems"},
	"GlobalSecondaryIndexName": {"listing", "states"}, // as TestTheTableHasTheIndexesThatAreWatched finds
}

// valueOf says what template.yaml must give for a dimension: the name of a function
// or a queue, say.
var valueOf = map[string]func(name string) (kind, value string){
	"FunctionName":  func(name string) (string, string) { return "AWS::Serverless::Function", name },
	"QueueName":     func(name string) (string, string) { return "AWS::SQS::Queue", name + ".QueueName" },
	"TableName":     func(name string) (string, string) { return "AWS::DynamoDB::Table", name },
	"ScheduleGroup": func(name string) (string, string) { return "AWS::Scheduler::ScheduleGroup", name },
	"Stack":         func(string) (string, string) { return "", "AWS::StackName" },
}

// watched is a metric that somebody looks at; the dimensions' values are parameters
// of the template that it stands in, or fixed.
type watched struct {
	where, namespace, name string
	dimensions             map[string]string
}

// check compares w with the metrics that there are, and its values with what
// template.yaml hands to the stack.
func (w watched) check(t *testing.T, tpl template, handed block) {
	t.Helper()
	sets := metrics()[w.namespace][w.name]
	if got := strings.Join(slices.Sorted(maps.Keys(w.dimensions)), ","); !slices.Contains(sets, got) {
		t.Errorf("%s: %s %s with %s: it is written with %q", w.where, w.namespace, w.name, got, sets)
	}
	for dimension, value := range w.dimensions {
		if values, ok := fixed[dimension]; ok {
			if !slices.Contains(values, value) {
				t.Errorf("%s: there is no %s %s", w.where, dimension, value)
			}
			continue
		}
		kind, want := valueOf[dimension](value)
		if tpl.Resources[value].Type != kind || handed[value] != want {
			t.Errorf("%s: %s is %s: a %s, and template.yaml hands over %v", w.where, dimension, value, tpl.Resources[value].Type, handed[value])
		}
	}
}

// handed are the parameters that template.yaml gives to a stack of its own, which
// must be those that its template wants; the template is given too.
func handed(t *testing.T, tpl template, name, condition string) (parameters block, inner template) {
	t.Helper()
	r := tpl.Resources[name]
	if r.Type != "AWS::CloudFormation::Stack" || r.Condition != condition {
		t.Fatalf("%s is a %s under %s", name, r.Type, r.Condition)
	}
	parameters = r.Properties["Parameters"].(block)
	inner = readFrom(t, fmt.Sprint("../", r.Properties["TemplateURL"]))
	if d := cmp.Diff(slices.Sorted(maps.Keys(inner.Parameters)), slices.Sorted(maps.Keys(parameters))); d != "" {
		t.Errorf("%s wants other parameters than it gets: %s", name, d)
	}
	return parameters, inner
}

var sentence = regexp.MustCompile(`^[A-Z][^.]+\. Runbook: docs/operations\.md, (\w+)\.$`)

func TestEveryAlarmIsAboutAMetricThatThereIsAndTellsItsTopic(t *testing.T) {
	tpl := read(t)
	parameters, inner := handed(t, tpl, "AlarmStack", "HasAlarms")
	for _, name := range inner.of(t, "AWS::CloudWatch::Alarm", 20) {
		p := inner.Resources[name].Properties
		w := watched{name, fmt.Sprint(p["Namespace"]), fmt.Sprint(p["MetricName"]), map[string]string{}}
		for _, d := range p["Dimensions"].([]any) {
			w.dimensions[fmt.Sprint(d.(block)["Name"])] = fmt.Sprint(d.(block)["Value"])
		}
		w.check(t, tpl, parameters)
		if p["AlarmName"] != "${Stack}/"+name || p["TreatMissingData"] != "notBreaching" || !cmp.Equal(p["AlarmActions"], []any{"AlarmTopicArn"}) {
			t.Errorf("%s is called %v, takes missing data as %v and tells %v", name, p["AlarmName"], p["TreatMissingData"], p["AlarmActions"])
		}
		// Who reads a queue is an event; of all else the end is told too.
		if told := cmp.Equal(p["OKActions"], []any{"AlarmTopicArn"}); told == (name == "DeadLettersRead") {
			t.Errorf("%s tells %v of its end", name, p["OKActions"])
		}
		if m := sentence.FindStringSubmatch(fmt.Sprint(p["AlarmDescription"])); m == nil || m[1] != name {
			t.Errorf("%s says %q, want one sentence and its runbook", name, p["AlarmDescription"])
		}
		period, _ := p["Period"].(int)
		periods, _ := p["EvaluationPeriods"].(int)
		// The most that CloudWatch takes: "PutMetricAlarm", EvaluationPeriods.
		if points, ok := p["DatapointsToAlarm"].(int); period%60 != 0 || period*periods < 60 || period*periods > 86400 || ok && points > periods {
			t.Errorf("%s looks at %v of %d periods of %d s", name, p["DatapointsToAlarm"], periods, period)
		}
		if gauge := strings.HasPrefix(w.name, "Approximate"); gauge == (p["Statistic"] == "Sum") {
			t.Errorf("%s takes the %v of %s", name, p["Statistic"], w.name)
		}
	}
}

func TestEveryWidgetIsAboutMetricsThatThereAre(t *testing.T) {
	tpl := read(t)
	parameters, inner := handed(t, tpl, "DashboardStack", "HasDashboard")
	var board struct {
		Widgets []struct {
			Type                string
			X, Y, Width, Height int
			Properties          struct {
				Title, Region, View, Stat string
				Period                    int
				Metrics                   [][]any
			}
		}
	}
	body := fmt.Sprint(inner.Resources["Dashboard"].Properties["DashboardBody"])
	if err := json.Unmarshal([]byte(body), &board); err != nil {
		t.Fatal(err)
	}
	seen, places := map[string]bool{}, map[[2]int]bool{}
	for _, widget := range board.Widgets {
		p := widget.Properties
		if at := [2]int{widget.X, widget.Y}; widget.Type != "metric" || places[at] || widget.X+widget.Width > 24 || p.Region != "${AWS::Region}" || p.Period != 300 || len(p.Metrics) == 0 {
			t.Errorf("%s is a %s at %v, of %s", p.Title, widget.Type, at, p.Region)
		} else {
			places[at] = true
		}
		for _, m := range p.Metrics {
			w := watched{p.Title, m[0].(string), m[1].(string), map[string]string{}}
			for rest := m[2:]; len(rest) >= 2; rest = rest[2:] {
				w.dimensions[rest[0].(string)] = strings.Trim(rest[1].(string), "${}")
			}
			w.check(t, tpl, parameters)
			seen[w.namespace+" "+w.name] = true
		}
	}
	for namespace, names := range metrics() {
		for name := range names {
			// What is for alarms alone needs no picture.
			if what := namespace + " " + name; !seen[what] && what != "AWS/SQS NumberOfMessagesReceived" && what != "AWS/Lambda DestinationDeliveryFailures" {
				t.Errorf("nothing shows %s", what)
			}
		}
	}
}

func TestTheTableHasTheIndexesThatAreWatched(t *testing.T) {
	var got []string
	for _, index := range read(t).Resources["Table"].Properties["GlobalSecondaryIndexes"].([]any) {
		got = append(got, fmt.Sprint(index.(block)["IndexName"]))
	}
	if d := cmp.Diff(fixed["GlobalSecondaryIndexName"], got); d != "" {
		t.Error(d)
	}
}
