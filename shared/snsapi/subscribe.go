package snsapi

import (
	"context"
	"encoding/hex"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"postino/shared/push"
)

const (
	// tokenLife is how long a confirmation token is good (SNS API reference,
	// Subscribe: two days).
	tokenLife = 48 * time.Hour
	// pendingLife is how long an unconfirmed subscription exists (SNS developer
	// guide: three days).
	pendingLife = 72 * time.Hour
	// maxEndpoint bounds an endpoint URL, in bytes.
	maxEndpoint = 2048
	// tokenBytes makes tokens of 288 hexadecimal characters, as SNS's have.
	tokenBytes = 144
)

// lapsed reports whether s was never confirmed and has outlived its time.
func lapsed(s push.Subscription, now time.Time) bool {
	return !s.Confirmed && !now.Before(s.CreatedAt.Add(pendingLife))
}

func (a *API) token() (string, error) {
	b := make([]byte, tokenBytes)
	if _, err := io.ReadFull(a.random(), b); err != nil {
		return "", err
	}
	return hex.EncodeToString(b), nil
}

// subscribe is idempotent per topic, protocol and endpoint. A subscription that
// waits for its confirmation is sent it again.
func (a *API) subscribe(ctx context.Context, c *call) error {
	t, err := a.topic(ctx, c, "TopicArn")
	if err != nil {
		return err
	}
	fresh, edits, err := a.asked(c, t.ARN)
	if err != nil {
		return err
	}
	showARN, err := c.params.flag("ReturnSubscriptionArn")
	if err != nil {
		return err
	}
	s, created, err := a.Directory.CreateSubscription(ctx, fresh)
	if push.IsNotFound(err) {
		return noTopic()
	}
	if err == nil && !created {
		s, err = a.subscribeAgain(ctx, c, s, fresh, edits)
	}
	if err != nil {
		return err
	}
	if !s.Confirmed {
		if err := a.Publisher.Announce(ctx, push.SubscriptionConfirm, s); err != nil {
			return err
		}
	}
	if s.Confirmed || showARN {
		c.out.text("SubscriptionArn", s.ARN)
	} else {
		c.out.text("SubscriptionArn", "pending confirmation")
	}
	return nil
}

// asked reads the subscription a request asks for, and its attributes.
func (a *API) asked(c *call, topicARN string) (push.Subscription, subscriptionEdits, error) {
	none := push.Subscription{}
	protocol, err := servedProtocol(c.params["Protocol"])
	if err != nil {
		return none, nil, err
	}
	endpoint := c.params["Endpoint"]
	if err := checkEndpoint(protocol, endpoint); err != nil {
		return none, nil, err
	}
	attributes, err := c.params.attributes()
	if err != nil {
		return none, nil, err
	}
	edits, err := a.subscriptionChanges(attributes)
	if err != nil {
		return none, nil, err
	}
	id, err := a.uuid()
	if err != nil {
		return none, nil, err
	}
	token, err := a.token()
	if err != nil {
		return none, nil, err
	}
	s := push.Subscription{
		ARN: topicARN + ":" + id, TopicARN: topicARN, Protocol: protocol, Endpoint: endpoint, Owner: a.Account,
		Token: token, TokenExpires: c.now.Add(tokenLife), CreatedAt: c.now,
	}
	if name, err := edits.apply(&s); err != nil {
		return none, nil, creating(name, err)
	}
	return s, edits, nil
}

// subscribeAgain is a Subscribe for what is subscribed already. What the request
// asks for must be what there is; a lapsed one counts as gone and begins anew.
func (a *API) subscribeAgain(ctx context.Context, c *call, have, fresh push.Subscription, edits subscriptionEdits) (push.Subscription, error) {
	if !lapsed(have, c.now) {
		want := have
		if _, err := edits.apply(&want); err != nil || want != have {
			return have, push.Invalid("Attributes Reason: Subscription already exists with different attributes")
		}
		if have.Confirmed {
			return have, nil
		}
	}
	s, err := a.Directory.UpdateSubscription(ctx, have.ARN, func(s *push.Subscription) error {
		if s.Confirmed {
			return nil
		}
		if lapsed(*s, c.now) {
			s.Raw, s.DeliveryPolicy, s.RedrivePolicy = fresh.Raw, fresh.DeliveryPolicy, fresh.RedrivePolicy
		}
		// A token that is still good stays: an earlier link must keep working.
		if !c.now.Before(s.TokenExpires) {
			s.Token = fresh.Token
		}
		s.TokenExpires, s.CreatedAt = fresh.TokenExpires, fresh.CreatedAt
		return nil
	})
	if push.IsNotFound(err) {
		return s, push.Errorf(push.CodeConcurrentAccess, "The subscription was removed at the same time. Subscribe again.")
	}
	return s, err
}

func servedProtocol(p string) (push.Protocol, error) {
	switch p {
	case "http", "https":
		return push.Protocol(p), nil
	case "":
		return "", push.Invalid("Protocol Reason: no value for required parameter")
	case "email", "email-json", "sms", "sqs", "application", "lambda", "firehose":
		return "", push.Invalid("Protocol Reason: this server does not serve %s yet, only http and https", p)
	}
	return "", push.Invalid("Amazon SNS does not support this protocol string: %s", clip(p))
}

// checkEndpoint judges the URL's form; which addresses it may lead to is judged
// when it is dialled.
func checkEndpoint(protocol push.Protocol, endpoint string) error {
	if endpoint == "" {
		return push.Invalid("Endpoint Reason: no value for required parameter")
	}
	if len(endpoint) > maxEndpoint {
		return push.Invalid("Endpoint Reason: a URL must have at most %d bytes", maxEndpoint)
	}
	scheme, _, _ := strings.Cut(endpoint, "://")
	if !strings.EqualFold(scheme, string(protocol)) || len(scheme) == len(endpoint) {
		return push.Invalid("Endpoint must match the specified protocol")
	}
	u, err := url.Parse(endpoint)
	if err != nil || strings.ContainsAny(endpoint, " \\") {
		return push.Invalid("Endpoint Reason: not a valid URL")
	}
	host := u.Hostname()
	switch port, err := strconv.Atoi(u.Port()); {
	case host == "":
		return push.Invalid("Endpoint Reason: the URL names no host")
	case strings.Contains(host, "_"): // SNS developer guide, HTTPS endpoints
		return push.Invalid("Endpoint Reason: a host name must not contain an underscore")
	case u.Port() != "" && (err != nil || port < 1 || port > 65535):
		return push.Invalid("Endpoint Reason: the port must be 1 to 65535")
	}
	return nil
}

// masked hides the password of a URL, as SNS does in its answers.
func masked(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.User == nil {
		return endpoint
	}
	if _, has := u.User.Password(); !has {
		return endpoint
	}
	// Cut rather than printed by net/url, which would escape the asterisks and
	// might rewrite the rest.
	authority := strings.Index(endpoint, "://") + len("://")
	end := len(endpoint)
	if i := strings.IndexAny(endpoint[authority:], "/?#"); i >= 0 {
		end = authority + i
	}
	at := authority + strings.LastIndexByte(endpoint[authority:end], '@')
	user, _, _ := strings.Cut(endpoint[authority:at], ":")
	return endpoint[:authority] + user + ":****" + endpoint[at:]
}
