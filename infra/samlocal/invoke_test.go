//go:build samlocal

package samlocal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/infra/functionurl"
)

// The fixtures are of another account, whose topics are not served here, and of
// another day: as they are, batches are done, there being nobody to push to, and
// publishes are refused as SNS refuses them. Signed anew, for a topic that is here,
// these are accepted too.
func TestEveryEventFixtureIsAnsweredByItsFunctionInAContainer(t *testing.T) {
	l := built(t)
	topic, err := l.front().CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("events")})
	if err != nil {
		t.Fatal(err)
	}
	const (
		done  = `{"batchItemFailures":[]}`
		stale = "403 SignatureDoesNotMatch"
	)
	known := map[string]struct{ asItIs, signed string }{
		"publish-function-url.json":              {stale, "200 MessageId"},
		"publish-function-url-base64-form.json":  {stale, "200 MessageId"},
		"publish-function-url-batch.json":        {stale, "200 MessageId MessageId MessageId"},
		"publish-function-url-confirm-link.json": {"400 InvalidParameter", ""}, // a token of no one's
		"publish-function-url-certificate.json":  {"404 NotFound", ""},         // another installation's
		"publish-direct.json":                    {"NotFound", ""},
		"publish-direct-batch.json":              {"NotFound", ""},
		"publish-eventbridge.json":               {`{"messageId":"(an id)"}`, ""}, // its topic is the stack's
		"deliver-sqs.json":                       {done, ""},
		"deliver-sqs-batch-with-poison.json":     {done, ""},
		"deliver-retry.json":                     {done, ""},
		"deliver-confirmation.json":              {done, ""},
		"fanout-sqs.json":                        {done, ""},
		"redrive-sqs.json":                       {done, ""},
		"redrive-sqs-raw.json":                   {done, ""},
		"redrive-sqs-failed-jobs.json":           {done, ""},
		"redrive-sqs-failed-invocations.json":    {done, ""},
	}
	files, err := filepath.Glob("../../events/*.json")
	if err != nil || len(files) != len(known) {
		t.Errorf("there are %d fixtures, %d are known here (%v)", len(files), len(known), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(filepath.Base(file), "-")
			function, want := strings.ToUpper(kind[:1])+kind[1:], known[filepath.Base(file)]
			if answer, log := l.invoke(function, path); inShort(answer) != want.asItIs {
				t.Errorf("want %s, the answer is %s\n%s", want.asItIs, answer, log)
			}
			if want.signed == "" {
				return
			}
			event, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if event, err = functionurl.Sign(t.Context(), event, url.Values{"TopicArn": {*topic.TopicArn}}, l.key(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if answer, log := l.invoke(function, l.event(event)); inShort(answer) != want.signed {
				t.Errorf("signed anew: want %s, the answer is %s\n%s", want.signed, answer, log)
			}
		})
	}
}

var (
	telling = regexp.MustCompile(`<Code>(\w+)</Code>|<(MessageId)>`)
	anID    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// inShort is what counts of an answer. Of a Function URL's that is the status with the
// codes of errors and how many messages have an id, of a failed invocation the type of
// the error; others are whole, but for ids and spaces.
func inShort(answer []byte) string {
	var page events.LambdaFunctionURLResponse
	var failed struct{ ErrorType string }
	if json.Unmarshal(answer, &page) == nil && page.StatusCode != 0 {
		short := fmt.Sprint(page.StatusCode)
		for _, found := range telling.FindAllStringSubmatch(page.Body, -1) {
			short += " " + found[1] + found[2]
		}
		return short
	}
	if json.Unmarshal(answer, &failed) == nil && failed.ErrorType != "" {
		return failed.ErrorType
	}
	var compact bytes.Buffer
	if json.Compact(&compact, answer) != nil {
		return string(answer)
	}
	return anID.ReplaceAllString(compact.String(), "(an id)")
}
