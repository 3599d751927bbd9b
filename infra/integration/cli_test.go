//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/operator"
	"postino/shared/push"
)

// binary is the command line, built once.
var binary = sync.OnceValues(func() (string, error) {
	name := filepath.Join(scratch, "postino")
	out, err := exec.Command("go", "build", "-o", name, "postino/cmd/postino").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return name, err
})

// ran is what came of one command line.
type ran struct {
	code     int
	out, err string
}

// postino asks the deployed stack as an operator, with variables besides this
// process's own.
func (s *stack) postino(variables []string, args ...string) ran {
	s.t.Helper()
	name, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"POSTINO_STACK=" + s.name}, s.asOperator(), variables)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// does runs a command that must succeed and says all of parts.
func (s *stack) does(args []string, parts ...string) string {
	s.t.Helper()
	got := s.postino(nil, args...)
	if got.code != 0 || got.err != "" {
		s.t.Fatalf("postino %q: %+v", args, got)
	}
	for _, p := range parts {
		if !strings.Contains(got.out, p) {
			s.t.Errorf("postino %q does not say %q: %s", args, p, got.out)
		}
	}
	return got.out
}

// fails runs a command that must fail with one line on standard error that says
// part.
func (s *stack) fails(part string, args ...string) {
	s.t.Helper()
	if got := s.postino(nil, args...); got.code != 1 || strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "postino: ") || !strings.Contains(got.err, part) {
		s.t.Errorf("postino %q: %+v, want a failure that says %q", args, got, part)
	}
}

// answers runs a command with --json and reads its answer.
func answers[T any](s *stack, args ...string) (v T) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.does(append(args, "--json"))), &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

func TestTheCommandLineShowsDeliveries(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(3, 4))
	e.answer(http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusOK)
	name := topic[strings.LastIndexByte(topic, ':')+1:]

	id := strings.TrimSpace(s.does([]string{"publish", name, "hello", "--subject", "hi", "--attr", "colour=red"}))
	first := e.next()
	if first.MessageId != id || first.Subject != "hi" || first.Signature == "" || !strings.Contains(first.body, `"colour"`) {
		t.Errorf("published was %s, pushed %s", id, first.body)
	}
	s.eventually("the delivery waits", func() bool {
		list := answers[operator.DeliveryList](s, "deliveries", "list", "--topic", name, "--state", "live")
		return len(list.Deliveries) == 1 && list.Deliveries[0].Subscription == subscription && list.Deliveries[0].MessageID == id
	})
	e.next()
	e.next()
	s.eventually("it is delivered", func() bool {
		return len(answers[operator.DeliveryList](s, "deliveries", "list", "--subscription", subscription, "--state", "delivered").Deliveries) == 1
	})
	s.does([]string{"deliveries", "list", "--topic", topic}, id, "delivered", "200")
	s.does([]string{"deliveries", "show", id}, "503 Service Unavailable", "200 OK", subscription)
	s.does([]string{"deliveries", "show", id[:8]}, "503 Service Unavailable")
	if got := answers[[]operator.Delivery](s, "deliveries", "show", subscription+"/"+id); len(got) != 1 || got[0].State != push.Delivered || len(got[0].History) != 3 {
		t.Errorf("shown is %+v", got)
	}
	s.does([]string{"deliveries", "list", "--topic", name, "--state", "dead"}, "No deliveries.")
	s.fails("Nothing is recorded", "deliveries", "show", "00000000-0000-4000-8000-000000000000")
	s.fails("There is no topic", "publish", "it-nowhere", "hello")
}

func TestTheCommandLinePausesAndResumes(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, nil)
	short := topic[strings.LastIndexByte(topic, ':')+1:] + subscription[strings.LastIndexByte(subscription, ':'):][:9]
	s.does([]string{"pause", short}, "Paused: deliveries to "+e.url)
	s.does([]string{"pause", short}, "was paused already")
	s.does([]string{"pause"}, subscription)
	<-time.After(remembered + time.Second)
	if id := s.publish(topic, "patience"); id == "" {
		t.Fatal("no message id")
	}
	s.does([]string{"send-test", short}, "Sent test message", "The subscription is paused")
	e.quiet(3 * time.Second)
	s.does([]string{"resume", short}, "Resumed")
	s.does([]string{"resume", short}, "was not paused")
	got := map[string]bool{e.next().Subject: true, e.next().Subject: true}
	if !got[""] || !got["Test message"] {
		t.Errorf("pushed were %v", got)
	}
	s.fails("There is no subscription", "pause", "it-nowhere:12345678")
}

func TestTheCommandLineSendsATest(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	subscription := s.subscribe(s.topic(), e, policy(0, 1))
	e.answer(http.StatusGone)
	if got := s.postino(nil, "send-test", subscription); got.code != 1 || got.err != "" || !strings.Contains(got.out, "410 Gone") || !strings.Contains(got.out, "dead") {
		t.Errorf("a test that failed: %+v", got)
	}
	e.next()
	e.answer(http.StatusOK)
	s.does([]string{"send-test", subscription, "--wait", "5s"}, "Sent test message")
	if p := e.next(); p.Subject != "Test message" {
		t.Errorf("pushed was %s", p.body)
	}
}

