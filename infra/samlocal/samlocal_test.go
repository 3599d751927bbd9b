//go:build samlocal

package samlocal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/aws/awscall"
)

// patience is for a container's start and an answer, on a machine that is busy.
const patience = 90 * time.Second

// host is what containers know this host by.
const host = "host.docker.internal"

// local is the built stack, ready to be run by `sam local`.
type local struct {
	t       *testing.T
	config  aws.Config
	outputs map[string]string
	// file is the template that they run.
	file string
	// flags are the arguments that every `sam local` command gets.
	flags []string
	port  string
}

// built finds the deployed stack and gives its functions' environments to those
// that run in containers. Without what it needs it fails: a test that passes
// without what it tests says nothing.
func built(t *testing.T) *local {
	t.Helper()
	endpoint, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil || endpoint.Port() == "" || address() == "" {
		t.Fatal("AWS_ENDPOINT_URL or HOST_ADDRESS is not set: run make sam-local")
	}
	l := &local{t: t, outputs: map[string]string{}, port: endpoint.Port()}
	if l.config, err = awscall.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := cloudformation.NewFromConfig(l.config).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("postino")})
	if err != nil || len(out.Stacks) != 1 {
		t.Fatalf("the stack is not there: %v", err)
	}
	for _, o := range out.Stacks[0].Outputs {
		l.outputs[*o.OutputKey] = *o.OutputValue
	}
	l.file = l.template()
	l.flags = append([]string{"--template", l.file, "--env-vars", l.environments(forward(t, endpoint.Host)),
		"--parameter-overrides", "Arch=" + map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH],
		"--add-host", host + ":" + address()}, strings.Fields(os.Getenv("SAM_LOCAL_FLAGS"))...)
	return l
}

// address is the one under which containers reach this host.
func address() string { return os.Getenv("HOST_ADDRESS") }

var firstVariable = regexp.MustCompile(`(?m)^( *)POSTINO_ACCOUNT:`)

// template is the built one with one variable more, since sam sets only those that
// the template names. It must be beside the functions it names.
func (l *local) template() string {
	l.t.Helper()
	folder, err := filepath.Abs(filepath.Join("../../.aws-sam", l.port, "build"))
	if err != nil {
		l.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(folder, "template.yaml"))
	if err != nil {
		l.t.Fatalf("the functions are not built: %v", err)
	}
	if len(firstVariable.FindAll(b, -1)) != 1 {
		l.t.Fatal("the built template does not set POSTINO_ACCOUNT for all functions in one place")
	}
	b = firstVariable.ReplaceAll(b, []byte("${1}AWS_ENDPOINT_URL: none\n$0"))
	name := filepath.Join(folder, "template-samlocal.yaml")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return name
}

// environments writes the file of the functions' variables: those of the deployed
// functions, with the way to the emulator that containers have.
func (l *local) environments(port string) string {
	l.t.Helper()
	all := map[string]map[string]string{}
	for _, function := range []string{"Publish", "Fanout", "Deliver", "Redrive"} {
		out, err := lambda.NewFromConfig(l.config).GetFunctionConfiguration(l.t.Context(),
			&lambda.GetFunctionConfigurationInput{FunctionName: aws.String(l.output(function + "FunctionName"))})
		if err != nil {
			l.t.Fatal(err)
		}
		variables := maps.Clone(out.Environment.Variables)
		variables["AWS_ENDPOINT_URL"] = "http://" + net.JoinHostPort(host, port)
		all[function+"Function"] = variables
	}
	b, err := json.Marshal(all)
	if err != nil {
		l.t.Fatal(err)
	}
	name := filepath.Join(l.t.TempDir(), "environments.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return name
}

func (l *local) output(name string) string {
	l.t.Helper()
	v := l.outputs[name]
	if v == "" {
		l.t.Fatalf("the stack has no output %s", name)
	}
	return v
}

// front is a client of the deployed stack's front door.
func (l *local) front() *sns.Client {
	l.t.Helper()
	return sns.NewFromConfig(l.config, func(o *sns.Options) {
		o.BaseEndpoint = aws.String(l.output("EndpointUrl"))
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return l.key(), nil })
	})
}

// key is the stack's own, which the front door asks for.
func (l *local) key() aws.Credentials {
	l.t.Helper()
	k := aws.Credentials{AccessKeyID: os.Getenv("POSTINO_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("POSTINO_SECRET_ACCESS_KEY")}
	if !k.HasKeys() {
		l.t.Fatal("POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are not set: run make sam-local")
	}
	return k
}

// sam prepares a `sam local` command. It removes its containers when it is told to
// end, by the context or, with everything else, from the terminal.
func (l *local) sam(ctx context.Context, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "../local/sam.sh", append([]string{"sam", l.port, "local"}, append(arguments, l.flags...)...)...) //nolint:gosec // the test's own words
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	return c
}

// invoke runs a function once in a container of its own and gives what it printed
// as its answer. The exit code says nothing: it is 0 where a function fails.
func (l *local) invoke(function, event string) (answer []byte, log string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	c := l.sam(ctx, "invoke", function+"Function", "--event", event)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		l.t.Fatalf("sam local invoke %s: %v\n%s", function, err, stderr.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(stdout.Bytes()), []byte("\n"))
	return lines[len(lines)-1], stderr.String()
}

// event writes an event to a file.
func (l *local) event(event []byte) (name string) {
	l.t.Helper()
	name = filepath.Join(l.t.TempDir(), "event.json")
	if err := os.WriteFile(name, event, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return name
}

// forward listens on the containers' network alone and passes connections to the
// emulator, which listens on loopback.
func forward(t *testing.T, to string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go pass(from, to)
			}
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func pass(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return // the container sees its connection end
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}
