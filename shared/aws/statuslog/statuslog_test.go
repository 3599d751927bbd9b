package statuslog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"

	"postino/shared/aws/awscall"
	"postino/shared/aws/statuslog"
	"postino/shared/operator"
	"postino/shared/push"
)

const (
	topic = "arn:aws:sns:eu-west-1:111122223333:orders"
	sub   = topic + ":aaaa1111-0000-4000-8000-000000000001"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// group is a log group in memory, oldest line first, with pages of two lines.
type group struct {
	lines    []line
	slow     time.Duration
	err      error
	patterns []string
}

type line struct {
	at   time.Time
	text string
}

func (g *group) record(ago time.Duration, message, state string) {
	at := noon.Add(-ago)
	g.lines = append([]line{{at, fmt.Sprintf(`{"notification":{"messageId":%q,"topicArn":%q,"timestamp":"2026-05-04 11:00:00.000"},"delivery":{"attempts":1,"statusCode":200},"status":"SUCCESS",`+
		`"postino":{"subscriptionArn":%q,"state":%q,"kind":"Notification","ended":%q}}`, message, topic, sub, state, at.Format(time.RFC3339Nano))}}, g.lines...)
}

func (g *group) FilterLogEvents(ctx context.Context, in *cloudwatchlogs.FilterLogEventsInput, _ ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.FilterLogEventsOutput, error) {
	g.patterns = append(g.patterns, *in.FilterPattern)
	select {
	case <-time.After(g.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if g.err != nil {
		return nil, g.err
	}
	skip, out := 0, &cloudwatchlogs.FilterLogEventsOutput{}
	if in.NextToken != nil {
		if _, err := fmt.Sscan(*in.NextToken, &skip); err != nil {
			return nil, err
		}
	}
	n := 0
	for _, l := range g.lines {
		if ms := l.at.UnixMilli(); ms < *in.StartTime || ms > *in.EndTime {
			continue
		}
		if n++; n <= skip {
			continue
		}
		if len(out.Events) == 2 {
			out.NextToken = aws.String(fmt.Sprint(n - 1))
			break
		}
		out.Events = append(out.Events, types.FilteredLogEvent{Message: &l.text})
	}
	return out, nil
}

func logOf(g *group) *statuslog.Log {
	return &statuslog.Log{Client: g, Group: "/postino/s/deliver", Now: func() time.Time { return noon }}
}

func ids(found []push.Delivery) (s string) {
	for _, d := range found {
		s += d.Key.MessageID + " "
	}
	return strings.TrimSpace(s)
}

func TestRecordsAreFoundNewestFirstHoweverOld(t *testing.T) {
	g := &group{}
	for i, ago := range []time.Duration{0, time.Second, 30 * time.Second, 5 * time.Minute, 6 * time.Minute, 7 * time.Minute, 3 * time.Hour, 29 * 24 * time.Hour} {
		g.record(ago, fmt.Sprint("m", i), "delivered")
		g.lines = append([]line{{noon.Add(-ago), `{"level":"INFO","msg":"batch"}`}, {noon.Add(-ago), "REPORT RequestId: 1"}}, g.lines...)
	}
	for name, c := range map[string]struct {
		f    operator.Filter
		want string
	}{
		"all":                {operator.Filter{Limit: 100}, "m0 m1 m2 m3 m4 m5 m6 m7"},
		"some":               {operator.Filter{Limit: 5}, "m0 m1 m2 m3 m4"},
		"one message":        {operator.Filter{Limit: 100, MessageID: "m7"}, "m7"},
		"another state":      {operator.Filter{Limit: 100, States: []push.State{push.Dead}}, ""},
		"of a topic":         {operator.Filter{Limit: 1, TopicARN: topic}, "m0"},
		"of another":         {operator.Filter{Limit: 1, TopicARN: topic + "x"}, ""},
		"of a subscription":  {operator.Filter{Limit: 1, Subscription: sub}, "m0"},
		"of another one":     {operator.Filter{Limit: 1, Subscription: sub + "x"}, ""},
		"none since":         {operator.Filter{Limit: 100, MessageID: "m4", Since: noon.Add(-5 * time.Minute)}, ""},
		"what breaks quotes": {operator.Filter{Limit: 100, MessageID: `m"1`}, ""},
	} {
		found, back, err := logOf(g).Logged(t.Context(), c.f)
		if err != nil || ids(found) != c.want || !back.IsZero() {
			t.Errorf("%s: %q back to %v, %v", name, ids(found), back, err)
		}
	}
	if d := g.patterns[0]; !strings.HasPrefix(d, `{ `) {
		t.Errorf("the pattern is %s", d)
	}
}

func TestCloudWatchIsToldWhatIsWanted(t *testing.T) {
	g := &group{}
	_, _, err := logOf(g).Logged(t.Context(), operator.Filter{Limit: 1, MessageID: "m1", Subscription: sub, Since: noon})
	want := `{ (($.status = "SUCCESS" || $.status = "FAILURE") && $.notification.messageId = "m1") && $.postino.subscriptionArn = "` + sub + `" }`
	if err != nil || len(g.patterns) != 1 || g.patterns[0] != want {
		t.Errorf("the patterns are %q, %v", g.patterns, err)
	}
	g.patterns = nil
	if _, _, err := logOf(g).Logged(t.Context(), operator.Filter{Limit: 1, MessageID: `x" || $.a = "`, Since: noon}); err != nil || strings.Contains(g.patterns[0], "$.a") {
		t.Errorf("the patterns are %q, %v", g.patterns, err)
	}
}

func TestAReadingThatTakesTooLongSaysHowFarItCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{slow: 2 * time.Second}
		g.record(time.Second, "m0", "delivered")
		g.record(300*time.Hour, "m1", "delivered")
		start := time.Now()
		found, back, err := logOf(g).Logged(t.Context(), operator.Filter{Limit: 100})
		if err != nil || ids(found) != "m0" || back.IsZero() || !back.Before(noon.Add(-5*time.Minute)) || time.Since(start) > 10*time.Second {
			t.Errorf("%q back to %v, %v", ids(found), back, err)
		}
	})
}

func TestFaultsOfTheLogNameThePermission(t *testing.T) {
	g := &group{err: &smithy.GenericAPIError{Code: "AccessDeniedException"}}
	_, _, err := logOf(g).Logged(t.Context(), operator.Filter{Limit: 1})
	if text := awscall.Tell(err); !strings.Contains(text, "logs:FilterLogEvents on the log group /postino/s/deliver") {
		t.Errorf("told is %q", text)
	}
	g.err = &types.ResourceNotFoundException{}
	if found, _, err := logOf(g).Logged(t.Context(), operator.Filter{Limit: 1}); err != nil || len(found) > 0 {
		t.Errorf("a log that is not there gives %v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.err, g.slow = nil, time.Hour
	if _, _, err := logOf(g).Logged(ctx, operator.Filter{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interruption gives %v", err)
	}
}
