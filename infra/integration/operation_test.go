//go:build integration

package integration

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// change sets variables of a function and gives the way back, which the end of
// the test takes too. The function's processes start anew.
func (s *stack) change(function string, variables map[string]string) (restore func()) {
	s.t.Helper()
	name := s.output(function + "FunctionName")
	now, err := s.lambda.GetFunctionConfiguration(s.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	before := now.Environment.Variables
	set := func(v map[string]string) {
		_, err := s.lambda.UpdateFunctionConfiguration(context.Background(), &lambda.UpdateFunctionConfigurationInput{FunctionName: &name,
			Environment: &lambdatypes.Environment{Variables: v}})
		if err == nil {
			err = lambda.NewFunctionUpdatedV2Waiter(s.lambda).Wait(context.Background(), &lambda.GetFunctionInput{FunctionName: &name}, patience)
		}
		if err != nil {
			s.t.Error(err)
		}
	}
	after := maps.Clone(before)
	maps.Copy(after, variables)
	set(after)
	s.t.Cleanup(func() { set(before) })
	return func() { set(before) }
}

func TestRetriesOutliveANewVersionOfTheFunction(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(3, 6))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := s.publish(topic, "across versions")
	e.next()
	s.change("Deliver", map[string]string{"POSTINO_LOG_LEVEL": "debug"})
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(2 * time.Second)
}

// visibility shortens for how long a batch that failed as a whole stays away.
func (s *stack) visibility(queue, seconds string) {
	s.t.Helper()
	url := s.output(queue)
	set := func(v string) {
		if _, err := s.sqs.SetQueueAttributes(context.Background(), &sqs.SetQueueAttributesInput{QueueUrl: &url,
			Attributes: map[string]string{string(sqstypes.QueueAttributeNameVisibilityTimeout): v}}); err != nil {
			s.t.Error(err)
		}
	}
	set(seconds)
	s.t.Cleanup(func() { set("360") })
}

func TestWhileTheStoreIsGoneNothingIsLostAndNoAttemptIsBurnt(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue()
	attributes := policy(0, 1) // the first failure would be the last
	maps.Copy(attributes, redrive(arn))
	s.subscribe(topic, e, attributes)
	s.visibility("AttemptQueueUrl", "2")
	restore := s.change("Deliver", map[string]string{"POSTINO_TABLE": "no-such-table"})
	id := s.publish(topic, "patience")
	e.quiet(5 * time.Second)
	restore()
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	out, err := s.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
	if err != nil || len(out.Messages) != 0 {
		t.Errorf("the subscriber's dead-letter queue holds %v (%v)", out.Messages, err)
	}
	e.quiet(2 * time.Second)
}

func TestAThrottledSubscriptionGetsEverythingAtItsPace(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":0,"minDelayTarget":1,"maxDelayTarget":1},"throttlePolicy":{"maxReceivesPerSecond":2}}`})
	if _, err := s.sns.PublishBatch(t.Context(), batch(topic, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	first := e.next()
	got[first.Message] = true
	last := first
	for range 9 {
		last = e.next()
		got[last.Message] = true
	}
	if took := last.at.Sub(first.at); len(got) != 10 || took < 3*time.Second {
		t.Errorf("%s got %d messages within %v, its policy allows 2 a second", subscription, len(got), took)
	}
	e.quiet(2 * time.Second)
}

func TestARawLetterKeepsItsBodyAndAttributes(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue()
	attributes := redrive(arn)
	attributes["RawMessageDelivery"] = "true"
	s.subscribe(topic, e, attributes)
	e.answer(http.StatusGone)
	body := strings.Repeat("<raw> é ", 1000)
	if _, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &body,
		MessageAttributes: map[string]snstypes.MessageAttributeValue{"colour": {DataType: aws.String("String"), StringValue: aws.String("blue")}}}); err != nil {
		t.Fatal(err)
	}
	if p := e.next(); p.body != body {
		t.Errorf("pushed was %.100s", p.body)
	}
	letter := s.takeFrom(url, func(sqstypes.Message) bool { return true })
	if *letter.Body != body || *letter.MessageAttributes["colour"].StringValue != "blue" || !note(t, letter).Raw {
		t.Errorf("the letter is %.100s with %v", *letter.Body, letter.MessageAttributes)
	}
}

func TestTheSDKSeesSNSsOwnErrors(t *testing.T) {
	s := deployed(t)
	_, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:gone"), Message: aws.String("m")})
	if e := new(snstypes.NotFoundException); !errors.As(err, &e) {
		t.Errorf("a topic that does not exist: %v", err)
	}
	topic := s.topic()
	_, err = s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String(strings.Repeat("x", 300<<10))})
	if e := new(snstypes.InvalidParameterException); !errors.As(err, &e) {
		t.Errorf("a message that is too long: %v", err)
	}
}
