//go:build integration

package deploytest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"postino/shared/aws/awscall"
)

// environment is a shell's that is set to the emulator, with changes; empty values
// are unset. HOME has no settings of AWS's.
func environment(t *testing.T, change map[string]string) (list []string) {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make integration, or infra/local/sam.sh up")
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(cache))
	all := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GOCACHE": paths[0], "GOMODCACHE": paths[1], "GOPATH": paths[2],
		"GOPROXY": os.Getenv("GOPROXY"), "GOFLAGS": os.Getenv("GOFLAGS"), "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": os.Getenv("AWS_ENDPOINT_URL"),
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "REGION": "us-east-1"}
	maps.Copy(all, change)
	for name, value := range all {
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// deploy runs make deploy's script and gives all that it says.
func deploy(t *testing.T, change map[string]string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../deploy.sh")
	cmd.Env = environment(t, change)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDeployMakesAStackOfItsOwnWithAFirstKeyAndItCanBeDeleted(t *testing.T) {
	stack := "it-" + uuid.NewString()[:8]
	arch := map[string]string{"arm64": "arm64"}[runtime.GOARCH] // the emulator runs functions on this machine
	if arch == "" {
		arch = "x86_64"
	}
	const key = "export AWS_ACCESS_KEY_ID="
	run := func(parameters string) string {
		t.Helper()
		said, err := deploy(t, map[string]string{"STACK": stack, "PARAMETERS": parameters})
		if err != nil || !strings.Contains(said, "Postino is deployed.") {
			t.Fatalf("%v: %s", err, said)
		}
		return said
	}
	if said := run("Arch=" + arch + ` DeadLetterKeyArns=arn:aws:kms:us-east-1:000000000000:key/a AlarmTopicArn=arn:aws:sns:us-east-1:000000000000:alarms EventTopicArn=arn:aws:sns:us-east-1:000000000000:orders EventPattern='{"source": ["a b"]}'`); strings.Count(said, key) != 1 {
		t.Errorf("the first key is not printed: %s", said)
	}
	s := find(t, stack)
	if at := s.code(); len(at) != 4 || slices.ContainsFunc(at, func(key string) bool { return !strings.HasPrefix(key, stack+"/") }) {
		t.Errorf("sam delete of another stack would take this one's code: it is at %q", at)
	}
	if !s.protected() {
		t.Error("the table may be deleted by mistake")
	}
	// The update does not say for which processor: it must build for the stack's, or
	// the functions would not start, which make deploy looks at.
	if said := run("ProtectTable=false"); strings.Contains(said, key) {
		t.Errorf("another key is made: %s", said)
	}
	before := s.updated()
	if said := run("ProtectTable=false"); !strings.Contains(said, "No changes to deploy") {
		t.Errorf("the same again is a change: %s", said)
	}
	if after := s.updated(); after != before {
		t.Errorf("the same again changes the stack: it was updated at %s, and at %s", before, after)
	}
	if s.protected() {
		t.Error("ProtectTable=false leaves the table protected")
	}
	if kinds := s.resources(); kinds["AWS::CloudFormation::Stack"] != 1 || kinds["AWS::Events::Rule"] != 1 {
		t.Errorf("an update without them takes parameters back: %v", kinds)
	}

	s.delete()
	s.gone()
}

// deployed is a stack, looked at.
type deployed struct {
	t      *testing.T
	stack  string
	config aws.Config
	table  string
	queues []string
}

func find(t *testing.T, stack string) *deployed {
	t.Helper()
	c, err := awscall.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	d := &deployed{t: t, stack: stack, config: c}
	out, err := cloudformation.NewFromConfig(c).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil || len(out.Stacks) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, o := range out.Stacks[0].Outputs {
		switch {
		case *o.OutputKey == "TableName":
			d.table = *o.OutputValue
		case strings.HasSuffix(*o.OutputKey, "QueueUrl"):
			d.queues = append(d.queues, filepath.Base(*o.OutputValue))
		}
	}
	if d.table == "" || len(d.queues) != 5 {
		t.Fatalf("the table %q and the queues %q", d.table, d.queues)
	}
	return d
}

// updated is when the stack was changed last.
func (d *deployed) updated() string {
	d.t.Helper()
	out, err := cloudformation.NewFromConfig(d.config).DescribeStacks(d.t.Context(), &cloudformation.DescribeStacksInput{StackName: &d.stack})
	if err != nil || len(out.Stacks) != 1 {
		d.t.Fatalf("%+v, %v", out, err)
	}
	return fmt.Sprint(aws.ToTime(out.Stacks[0].LastUpdatedTime))
}

func (d *deployed) protected() bool {
	d.t.Helper()
	out, err := dynamodb.NewFromConfig(d.config).DescribeTable(d.t.Context(), &dynamodb.DescribeTableInput{TableName: &d.table})
	if err != nil {
		d.t.Fatal(err)
	}
	return aws.ToBool(out.Table.DeletionProtectionEnabled)
}

// code is where the functions' code lies in sam's bucket.
func (d *deployed) code() (keys []string) {
	d.t.Helper()
	out, err := cloudformation.NewFromConfig(d.config).GetTemplate(d.t.Context(),
		&cloudformation.GetTemplateInput{StackName: &d.stack, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, uri := range codeURI.FindAllStringSubmatch(*out.TemplateBody, -1) {
		keys = append(keys, uri[1])
	}
	return keys
}

var codeURI = regexp.MustCompile(`CodeUri: s3://[^/]+/(\S+)`)

// resources counts by type.
func (d *deployed) resources() map[string]int {
	d.t.Helper()
	out, err := cloudformation.NewFromConfig(d.config).DescribeStackResources(d.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &d.stack})
	if err != nil {
		d.t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, r := range out.StackResources {
		kinds[*r.ResourceType]++
	}
	return kinds
}

// delete is sam delete.
func (d *deployed) delete() {
	d.t.Helper()
	at, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(d.t.Context(), "../local/sam.sh", "sam", at.Port(), "delete", "--stack-name", d.stack, "--no-prompts", "--region", "us-east-1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Deleted successfully") {
		d.t.Fatalf("sam delete: %v: %s", err, out)
	}
}

// gone looks for what deleting the stack has left.
func (d *deployed) gone() {
	d.t.Helper()
	if _, err := dynamodb.NewFromConfig(d.config).DescribeTable(d.t.Context(), &dynamodb.DescribeTableInput{TableName: &d.table}); err == nil {
		d.t.Error("the table is still there")
	}
	for _, q := range d.queues {
		if _, err := sqs.NewFromConfig(d.config).GetQueueUrl(d.t.Context(), &sqs.GetQueueUrlInput{QueueName: &q}); err == nil {
			d.t.Errorf("the queue %s is still there", q)
		}
	}
}
