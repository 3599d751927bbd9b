// Package deployed finds a CloudFormation stack of Postino's and lets an operator
// look into it from his own machine. It is apart from package stack, since the
// functions need none of it.
package deployed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"postino/shared/aws/awscall"
	"postino/shared/config"
	"postino/shared/push"
)

// Stack is a stack as its outputs describe it.
type Stack struct {
	// Name is the stack's, or its ARN, as it was asked for.
	Name string
	// Endpoint is the front door's URL, what AWS_ENDPOINT_URL_SNS is set to.
	Endpoint string
	// LogGroup is the deliver function's, "" where the stack does not say.
	LogGroup string
	// Config is what its functions are told, as far as its outputs say it.
	Config config.Config
}

// findLimit bounds the look for a stack, credentials and tries included.
const findLimit = 8 * time.Second

// outputs of template.yaml, and the variable that the functions read the same
// value from.
var outputs = map[string]string{
	"TableName":          "POSTINO_TABLE",
	"AttemptQueueUrl":    "POSTINO_ATTEMPT_QUEUE",
	"RetryQueueUrl":      "POSTINO_RETRY_QUEUE",
	"FanoutQueueUrl":     "POSTINO_FANOUT_QUEUE",
	"DeadLetterQueueUrl": "POSTINO_DEAD_LETTER_QUEUE",
	"FailedJobsQueueUrl": "POSTINO_FAILED_JOBS_QUEUE",
	"KeysKmsKeyArn":      "POSTINO_KEYS_KMS_KEY",
}

// optional are outputs that a stack may lack.
var optional = map[string]string{"EventTopicArn": "POSTINO_EVENT_TOPIC_ARN"}

// own are the variables that an operator may set for his own machine: what they
// say is done there and not by the functions.
var own = []string{"POSTINO_MAX_REDRIVES", "POSTINO_INLINE_FANOUT"}

// Find asks CloudFormation what the stack of that name or ARN consists of, with
// the permission cloudformation:DescribeStacks. The variables of one's own are
// read through getenv. Its errors are one sentence that says what to do.
func Find(ctx context.Context, settings aws.Config, name string, getenv func(string) string) (Stack, error) {
	call, cancel := awscall.Bound(ctx, findLimit)
	defer cancel()
	out, err := cloudformation.NewFromConfig(settings).DescribeStacks(call, &cloudformation.DescribeStacksInput{StackName: &name})
	switch {
	case missing(err), err == nil && len(out.Stacks) == 0:
		return Stack{}, push.Errorf(push.CodeNotFound, "There is no stack %q in the region %s of this account: check its name, AWS_REGION and AWS_PROFILE", name, settings.Region)
	case err != nil:
		why := awscall.Call{Service: "CloudFormation", Action: "cloudformation:DescribeStacks", Resource: "the stack " + name}
		return Stack{}, why.Explain(ctx, err)
	}
	return describe(out.Stacks[0], name, getenv)
}

// missing reports whether err says that there is no such stack, for which
// CloudFormation has no code of its own.
func missing(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist")
}

// describe reads region and account from the stack's ARN and the rest from its
// outputs.
func describe(s types.Stack, name string, getenv func(string) string) (Stack, error) {
	id, err := push.ParseARN(aws.ToString(s.StackId))
	if err != nil {
		return Stack{}, fmt.Errorf("CloudFormation gives the stack %s no ARN: %w", name, err)
	}
	known := map[string]string{}
	for _, o := range s.Outputs {
		known[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	values := map[string]string{"POSTINO_REGION": id.Region, "POSTINO_ACCOUNT": id.Account}
	for output, variable := range outputs {
		v := known[output]
		if v == "" {
			return Stack{}, push.Errorf(push.CodeInvalidParameter, "The stack %s in %s (%s) has no output %s: it is not one of Postino's, or its deployment has not ended well; deploy template.yaml",
				name, id.Region, s.StackStatus, output)
		}
		if strings.HasSuffix(output, "QueueUrl") {
			queue := push.ARN{Partition: id.Partition, Service: "sqs", Region: id.Region, Account: id.Account, Resource: v[strings.LastIndexByte(v, '/')+1:]}
			v = queue.String()
		}
		values[variable] = v
	}
	for output, variable := range optional {
		values[variable] = known[output]
	}
	for _, variable := range own {
		values[variable] = getenv(variable)
	}
	c, err := config.Load(func(variable string) string { return values[variable] })
	return Stack{Name: name, Endpoint: known["EndpointUrl"], LogGroup: known["DeliverLogGroupName"], Config: c}, err
}
