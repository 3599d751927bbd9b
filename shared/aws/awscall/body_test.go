package awscall

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// late reads a request's body to its end, answers, and keeps the body for later.
type late struct{ body io.ReadCloser }

func (l *late) Do(r *http.Request) (*http.Response, error) {
	l.body = r.Body
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// TestABodyThatIsLookedAtAfterTheAnswerIsAtItsEnd does what net/http does when it
// is late: it looks for surplus bytes of a body that the SDK has closed.
func TestABodyThatIsLookedAtAfterTheAnswerIsAtItsEnd(t *testing.T) {
	ctx := context.Background()
	c, err := Load(ctx, config.WithRegion("us-east-1"), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("a", "b", "")))
	if err != nil {
		t.Fatal(err)
	}
	wrapped, ok := c.HTTPClient.(readBodies)
	if !ok {
		t.Fatalf("clients send with %T", c.HTTPClient)
	}
	l := &late{}
	wrapped.HTTPClient = l
	c.HTTPClient = wrapped
	if _, err := dynamodb.NewFromConfig(c).ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, l.body); n != 0 || err != nil {
		t.Errorf("%d bytes more and %v", n, err)
	}
}
