package infra_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What AWS's own services may do with the stack's resources. The emulator asks no
// service for permission: what is wrong here comes to light in an account only.

const eventTopic = "arn:aws:sns:us-east-1:000000000000:orders"

func TestEventBridgeMayInvokeAndKeepEventsForItsRuleAlone(t *testing.T) {
	r := render(t, map[string]string{"EventTopicArn": eventTopic, "EventPattern": `{"source":["orders"]}`})
	if d := cmp.Diff(block{"Action": "lambda:InvokeFunction", "FunctionName": "PublishFunction",
		"Principal": "events.amazonaws.com", "SourceArn": "EventRule.Arn"}, r.resource("EventRulePermission")); d != "" {
		t.Errorf("who may invoke the function: %s", d)
	}
	want := block{"Queues": []any{"FailedJobsQueue"}, "PolicyDocument": block{"Version": "2012-10-17", "Statement": []any{block{
		"Effect": "Allow", "Principal": block{"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
		"Resource": "FailedJobsQueue.Arn", "Condition": block{"ArnEquals": block{"aws:SourceArn": "EventRule.Arn"}}}}}}
	if d := cmp.Diff(want, r.resource("FailedEventsPolicy")); d != "" {
		t.Errorf("who may send to FailedJobsQueue: %s", d)
	}
}

// A rule without its permissions loses events, and permissions without the rule are
// open to whoever makes one of its name.
func TestTheRuleAndItsPermissionsComeTogether(t *testing.T) {
	for name, c := range map[string]struct {
		parameters map[string]string
		made       bool
	}{
		"neither":     {nil, false},
		"no pattern":  {map[string]string{"EventTopicArn": eventTopic}, false},
		"no topic":    {map[string]string{"EventPattern": "{}"}, false},
		"both":        {map[string]string{"EventTopicArn": eventTopic, "EventPattern": "{}"}, true},
		"another bus": {map[string]string{"EventTopicArn": eventTopic, "EventPattern": "{}", "EventBusName": "mine"}, true},
	} {
		r := render(t, c.parameters)
		for _, resource := range []string{"EventRule", "EventRulePermission", "FailedEventsPolicy"} {
			if made := r.resource(resource) != nil; made != c.made {
				t.Errorf("%s: %s is made: %v", name, resource, made)
			}
		}
	}
}

func TestSchedulesSendForThisAccountToTheirTwoQueues(t *testing.T) {
	want := block{
		"AssumeRolePolicyDocument": block{"Version": "2012-10-17", "Statement": []any{block{"Effect": "Allow",
			"Principal": block{"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole",
			"Condition": block{"StringEquals": block{"aws:SourceAccount": "AWS::AccountId"}}}}},
		"Policies": []any{block{"PolicyName": "send", "PolicyDocument": block{"Version": "2012-10-17", "Statement": []any{block{
			"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": []any{"RetryQueue.Arn", "FailedJobsQueue.Arn"}}}}}},
	}
	if d := cmp.Diff(want, render(t, nil).resource("ScheduleRole")); d != "" {
		t.Error(d)
	}
}

func TestOnlyLambdaTakesTheFunctionsRoles(t *testing.T) {
	want := block{"Version": "2012-10-17", "Statement": []any{block{"Effect": "Allow",
		"Principal": block{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}}}
	r := render(t, nil)
	for _, role := range read(t).of(t, "AWS::IAM::Role", 5) {
		if role == "ScheduleRole" {
			continue
		}
		if d := cmp.Diff(want, r.resource(role)["AssumeRolePolicyDocument"]); d != "" {
			t.Errorf("%s: %s", role, d)
		}
	}
}

// Sending to an encrypted queue takes both actions (SQS developer guide, "Configure
// KMS permissions for Amazon SQS"), and no other key is anything to the functions.
func TestTheDeliverFunctionUsesTheKeysOfDeadLetterQueuesThatAreNamed(t *testing.T) {
	const a, b = "arn:aws:kms:us-east-1:000000000000:key/a", "arn:aws:kms:us-east-1:000000000000:key/b"
	for given, want := range map[string][]block{
		"":          nil,
		a:           {{"Effect": "Allow", "Action": []any{"kms:GenerateDataKey", "kms:Decrypt"}, "Resource": []any{a}}},
		a + "," + b: {{"Effect": "Allow", "Action": []any{"kms:GenerateDataKey", "kms:Decrypt"}, "Resource": []any{a, b}}},
	} {
		r := render(t, map[string]string{"DeadLetterKeyArns": given})
		if d := cmp.Diff(want, r.about("DeliverRole", "kms")); d != "" {
			t.Errorf("DeadLetterKeyArns=%s: %s", given, d)
		}
		for _, role := range []string{"FanoutRole", "RedriveRole", "ScheduleRole"} {
			if got := r.about(role, "kms"); got != nil {
				t.Errorf("%s uses keys: %v", role, got)
			}
		}
	}
}

func TestTheDeliverFunctionSendsToDeadLetterQueuesThatAreNamed(t *testing.T) {
	const q = "arn:aws:sqs:us-east-1:000000000000:orders-*"
	own := block{"Effect": "Allow", "Action": []any{"sqs:GetQueueUrl", "sqs:SendMessage"}, "Resource": []any{"RetryQueue.Arn", "DeadLetterQueue.Arn", "FailedJobsQueue.Arn"}}
	receives := block{"Effect": "Allow", "Action": []any{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, "Resource": []any{"AttemptQueue.Arn", "RetryQueue.Arn"}}
	for given, want := range map[string][]block{
		"": {receives, own},
		q:  {receives, own, {"Effect": "Allow", "Action": []any{"sqs:GetQueueUrl", "sqs:SendMessage"}, "Resource": []any{q}}},
	} {
		if d := cmp.Diff(want, render(t, map[string]string{"DeadLetterQueueArns": given}).about("DeliverRole", "sqs")); d != "" {
			t.Errorf("DeadLetterQueueArns=%s: %s", given, d)
		}
	}
}

func TestThePublishFunctionOpensCallersSecretsWithOneKey(t *testing.T) {
	const own = "arn:aws:kms:us-east-1:000000000000:key/own"
	for given, key := range map[string]string{"": "KeysKey.Arn", own: own} {
		r := render(t, map[string]string{"KeysKmsKeyArn": given})
		want := []block{{"Effect": "Allow", "Action": "kms:Decrypt", "Resource": key,
			"Condition": block{"Null": block{"kms:EncryptionContext:postino:access-key": "false"}}}}
		if d := cmp.Diff(want, r.about("PublishRole", "kms")); d != "" {
			t.Errorf("KeysKmsKeyArn=%s: %s", given, d)
		}
		if made := r.resource("KeysKey") != nil; made != (given == "") {
			t.Errorf("KeysKmsKeyArn=%s: a key is made: %v", given, made)
		}
	}
}
