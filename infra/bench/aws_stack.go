package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/aws/awscall"
)

// awsStack is the stack under load, from outside.
type awsStack struct {
	name, endpoint, region string
	key                    accessKey
	// functions are the functions' names, to "publish", "deliver" and so on.
	functions map[string]string
	// queueDelay is the longest wait that is left to a queue, in seconds.
	queueDelay int
	// nonce makes the topics' names new ones.
	nonce uint32

	sns  *sns.Client
	logs *cloudwatchlogs.Client
}

// findAWSStack asks CloudFormation for the stack. AWS_ENDPOINT_URL is the
// emulator's, and POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are a key of
// the stack's, as infra/local/sam.sh prints them.
func findAWSStack(ctx context.Context, name string, getenv func(string) string) (*awsStack, error) {
	s := &awsStack{name: name, key: accessKey{getenv("POSTINO_ACCESS_KEY_ID"), getenv("POSTINO_SECRET_ACCESS_KEY")}, functions: map[string]string{}, nonce: rand.Uint32()}
	if err := onLoopback("AWS_ENDPOINT_URL", getenv("AWS_ENDPOINT_URL")); err != nil {
		return nil, err
	}
	if s.key.ID == "" || s.key.Secret == "" {
		return nil, errors.New("POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are not set: eval what infra/local/sam.sh env prints")
	}
	settings, err := awscall.Load(ctx)
	if err != nil {
		return nil, err
	}
	out, err := cloudformation.NewFromConfig(settings).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil || len(out.Stacks) != 1 {
		return nil, fmt.Errorf("the stack %s cannot be found: %w; deploy it with make local-aws", name, err)
	}
	for _, o := range out.Stacks[0].Outputs {
		if function, ok := strings.CutSuffix(aws.ToString(o.OutputKey), "FunctionName"); ok {
			s.functions[aws.ToString(o.OutputValue)] = strings.ToLower(function)
		}
		if aws.ToString(o.OutputKey) == "EndpointUrl" {
			s.endpoint = aws.ToString(o.OutputValue)
		}
	}
	for _, p := range out.Stacks[0].Parameters {
		if aws.ToString(p.ParameterKey) == "QueueDelaySeconds" {
			s.queueDelay, err = strconv.Atoi(aws.ToString(p.ParameterValue))
		}
	}
	if err == nil {
		err = onLoopback("the stack's EndpointUrl", s.endpoint)
	}
	if err == nil && s.queueDelay > int(mostQueueDelay.Seconds()) {
		err = fmt.Errorf("the stack %s has QueueDelaySeconds=%d, with which no schedule comes within a minute: deploy it with QUEUE_DELAY_SECONDS=10 infra/local/sam.sh up", name, s.queueDelay)
	}
	if err != nil {
		return nil, err
	}
	s.region, s.logs = settings.Region, cloudwatchlogs.NewFromConfig(settings)
	s.sns, err = newSNS(ctx, s.endpoint, s.region, s.key)
	return s, err
}

// onLoopback refuses what leads elsewhere: load costs money there, and endpoints
// on this machine cannot be reached from there.
func onLoopback(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return fmt.Errorf("%s is %q, not the URL of emulated AWS on this machine: run make bench-aws", what, address)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s leads to %s, and load is put on emulated AWS on this machine alone: run make bench-aws", what, u.Host)
	}
	return nil
}

func (s *awsStack) createTopic(ctx context.Context, name string) (arn string, err error) {
	out, err := s.sns.CreateTopic(ctx, &sns.CreateTopicInput{Name: &name})
	if err != nil {
		return "", err
	}
	return *out.TopicArn, nil
}

func (s *awsStack) subscribe(ctx context.Context, topic, endpoint, policy string) error {
	in := &sns.SubscribeInput{TopicArn: &topic, Protocol: aws.String("http"), Endpoint: &endpoint}
	if policy != "" {
		in.Attributes = map[string]string{"DeliveryPolicy": policy}
	}
	_, err := s.sns.Subscribe(ctx, in)
	return err
}
