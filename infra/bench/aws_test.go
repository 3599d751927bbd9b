package main

import (
	"bufio"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheFunctionsLogsAreReadAsTheyAreWritten(t *testing.T) {
	o := observed{Invocations: map[string]int{}, Lanes: map[string]lane{}}
	for _, line := range []string{
		"START RequestId: 56e1de37-2ba8-425d-a038-1978899f5d30 Version: $LATEST",
		`{"timestamp":"2026-12-01T05:47:33Z","level":"INFO","msg":"batch","lane":"attempt","records":10,"delivered":8,"retried":1,"waited":1,"cold":true}`,
		`{"timestamp":"2026-12-01T05:47:33Z","level":"INFO","msg":"batch","lane":"attempt","records":3,"delivered":3,"duration":4.5}`,
		`{"timestamp":"2026-12-01T05:47:33Z","level":"INFO","msg":"batch","lane":"retry","records":1,"faults":1,"returned":1}`,
		`{"timestamp":"2026-12-01T05:47:33Z","level":"INFO","msg":"retry","attempt":1}`,
		`{"_aws":{"Timestamp":1},"Lane":"retry","Lateness":[12.5,3],"BatchSize":[1]}`,
		"END RequestId: 56e1de37-2ba8-425d-a038-1978899f5d30",
		"{ not JSON",
	} {
		o.add("deliver", line)
	}
	want := observed{
		Invocations: map[string]int{"deliver": 1},
		Lanes: map[string]lane{
			"attempt": {Batches: 2, Records: 13, Waited: 1},
			"retry":   {Batches: 1, Records: 1, Faults: 1, Returned: 1},
		},
		LatenessMS: []float64{12.5, 3},
	}
	if d := cmp.Diff(want, o); d != "" {
		t.Error(d)
	}
	if got := o.Lanes["attempt"].fill(); got != 6.5 {
		t.Errorf("batches of %v, want 6.5", got)
	}
}

func TestOnlyTheStacksOwnCallsBehindTheOffsetAreCounted(t *testing.T) {
	c := callRecord{filepath.Join(t.TempDir(), "calls")}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(c.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("p-Deliver-1 dynamodb:GetItem\n")
	from, err := c.offset()
	if err != nil {
		t.Fatal(err)
	}
	write("p-Deliver-1 dynamodb:PutItem\np-Deliver-1 dynamodb:PutItem\nother-Deliver-1 dynamodb:PutItem\np-Publish-1 sqs:SendMessageBatch\n")
	got, err := c.since(from, map[string]string{"p-Deliver-1": "deliver", "p-Publish-1": "publish"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]map[string]int{"deliver": {"dynamodb:PutItem": 2}, "publish": {"sqs:SendMessageBatch": 1}}, got); d != "" {
		t.Error(d)
	}
	write(strings.Repeat("a", bufio.MaxScanTokenSize))
	if got, err := c.since(from, nil); err == nil {
		t.Errorf("a record that cannot be read to its end counts for %v", got)
	}
}

// Ten messages in one batch, one of them refused once; the counts are the page's.
func flakyRow() awsRow {
	return awsRow{FanOut: 1, Batch: 10, Messages: 10, Deliveries: 10, PublishCalls: 1, Refused: 1,
		Seen: observed{Lanes: map[string]lane{"attempt": {Batches: 1, Records: 10}, "retry": {Batches: 1, Records: 1}}},
		Calls: map[string]map[string]int{
			"publish": {"dynamodb:GetItem": 1, "sqs:SendMessageBatch": 1},
			"deliver": {"dynamodb:GetItem": 4, "dynamodb:PutItem": 2, "dynamodb:UpdateItem": 1, "sqs:SendMessageBatch": 1, "sqs:GetQueueUrl": 1},
		}}
}

func TestCallsAgreeWithTheCostPageExactlyAndReadsByWhatCachesHold(t *testing.T) {
	c, err := readCosts("../cost/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	sc := scenario{expect: failedOnce(false)}
	for name, tc := range map[string]struct {
		change func(deliver, publish map[string]int)
		wrong  string
	}{
		"as the page says":       {func(_, _ map[string]int) {}, ""},
		"a send too many":        {func(d, _ map[string]int) { d["sqs:SendMessageBatch"]++ }, "sqs:SendMessageBatch"},
		"a write too few":        {func(d, _ map[string]int) { d["dynamodb:UpdateItem"]-- }, "dynamodb:UpdateItem"},
		"a write too many":       {func(d, _ map[string]int) { d["dynamodb:PutItem"]++ }, "dynamodb:PutItem"},
		"reads that no cache is": {func(d, _ map[string]int) { d["dynamodb:GetItem"]++ }, "dynamodb:GetItem"},
		"a key read again":       {func(_, p map[string]int) { p["dynamodb:GetItem"]++ }, ""},
		"a key read twice":       {func(_, p map[string]int) { p["dynamodb:GetItem"] += 2 }, "dynamodb:GetItem"},
		"fewer reads":            {func(d, _ map[string]int) { delete(d, "dynamodb:GetItem") }, ""},
		"a schedule":             {func(d, _ map[string]int) { d["scheduler:CreateSchedule"]++ }, "scheduler:CreateSchedule"},
		"a call of no row":       {func(d, _ map[string]int) { d["dynamodb:DeleteItem"]++ }, "dynamodb:DeleteItem"},
	} {
		r := flakyRow()
		tc.change(r.Calls["deliver"], r.Calls["publish"])
		var wrong []string
		for _, k := range c.check(sc, r) {
			if !k.Agree {
				wrong = append(wrong, k.Action)
			}
		}
		if got := strings.Join(wrong, " "); got != tc.wrong {
			t.Errorf("%s: %q differ, want %q", name, got, tc.wrong)
		}
	}
}

func TestEveryRowThatScenariosReckonWithIsOnThePage(t *testing.T) {
	c, err := readCosts("../cost/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenarios(false) {
		for _, s := range sc.expect(flakyRow()) {
			row, ok := c[s.row]
			if _, has := row[s.call]; !ok || s.call != "" && !has {
				t.Errorf("%s: docs/cost.md has no %s of %q", sc.name, s.call, s.row)
			}
		}
	}
}

func TestThePageSaysWhatDiffersAndThatNoSpeedIsAWSs(t *testing.T) {
	row := flakyRow()
	row.Name, row.Wait = "flaky", 12*time.Second
	row.Checks = []awsCheck{{Action: "dynamodb:PutItem", Want: 2, Got: 3, Beyond: 1}}
	row.Retries = lateness{quantiles: quantiles{Count: 1, P50US: 1_500_000, P99US: 1_500_000}, EarliestUS: 1_500_000}
	row.Seen.LatenessMS = []float64{300}
	r := &awsReport{QueueDelay: 10, Rows: []awsRow{row}, Broken: []string{"something was lost"}}
	page := r.page()
	for _, want := range []string{"No speed on this page is AWS's", "| flaky | dynamodb:PutItem | 3 | 0.3 | 0.2 | 1 | **differs** |", "- something was lost",
		"| schedule | 12s | 1 | 1500 / 1500 / 1500 | 300 / 300 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if !r.disagrees() {
		t.Error("what differs is no failure")
	}
}

func TestLoadGoesToThisMachineAlone(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://[::1]:4566/x": true,
		"": false, "https://sns.eu-west-1.amazonaws.com": false, "http://10.0.0.1": false, "http://localhost:4566": false, "::": false,
	} {
		if err := onLoopback("it", address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	var out, log strings.Builder
	t.Setenv("AWS_ENDPOINT_URL", "")
	if code := dispatch(context.Background(), []string{"aws", "--calls", "x", "--costs", "../cost/counts.json"}, nil, &out, &log); code != 1 ||
		strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "run make bench-aws") {
		t.Errorf("code %d, it says %q", code, log.String())
	}
	if code := dispatch(context.Background(), []string{"aws"}, nil, &out, &log); code != 2 {
		t.Errorf("without --calls the code is %d", code)
	}
}

func TestQuantilesOfAListAreItsOwnValues(t *testing.T) {
	list := []float64{1, 2, 3, 4}
	for q, want := range map[float64]figure{0.5: 2, 0.99: 4, 0: 1, 0.25: 1} {
		if got := quantileOf(list, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := float64(quantileOf(nil, 0.5)); !math.IsNaN(got) {
		t.Errorf("of nothing it is %v", got)
	}
}
