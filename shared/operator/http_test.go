package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

const token = "correct-horse"

// serve puts the world behind HTTP and gives a client of it.
func serve(t *testing.T, w world) *Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(Prefix, HTTP{Operator: w.Operator, Token: token})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	if err := WriteServerFile(dir, ServerFile{URL: s.URL + "/", Token: token, Region: "eu-west-1", Account: "111122223333"}); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheClientAnswersWhatTheVerbsAnswer(t *testing.T) {
	w := newWorld()
	d := record(subA, "m1", "beef", push.Finished, 3)
	d.NextAt, d.NextPhase, d.Reason = noon.Add(time.Hour), "backoff", "503 is retryable"
	d.Remember(push.Attempt{Number: 2, Phase: "immediate", Started: noon, Ended: noon.Add(time.Second), Class: push.Retryable, Status: 503})
	w.deliveries.records = []push.Delivery{d, record(subB, "m2", "", push.Dead, 1)}
	for i := range 3 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	c, ctx := serve(t, w), t.Context()
	same := func(name string, direct func(*Operator) (any, error), remote func() (any, error)) {
		t.Helper()
		want, err := direct(w.Operator)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := remote()
		if err != nil {
			t.Fatalf("%s over HTTP: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	list := ListRequest{State: "waiting", Subscription: "aaaa1", Topic: "orders", Limit: 7}
	same("ListDeliveries", func(o *Operator) (any, error) { return o.ListDeliveries(ctx, list) },
		func() (any, error) { return c.ListDeliveries(ctx, list) })
	same("ShowDelivery", func(o *Operator) (any, error) { return o.ShowDelivery(ctx, subA+"/m1/beef", time.Time{}) },
		func() (any, error) { return c.ShowDelivery(ctx, subA+"/m1/beef", time.Time{}) })
	same("ListQueues", func(o *Operator) (any, error) { return o.ListQueues(ctx) },
		func() (any, error) { return c.ListQueues(ctx) })
	queue := "arn:aws:sqs:eu-west-1:111122223333:dlq"
	same("ListDeadLetters", func(o *Operator) (any, error) { return o.ListDeadLetters(ctx, queue, "l0", 1) },
		func() (any, error) { return c.ListDeadLetters(ctx, queue, "l0", 1) })
	same("ShowDeadLetter", func(o *Operator) (any, error) { return o.ShowDeadLetter(ctx, queue, "l1") },
		func() (any, error) { return c.ShowDeadLetter(ctx, queue, "l1") })
	redrive := RedriveRequest{IDs: []string{"nowhere"}, Force: true}
	same("Redrive", func(o *Operator) (any, error) { return o.Redrive(ctx, queue, redrive) },
		func() (any, error) { return c.Redrive(ctx, queue, redrive) })
	remove := DeleteRequest{IDs: []string{"nowhere"}}
	same("DeleteDeadLetters", func(o *Operator) (any, error) { return o.DeleteDeadLetters(ctx, queue, remove) },
		func() (any, error) { return c.DeleteDeadLetters(ctx, queue, remove) })
	if got, err := c.Pause(ctx, "aaaa1"); err != nil || !got.Paused || !got.Changed {
		t.Errorf("Pause gave %+v and error %v", got, err)
	}
	if got, err := c.SendTest(ctx, subA); err != nil || !got.Paused || got.MessageID == "" {
		t.Errorf("SendTest gave %+v and error %v", got, err)
	}
	if got, err := c.Resume(ctx, "aaaa1"); err != nil || got.Paused || !got.Changed {
		t.Errorf("Resume gave %+v and error %v", got, err)
	}
	if got, err := c.Redrive(ctx, queue, RedriveRequest{All: true, Max: 2}); err != nil || got.Redriven != 2 || got.After != "l1" || !got.Before.Equal(noon) {
		t.Errorf("Redrive gave %+v and error %v", got, err)
	}
}

func TestRefusalsReachTheClientWithCodeAndText(t *testing.T) {
	c := serve(t, newWorld())
	_, err := c.ShowDelivery(t.Context(), "m9", time.Time{})
	refusal(t, err, push.CodeNotFound, `Nothing is recorded of "m9"`)
	_, err = c.ListDeliveries(t.Context(), ListRequest{Limit: 1001})
	refusal(t, err, push.CodeInvalidParameter, "must be 1 to 1000")
	_, err = c.Pause(t.Context(), "")
	refusal(t, err, push.CodeInvalidParameter, "is empty")
	for _, odd := range []string{"..", ".", "a/../b", "%2e", "?x", "#y"} {
		_, err = c.ShowDeadLetter(t.Context(), odd, "l1")
		refusal(t, err, push.CodeNotFound, "no queue")
	}
}

func TestNobodyGetsInWithoutTheToken(t *testing.T) {
	w := newWorld()
	for name, c := range map[string]struct{ token, header string }{
		"no header":            {token, ""},
		"another token":        {token, "Bearer wrong-horse"},
		"a longer one":         {token, "Bearer " + token + "s"},
		"another scheme":       {token, "Basic " + token},
		"the bare token":       {token, token},
		"a server without one": {"", "Bearer "},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", Prefix+"subscriptions/aaaa1/pause", nil)
			if c.header != "" {
				r.Header.Set("Authorization", c.header)
			}
			rec := httptest.NewRecorder()
			HTTP{Operator: w.Operator, Token: c.token}.ServeHTTP(rec, r)
			if rec.Code != 401 || rec.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("got status %d and headers %v", rec.Code, rec.Header())
			}
			if w.directory.subs[0].Paused {
				t.Error("the verb ran")
			}
		})
	}
}

