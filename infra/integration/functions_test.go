//go:build integration

package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// change sets variables of a function of the test's own stack, "" for none, and
// gives the way back. The function's processes start anew.
func (s *stack) change(function string, variables map[string]string) (restore func()) {
	s.t.Helper()
	name, before := s.output(function+"FunctionName"), s.environment(function)
	after := merged(before, variables)
	for variable, value := range variables {
		if value == "" {
			delete(after, variable)
		}
	}
	set := func(v map[string]string) {
		s.t.Helper()
		s.configure(&lambda.UpdateFunctionConfigurationInput{FunctionName: &name, Environment: &lambdatypes.Environment{Variables: v}})
	}
	set(after)
	return func() { set(before) }
}

func (s *stack) environment(function string) map[string]string {
	s.t.Helper()
	name := s.output(function + "FunctionName")
	out, err := s.lambda.GetFunctionConfiguration(s.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Environment.Variables
}

// timeout sets how long a function of the test's own stack may take.
func (s *stack) timeout(function string, d time.Duration) {
	s.t.Helper()
	s.configure(&lambda.UpdateFunctionConfigurationInput{FunctionName: aws.String(s.output(function + "FunctionName")), Timeout: aws.Int32(int32(d.Seconds()))})
}

func (s *stack) configure(in *lambda.UpdateFunctionConfigurationInput) {
	s.t.Helper()
	if s.kept {
		s.t.Fatal("the stack is not the test's own")
	}
	_, err := s.lambda.UpdateFunctionConfiguration(context.Background(), in)
	if err == nil {
		err = lambda.NewFunctionUpdatedV2Waiter(s.lambda).Wait(context.Background(), &lambda.GetFunctionInput{FunctionName: in.FunctionName}, patience)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// faults invokes a function with an event and gives the lines that it logged with
// level ERROR, whether it started or not.
func (s *stack) faults(function string, event []byte) (lines []string) {
	s.t.Helper()
	out, err := s.lambda.Invoke(s.t.Context(), &lambda.InvokeInput{FunctionName: aws.String(s.output(function + "FunctionName")), Payload: event, LogType: lambdatypes.LogTypeTail})
	if err != nil {
		s.t.Fatal(err)
	}
	tail, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if err != nil {
		s.t.Fatal(err)
	}
	// Of a function that cannot start, the emulator gives the log in its error.
	var e struct{ ErrorMessage string }
	_ = json.Unmarshal(out.Payload, &e) // the answer of a batch has none
	for line := range strings.Lines(string(tail) + "\n" + e.ErrorMessage) {
		if at := strings.IndexByte(line, '{'); at >= 0 && strings.Contains(line, `"level":"ERROR"`) {
			lines = append(lines, strings.TrimSpace(line[at:]))
		}
	}
	return lines
}

// fixture is one of events/*.json.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seconds is a duration as AWS writes it.
func seconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }
