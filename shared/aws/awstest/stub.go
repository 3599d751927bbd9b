package awstest

import (
	"context"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"postino/shared/aws/awscall"
)

// Stub answers in the place of AWS: it gets the operation ("PutItem") and the
// request's body, and gives the status and body of the answer. It is a mock: what
// AWS says in earnest is for the integration tests. An error stands for a
// connection that broke.
type Stub func(operation string, body []byte) (status int, answer string, err error)

// Do implements the SDK's HTTPClient.
func (s Stub) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	status, answer, err := s(operationOf(r), body)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(answer))), 10)) // DynamoDB's clients check it
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header,
		Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// Config makes clients that talk to the stub, with the product's own retries.
func (s Stub) Config(t testing.TB) aws.Config {
	t.Helper()
	c, err := awscall.Load(context.Background(), config.WithRegion("us-east-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
	if err != nil {
		t.Fatal(err)
	}
	c.HTTPClient = s
	return c
}

// Refusal is the body of an error answer in AWS's JSON protocols.
func Refusal(code, message string) string {
	return `{"__type":"com.amazonaws#` + code + `","message":"` + message + `","Message":"` + message + `"}`
}
