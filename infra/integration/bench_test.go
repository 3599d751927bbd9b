//go:build integration

package integration

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"postino/infra/coldstart/figures"
)

// make bench-aws, with a few messages: its own checks hold, among them that the
// functions' calls are those of docs/cost.md. Figures mean nothing here.
func TestTheBenchmarkOfADeployedStackRunsAndItsCountsAreThoseOfTheCostPage(t *testing.T) {
	t.Parallel()
	record := os.Getenv("POSTINO_EVERY_CALL")
	if record == "" {
		t.Fatal("POSTINO_EVERY_CALL is not set: it names what infra/local/ministack.sh every-call prints")
	}
	s := own(t, schedulesSoon)
	bench := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bench, "postino/infra/bench").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bench, "aws", "--quick", "--stack", s.name, "--calls", record, "--costs", "../cost/counts.json")
	var said bytes.Buffer
	cmd.Stderr = &said
	page, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, said.String(), page)
	}
	for _, want := range []string{"| fan-out 10, PublishBatch | 10 | 100 |", "| throttled to 2 a second | dynamodb:UpdateItem |", "| queue | 3s | 2 |", "| schedule | 12s | 2 |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q: %s", want, page)
		}
	}
}

func TestTheDeployedFunctionsAreSmallAndStripped(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	for _, function := range []string{"Publish", "Fanout", "Deliver", "Redrive"} {
		out, err := s.lambda.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: aws.String(s.output(function + "FunctionName"))})
		if err != nil {
			t.Fatal(err)
		}
		status, archive := fetch(t, *out.Code.Location)
		if status != http.StatusOK {
			t.Fatalf("the code of %s is not there: %d", function, status)
		}
		files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := files.Open("bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		binary, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(binary) >= figures.MostBytes {
			t.Errorf("%s has %d bytes, %d are promised", function, len(binary), figures.MostBytes)
		}
		program, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range []string{".symtab", ".debug_info", ".zdebug_info"} {
			if program.Section(section) != nil {
				t.Errorf("%s has a section %s: is sam build given the flags of infra/local/stripped.sh?", function, section)
			}
		}
		if root, err := filepath.Abs("../.."); err != nil || bytes.Contains(binary, []byte(root+"/functions")) {
			t.Errorf("%s has paths of the machine that built it (%v)", function, err)
		}
	}
}
