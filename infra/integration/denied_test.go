//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
)

// deny forbids a function an action, and gives the way back, which the end of the
// test takes too.
func (s *stack) deny(function, action string) (restore func()) {
	s.t.Helper()
	c, err := settings()
	if err != nil {
		s.t.Fatal(err)
	}
	f, err := s.lambda.GetFunctionConfiguration(s.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(s.output(function + "FunctionName"))})
	if err != nil {
		s.t.Fatal(err)
	}
	client, name := iam.NewFromConfig(c), "test-denies-"+strings.ReplaceAll(action, ":", "-")
	role := (*f.Role)[strings.LastIndexByte(*f.Role, '/')+1:]
	_, err = client.PutRolePolicy(s.t.Context(), &iam.PutRolePolicyInput{RoleName: &role, PolicyName: &name,
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"` + action + `","Resource":"*"}]}`)})
	if err != nil {
		s.t.Fatal(err)
	}
	allowed := false
	restore = func() {
		if allowed {
			return
		}
		allowed = true
		if _, err := client.DeleteRolePolicy(context.Background(), &iam.DeleteRolePolicyInput{RoleName: &role, PolicyName: &name}); err != nil {
			s.t.Error(err)
		}
	}
	s.t.Cleanup(restore)
	return restore
}

// blames waits for the line of a function's log that names the missing permission.
func (s *stack) blames(function string, since time.Time, action string) {
	s.t.Helper()
	s.logged(function, since, func(l map[string]any) bool {
		cause := fmt.Sprint(l["err"], l["error"]) // the handlers' word for it, and the pipeline's
		return strings.Contains(cause, "the permission "+action) && strings.Contains(cause, "missing")
	})
}

// The failure is on record, so the attempt is not made again, and what follows it
// comes once it may be sent.
func TestDeliverWithoutAPermissionNamesItAndLosesNothing(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(1, 1))
	s.visibility("AttemptQueueUrl", 6*time.Second)
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	since := time.Now()
	restore := s.deny("Deliver", "sqs:SendMessage")
	id := s.publish(topic, "denied")
	first := e.next()
	s.blames("deliver", since, "sqs:SendMessage")
	restore()
	if p := e.after(first, time.Second); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

func TestPublishWithoutAPermissionRefusesAndNamesIt(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	since := time.Now()
	restore := s.deny("Publish", "sqs:SendMessage")
	if out, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("denied")}); err == nil {
		t.Errorf("accepted as %s, and stored nowhere", *out.MessageId)
	} else {
		t.Log(err) // what the log is searched for in vain, if it does not come from the function
	}
	s.blames("publish", since, "sqs:SendMessage")
	restore()
	if id := s.publish(topic, "allowed"); e.next().MessageId != id {
		t.Error("another message was pushed")
	}
}

func TestFanoutWithoutAPermissionNamesItAndTheBatchComesBack(t *testing.T) {
	t.Parallel()
	s := own(t, nil)
	since := time.Now()
	s.deny("Fanout", "dynamodb:GetItem")
	body, _ := s.invoke("Fanout", fixture(t, "fanout-sqs.json"))
	var in events.SQSEvent
	var out events.SQSEventResponse
	if json.Unmarshal(fixture(t, "fanout-sqs.json"), &in) != nil || json.Unmarshal(body, &out) != nil || len(out.BatchItemFailures) != len(in.Records) {
		t.Errorf("answered is %s", body)
	}
	s.blames("fanout", since, "dynamodb:GetItem")
}

func TestRedriveWithoutAPermissionNamesItAndTheLetterStays(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(0, 1))
	e.answer(http.StatusForbidden, http.StatusOK)
	id := s.publish(topic, "denied")
	e.next()
	letter := s.deadLetter(id)
	since := time.Now()
	restore := s.deny("Redrive", "dynamodb:GetItem")
	if failed := s.redrive(letter); len(failed) != 1 || failed[0].ItemIdentifier != *letter.MessageId {
		t.Errorf("came back: %+v", failed)
	}
	s.blames("redrive", since, "dynamodb:GetItem")
	restore()
	if failed := s.redrive(letter); len(failed) != 0 || e.next().MessageId != id {
		t.Errorf("came back: %+v", failed)
	}
}

// A page that is none, in the queue of pages.
func TestAPageThatCannotBeReadIsParked(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	garbage := "no page " + uuid.NewString()
	s.send("FanoutQueueUrl", garbage)
	s.parked(garbage)
}

// A page that Fanout failed at for good is worked off once it is redriven.
func TestAFailedPageIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	var in events.SQSEvent
	if err := json.Unmarshal(fixture(t, "fanout-sqs.json"), &in); err != nil {
		t.Fatal(err)
	}
	var page map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(in.Records[0].Body, "arn:aws:sns:us-east-1:123456789012:orders", topic)), &page); err != nil {
		t.Fatal(err)
	}
	delete(page, "after")
	body, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	failed := s.redriveFrom("FailedJobsQueueUrl", sqstypes.Message{MessageId: aws.String("1"), ReceiptHandle: aws.String("1"), Body: aws.String(string(body))})
	if p := e.next(); len(failed) != 0 || p.TopicArn != topic {
		t.Errorf("came back %v, pushed was %s", failed, p.body)
	}
}

func TestTopicsAndSubscriptionsAreListed(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, nil)
	topics, found := sns.NewListTopicsPaginator(s.sns, &sns.ListTopicsInput{}), 0
	for topics.HasMorePages() {
		page, err := topics.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Topics {
			if *one.TopicArn == topic {
				found++
			}
		}
	}
	subscriptions := sns.NewListSubscriptionsPaginator(s.sns, &sns.ListSubscriptionsInput{})
	for subscriptions.HasMorePages() {
		page, err := subscriptions.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Subscriptions {
			if *one.SubscriptionArn == subscription && *one.Endpoint == e.url {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of the topic and its subscription were listed", found)
	}
}
