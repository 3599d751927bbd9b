package infra_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/pipeline/pipelinetest"
	"postino/shared/push"
	"postino/shared/snsapi"
	"postino/shared/telemetry"
)

// logged are the functions' log lines: of every outcome, of a batch, a status record,
// and what the front door writes.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	log := telemetry.NewFunctionLog(telemetry.FunctionLogOptions{Out: &b, Name: "deliver", Stack: "postino", Level: slog.LevelDebug, SuccessSampleRate: 100,
		Queues: pipeline.QueueNames{Attempt: "postino-attempts"}})
	for _, kind := range pipelinetest.Kinds {
		log.Observer.Observe(pipelinetest.Event(kind, func(e *pipeline.Event) {
			e.Generation, e.Push, e.TraceID, e.Refused, e.Attempt.Fault = "g", push.UnsubscribeConfirmation, "t", "r", "timeout"
		}))
		log.Observer.Observe(pipelinetest.Event(kind))
	}
	log.BatchDone(telemetry.Batch{RequestID: "r", Queue: "postino-attempts", Records: 2, Returned: 1, Began: pipelinetest.Noon,
		Ended: pipelinetest.Noon.Add(time.Second), Deadline: pipelinetest.Noon.Add(time.Minute)})
	(&snsapi.API{Log: log.Logger}).Serve(t.Context(), snsapi.Request{Method: "POST", Body: []byte("Action=Nothing")})
	return &b
}

// fields are the lines' members, nested ones by their path, and the fields that
// CloudWatch Logs adds, as Logs Insights calls them all; and the values of msg.
func fields(t *testing.T) (names, messages map[string]bool) {
	t.Helper()
	names, messages = map[string]bool{"@timestamp": true, "@message": true, "@log": true, "@logStream": true}, map[string]bool{"request failed": true}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		members, ok := v.(map[string]any)
		if !ok {
			names[prefix] = true
			return
		}
		for name, v := range members {
			walk(strings.TrimPrefix(prefix+"."+name, "."), v)
		}
	}
	for line := range strings.Lines(logged(t).String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		walk("", v)
		if m, ok := v["msg"].(string); ok {
			messages[m] = true
		}
	}
	return names, messages
}

var (
	words   = regexp.MustCompile(`[@A-Za-z_][\w.]*`)
	alias   = regexp.MustCompile(`\bas (\w+)`)
	literal = regexp.MustCompile(`"[^"]*"|/[^/\n]*/|\b\d\w*`)
	msg     = regexp.MustCompile(`\bmsg (?:= ("[^"]*")|in \[([^\]]*)\])`)
	// language are the words of Logs Insights that are used.
	language = []string{"filter", "stats", "sort", "display", "limit", "by", "as", "in", "like", "or", "and", "not", "desc", "asc",
		"count", "sum", "avg", "min", "max", "pct", "latest", "bin"}
)

// queries are those of the dashboard's template and of the pages, by where they are.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	inner := readFrom(t, "dashboard.yaml")
	for _, name := range inner.of(t, "AWS::Logs::QueryDefinition", 5) {
		all[name] = fmt.Sprint(inner.Resources[name].Properties["QueryString"])
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for n, block := range strings.Split(text(t, page), "\n```") {
			if strings.HasPrefix(block, "\nfilter ") {
				all[fmt.Sprintf("%s, block %d", page, n)] = block
			}
		}
	}
	return all
}

// A query for a field that no line has finds nothing and does not say why.
func TestQueriesAskForFieldsThatLogLinesHave(t *testing.T) {
	names, messages := fields(t)
	asked := 0
	for where, query := range queries(t) {
		for _, m := range msg.FindAllStringSubmatch(query, -1) {
			for value := range strings.SplitSeq(m[1]+m[2], ", ") {
				if !messages[strings.Trim(value, `"`)] {
					t.Errorf("%s: no line has the msg %s", where, value)
				}
			}
		}
		own := slices.Clone(language)
		for _, m := range alias.FindAllStringSubmatch(query, -1) {
			own = append(own, m[1])
		}
		for _, word := range words.FindAllString(literal.ReplaceAllString(query, ""), -1) {
			if slices.Contains(own, word) {
				continue
			}
			if asked++; !names[word] {
				t.Errorf("%s: no line has a field %s", where, word)
			}
		}
	}
	if asked == 0 {
		t.Error("no query asks for anything")
	}
}

// A saved query looks where the functions log.
func TestSavedQueriesReadTheFunctionsLogGroups(t *testing.T) {
	tpl, inner := read(t), readFrom(t, "dashboard.yaml")
	groups := map[string]bool{}
	for _, name := range tpl.of(t, "AWS::Logs::LogGroup", 4) {
		groups[strings.Replace(fmt.Sprint(tpl.Resources[name].Properties["LogGroupName"]), "AWS::StackName", "Stack", 1)] = true
	}
	for _, name := range inner.of(t, "AWS::Logs::QueryDefinition", 5) {
		p := inner.Resources[name].Properties
		read, _ := p["LogGroupNames"].([]any)
		if len(read) == 0 || p["Name"] != "${Stack}/"+strings.TrimSuffix(name, "Query") {
			t.Errorf("%s is called %v and reads %v", name, p["Name"], read)
		}
		for _, group := range read {
			if !groups[fmt.Sprint(group)] {
				t.Errorf("%s reads %v, which no function writes", name, group)
			}
		}
	}
}
