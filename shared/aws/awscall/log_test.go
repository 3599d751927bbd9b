package awscall

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// garbled answers with a checksum that is not its body's.
type garbled struct{}

func (garbled) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Amz-Crc32": {"1"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// A function's log is one JSON line an event.
func TestTheSDKWritesNothingIntoTheLog(t *testing.T) {
	stderr := os.Stderr
	t.Cleanup(func() { os.Stderr = stderr })
	name := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Stderr = file
	ctx := context.Background()
	c, err := Load(ctx, config.WithRegion("us-east-1"), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("a", "b", "")))
	if err != nil {
		t.Fatal(err)
	}
	c.HTTPClient = garbled{}
	_, _ = dynamodb.NewFromConfig(c).ListTables(ctx, nil) // it is said to be wrong, not taken for it
	if b, err := os.ReadFile(name); err != nil || len(b) != 0 {
		t.Errorf("it wrote %q (%v)", b, err)
	}
}
