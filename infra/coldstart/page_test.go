package main

import (
	"os"
	"testing"

	"postino/infra/coldstart/figures"
)

func TestThePageIsWhatTheFiguresMakeIt(t *testing.T) {
	want, err := page("processes.json", "containers.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/cold-start.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/cold-start.md is not up to date: go run ./infra/coldstart -page")
	}
}

func TestThePromisesWereKeptWhenTheFiguresWereTaken(t *testing.T) {
	for _, file := range []string{"processes.json", "containers.json"} {
		f, err := figures.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if missed := f.Missed(); len(f.Functions) != 1+len(subjects) || len(missed) > 0 {
			t.Errorf("%s has %d functions, of which %q miss", file, len(f.Functions), missed)
		}
	}
}
