package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
)

// ExplainCmd is `postino explain`.
type ExplainCmd struct {
	JSONFlag
	Policy     string `arg:"" optional:"" name:"policy.json" help:"A delivery policy in the subscription's or the topic's form; - reads standard input."`
	Predefined string `help:"Explain a fixed policy instead: aws-managed, customer-managed, mns-backoff or mns-exponential." placeholder:"NAME"`
	Raw        bool   `help:"Judge the policy as one of a subscription with raw message delivery."`
	All        bool   `help:"Print every attempt of a long schedule, not one line for each run of equal delays."`
}

// Help is shown below the flags.
func (ExplainCmd) Help() string {
	return "A policy that breaks a rule is refused with the text that SetSubscriptionAttributes or SetTopicAttributes answers, and exit code 1."
}

// Validate is called by kong.
func (c *ExplainCmd) Validate() error {
	if (c.Policy == "") == (c.Predefined == "") {
		return errors.New("give either a policy or --predefined")
	}
	if c.Predefined != "" && predefined[c.Predefined] == nil {
		return fmt.Errorf("%q is no predefined policy: use aws-managed, customer-managed, mns-backoff or mns-exponential", c.Predefined)
	}
	return nil
}

// explained is a policy and what it comes to.
type explained struct {
	// Form is subscription, topic or predefined.
	Form string
	// Stored and Effective are the documents as SNS reads them back, "" for
	// predefined ones.
	Stored, Effective string
	Schedule          deliverypolicy.Schedule
	// PerSecond is the throttle, 0 for none.
	PerSecond   int
	ContentType string
	// Overrides: the topic wins over its subscriptions' policies.
	Overrides bool
}

// Run explains.
func (c *ExplainCmd) Run(ctx context.Context, app *App) error {
	e := explained{Form: c.Predefined}
	if c.Predefined != "" {
		e.Schedule = predefined[c.Predefined]()
	} else {
		doc, err := readPolicy(ctx, app, c.Policy)
		if err != nil {
			return err
		}
		if e, err = explain(doc, c.Raw); err != nil {
			return push.Invalid("%s", err) // the text that the API answers
		}
	}
	if c.JSON {
		return app.json(e.wire())
	}
	app.explained(e, c.All)
	return nil
}

var predefined = map[string]func() deliverypolicy.Schedule{
	"aws-managed":      deliverypolicy.AWSManaged,
	"customer-managed": deliverypolicy.CustomerManaged,
	"mns-backoff":      deliverypolicy.MNSBackoffRetry,
	"mns-exponential":  deliverypolicy.MNSExponentialDecay,
}

// maxPolicy bounds what is read as a policy; real ones have some hundred bytes.
const maxPolicy = 256 << 10

func readPolicy(ctx context.Context, app *App, name string) (string, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("the policy cannot be read: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		app = &App{In: f}
	}
	b, err := app.readAll(ctx, maxPolicy)
	if err != nil {
		return "", fmt.Errorf("the policy cannot be read: %w", err)
	}
	if len(b) > maxPolicy {
		return "", fmt.Errorf("%s is larger than %d bytes: that is no delivery policy", name, maxPolicy)
	}
	return string(b), nil
}

// explain parses doc in the form it is in: only the topic's has a member "http".
func explain(doc string, raw bool) (explained, error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(doc), &members) // what is no JSON, the parser says better
	var topic deliverypolicy.TopicPolicy
	var own deliverypolicy.SubscriptionPolicy
	var err error
	e := explained{Form: "subscription"}
	if _, ok := members["http"]; ok {
		if topic, err = deliverypolicy.ParseTopic(doc); err != nil {
			return explained{}, err
		}
		e.Form, e.Stored, e.Effective = "topic", topic.String(), topic.EffectiveString()
		e.Overrides = topic.DisableSubscriptionOverrides
	} else if own, err = deliverypolicy.ParseSubscription(doc, raw); err != nil {
		return explained{}, err
	}
	effective := deliverypolicy.EffectiveFor(topic, own, raw)
	if e.Form == "subscription" {
		e.Stored, e.Effective = own.String(), effective.String()
	}
	e.Schedule, e.PerSecond, e.ContentType = effective.Schedule, effective.MaxReceivesPerSecond, effective.ContentType
	return e, nil
}