// ask makes one request with the token.
func ask(h HTTP, method, target string, body io.Reader) (int, failure) {
	r := httptest.NewRequest(method, target, body)
	r.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	var f failure
	_ = json.Unmarshal(rec.Body.Bytes(), &f)
	return rec.Code, f
}

func TestBadRequestsAreRefusedAsJSON(t *testing.T) {
	w := newWorld()
	w.queues.names = []string{"dlq"}
	h := HTTP{Operator: w.Operator, Token: token}
	redrive := Prefix + "queues/dlq/redrive"
	for _, c := range []struct {
		method, target, body string
		status               int
		code                 push.Code
	}{
		{"GET", Prefix, "", 404, push.CodeNotFound},
		{"GET", Prefix + "nothing", "", 404, push.CodeNotFound},
		{"GET", "/_postino/v2/queues", "", 404, push.CodeNotFound},
		{"DELETE", Prefix + "queues", "", 404, push.CodeNotFound},
		{"GET", Prefix + "queues/dlq/redrive", "", 404, push.CodeNotFound},
		{"POST", Prefix + "subscriptions/aaaa1/pause/", "", 404, push.CodeNotFound},
		{"GET", Prefix + "deliveries?limit=many", "", 400, push.CodeInvalidParameter},
		{"GET", Prefix + "queues/dlq/messages?limit=1e3", "", 400, push.CodeInvalidParameter},
		{"POST", redrive, "", 400, push.CodeInvalidParameter},
		{"POST", redrive, "{}", 400, push.CodeInvalidParameter},
		{"POST", redrive, `{"ids":["a"],"forec":true}`, 400, push.CodeInvalidParameter},
		{"POST", redrive, `{"ids":["a"]}{}`, 400, push.CodeInvalidParameter},
		{"POST", Prefix + "queues/dlq/delete", `{"ids":["a"],"force":true}`, 400, push.CodeInvalidParameter},
		{"POST", redrive, `{"ids":"a"}`, 400, push.CodeInvalidParameter},
		{"POST", redrive, `{"ids":["` + strings.Repeat("a", maxRequest) + `"]}`, 413, push.CodeRequestTooLarge},
		{"POST", redrive, `{"ids":["a"]}` + strings.Repeat(" ", maxRequest), 413, push.CodeRequestTooLarge},
	} {
		status, f := ask(h, c.method, c.target, strings.NewReader(c.body))
		if status != c.status || f.Code != c.code || f.Message == "" {
			t.Errorf("%s %.80s with %.40q: got %d %+v, want %d %s", c.method, c.target, c.body, status, f, c.status, c.code)
		}
	}
}

func TestOurOwnFaultsAreLoggedAndNotTold(t *testing.T) {
	w := newWorld()
	w.deliveries.err = errors.New("pq: password authentication failed")
	var log bytes.Buffer
	h := HTTP{Operator: w.Operator, Token: token, Log: slog.New(slog.NewTextHandler(&log, nil))}
	status, f := ask(h, "GET", Prefix+"deliveries", nil)
	if status != 500 || f.Code != push.CodeInternalError || strings.Contains(f.Message, "password") {
		t.Errorf("got %d %+v", status, f)
	}
	if !strings.Contains(log.String(), "password authentication failed") {
		t.Errorf("the log says %q", log.String())
	}
	w.deliveries.err = &pipeline.RefusedError{Reason: "no such id"}
	if status, f = ask(h, "GET", Prefix+"deliveries", nil); status != 400 || !strings.Contains(f.Message, "no such id") {
		t.Errorf("a queue's refusal came out as %d %+v", status, f)
	}
}

func TestPathsCarryAnyName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "segments")
		r, err := http.NewRequest("GET", "http://h"+path(want), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := segments(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestAClientWithoutItsServerSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	want := fmt.Sprintf("No Postino server is running on %s: start one with `postino serve --data %s`", dir, dir)
	if _, err := Dial(dir); err == nil || err.Error() != want {
		t.Errorf("without a server file: %v", err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if err := WriteServerFile(dir, ServerFile{URL: gone.URL, Token: token}); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListQueues(t.Context()); err == nil || err.Error() != want {
		t.Errorf("after a crash of the server: %v", err)
	}
	if _, err := c.Publish(t.Context(), "t", PublishInput{Message: "m"}); err == nil || err.Error() != want {
		t.Errorf("publishing after a crash: %v", err)
	}
}

func TestAClientTellsAStrangerFromItsServer(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"another program": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>hello</h1>") }, "is not the Postino server"},
		"a redirect":      {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://192.0.2.1/", 302) }, "is not the Postino server"},
		"another Postino": {HTTP{Operator: newWorld().Operator, Token: "another"}.ServeHTTP, "does not know the token"},
		"a torn answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "[")
		}, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.answer)
			defer s.Close()
			dir := t.TempDir()
			if err := WriteServerFile(dir, ServerFile{URL: s.URL, Token: token}); err != nil {
				t.Fatal(err)
			}
			client, err := Dial(dir)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.ListQueues(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want one that says %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestACancelledCallGivesTheCause(t *testing.T) {
	hung := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer s.Close()
	defer close(hung)
	c := &Client{Server: ServerFile{URL: s.URL, Token: token}, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	cause := errors.New("patience is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := c.ListQueues(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	c.HTTP.Timeout = time.Millisecond
	if _, err := c.ListQueues(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer within 1ms") {
		t.Errorf("got %v", err)
	}
}
