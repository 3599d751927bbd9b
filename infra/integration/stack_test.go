//go:build integration

package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cloudformationtypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
)

// patience is for what should come within seconds, on a machine that is busy.
const patience = 90 * time.Second

// atOnce is how many tests run side by side, unless -parallel says. They wait more
// than they work.
const atOnce = 12

// scratch is a directory for what all tests share.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) { // as it is when nobody says
		err = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
	if err == nil {
		scratch, err = os.MkdirTemp("", "postino-integration-")
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// stack is a deployed one, with a client for each thing that is looked at.
type stack struct {
	t    *testing.T
	name string
	// outputs and parameters are as CloudFormation tells them.
	outputs, parameters map[string]string
	// kept says that the stack outlives the test, which then cleans up.
	kept bool

	sns            *sns.Client
	sqs            *sqs.Client
	lambda         *lambda.Client
	dynamodb       *dynamodb.Client
	scheduler      *scheduler.Client
	logs           *cloudwatchlogs.Client
	cloudformation *cloudformation.Client
}

// settings are every client's. One try each: a call that the SDK makes twice is a
// message that arrives twice.
var settings = sync.OnceValues(func() (aws.Config, error) {
	c, err := config.LoadDefaultConfig(context.Background(), config.WithRetryMaxAttempts(1))
	c.HTTPClient = plainBodies{awshttp.NewBuildableClient()}
	return c, err
})

// plainBodies hides from net/http that request bodies can write themselves, which
// loses answers (shared/aws/awscall says why).
type plainBodies struct{ aws.HTTPClient }

func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}

// deployed finds the stack that POSTINO_STACK names. Without a target it fails: a
// test that passes without what it tests says nothing.
func deployed(t *testing.T) *stack {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make integration, or infra/local/sam.sh up")
	}
	s := find(t, cmp.Or(os.Getenv("POSTINO_STACK"), "postino"))
	s.kept = true
	return s
}

func find(t *testing.T, name string) *stack {
	t.Helper()
	c, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, name: name, sqs: sqs.NewFromConfig(c), lambda: lambda.NewFromConfig(c), dynamodb: dynamodb.NewFromConfig(c),
		scheduler: scheduler.NewFromConfig(c), logs: cloudwatchlogs.NewFromConfig(c), cloudformation: cloudformation.NewFromConfig(c)}
	s.describe()
	s.sns = s.client()
	return s
}

// client is a new client of the stack's front door.
func (s *stack) client(options ...func(*sns.Options)) *sns.Client {
	s.t.Helper()
	c, err := settings()
	if err != nil {
		s.t.Fatal(err)
	}
	at := func(o *sns.Options) {
		o.BaseEndpoint = aws.String(s.output("EndpointUrl"))
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return s.key(), nil })
	}
	return sns.NewFromConfig(c, append([]func(*sns.Options){at}, options...)...)
}

// key is the stack's own that SNS calls are signed with. Copies have the same one.
func (s *stack) key() aws.Credentials {
	s.t.Helper()
	k := aws.Credentials{AccessKeyID: os.Getenv("POSTINO_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("POSTINO_SECRET_ACCESS_KEY")}
	if k.AccessKeyID == "" || k.SecretAccessKey == "" {
		s.t.Fatal("POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are not set: infra/local/sam.sh env prints them, or postino keys add --stack")
	}
	return k
}

func (s *stack) describe() {
	s.t.Helper()
	out, err := s.cloudformation.DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &s.name})
	if err != nil || len(out.Stacks) != 1 {
		s.t.Fatalf("the stack %s is not there: %v", s.name, err)
	}
	s.outputs, s.parameters = map[string]string{}, map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		s.outputs[*o.OutputKey] = *o.OutputValue
	}
	for _, p := range out.Stacks[0].Parameters {
		s.parameters[*p.ParameterKey] = *p.ParameterValue
	}
}

func (s *stack) output(name string) string {
	s.t.Helper()
	v := s.outputs[name]
	if v == "" {
		s.t.Fatalf("the stack %s has no output %s", s.name, name)
	}
	return v
}

// own deploys the stack's template once more, under a name and with parameters of
// the test's own, so that what the test does to it disturbs no other.
func own(t *testing.T, parameters map[string]string) *stack {
	t.Helper()
	model := deployed(t)
	template, err := model.cloudformation.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: &model.name,
		TemplateStage: cloudformationtypes.TemplateStageOriginal})
	if err != nil {
		t.Fatal(err)
	}
	name := model.name + "-" + uuid.NewString()[:8]
	// Rules match the events of a bus that all stacks share.
	values := merged(model.parameters, map[string]string{"EventPattern": "", "KeysKmsKeyArn": model.output("KeysKmsKeyArn")}, parameters, map[string]string{"PublicURL": ""})
	if _, err := model.cloudformation.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name,
		TemplateBody: template.TemplateBody, Parameters: parametersOf(values), Capabilities: capabilities}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(model, name) })
	if err := cloudformation.NewStackCreateCompleteWaiter(model.cloudformation, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	}).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, patience); err != nil {
		t.Fatal(err)
	}
	s := find(t, name)
	k, err := model.store().Key(t.Context(), s.key().AccessKeyID)
	if err == nil {
		_, err = s.store().CreateKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Where this machine cannot reach Function URLs by their own names, the model
	// has a public URL with the function's id in it.
	if at := model.output("EndpointUrl"); at != model.output("FunctionUrl") {
		s.deploy(map[string]string{"PublicURL": strings.Replace(at, idIn(model.output("FunctionUrl")), idIn(s.output("FunctionUrl")), 1)})
		s.sns = s.client()
	}
	return s
}

// remove deletes a stack, its functions first and by themselves: the emulator ends
// a function's processes only then.
func remove(model *stack, name string) {
	ctx := context.Background() // the test's own has ended
	if out, err := model.cloudformation.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &name}); err == nil {
		for _, r := range out.StackResources {
			if aws.ToString(r.ResourceType) == "AWS::Lambda::Function" {
				_, err := model.lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: r.PhysicalResourceId})
				if err != nil {
					model.t.Error(err)
				}
			}
		}
	}
	if _, err := model.cloudformation.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		model.t.Error(err)
	}
}

// deploy changes parameters of the test's own stack, as a deployment would.
func (s *stack) deploy(parameters map[string]string) {
	s.t.Helper()
	if _, err := s.cloudformation.UpdateStack(s.t.Context(), &cloudformation.UpdateStackInput{StackName: &s.name, UsePreviousTemplate: aws.Bool(true),
		Parameters: parametersOf(merged(s.parameters, parameters)), Capabilities: capabilities}); err != nil {
		s.t.Fatal(err)
	}
	if err := cloudformation.NewStackUpdateCompleteWaiter(s.cloudformation, func(o *cloudformation.StackUpdateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	}).Wait(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &s.name}, patience); err != nil {
		s.t.Fatal(err)
	}
	s.describe()
}

var capabilities = []cloudformationtypes.Capability{cloudformationtypes.CapabilityCapabilityIam, cloudformationtypes.CapabilityCapabilityAutoExpand}

func parametersOf(values map[string]string) (out []cloudformationtypes.Parameter) {
	for name, value := range values {
		out = append(out, cloudformationtypes.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	return out
}

// idIn is the first label of a Function URL's host.
func idIn(functionURL string) string {
	_, host, _ := strings.Cut(functionURL, "://")
	id, _, _ := strings.Cut(host, ".")
	return id
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
