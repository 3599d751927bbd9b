package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// varying are the units that differ a little from run to run: ids, times and
// durations are of other lengths.
var varying = map[Unit]bool{LogByte: true, EgressByte: true}

// differences says what of now is not as kept. Names, titles, batches and calls
// must be the same, and so must every unit but the varying ones, which may be 5 %
// off.
func differences(kept, now []Counted) (out []string) {
	names := func(all []Counted) (names []string) {
		for _, c := range all {
			names = append(names, c.Name)
		}
		return names
	}
	if was, is := names(kept), names(now); !slices.Equal(was, is) {
		return []string{fmt.Sprintf("the scenarios are %q, counts.json has %q", is, was)}
	}
	for i, was := range kept {
		is := now[i]
		say := func(format string, args ...any) { out = append(out, was.Name+": "+fmt.Sprintf(format, args...)) }
		if is.Title != was.Title || is.Per != was.Per || is.Fill != was.Fill {
			say("is %q by %s, batch %d; counts.json says %q by %s, batch %d", is.Title, is.Per, is.Fill, was.Title, was.Per, was.Fill)
		}
		if !maps.Equal(is.Calls, was.Calls) {
			say("makes the calls %v, counts.json says %v", is.Calls, was.Calls)
		}
		for _, u := range Units {
			off := 1e-9 // sums of the same numbers in another order
			if varying[u] {
				off = 0.05
			}
			if a, b := was.Usage[u], is.Usage[u]; math.Abs(a-b) > off*math.Max(a, b) {
				say("%v %s, counts.json says %v", b, u, a)
			}
		}
	}
	return out
}

func TestTheCountsAreComparedWhole(t *testing.T) {
	sample := func() []Counted {
		return []Counted{{Name: "a", Title: "A", Per: "attempts", Fill: 10, Usage: Usage{WriteUnit: 4, LogByte: 100}, Calls: map[string]float64{"DynamoDB.PutItem": 1}}, {Name: "b"}}
	}
	for name, c := range map[string]struct {
		change func(all []Counted)
		want   string
	}{
		"nothing":                   {func([]Counted) {}, ""},
		"a line is a little longer": {func(all []Counted) { all[0].Usage[LogByte] = 104 }, ""},
		"a line is a lot longer":    {func(all []Counted) { all[0].Usage[LogByte] = 110 }, "logByte"},
		"a write more in a hundred": {func(all []Counted) { all[0].Usage[WriteUnit] = 4.04 }, "dynamodbWriteUnit"},
		"a unit that was not there": {func(all []Counted) { all[1].Usage = Usage{Schedule: 1} }, "schedule"},
		"a call more":               {func(all []Counted) { all[0].Calls["DynamoDB.PutItem"] = 1.1 }, "calls"},
		"a call of another kind":    {func(all []Counted) { all[0].Calls["DynamoDB.GetItem"] = 0.1 }, "calls"},
		"another title":             {func(all []Counted) { all[0].Title = "B" }, "\"B\""},
		"another batch":             {func(all []Counted) { all[0].Fill = 9 }, "batch 9"},
		"another measure":           {func(all []Counted) { all[0].Per = "deliveries" }, "by deliveries"},
		"another order":             {slices.Reverse[[]Counted], "the scenarios are"},
		"another name":              {func(all []Counted) { all[1].Name = "c" }, "the scenarios are"},
	} {
		now := sample()
		c.change(now)
		got := strings.Join(differences(sample(), now), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}
