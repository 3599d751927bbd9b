package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// measured are the prices and counts that the pages are made of.
func measured(t *testing.T) (Prices, []Counted) {
	t.Helper()
	p, err := prices()
	if err != nil {
		t.Fatal(err)
	}
	all, err := counts()
	if err != nil {
		t.Fatal(err)
	}
	return p, all
}

func TestThePageIsWhatCountsAndPricesMakeIt(t *testing.T) {
	want, err := current()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + docs)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run make cost", docs)
	}
	if strings.Contains(want, "is missing") {
		t.Error("the page wants a scenario that counts.json lacks")
	}
}

func TestEveryUnitHasAPrice(t *testing.T) {
	p, _ := measured(t)
	for _, u := range Units {
		if p.Unit[u] <= 0 {
			t.Errorf("%s has no price", u)
		}
	}
	if o := p.Other; o.X86GBSecond <= p.Unit[GBSecond] || o.KMSRequest <= 0 || o.LogGBMonth <= 0 || p.KeyRotation.Count <= 0 || p.KeyRotation.Price <= 0 {
		t.Errorf("other prices are missing: %+v, %+v", o, p.KeyRotation)
	}
	if len(p.Unit) != len(Units) {
		t.Errorf("%d prices for %d units", len(p.Unit), len(Units))
	}
}

func TestTheModelHasTheTemplatesMemory(t *testing.T) {
	b, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for mb, times := range map[int]int{deliverMB: 1, otherMB: 1} {
		if line := fmt.Sprintf("MemorySize: %d\n", mb); strings.Count(string(b), line) != times {
			t.Errorf("the template does not say %q once", strings.TrimSpace(line))
		}
	}
}

func TestThePromisedCostsAreMet(t *testing.T) {
	p, all := measured(t)
	listed, promised := map[string]bool{}, map[string]bool{}
	for _, want := range targets {
		listed[want.scenario] = true
		if want.hoped {
			continue
		}
		promised[want.scenario] = true
		units := inside()
		if want.all {
			units = Units
		}
		if now := million * p.Of(find(all, want.scenario).Usage, units...); now > want.most || now == 0 {
			t.Errorf("%s costs $%.2f a million, promised are $%.2f", want.scenario, now, want.most)
		}
	}
	// The page is silent about no failed attempt, least of all the dearest.
	for _, c := range all {
		if c.Per == "attempts" && c.Fill == 10 && c.Name != "recovered" && !listed[c.Name] {
			t.Errorf("%s is not among the targets", c.Name)
		}
	}
	// A chain of retries is as cheap at its end as at its beginning, or the page says no.
	for _, name := range []string{"first-10", "first-failed", "first-failed-scheduled", "retry", "retry-late", "hang", "hang-late"} {
		if !promised[name] {
			t.Errorf("nothing is promised of %s", name)
		}
	}
}