func TestTheCommandLineReadsTheLogForWhatSucceededAtOnce(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	if _, err := s.sns.SetTopicAttributes(t.Context(), &sns.SetTopicAttributesInput{TopicArn: &topic,
		AttributeName: aws.String("HTTPSuccessFeedbackSampleRate"), AttributeValue: aws.String("100")}); err != nil {
		t.Fatal(err)
	}
	subscription := s.subscribe(topic, e, nil)
	id := s.publish(topic, "at once")
	e.next()
	s.eventually("the delivery is in the log", func() bool {
		list := answers[operator.DeliveryList](s, "deliveries", "list", "--subscription", subscription, "--state", "delivered")
		for _, d := range list.Deliveries { // the confirmation is among them
			if d.LogOnly && (d.MessageID == id) == (d.Kind != "") {
				t.Errorf("listed is %+v", d)
			}
		}
		return len(list.Deliveries) == 2
	})
	s.does([]string{"deliveries", "show", id}, "200 OK", "delivered", subscription)
	s.does([]string{"send-test", subscription}, "200 OK")
}

func TestTheCommandLinePointsSNSClientsAtTheStack(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	got := s.postino(nil, "env")
	if got.code != 0 || !strings.Contains(got.out, "export AWS_ENDPOINT_URL_SNS='"+s.output("EndpointUrl")+"'\n") ||
		!strings.Contains(got.out, "export AWS_REGION='us-east-1'\n") || !strings.Contains(got.out, "keys add --stack "+s.name) {
		t.Errorf("env: %+v", got)
	}
	for _, v := range s.asOperator() {
		if name, value, _ := strings.Cut(v, "="); strings.Contains(got.out, name) || strings.Contains(got.out, value) {
			t.Errorf("env prints credentials: %s", got.out)
		}
	}
}

// TestTheCommandLineReadsATable asks what is in the stack's table without its
// stack, as one does whose template is another.
func TestTheCommandLineReadsATable(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(3, 4))
	variables := []string{"POSTINO_STACK=", "POSTINO_REGION=us-east-1", "POSTINO_ACCOUNT=000000000000", "POSTINO_KEYS_KMS_KEY=" + s.output("KeysKmsKeyArn")}
	for output, variable := range map[string]string{"AttemptQueueUrl": "ATTEMPT", "RetryQueueUrl": "RETRY", "FanoutQueueUrl": "FANOUT", "DeadLetterQueueUrl": "DEAD_LETTER", "FailedJobsQueueUrl": "FAILED_JOBS"} {
		url := s.output(output)
		variables = append(variables, "POSTINO_"+variable+"_QUEUE=arn:aws:sqs:us-east-1:000000000000:"+url[strings.LastIndexByte(url, '/')+1:])
	}
	asked := func(args ...string) string {
		t.Helper()
		got := s.postino(variables, append(args, "--table", s.output("TableName"))...)
		if got.code != 0 || got.err != "" {
			t.Fatalf("postino %q: %+v", args, got)
		}
		return got.out
	}
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := strings.TrimSpace(asked("publish", topic, "hello"))
	if p := e.next(); p.MessageId != id {
		t.Errorf("published was %s, pushed %s", id, p.body)
	}
	s.eventually("the delivery is there", func() bool { return strings.Contains(asked("deliveries", "list", "--topic", topic), id) })
	asked("dlq", "list")
	if out := asked("keys", "list"); !strings.Contains(out, os.Getenv("POSTINO_ACCESS_KEY_ID")) {
		t.Errorf("the keys are %s", out)
	}
	front := s.output("EndpointUrl")
	if out := asked("env", "--url", front); !strings.Contains(out, "export AWS_ENDPOINT_URL_SNS='"+front+"'\n") || !strings.Contains(out, "keys add --table "+s.output("TableName")) {
		t.Errorf("env says %s", out)
	}
}

func TestTheCommandLineTellsWhyItCannot(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	s.fails("The permission cloudformation:DescribeStacks on the stack it-nowhere is missing", "deliveries", "list", "--stack", "it-nowhere")
	for name, c := range map[string]struct {
		variables, flags []string
		says             string
	}{
		"no such stack":  {asMyself(), []string{"--stack", "it-nowhere"}, `There is no stack "it-nowhere" in the region us-east-1`},
		"nobody answers": {[]string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"}, nil, "cannot be reached: check AWS_ENDPOINT_URL"},
		"no such table":  {asMyself(), []string{"--table", "it-nowhere"}, "the table it-nowhere (POSTINO_TABLE) does not exist"},
		"another's keys": {[]string{"AWS_SESSION_TOKEN=nobody's"}, nil, "are not accepted"},
		"two targets":    {[]string{"POSTINO_DATA=./data"}, nil, "are both set"},
	} {
		start := time.Now()
		got := s.postino(c.variables, append([]string{"deliveries", "list"}, c.flags...)...)
		if took := time.Since(start); got.code != 1 || strings.Count(got.err, "\n") != 1 || !strings.Contains(strings.ToLower(got.err), strings.ToLower(c.says)) || took > 10*time.Second {
			t.Errorf("%s: %+v after %v", name, got, took)
		}
	}
}
