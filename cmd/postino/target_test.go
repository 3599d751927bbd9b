package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postino/shared/operator"
)

// cloud plays AWS at AWS_ENDPOINT_URL: it gets the operation, "DescribeStacks" or
// "GetItem" say, and gives status and body.
func cloud(t *testing.T, answer func(operation string) (int, string)) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := r.Header.Get("X-Amz-Target")
		if operation == "" {
			operation = r.FormValue("Action")
		}
		status, body := answer(operation[strings.LastIndexByte(operation, '.')+1:])
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	keys(t, "test")
}

// keys sets the caller's own AWS settings, and nothing of this machine's.
func keys(t *testing.T, key string) {
	t.Helper()
	for name, v := range map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": key, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, v)
	}
}

// described is a stack's description.
const described = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-west-1:111122223333:stack/s/1</StackId><Outputs>` +
	`<member><OutputKey>EndpointUrl</OutputKey><OutputValue>https://push.example.com</OutputValue></member>` +
	`<member><OutputKey>TableName</OutputKey><OutputValue>postino-table</OutputValue></member>` +
	`<member><OutputKey>AttemptQueueUrl</OutputKey><OutputValue>https://q/1/a</OutputValue></member>` +
	`<member><OutputKey>RetryQueueUrl</OutputKey><OutputValue>https://q/1/r</OutputValue></member>` +
	`<member><OutputKey>FanoutQueueUrl</OutputKey><OutputValue>https://q/1/f</OutputValue></member>` +
	`<member><OutputKey>DeadLetterQueueUrl</OutputKey><OutputValue>https://q/1/d</OutputValue></member>` +
	`<member><OutputKey>FailedJobsQueueUrl</OutputKey><OutputValue>https://q/1/x</OutputValue></member>` +
	`<member><OutputKey>KeysKmsKeyArn</OutputKey><OutputValue>arn:aws:kms:eu-west-1:111122223333:key/1</OutputValue></member>` +
	`</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

func denied(code string) string {
	return `{"__type":"com.amazonaws#` + code + `","message":"secret detail"}`
}

func TestAStacksFaultsAreOneSentenceThatSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		stack int
		xml   string
		table string
		says  string
	}{
		"no such stack":         {400, `<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id s does not exist</Message></Error></ErrorResponse>`, "", `There is no stack "s" in the region eu-west-1 of this account: check its name, AWS_REGION and AWS_PROFILE`},
		"not a stack of ours":   {200, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-west-1:1:stack/s/1</StackId></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`, "", "has no output"},
		"may not look":          {403, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>secret detail</Message></Error></ErrorResponse>`, "", "The permission cloudformation:DescribeStacks on the stack s is missing"},
		"expired":               {403, `<ErrorResponse><Error><Code>ExpiredToken</Code><Message>secret detail</Message></Error></ErrorResponse>`, "", "The AWS credentials have expired: renew them"},
		"not AWS":               {200, `<html>hello`, "", "does not speak its protocol"},
		"may not read":          {200, described, "AccessDeniedException", "The permission dynamodb:Query on the table postino-table (POSTINO_TABLE) is missing"},
		"the table is gone":     {200, described, "ResourceNotFoundException", "The table postino-table (POSTINO_TABLE) does not exist"},
		"credentials ended now": {200, described, "ExpiredTokenException", "The AWS credentials have expired"},
	} {
		cloud(t, func(operation string) (int, string) {
			if operation == "DescribeStacks" {
				return c.stack, c.xml
			}
			return 400, denied(c.table)
		})
		got := postino(t, "", nil, "pause", "--stack", "s")
		if got.code != exitFailure || got.out != "" || !strings.HasPrefix(got.err, "postino: ") || !strings.Contains(got.err, c.says) ||
			strings.Count(got.err, "\n") != 1 || strings.Contains(got.err, "secret") {
			t.Errorf("%s: %+v, want one line that says %q", name, got, c.says)
		}
	}
}

func TestMissingCredentialsAreSaidAtOnce(t *testing.T) {
	keys(t, "")
	if got := postino(t, "", nil, "pause", "--stack", "s"); got.code != exitFailure || got.err !=
		"postino: There are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n" {
		t.Errorf("got %+v", got)
	}
	t.Setenv("AWS_PROFILE", "gone")
	if got := postino(t, "", nil, "pause", "--stack", "s"); got.code != exitFailure || !strings.Contains(got.err, "AWS_PROFILE names the profile gone") {
		t.Errorf("got %+v", got)
	}
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_REGION", "")
	if got := postino(t, "", nil, "pause", "--stack", "s"); got.code != exitFailure || !strings.Contains(got.err, "AWS_REGION is not set") {
		t.Errorf("got %+v", got)
	}
}

func TestOneTargetIsAsked(t *testing.T) {
	cloud(t, func(operation string) (int, string) {
		if operation == "DescribeStacks" {
			return 200, described
		}
		return 200, `{"Items":[],"Count":0}`
	})
	dir := server(t, map[string]any{"GET subscriptions": []operator.Subscription{{ARN: subA, Endpoint: "https://a.example"}}})
	const onAWS, onDir = "No subscription is paused.", subA
	for name, c := range map[string]struct {
		env   map[string]string
		flags []string
		says  string
	}{
		"the stack":                        {nil, []string{"--stack", "s"}, onAWS},
		"the stack of the variable":        {map[string]string{"POSTINO_STACK": "s"}, nil, onAWS},
		"a table":                          {nil, []string{"--table", "postino-table"}, onAWS},
		"the directory":                    {nil, []string{"--data", dir}, onDir},
		"the directory of the variable":    {map[string]string{"POSTINO_DATA": dir}, nil, onDir},
		"a flag stands before a variable":  {map[string]string{"POSTINO_STACK": "s"}, []string{"--data", dir}, onDir},
		"the other way round":              {map[string]string{"POSTINO_DATA": dir}, []string{"--stack", "s"}, onAWS},
		"both variables":                   {map[string]string{"POSTINO_DATA": dir, "POSTINO_STACK": "s"}, nil, "POSTINO_DATA and POSTINO_STACK are both set"},
		"both flags":                       {nil, []string{"--data", dir, "--stack", "s"}, "--data and --stack can't be used together"},
		"an empty stack":                   {map[string]string{"POSTINO_DATA": dir}, []string{"--stack", ""}, "--stack is empty: is a shell variable unset?"},
		"no stack's name":                  {nil, []string{"--stack", "a b"}, `--stack is "a b": a stack's name has`},
		"a variable that nobody can use":   {map[string]string{"POSTINO_ACCOUNT": "12"}, []string{"--table", "postino-table"}, "POSTINO_ACCOUNT is"},
		"one that only servers should use": {map[string]string{"POSTINO_EVENT_TOPIC_ARN": "12"}, []string{"--stack", "s"}, onAWS},
	} {
		got := postino(t, "", c.env, append([]string{"pause"}, c.flags...)...)
		if !strings.Contains(got.out+got.err, c.says) || (got.code == exitOK) != (c.says == onAWS || c.says == onDir) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
}

func TestEnvOfAStackPrintsNoCredentials(t *testing.T) {
	cloud(t, func(string) (int, string) { return 200, described })
	keys(t, "hunter2")
	got := postino(t, "", nil, "env", "--stack", "s")
	want := "export AWS_ENDPOINT_URL_SNS='https://push.example.com'\n" + ourRegion +
		"# SNS calls to it are signed with a key of Postino's own, not with your AWS credentials: `postino keys add --stack s` makes one\n"
	if got != (ran{exitOK, want, ""}) {
		t.Errorf("got %+v", got)
	}
	if got := postino(t, "", nil, "env", "--table", "t"); got.code != exitFailure || !strings.Contains(got.err, "give its URL with --url, or --stack") {
		t.Errorf("got %+v", got)
	}
}
