// Package first is what functions get first when their cold starts are measured: an
// event that is work on a deployed stack, for a topic whose one subscriber is here.
// Whichever function it is, what it does with its event ends in a push, by itself or
// by the deployed Deliver: so it is seen that the work was done.
package first

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/uuid"
)

// patience is for a push, on a machine that is busy.
const patience = 30 * time.Second

// Topic has one subscriber, which is here and has confirmed.
type Topic struct {
	arn, subscription string
	// outputs are the stack's.
	outputs map[string]string
	key     aws.Credentials
	front   *sns.Client

	server *http.Server
	pushes chan received
}

// received is what the subscriber got.
type received struct {
	Type, MessageId, Token string //nolint:revive // SNS's names
}

// Subscribe makes a topic of the stack that has these outputs, and the subscriber at a
// free port of host, where the functions must reach it. key is one of the stack's own.
// The error is for what the front door refuses, and for a confirmation that does not
// come: the functions may not push to that host.
func Subscribe(ctx context.Context, settings aws.Config, outputs map[string]string, key aws.Credentials, host string) (*Topic, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	t := &Topic{outputs: outputs, key: key, pushes: make(chan received, 100)}
	t.front = sns.NewFromConfig(settings, func(o *sns.Options) {
		o.BaseEndpoint = aws.String(t.endpoint())
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil })
	})
	t.server = &http.Server{Handler: http.HandlerFunc(t.receive), ReadHeaderTimeout: time.Minute}
	go func() { _ = t.server.Serve(listener) }()
	if err := t.confirmed(ctx, "http://"+listener.Addr().String()); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Topic) confirmed(ctx context.Context, subscriber string) error {
	topic, err := t.front.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("coldstart-" + uuid.NewString()[:8])})
	if err != nil {
		return err
	}
	t.arn = *topic.TopicArn
	subscription, err := t.front.Subscribe(ctx, &sns.SubscribeInput{TopicArn: &t.arn, Protocol: aws.String("http"), Endpoint: &subscriber, ReturnSubscriptionArn: true})
	if err != nil {
		return err
	}
	t.subscription = *subscription.SubscriptionArn
	asked, err := t.next(ctx, func(r received) bool { return r.Type == "SubscriptionConfirmation" })
	if err != nil {
		return err
	}
	_, err = t.front.ConfirmSubscription(ctx, &sns.ConfirmSubscriptionInput{TopicArn: &t.arn, Token: &asked.Token})
	return err
}

// endpoint is the front door's URL, which links begin with.
func (t *Topic) endpoint() string { return t.outputs["EndpointUrl"] }

// Close deletes the topic and stops the subscriber.
func (t *Topic) Close() error {
	var err error
	if t.arn != "" {
		_, err = t.front.DeleteTopic(context.Background(), &sns.DeleteTopicInput{TopicArn: &t.arn})
	}
	return errors.Join(err, t.server.Close())
}

func (t *Topic) receive(_ http.ResponseWriter, r *http.Request) {
	var got received
	if json.NewDecoder(r.Body).Decode(&got) == nil { // else the sender has gone, and will come again
		t.pushes <- got
	}
}

// next waits for a push that fits.
func (t *Topic) next(ctx context.Context, fits func(received) bool) (received, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case got := <-t.pushes:
			if fits(got) {
				return got, nil
			}
		case <-ctx.Done():
			return received{}, errors.New("nothing was pushed to the subscriber: may the stack's functions push to it (POSTINO_ALLOW_NETWORKS)?")
		}
	}
}

// Give has a function, "publish" or "fanout" say, do its work: invoke hands it an
// event of a message of its own and gives what it answers. The error is invoke's, or
// says that the answer is not that of work done, or that no push came of it.
func (t *Topic) Give(ctx context.Context, function string, invoke func(event []byte) (answer []byte, err error)) error {
	event, id, err := t.event(ctx, function)
	if err != nil {
		return err
	}
	answer, err := invoke(event)
	if err != nil {
		return err
	}
	if function == "publish" {
		id, err = published(answer)
	} else {
		err = done(answer)
	}
	if err != nil {
		return err
	}
	_, err = t.next(ctx, func(r received) bool { return r.MessageId == id })
	return err
}

var messageID = regexp.MustCompile(`<MessageId>([0-9a-f-]{36})</MessageId>`)

// published reads the message's id from what the front door answers. A refusal is an
// error.
func published(answer []byte) (id string, err error) {
	var r events.LambdaFunctionURLResponse
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", fmt.Errorf("it answers %s: %w", answer, err)
	}
	found := messageID.FindStringSubmatch(r.Body)
	if r.StatusCode != http.StatusOK || found == nil {
		return "", fmt.Errorf("it answers %d %s", r.StatusCode, strings.TrimSpace(r.Body))
	}
	return found[1], nil
}

// done is nil for the answer of a batch of which nothing comes back.
func done(answer []byte) error {
	var r events.SQSEventResponse
	if err := json.Unmarshal(answer, &r); err != nil || r.BatchItemFailures == nil || len(r.BatchItemFailures) > 0 {
		return fmt.Errorf("it answers %s, which is not that its batch is done", answer)
	}
	return nil
}
