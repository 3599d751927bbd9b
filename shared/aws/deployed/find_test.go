package deployed_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/aws/awscall"
	"postino/shared/aws/awstest"
	"postino/shared/aws/deployed"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// outputs of a stack as CloudFormation tells them.
var outputs = map[string]string{
	"EndpointUrl": "https://push.example.com", "TableName": "postino-Table-1",
	"AttemptQueueUrl": "https://sqs.eu-west-1.amazonaws.com/111122223333/s-AttemptQueue-1", "RetryQueueUrl": "https://q/111122223333/s-RetryQueue-1",
	"FanoutQueueUrl": "https://q/111122223333/s-FanoutQueue-1", "DeadLetterQueueUrl": "https://q/111122223333/s-DeadLetterQueue-1",
	"FailedJobsQueueUrl": "http://127.0.0.1:4566/111122223333/s-FailedJobsQueue-1", "EventTopicArn": "arn:aws:sns:eu-west-1:111122223333:events",
	"KeysKmsKeyArn": "arn:aws:kms:eu-west-1:111122223333:key/1",
}

// answer describes a stack, without the outputs left out.
func answer(leftOut string) string {
	var b strings.Builder
	for k, v := range outputs {
		if k != leftOut {
			fmt.Fprintf(&b, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", k, v)
		}
	}
	return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>` +
		`<StackId>arn:aws:cloudformation:eu-west-1:111122223333:stack/s/1</StackId><StackName>s</StackName><StackStatus>CREATE_IN_PROGRESS</StackStatus>` +
		`<Outputs>` + b.String() + `</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
}

func refusal(code, message string) string {
	return `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type><Code>` + code + `</Code><Message>` + message + `</Message></Error></ErrorResponse>`
}

func none(string) string { return "" }

func TestAStackSaysWhereItsThingsAre(t *testing.T) {
	stub := awstest.Stub(func(string, []byte) (int, string, error) { return 200, answer(""), nil })
	env := func(name string) string {
		return map[string]string{"POSTINO_MAX_REDRIVES": "7", "POSTINO_REGION": "us-west-2", "POSTINO_TABLE": "another", "POSTINO_EVENT_TOPIC_ARN": "nonsense"}[name]
	}
	got, err := deployed.Find(t.Context(), stub.Config(t), "s", env)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Config
	if c.Region != "eu-west-1" || c.Account != "111122223333" || c.Table != "postino-Table-1" || c.MaxRedrives != 7 || got.Endpoint != "https://push.example.com" ||
		c.EventTopicARN != "arn:aws:sns:eu-west-1:111122223333:events" {
		t.Errorf("got %+v", got)
	}
	const at = "arn:aws:sqs:eu-west-1:111122223333:s-"
	want := pipeline.QueueNames{Attempt: at + "AttemptQueue-1", Retry: at + "RetryQueue-1", Fanout: at + "FanoutQueue-1", DeadLetter: at + "DeadLetterQueue-1", Failed: at + "FailedJobsQueue-1"}
	if d := cmp.Diff(want, c.Queues); d != "" {
		t.Error(d)
	}
}

func TestAStackThatIsNotThereOrNotOursIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer string
		says   []string
	}{
		"no such stack": {400, refusal("ValidationError", "Stack with id s does not exist"), []string{`no stack "s"`, "region us-east-1", "AWS_REGION"}},
		"denied":        {403, refusal("AccessDenied", "no"), []string{"cloudformation:DescribeStacks", "missing"}},
		"expired":       {403, refusal("ExpiredToken", "no"), []string{"have expired", "aws sso login"}},
		"unknown keys":  {403, refusal("InvalidClientTokenId", "no"), []string{"are not accepted", "AWS_PROFILE"}},
		"another stack": {200, answer("TableName"), []string{"has no output TableName", "CREATE_IN_PROGRESS"}},
		"no answer":     {0, "", []string{"CloudFormation cannot be reached", "AWS_ENDPOINT_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stub := awstest.Stub(func(string, []byte) (int, string, error) {
					if c.status == 0 {
						return 0, "", &net.OpError{Op: "dial", Err: errors.New("connection refused")}
					}
					return c.status, c.answer, nil
				})
				start := time.Now()
				_, err := deployed.Find(t.Context(), stub.Config(t), "s", none)
				if err == nil || time.Since(start) > 10*time.Second {
					t.Fatalf("got %v after %v", err, time.Since(start))
				}
				text := awscall.Tell(err)
				if e, ok := errors.AsType[*push.Error](err); text == "" && ok {
					text = e.Text
				}
				for _, part := range c.says {
					if !strings.Contains(text, part) {
						t.Errorf("%q does not say %q", text, part)
					}
				}
			})
		})
	}
}

// hanging never answers until its request is given up.
type hanging struct{}

func (hanging) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestALookForAStackEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awstest.Stub(nil).Config(t)
		c.HTTPClient = hanging{}
		start := time.Now()
		_, err := deployed.Find(t.Context(), c, "s", none)
		if took := time.Since(start); took > 10*time.Second || !strings.Contains(awscall.Tell(err), "CloudFormation does not answer in time") {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestTheTemplateHasEveryOutput: what Find needs, the template gives.
func TestTheTemplateHasEveryOutput(t *testing.T) {
	template, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(template), "\nOutputs:\n")
	for name := range outputs {
		if !regexp.MustCompile(`(?m)^  ` + name + `:$`).MatchString(section) {
			t.Errorf("template.yaml has no output %s", name)
		}
	}
	// Each of those is needed, but for the URL that `postino env` prints and the
	// topic of events, which there need not be.
	for name := range outputs {
		stub := awstest.Stub(func(string, []byte) (int, string, error) { return 200, answer(name), nil })
		if _, err := deployed.Find(t.Context(), stub.Config(t), "s", none); (err == nil) != (name == "EndpointUrl" || name == "EventTopicArn") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
