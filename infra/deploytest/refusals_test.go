//go:build integration

package deploytest

import (
	"strings"
	"testing"
)

// make deploy must not build for minutes before it says what it lacks.
func TestDeploySaysInOneLineWhatIsMissingBeforeItBuilds(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		says   string
	}{
		"no credentials":          {map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "there are no AWS credentials: set AWS_PROFILE, or"},
		"a profile that is not":   {map[string]string{"AWS_PROFILE": "nobody"}, "AWS_PROFILE names no profile"},
		"unknown credentials":     {map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE"}, "the AWS credentials are not accepted"},
		"no region":               {map[string]string{"REGION": ""}, "there is no region: set REGION="},
		"a region that is none":   {map[string]string{"REGION": "us east 1"}, "'us east 1' is no region: set REGION="},
		"no AWS there":            {map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "AWS does not answer"},
		"a name that is none":     {map[string]string{"STACK": "my stack", "MAKE": "false"}, "STACK=my stack is no stack name"},
		"a quote in the name":     {map[string]string{"STACK": "a'b", "MAKE": "false"}, "STACK=a'b is no stack name"},
		"a parameter that isn't":  {map[string]string{"PARAMETERS": "Colour=blue"}, "template.yaml has no parameter Colour"},
		"a word without a value":  {map[string]string{"PARAMETERS": "Trace"}, "which is not Name=Value"},
		"a quote that stays open": {map[string]string{"PARAMETERS": "EventPattern='{"}, "PARAMETERS cannot be read"},
		"a value in two lines":    {map[string]string{"PARAMETERS": "EventPattern='{\"a\":\n[1]}'"}, "the value of EventPattern has a line break: write it in one line"},
		"what sam cannot pass on": {map[string]string{"PARAMETERS": `EventPattern='{"a":["\""]}'`}, "a backslash before a quotation mark"},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := deploy(t, c.change)
			if err == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) {
				t.Errorf("%v, and it says %q", err, said)
			}
		})
	}
}
