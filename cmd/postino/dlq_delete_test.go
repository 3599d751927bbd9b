package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
)

// deleting answers delete requests one after another and records them.
func deleting(t *testing.T, asked *[]operator.DeleteRequest, answers ...operator.DeleteResult) (dir string) {
	return server(t, map[string]any{"POST queues/dlq/delete": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in operator.DeleteRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(*asked) == len(answers) {
			t.Errorf("asked %d times: %v", len(*asked)+1, err)
			return
		}
		*asked = append(*asked, in)
		_ = json.NewEncoder(w).Encode(answers[len(*asked)-1])
	})})
}

func TestDeletingSaysHowManyAreGone(t *testing.T) {
	ids := strings.Fields(strings.Repeat("id ", lettersStep+1))
	for name, c := range map[string]struct {
		args    []string
		answers []operator.DeleteResult
		asked   []operator.DeleteRequest
		want    ran
	}{
		"all, to the end": {[]string{"--all"}, []operator.DeleteResult{{Deleted: 200, After: "l-200", Before: noon}, {Deleted: 1, Before: noon}},
			[]operator.DeleteRequest{{All: true, Max: lettersStep}, {All: true, Max: lettersStep, After: "l-200", Before: noon}},
			ran{exitOK, "Deleted 201 messages.\n", ""}},
		"many ids": {ids, []operator.DeleteResult{{Deleted: 200}, {Deleted: 1}},
			[]operator.DeleteRequest{{IDs: ids[:lettersStep], Max: lettersStep}, {IDs: ids[:1], Max: lettersStep}}, ran{exitOK, "Deleted 201 messages.\n", ""}},
		"one is missing": {[]string{"a", "b"}, []operator.DeleteResult{{Deleted: 1, Missing: []string{"b"}}},
			[]operator.DeleteRequest{{IDs: []string{"a", "b"}, Max: lettersStep}},
			ran{exitFailure, "b is not there, or is being received by someone else.\nDeleted 1 message.\n", ""}},
		"stopped": {[]string{"--all"}, []operator.DeleteResult{{Deleted: 10, Perhaps: 3, After: "x", Stopped: "The disk is full"}},
			[]operator.DeleteRequest{{All: true, Max: lettersStep}}, ran{exitFailure, "Deleted 10 messages, and perhaps 3 more.\n", "postino: The disk is full\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []operator.DeleteRequest
			dir := deleting(t, &asked, c.answers...)
			if got := postino(t, "", nil, append([]string{"dlq", "delete", "dlq", "--data", dir}, c.args...)...); got != c.want {
				t.Errorf("got %+v", got)
			}
			if d := cmp.Diff(c.asked, asked); d != "" {
				t.Error(d)
			}
		})
	}
}
