//go:build integration

package permissions

import (
	"cmp"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"postino/shared/aws/awscall"
)

// What the tests' run does not use, and what it uses on purpose without being
// allowed to.
var exceptions = []Exception{
	{"ScheduleRole", "sqs:SendMessage", "RetryQueue", "EventBridge Scheduler itself sends, in this role; the emulator's needs no role"},
	{"ScheduleRole", "sqs:SendMessage", "FailedJobsQueue", "the same"},
	{"FanoutRole", "sqs:SendMessage", "FanoutQueue", "the rest of a page, when its invocation has no time left or AttemptQueue refuses"},
	{"FanoutRole", "sqs:GetQueueUrl", "FanoutQueue", "the same"},
	{"it-operator", "sqs:SendMessage", "FanoutQueue", "a topic with more subscriptions than one call sends to, and pages out of FailedJobsQueue"},
	{"it-operator", "sqs:GetQueueUrl", "FanoutQueue", "the same"},
	{"it-operator", "cloudformation:DescribeStacks", "stack/", "tests ask for a stack that it may not see, and with keys that are nobody's"},
	{"", "dynamodb:GetItem", "table/no-such-table", "tests take the table away"},
	{"DeliverRole", "sqs:GetQueueUrl", "elsewhere-", "tests name a queue that the functions may not use"},
}

// deployed is the stack's roles with their grants, and the calls that AWS's
// services make in the functions' names.
type deployed struct {
	t      *testing.T
	iam    *iam.Client
	lambda *lambda.Client

	grants []Grant
	calls  []Call
}

func TestEveryFunctionMayDoWhatItDoesAndNothingElse(t *testing.T) {
	record, err := os.Open(os.Getenv("POSTINO_CALLS"))
	if err != nil {
		t.Fatalf("POSTINO_CALLS must name the emulator's record of calls (infra/local/ministack.sh calls): %v", err)
	}
	defer record.Close()
	calls, err := ReadCalls(record)
	if err != nil || len(calls) == 0 {
		t.Fatalf("%d calls were recorded: the other tests must run first (%v)", len(calls), err)
	}
	d := look(t)
	own, copies := calls[:0:0], CopiesOf(stackName(), d.grants)
	for _, c := range append(calls, d.calls...) {
		c = copies.Original(c)
		// The record may hold a stack's that was there before this one.
		for _, g := range d.grants {
			if g.Role == c.Role {
				own = append(own, c)
				break
			}
		}
	}
	for _, finding := range Compare(d.grants, own, exceptions) {
		t.Error(finding)
	}
}

func stackName() string { return cmp.Or(os.Getenv("POSTINO_STACK"), "postino") }

func look(t *testing.T) *deployed {
	t.Helper()
	c, err := awscall.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := &deployed{t: t, iam: iam.NewFromConfig(c), lambda: lambda.NewFromConfig(c)}
	out, err := cloudformation.NewFromConfig(c).DescribeStackResources(t.Context(),
		&cloudformation.DescribeStackResourcesInput{StackName: aws.String(stackName())})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.StackResources {
		switch aws.ToString(r.ResourceType) {
		case "AWS::IAM::Role":
			d.role(*r.PhysicalResourceId)
		case "AWS::Lambda::Function":
			d.function(*r.PhysicalResourceId)
		}
	}
	d.role(stackName() + "-it-operator") // the command line was run with, see docs/cli.md
	if len(d.grants) == 0 || len(d.calls) == 0 {
		t.Fatalf("%d grants and %d calls of services: is the stack up?", len(d.grants), len(d.calls))
	}
	return d
}

func (d *deployed) role(name string) {
	d.t.Helper()
	attached, err := d.iam.ListAttachedRolePolicies(d.t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil || len(attached.AttachedPolicies) != 0 {
		d.t.Fatalf("%s has policies that are not in the template: %+v (%v)", name, attached, err)
	}
	policies, err := d.iam.ListRolePolicies(d.t.Context(), &iam.ListRolePoliciesInput{RoleName: &name})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range policies.PolicyNames {
		out, err := d.iam.GetRolePolicy(d.t.Context(), &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &p})
		if err != nil {
			d.t.Fatal(err)
		}
		document, err := url.QueryUnescape(*out.PolicyDocument)
		if err != nil {
			d.t.Fatal(err)
		}
		grants, err := Grants(name, []byte(document))
		if err != nil {
			d.t.Fatal(err)
		}
		d.grants = append(d.grants, grants...)
	}
}

// function adds the calls that Lambda makes with a function's role: it writes the
// log, it receives for the event source mappings, and it sends the asynchronous
// invocations that failed (AWS Lambda developer guide, execution roles).
func (d *deployed) function(name string) {
	d.t.Helper()
	f, err := d.lambda.GetFunctionConfiguration(d.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		d.t.Fatal(err)
	}
	arn := strings.Split(*f.FunctionArn, ":") // arn:aws:lambda:REGION:ACCOUNT:function:NAME
	role := (*f.Role)[strings.LastIndexByte(*f.Role, '/')+1:]
	does := func(resource string, actions ...string) {
		for _, action := range actions {
			d.calls = append(d.calls, Call{role, action, resource, "Allow"})
		}
	}
	does("arn:"+arn[1]+":logs:"+arn[3]+":"+arn[4]+":log-group:"+aws.ToString(f.LoggingConfig.LogGroup)+":log-stream:x", "logs:CreateLogStream", "logs:PutLogEvents")
	mappings, err := d.lambda.ListEventSourceMappings(d.t.Context(), &lambda.ListEventSourceMappingsInput{FunctionName: &name})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, m := range mappings.EventSourceMappings {
		does(*m.EventSourceArn, "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
	}
	kept, err := d.lambda.ListFunctionEventInvokeConfigs(d.t.Context(), &lambda.ListFunctionEventInvokeConfigsInput{FunctionName: &name})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, k := range kept.FunctionEventInvokeConfigs {
		if k.DestinationConfig != nil && k.DestinationConfig.OnFailure != nil && k.DestinationConfig.OnFailure.Destination != nil {
			does(*k.DestinationConfig.OnFailure.Destination, "sqs:SendMessage")
		}
	}
}
