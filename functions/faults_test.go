package functions_test

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// onAWS is what a function is told on AWS, with changes in pairs. Nothing listens
// at its endpoint.
func onAWS(changes ...string) map[string]string {
	env := map[string]string{"POSTINO_TABLE": "postino", "POSTINO_SCHEDULE_GROUP": "postino", "POSTINO_SCHEDULE_ROLE": "arn:aws:iam::123456789012:role/send",
		"POSTINO_FAILED_JOBS_QUEUE": queueARN("FailedJobsQueue"), "POSTINO_KEYS_KMS_KEY": "alias/postino", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
	for i := 0; i < len(changes); i += 2 {
		env[changes[i]] = changes[i+1]
	}
	return env
}

// refusing stands for an AWS that answers every call with an error.
func refusing(t *testing.T, code string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body := []byte(`{"__type":"com.amazonaws#` + code + `","message":"no"}`)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)) // DynamoDB's clients check it
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// start runs a function that must end at once, and gives what it logs.
func start(t *testing.T, name string, changes map[string]string) (log string) {
	t.Helper()
	env := environment(t.TempDir())
	maps.Copy(env, changes)
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries(t), name))
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API=127.0.0.1:1")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%s: %v, want exit status 1", name, err)
	}
	return out.String()
}

func TestAFunctionThatCannotStartSaysWhyInOneLine(t *testing.T) {
	all := []string{"publish", "fanout", "deliver", "redrive"}
	keyed := []string{"publish", "deliver"} // the others sign nothing: their first batch tells them
	for name, c := range map[string]struct {
		functions []string
		change    map[string]string
		says      string
	}{
		"no public URL":        {all, map[string]string{"POSTINO_PUBLIC_URL": ""}, "POSTINO_PUBLIC_URL is not set"},
		"a bad variable":       {all, map[string]string{"POSTINO_ACCOUNT": "1"}, "POSTINO_ACCOUNT"},
		"no data directory":    {all, map[string]string{"POSTINO_DATA": "/proc/self/data"}, "cannot be used"},
		"no region":            {all, onAWS("AWS_REGION", "", "AWS_DEFAULT_REGION", "", "AWS_CONFIG_FILE", "/dev/null"), "AWS_REGION"},
		"no schedule group":    {all, onAWS("POSTINO_SCHEDULE_GROUP", ""), "POSTINO_SCHEDULE_GROUP is not set"},
		"no role":              {all, onAWS("POSTINO_SCHEDULE_ROLE", ""), "POSTINO_SCHEDULE_ROLE"},
		"no failed jobs queue": {all, onAWS("POSTINO_FAILED_JOBS_QUEUE", "FailedJobsQueue"), "POSTINO_FAILED_JOBS_QUEUE"},
		"no KMS key":           {[]string{"publish"}, onAWS("POSTINO_KEYS_KMS_KEY", ""), "POSTINO_KEYS_KMS_KEY is not set"},
		"no AWS there":         {keyed, onAWS(), "DynamoDB cannot be reached: check AWS_ENDPOINT_URL"},
		"a wrong table":        {keyed, onAWS("AWS_ENDPOINT_URL", refusing(t, "ResourceNotFoundException")), "the table postino (POSTINO_TABLE) does not exist"},
		"a permission missing": {keyed, onAWS("AWS_ENDPOINT_URL", refusing(t, "AccessDeniedException")), "the permission dynamodb:GetItem on the table postino (POSTINO_TABLE) is missing"},
		"no URL on AWS":        {[]string{"deliver"}, onAWS("POSTINO_PUBLIC_URL", ""), "POSTINO_PUBLIC_URL is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, function := range c.functions {
				if log := start(t, function, c.change); strings.Count(log, "\n") != 1 || !strings.Contains(log, c.says) {
					t.Errorf("%s logged %q, want one line that says %q", function, log, c.says)
				}
			}
		})
	}
}

// Without the store the jobs cannot be read about, and without the queues they
// cannot be put back: the batch comes back, and the log names what to look at.
func TestABatchThatCannotBeHandledComesBackAndTheLogSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ endpoint, says string }{
		"no AWS there":         {"http://127.0.0.1:1", "cannot be reached: check AWS_ENDPOINT_URL"},
		"a wrong table":        {refusing(t, "ResourceNotFoundException"), "(POSTINO_TABLE) does not exist"},
		"a permission missing": {refusing(t, "AccessDeniedException"), "the permission dynamodb:"},
	} {
		for function, event := range map[string]string{"fanout": "fanout-sqs.json", "redrive": "redrive-sqs.json"} {
			t.Run(name+"/"+function, func(t *testing.T) {
				env := environment(t.TempDir())
				maps.Copy(env, onAWS("AWS_ENDPOINT_URL", c.endpoint))
				f := launch(t, filepath.Join(binaries(t), function), env)
				var e events.SQSEvent
				decode(t, fixture(t, event), &e)
				a := f.invoke(fixture(t, event))
				f.Stop()
				var out events.SQSEventResponse
				if json.Unmarshal(a.Body, &out) != nil || len(out.BatchItemFailures) != len(e.Records) {
					t.Errorf("of %d records came back %s", len(e.Records), a.Body)
				}
				if !strings.Contains(f.Log(), c.says) {
					t.Errorf("the log does not say %q: %s", c.says, f.Log())
				}
			})
		}
	}
}
