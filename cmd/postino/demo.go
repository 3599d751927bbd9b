package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// demo is three sample subscribers and the first message to them, all through
// the public API.
type demo struct {
	app     *App
	server  string // the server's URL
	account string
	region  string
	data    string // the flag that a hint needs to find the server, "" for none
	hooks   *http.Server
	ended   chan struct{}

	mu       sync.Mutex
	failures map[string]int // by message id, of the subscriber that fails twice
	pending  map[string]chan struct{}
	up       bool // the subscriber that is down has recovered
}

const (
	demoTopic       = "demo"
	demoDeadLetters = "demo-dead-letters"
	flakyFailures   = 2
	// demoPath begins the path of the demonstration's endpoints, so that a later
	// run knows them from other subscriptions of the topic.
	demoPath = "/postino-demo/"
)

// demoNames are the subscribers, in the order they are spoken of.
var demoNames = []string{"healthy", "flaky", "down"}

// demoPolicies give each subscriber a schedule that one can watch.
var demoPolicies = map[string]string{
	"healthy": "",
	"flaky":   `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":4,"numRetries":5,"numNoDelayRetries":1,"backoffFunction":"exponential"}}`,
	"down":    `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":4,"numRetries":3,"backoffFunction":"geometric"}}`,
}

// demoView shows what happens, but for the farewells to an earlier run's
// subscribers: they are called as this run's are and answer no more.
type demoView struct {
	to pipeline.Observer
	// hooks is the URL of this run's subscribers, without a path.
	hooks string
}

// Observe implements pipeline.Observer.
func (v demoView) Observe(e pipeline.Event) {
	if e.Push == push.UnsubscribeConfirmation && demoEndpoint(e.Endpoint) && !strings.HasPrefix(e.Endpoint, v.hooks+"/") {
		return
	}
	v.to.Observe(e)
}

// startDemo starts the subscribers on l and, in the background, sets everything up
// once the server answers.
func startDemo(ctx context.Context, l net.Listener, server, region, account, data string, app *App) *demo {
	d := &demo{app: app, server: server, region: region, account: account, data: data, ended: make(chan struct{}),
		failures: map[string]int{}, pending: map[string]chan struct{}{}}
	mux := http.NewServeMux()
	for name := range demoPolicies {
		d.pending[name] = make(chan struct{})
		mux.HandleFunc("POST "+demoPath+name, func(w http.ResponseWriter, r *http.Request) { d.receive(name, w, r) })
	}
	mux.HandleFunc("GET "+demoPath+"recover", d.recover)
	d.hooks = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	// Before the server works off what an earlier run has left.
	app.sayf("\nThree sample subscribers of the topic %s: healthy answers, flaky fails twice, down always fails.\n", demoTopic)
	go func() { _ = d.hooks.Serve(l) }()
	go func() {
		defer close(d.ended)
		if err := d.setUp(ctx, "http://"+l.Addr().String()); err != nil && ctx.Err() == nil {
			complain(app, "the demonstration did not start: "+err.Error())
		}
	}()
	return d
}

func (d *demo) stop() {
	_ = d.hooks.Close()
	<-d.ended
}

// receive is one subscriber: it confirms when asked and then answers as its
// name says.
func (d *demo) receive(name string, w http.ResponseWriter, r *http.Request) {
	var m struct{ Type, MessageId, SubscribeURL string }
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&m); err != nil {
		http.Error(w, "no SNS message", http.StatusBadRequest)
		return
	}
	if m.Type == "SubscriptionConfirmation" {
		go d.confirm(r.Context(), name, m.SubscribeURL)
		return
	}
	switch name {
	case "down":
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.up {
			http.Error(w, "down", http.StatusServiceUnavailable)
		}
	case "flaky":
		d.mu.Lock()
		d.failures[m.MessageId]++
		failing := d.failures[m.MessageId] <= flakyFailures
		d.mu.Unlock()
		if failing {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}
}

// recover lets the subscriber that is down answer from now on.
func (d *demo) recover(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up = true
	_, _ = io.WriteString(w, "down answers from now on\n")
}

func (d *demo) confirm(ctx context.Context, name, link string) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, link, nil)
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	_ = resp.Body.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.pending[name]; c != nil && resp.StatusCode == http.StatusOK {
		close(c)
		delete(d.pending, name)
	}
}

