package snsapi

import (
	"context"
	"encoding/base64"
	"strings"

	"postino/shared/push"
)

// pageSize is how many items a List answer holds (SNS API reference).
const pageSize = 100

// A NextToken is opaque to callers: base64 of the list's name and the ARN behind
// which the next page begins. A token is good for the list it came from only.

func (w *answer) next(list, after string) {
	if after != "" {
		w.text("NextToken", base64.RawURLEncoding.EncodeToString([]byte(list+" "+after)))
	}
}

// after reads the NextToken of the named list; every ARN of the list begins with
// prefix.
func (p params) after(list, prefix string) (string, error) {
	token := p["NextToken"]
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(b), list+" ")
	if err != nil || !ok || !strings.HasPrefix(after, "arn:") || !strings.HasPrefix(after, prefix) {
		return "", push.Invalid("NextToken")
	}
	return after, nil
}

func (a *API) listSubscriptions(ctx context.Context, c *call) error {
	after, err := c.params.after("subscriptions", "")
	if err != nil {
		return err
	}
	page, next, err := a.Directory.AllSubscriptions(ctx, after, pageSize)
	if err != nil {
		return err
	}
	c.subscriptions(page)
	c.out.next("subscriptions", next)
	return nil
}

func (a *API) listSubscriptionsByTopic(ctx context.Context, c *call) error {
	t, err := a.topic(ctx, c, "TopicArn")
	if err != nil {
		return err
	}
	after, err := c.params.after("by-topic", t.ARN+":")
	if err != nil {
		return err
	}
	page, next, err := a.Directory.Subscriptions(ctx, t.ARN, after, pageSize)
	if err != nil {
		return err
	}
	c.subscriptions(page)
	c.out.next("by-topic", next)
	return nil
}

// subscriptions writes a page without what has lapsed; the store deletes that in
// its own time. A page may thus be short, or empty, and still have a next one.
func (c *call) subscriptions(page []push.Subscription) {
	c.out.open("Subscriptions")
	for _, s := range page {
		if s.Deleted() || lapsed(s, c.now) {
			continue
		}
		arn := s.ARN
		if !s.Confirmed {
			arn = "PendingConfirmation"
		}
		c.out.open("member")
		c.out.text("TopicArn", s.TopicARN)
		c.out.text("Protocol", string(s.Protocol))
		c.out.text("SubscriptionArn", arn)
		c.out.text("Owner", s.Owner)
		c.out.text("Endpoint", masked(s.Endpoint))
		c.out.close("member")
	}
	c.out.close("Subscriptions")
}
