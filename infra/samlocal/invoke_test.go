//go:build samlocal

package samlocal

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

// The fixtures are of another account, whose topics are not served here: batches
// must be answered, and publishes refused in the way that SNS refuses them.
func TestEveryEventFixtureIsAnsweredByItsFunctionInAContainer(t *testing.T) {
	l := built(t)
	if _, err := l.front().CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("events")}); err != nil {
		t.Fatal(err)
	}
	const done = `{"batchItemFailures":[]}`
	answers := map[string]string{
		"publish-function-url.json":              `"statusCode":4`,
		"publish-function-url-base64-form.json":  `"statusCode":4`,
		"publish-function-url-batch.json":        `"statusCode":4`,
		"publish-function-url-confirm-link.json": `"statusCode":400`,
		"publish-function-url-certificate.json":  `"statusCode":404`,
		"publish-direct.json":                    `"errorType":"NotFound`,
		"publish-direct-batch.json":              `"errorType":"NotFound`,
		"publish-eventbridge.json":               `{"messageId":"`,
		"deliver-sqs.json":                       done,
		"deliver-sqs-batch-with-poison.json":     done,
		"deliver-retry.json":                     done,
		"deliver-confirmation.json":              done,
		"fanout-sqs.json":                        done,
		"redrive-sqs.json":                       done,
		"redrive-sqs-raw.json":                   done,
		"redrive-sqs-failed-jobs.json":           done,
		"redrive-sqs-failed-invocations.json":    done,
	}
	files, err := filepath.Glob("../../events/*.json")
	if err != nil || len(files) != len(answers) {
		t.Errorf("there are %d fixtures, %d are known here (%v)", len(files), len(answers), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(filepath.Base(file), "-")
			answer, log := l.invoke(strings.ToUpper(kind[:1])+kind[1:], path)
			var compact bytes.Buffer
			if err := json.Compact(&compact, answer); err != nil {
				t.Fatalf("%v: %q\n%s", err, answer, log)
			}
			if want := answers[filepath.Base(file)]; want == "" || !strings.Contains(compact.String(), want) {
				t.Errorf("want %s in %s", want, answer)
			}
		})
	}
}
