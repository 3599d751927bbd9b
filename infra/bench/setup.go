package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// call makes one request of the SNS Query API and gives the answer's body.
func (s *server) call(action string, params ...string) (string, error) {
	form := url.Values{"Action": {action}, "Version": {"2010-03-31"}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	resp, err := s.http.PostForm(s.url()+"/", form)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %.300s", action, resp.Status, body)
	}
	return string(body), nil
}

var topicARN = regexp.MustCompile(`<TopicArn>([^<]+)</TopicArn>`)

func (s *server) createTopic(name string) (arn string, err error) {
	body, err := s.call("CreateTopic", "Name", name)
	if err != nil {
		return "", err
	}
	m := topicARN.FindStringSubmatch(body)
	if m == nil {
		return "", fmt.Errorf("CreateTopic gives no TopicArn: %.300s", body)
	}
	return m[1], nil
}

// order is a subscription to make.
type order struct {
	topic, endpoint string
	raw             bool
	// policy is the DeliveryPolicy, "" for the default one.
	policy string
}

// subscribe makes the subscriptions and waits until the receiver has confirmed
// them all.
func (s *suite) subscribe(to *server, orders []order) error {
	return s.confirmed(len(orders), func() string { return "the server wrote: " + to.tail() }, func() error {
		for _, o := range orders {
			params := []string{"TopicArn", o.topic, "Protocol", "http", "Endpoint", o.endpoint}
			entry := 0
			set := func(key, value string) {
				entry++
				at := "Attributes.entry." + strconv.Itoa(entry)
				params = append(params, at+".key", key, at+".value", value)
			}
			if o.raw {
				set("RawMessageDelivery", "true")
			}
			if o.policy != "" {
				set("DeliveryPolicy", o.policy)
			}
			if _, err := to.call("Subscribe", params...); err != nil {
				return err
			}
		}
		return nil
	})
}

// confirmed subscribes n times and waits until the receiver has confirmed them
// all; said is what the server can say when it has not.
func (s *suite) confirmed(n int, said func() string, subscribe func() error) error {
	before, err := s.progress()
	if err != nil {
		return err
	}
	if err := subscribe(); err != nil {
		return err
	}
	want := before.Confirmed + int64(n)
	p, err := s.await(30*time.Second, func(p progress) bool { return p.Confirmed >= want || len(p.Faults) > 0 })
	if err != nil {
		return err
	}
	if p.Confirmed < want {
		return fmt.Errorf("%d of %d subscriptions were confirmed; %v; %s", p.Confirmed-before.Confirmed, n, p.Faults, said())
	}
	return nil
}

// fixed is a DeliveryPolicy of n retries, all after the same delay.
func fixed(n int, delay time.Duration) string {
	seconds := int(delay / time.Second)
	return fmt.Sprintf(`{"healthyRetryPolicy":{"minDelayTarget":%d,"maxDelayTarget":%d,"numRetries":%d,`+
		`"numNoDelayRetries":0,"numMinDelayRetries":0,"numMaxDelayRetries":0,"backoffFunction":"linear"}}`, seconds, seconds, n)
}

// fanOut makes one topic with n subscriptions on a lane of the receiver.
func (s *suite) fanOut(to *server, name, lane string, n int, raw bool, policy string) (topic string, err error) {
	if topic, err = to.createTopic(name); err != nil {
		return "", err
	}
	var orders []order
	for i := range n {
		orders = append(orders, order{topic, fmt.Sprintf("%s/%s/%d", s.at.URL, lane, i), raw, policy})
	}
	return topic, s.subscribe(to, orders)
}
