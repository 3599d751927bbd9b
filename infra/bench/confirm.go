package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// confirmer visits the links that confirm subscriptions, a few at a time.
type confirmer struct {
	http  *http.Client
	turns chan struct{}
}

func newConfirmer() confirmer {
	return confirmer{
		http:  &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
		turns: make(chan struct{}, 8),
	}
}

// subscribeURL reads the link from a SubscriptionConfirmation. One that leaves
// this machine is refused: nothing here may reach a network.
func subscribeURL(body []byte) (string, error) {
	var envelope struct{ SubscribeURL string }
	if err := json.Unmarshal(body, &envelope); err != nil {
		return "", fmt.Errorf("a SubscriptionConfirmation is no JSON: %w", err)
	}
	u, err := url.Parse(envelope.SubscribeURL)
	if err != nil {
		return "", errors.New("a SubscriptionConfirmation has no valid SubscribeURL")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("a SubscribeURL does not lead back to the loopback server: %s://%s", u.Scheme, u.Host)
	}
	return envelope.SubscribeURL, nil
}

// visit requests link and wants a 200.
func (c confirmer) visit(link string) error {
	c.turns <- struct{}{}
	defer func() { <-c.turns }()
	resp, err := c.http.Get(link)
	if err != nil {
		return fmt.Errorf("a SubscribeURL cannot be visited: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("a SubscribeURL answers %s", resp.Status)
	}
	return nil
}
