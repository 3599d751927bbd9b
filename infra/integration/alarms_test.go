//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// The emulator makes no metrics of SQS, Lambda, DynamoDB and Scheduler, nor of log
// lines, and looks at no dimension: that each alarm names a metric that AWS writes is
// for infra/watch_test.go. What is shown here is that all are there, and that one
// whose datapoint comes tells the topic.
func TestAlarmsAreThereAndTellTheirTopic(t *testing.T) {
	t.Parallel()
	topic, messages := alarmTopic(t)
	s := own(t, map[string]string{"AlarmTopicArn": topic, "Dashboard": "yes"})
	watch := s.watch()

	got := map[string]bool{}
	pages := cloudwatch.NewDescribeAlarmsPaginator(watch, &cloudwatch.DescribeAlarmsInput{AlarmNamePrefix: aws.String(s.name + "/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.MetricAlarms {
			got[strings.TrimPrefix(*a.AlarmName, s.name+"/")] = true
		}
	}
	if d := cmp.Diff(alarmsOfTheTemplate(t), got); d != "" {
		t.Errorf("alarms, as the template has them and as they are: %s", d)
	}

	// A run just before may have left a datapoint.
	if _, err := watch.SetAlarmState(t.Context(), &cloudwatch.SetAlarmStateInput{AlarmName: aws.String(s.name + "/Poison"),
		StateValue: cloudwatchtypes.StateValueOk, StateReason: aws.String("a test begins")}); err != nil {
		t.Fatal(err)
	}
	if _, err := watch.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Postino"), MetricData: []cloudwatchtypes.MetricDatum{{
		MetricName: aws.String("Poison"), Value: aws.Float64(1), Unit: cloudwatchtypes.StandardUnitCount, Timestamp: aws.Time(time.Now()),
		Dimensions: []cloudwatchtypes.Dimension{{Name: aws.String("Stack"), Value: &s.name}},
	}}}); err != nil {
		t.Fatal(err)
	}
	s.takeFrom(messages, func(m sqstypes.Message) bool {
		var outer struct{ Message string }
		var alarm struct{ AlarmName, NewStateValue string }
		return json.Unmarshal([]byte(*m.Body), &outer) == nil && json.Unmarshal([]byte(outer.Message), &alarm) == nil &&
			alarm.AlarmName == s.name+"/Poison" && alarm.NewStateValue == "ALARM"
	})
}

func TestTheDashboardShowsTheStacksOwnFunctions(t *testing.T) {
	t.Parallel()
	s := own(t, map[string]string{"Dashboard": "yes"})
	out, err := s.watch().GetDashboard(t.Context(), &cloudwatch.GetDashboardInput{DashboardName: &s.name})
	if err != nil {
		t.Fatal(err)
	}
	body := *out.DashboardBody
	if !json.Valid([]byte(body)) || strings.Contains(body, "${") {
		t.Errorf("the dashboard is %s", body)
	}
	for _, function := range []string{"Publish", "Fanout", "Deliver", "Redrive"} {
		if !strings.Contains(body, `"`+s.output(function+"FunctionName")+`"`) {
			t.Errorf("the dashboard does not show %s", s.output(function+"FunctionName"))
		}
	}
}

// What nobody asks for must not be there: it costs.
func TestWithoutParametersThereIsNothingThatCosts(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	if s.parameters["AlarmTopicArn"] != "" || s.parameters["Dashboard"] != "no" {
		t.Fatalf("this stack has alarms at %q, and a dashboard: %q", s.parameters["AlarmTopicArn"], s.parameters["Dashboard"])
	}
	out, err := s.watch().DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{AlarmNamePrefix: aws.String(s.name + "/")})
	if err != nil || len(out.MetricAlarms) != 0 {
		t.Errorf("%d alarms, %v", len(out.MetricAlarms), err)
	}
	boards, err := s.watch().ListDashboards(t.Context(), &cloudwatch.ListDashboardsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, board := range boards.DashboardEntries {
		if *board.DashboardName == s.name {
			t.Error("there is a dashboard")
		}
	}
}

// watch is a client of the Query protocol, as go.mod has it: MiniStack as it is
// installed cannot read the binary one that later clients speak.
func (s *stack) watch() *cloudwatch.Client {
	s.t.Helper()
	c, err := settings()
	if err != nil {
		s.t.Fatal(err)
	}
	return cloudwatch.NewFromConfig(c)
}

// alarmTopic is one of AWS's own SNS, with the queue that it fills.
func alarmTopic(t *testing.T) (topic, messages string) {
	t.Helper()
	c, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	// The environment may lead the SNS of this shell to Postino.
	client := sns.NewFromConfig(c, func(o *sns.Options) { o.BaseEndpoint = aws.String(os.Getenv("AWS_ENDPOINT_URL")) })
	url, arn := deployed(t).queue("it")
	out, err := client.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("it-alarms-" + uuid.NewString()[:8])})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTopic(context.Background(), &sns.DeleteTopicInput{TopicArn: out.TopicArn}); err != nil {
			t.Error(err)
		}
	})
	policy := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
		"Action": "sqs:SendMessage", "Resource": %q, "Condition": {"ArnEquals": {"aws:SourceArn": %q}}}]}`, arn, *out.TopicArn)
	if _, err := deployed(t).sqs.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"Policy": policy}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: out.TopicArn, Protocol: aws.String("sqs"), Endpoint: &arn}); err != nil {
		t.Fatal(err)
	}
	return *out.TopicArn, url
}

var alarmHeading = regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::CloudWatch::Alarm$`)

func alarmsOfTheTemplate(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("../alarms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range alarmHeading.FindAllSubmatch(b, -1) {
		names[string(m[1])] = true
	}
	if len(names) == 0 {
		t.Fatal("alarms.yaml has none")
	}
	return names
}
