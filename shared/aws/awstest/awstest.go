// Package awstest gives the adapters' tests what they run against: the AWS that
// AWS_ENDPOINT_URL names (an emulator, or AWS itself), or a counting transport.
package awstest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/aws/awscall"
	"postino/shared/aws/dynamostore"
)

// Config reads the target. Without AWS_ENDPOINT_URL it fails the test: an
// integration test that passes without its target says nothing.
func Config(t testing.TB, more ...func(*config.LoadOptions) error) aws.Config {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: start one with infra/local/ministack.sh start")
	}
	c, err := awscall.Load(context.Background(), more...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Name makes a name that no other test uses.
func Name(prefix string) string { return prefix + "-" + uuid.NewString()[:8] }

// Table makes an empty table of Postino's and deletes it with the test. Its time
// to live is off: tests live in times long past, and an emulator would delete
// their items under them.
func Table(t testing.TB, c *dynamodb.Client) (name string) {
	t.Helper()
	name = Name("postino")
	ctx := context.Background() // the test's own has ended when cleanups run
	_, err := c.CreateTable(ctx, dynamostore.Definition(name))
	var exists *types.ResourceInUseException // by a try whose answer got lost: the name is ours alone
	if err != nil && !errors.As(err, &exists) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	if err := dynamodb.NewTableExistsWaiter(c).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return name
}

// Queue makes an empty queue of the given name, in the place of one that a test
// before this one made, and deletes it with the test.
func Queue(t testing.TB, c *sqs.Client, name string) (arn string) {
	t.Helper()
	ctx := context.Background()
	if old, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name}); err == nil {
		if _, err := c.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: old.QueueUrl}); err != nil {
			t.Fatal(err)
		}
	}
	made, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
			t.Error(err)
		}
	})
	all := []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn}
	attributes, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl, AttributeNames: all})
	if err != nil {
		t.Fatal(err)
	}
	return attributes.Attributes["QueueArn"]
}

// Counter is an HTTP client that counts the calls that pass through it, tries
// included, by their AWS operation ("UpdateItem").
type Counter struct {
	Next aws.HTTPClient

	mu    sync.Mutex
	calls map[string]int
}

// Do implements the SDK's HTTPClient.
func (c *Counter) Do(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	c.mu.Lock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[operation]++
	c.mu.Unlock()
	return c.Next.Do(r)
}

// Take gives the counts so far and begins anew.
func (c *Counter) Take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.calls)
	clear(c.calls)
	return out
}

// operationOf is the operation a request asks for; of REST services the method
// and the first part of the path.
func operationOf(r *http.Request) string {
	target := r.Header.Get("X-Amz-Target")
	if target == "" {
		first, _, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		return r.Method + " " + first
	}
	return target[strings.LastIndexByte(target, '.')+1:]
}
