//go:build integration

package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/aws/awscall"
)

// patience is for what should come within seconds, on a machine that is busy.
const patience = 60 * time.Second

// stack is the deployed one, with a client for each thing that is looked at.
type stack struct {
	t         *testing.T
	name      string
	outputs   map[string]string
	sns       *sns.Client
	sqs       *sqs.Client
	lambda    *lambda.Client
	scheduler *scheduler.Client
	logs      *cloudwatchlogs.Client
}

var find = sync.OnceValues(func() (aws.Config, error) { return awscall.Load(context.Background()) })

// deployed finds the stack. Without a target it fails: a test that passes without
// what it tests says nothing.
func deployed(t *testing.T) *stack {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make integration, or infra/local/sam.sh up")
	}
	c, err := find()
	if err != nil {
		t.Fatal(err)
	}
	name := cmp.Or(os.Getenv("POSTINO_STACK"), "postino")
	out, err := cloudformation.NewFromConfig(c).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil || len(out.Stacks) != 1 {
		t.Fatalf("the stack %s is not there: %v", name, err)
	}
	s := &stack{t: t, name: name, outputs: map[string]string{}, sqs: sqs.NewFromConfig(c), lambda: lambda.NewFromConfig(c), scheduler: scheduler.NewFromConfig(c),
		logs: cloudwatchlogs.NewFromConfig(c)}
	for _, o := range out.Stacks[0].Outputs {
		s.outputs[*o.OutputKey] = *o.OutputValue
	}
	s.sns = sns.NewFromConfig(c, func(o *sns.Options) {
		o.BaseEndpoint = aws.String(s.output("EndpointUrl"))
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return s.key(), nil })
	})
	return s
}

// key is the stack's own that SNS calls are signed with.
func (s *stack) key() aws.Credentials {
	s.t.Helper()
	k := aws.Credentials{AccessKeyID: os.Getenv("POSTINO_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("POSTINO_SECRET_ACCESS_KEY")}
	if k.AccessKeyID == "" || k.SecretAccessKey == "" {
		s.t.Fatal("POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are not set: infra/local/sam.sh env prints them, or postino keys add --stack")
	}
	return k
}

func (s *stack) output(name string) string {
	s.t.Helper()
	v := s.outputs[name]
	if v == "" {
		s.t.Fatalf("the stack has no output %s", name)
	}
	return v
}

// topic makes a topic that is deleted with the test.
func (s *stack) topic() string {
	s.t.Helper()
	out, err := s.sns.CreateTopic(s.t.Context(), &sns.CreateTopicInput{Name: aws.String("it-" + uuid.NewString()[:8])})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := s.sns.DeleteTopic(context.Background(), &sns.DeleteTopicInput{TopicArn: out.TopicArn}); err != nil {
			s.t.Error(err)
		}
	})
	return *out.TopicArn
}

// subscribe subscribes an endpoint, with attributes, and confirms by visiting the
// link that was pushed to it.
func (s *stack) subscribe(topic string, e *endpoint, attributes map[string]string) (subscription string) {
	s.t.Helper()
	out, err := s.sns.Subscribe(s.t.Context(), &sns.SubscribeInput{TopicArn: &topic, Protocol: aws.String("http"), Endpoint: &e.url,
		Attributes: attributes, ReturnSubscriptionArn: true})
	if err != nil {
		s.t.Fatal(err)
	}
	p := e.next()
	if p.Type != "SubscriptionConfirmation" || !strings.HasPrefix(p.SubscribeURL, s.output("EndpointUrl")+"/?") {
		s.t.Fatalf("a confirmation was wanted, pushed was %s", p.body)
	}
	if status, body := fetch(s.t, p.SubscribeURL); status != 200 {
		s.t.Fatalf("the link answers %d: %s", status, body)
	}
	return *out.SubscriptionArn
}

// policy is the attribute with a retry policy whose delays are seconds.
func policy(retries, delay int) map[string]string {
	b, err := json.Marshal(map[string]any{"healthyRetryPolicy": map[string]any{"numRetries": retries, "minDelayTarget": delay, "maxDelayTarget": delay}})
	if err != nil {
		panic(err)
	}
	return map[string]string{"DeliveryPolicy": string(b)}
}

func (s *stack) publish(topic, message string) (id string) {
	s.t.Helper()
	out, err := s.sns.Publish(s.t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &message})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.MessageId
}

// queue makes a queue of a subscriber's own.
func (s *stack) queue() (url, arn string) {
	s.t.Helper()
	out, err := s.sqs.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("it-" + uuid.NewString()[:8])})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := s.sqs.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
			s.t.Error(err)
		}
	})
	name := sqstypes.QueueAttributeNameQueueArn
	a, err := s.sqs.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: out.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{name}})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.QueueUrl, a.Attributes[string(name)]
}

// takeFrom waits for the message of a queue that fits, and deletes it; others,
// which belong to tests before, are deleted too.
func (s *stack) takeFrom(url string, fits func(sqstypes.Message) bool) sqstypes.Message {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		out, err := s.sqs.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"}})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range out.Messages {
			if _, err := s.sqs.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
			if fits(m) {
				return m
			}
		}
	}
	s.t.Fatalf("nothing came into %s", url)
	return sqstypes.Message{}
}

// invoke calls a function and gives its answer, or what it failed with.
func (s *stack) invoke(function string, event []byte) (body []byte, fault string) {
	s.t.Helper()
	out, err := s.lambda.Invoke(s.t.Context(), &lambda.InvokeInput{FunctionName: aws.String(s.output(function + "FunctionName")), Payload: event})
	if err != nil {
		s.t.Fatal(err)
	}
	if out.FunctionError != nil {
		var e struct{ ErrorType string }
		if json.Unmarshal(out.Payload, &e) != nil || e.ErrorType == "" {
			s.t.Fatalf("%s failed: %s", function, out.Payload)
		}
		return out.Payload, e.ErrorType
	}
	return out.Payload, ""
}