// setUp makes the topic, if there is none, and the subscriptions anew, and
// publishes the first message. Subscriptions of others are left alone.
func (d *demo) setUp(ctx context.Context, hooks string) error {
	topic := push.ARNOf("sns", d.region, d.account, demoTopic)
	if _, err := d.call(ctx, url.Values{"Action": {"CreateTopic"}, "Name": {demoTopic}}); err != nil {
		return err
	}
	if err := d.leave(ctx, topic); err != nil {
		return err
	}
	waiting := []chan struct{}{}
	for _, name := range demoNames {
		d.mu.Lock()
		waiting = append(waiting, d.pending[name])
		d.mu.Unlock()
		v := url.Values{"Action": {"Subscribe"}, "TopicArn": {topic}, "Protocol": {"http"}, "Endpoint": {hooks + demoPath + name}}
		attributes := map[string]string{
			"DeliveryPolicy": demoPolicies[name],
			"RedrivePolicy":  fmt.Sprintf(`{"deadLetterTargetArn":%q}`, push.ARNOf("sqs", d.region, d.account, demoDeadLetters)),
		}
		n := 0
		for key, value := range attributes {
			if value != "" {
				n++
				v.Set(fmt.Sprintf("Attributes.entry.%d.key", n), key)
				v.Set(fmt.Sprintf("Attributes.entry.%d.value", n), value)
			}
		}
		if _, err := d.call(ctx, v); err != nil {
			return err
		}
	}
	for _, c := range waiting {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	answer, err := d.call(ctx, url.Values{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {"Hello from Postino"}})
	if err != nil {
		return err
	}
	d.app.sayf("%s", d.hint(topic, answer.MessageID, hooks))
	return nil
}

// leave removes the subscriptions of earlier runs.
func (d *demo) leave(ctx context.Context, topic string) error {
	for next := ""; ; {
		v := url.Values{"Action": {"ListSubscriptionsByTopic"}, "TopicArn": {topic}}
		if next != "" {
			v.Set("NextToken", next)
		}
		page, err := d.call(ctx, v)
		if err != nil {
			return err
		}
		for _, s := range page.Subscriptions {
			if !demoEndpoint(s.Endpoint) || !strings.HasPrefix(s.ARN, "arn:") { // PendingConfirmation has no ARN
				continue
			}
			if _, err := d.call(ctx, url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {s.ARN}}); err != nil {
				return err
			}
		}
		if next = page.Next; next == "" {
			return nil
		}
	}
}

// demoEndpoint reports whether an endpoint is one of the demonstration's.
func demoEndpoint(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Hostname() == "127.0.0.1" && slices.ContainsFunc(demoNames, func(name string) bool { return u.Path == demoPath+name })
}

// hint is what to try from another terminal.
func (d *demo) hint(topic, messageID, hooks string) string {
	postino := func(line string) string { return d.app.command() + " " + line + d.data }
	return fmt.Sprintf(`Published message %s. Publish more from another terminal:
  curl %s/ -d Action=Publish -d TopicArn=%s -d Message=ciao
  eval "$(%s)" && aws sns publish --topic-arn %s --message ciao
See what became of it:
  %s
  %s
Let down recover, and send it again what it missed:
  curl %s
  %s
Ctrl-C stops the server.
`, messageID, d.server, topic, postino("env"), topic, postino("deliveries show "+messageID), postino("dlq list "+demoDeadLetters),
		hooks+demoPath+"recover", postino("dlq redrive "+demoDeadLetters+" --all"))
}

type demoAnswer struct {
	MessageID string `xml:"PublishResult>MessageId"`
	Message   string `xml:"Error>Message"`

	Subscriptions []struct {
		ARN      string `xml:"SubscriptionArn"`
		Endpoint string
	} `xml:"ListSubscriptionsByTopicResult>Subscriptions>member"`
	Next string `xml:"ListSubscriptionsByTopicResult>NextToken"`
}

// call makes one call of the SNS Query API.
func (d *demo) call(ctx context.Context, v url.Values) (demoAnswer, error) {
	resp, err := d.post(ctx, v)
	if err != nil {
		return demoAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var a demoAnswer
	if err := xml.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&a); err != nil {
		return a, fmt.Errorf("%s answered no XML: %w", v.Get("Action"), err)
	}
	if resp.StatusCode != http.StatusOK {
		return a, errors.New(v.Get("Action") + ": " + a.Message)
	}
	return a, nil
}

func (d *demo) post(ctx context.Context, v url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.server+"/", strings.NewReader(v.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return http.DefaultClient.Do(r)
}
