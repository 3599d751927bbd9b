//go:build integration

package integration

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// make deploy must not build for minutes before it says what it lacks.
func TestDeploySaysInOneLineWhatIsMissingBeforeItBuilds(t *testing.T) {
	deployed(t)
	emulated := map[string]string{"AWS_ENDPOINT_URL": os.Getenv("AWS_ENDPOINT_URL"), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "REGION": "eu-west-1"}
	for name, c := range map[string]struct {
		change map[string]string
		says   string
	}{
		"no credentials":          {map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "there are no AWS credentials: set AWS_PROFILE, or"},
		"a profile that is not":   {map[string]string{"AWS_PROFILE": "nobody"}, "AWS_PROFILE names no profile"},
		"unknown credentials":     {map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE"}, "the AWS credentials are not accepted"},
		"no region":               {map[string]string{"REGION": ""}, "there is no region: set REGION="},
		"no AWS there":            {map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "AWS does not answer"},
		"a name that is none":     {map[string]string{"STACK": "my stack"}, "STACK=my stack is no stack name"},
		"a parameter that isn't":  {map[string]string{"PARAMETERS": "Colour=blue"}, "template.yaml has no parameter Colour"},
		"a word without a value":  {map[string]string{"PARAMETERS": "Trace"}, "which is not Name=Value"},
		"a quote that stays open": {map[string]string{"PARAMETERS": "EventPattern='{"}, "PARAMETERS cannot be read"},
		"what sam cannot pass on": {map[string]string{"PARAMETERS": `EventPattern='{"a":["\""]}'`}, "a backslash before a quotation mark"},
	} {
		t.Run(name, func(t *testing.T) {
			environment := maps.Clone(emulated)
			maps.Copy(environment, c.change)
			cmd := exec.CommandContext(t.Context(), "../deploy.sh")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true", "MAKE=false"}
			for name, value := range environment {
				if value != "" {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
			}
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			err := cmd.Run()
			if err == nil || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), c.says) {
				t.Errorf("%v, and it says %q", err, said.String())
			}
		})
	}
}
