// Package dynamostore keeps topics, subscriptions, access keys, the retry state
// of deliveries, throttle slots and the payloads of large waiting jobs in one
// DynamoDB table. docs/dynamodb.md is its design on a page: keys, items, access
// patterns, what is read strongly and why, where heat may gather.
package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"postino/shared/aws/awscall"
)

// API are the calls the store makes; *dynamodb.Client has them.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config are New's dependencies.
type Config struct {
	Client API
	// Table is the table's name or ARN; TableVariable names it.
	Table string
	// Now is time.Now unless set. It gives the first version of topics and the
	// time of leftovers; the time of deliveries comes with each call.
	Now func() time.Time
	// Random is uniform in [0, 1), for waits between tries; math/rand's unless set.
	Random func() float64
	// Sleep waits for d or until ctx ends; a real wait unless set.
	Sleep func(ctx context.Context, d time.Duration) error
	// NewID makes a random name for one write; a UUID unless set.
	NewID func() string
}

// TableVariable is the environment variable that names the table.
const TableVariable = "POSTINO_TABLE"

// Store implements snsapi.Directory, pipeline.Deliveries, pipeline.Slots,
// access.Store, operator.Deliveries and schedulertimer.Payloads.
type Store struct{ Config }

// New checks c. It makes no call.
func New(c Config) (*Store, error) {
	if c.Client == nil {
		return nil, errors.New("dynamostore: no DynamoDB client")
	}
	if c.Table == "" {
		return nil, errors.New(TableVariable + " is not set: it names the DynamoDB table")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	return &Store{c}, nil
}

// callLimit bounds one call of a port's method, its tries included.
const callLimit = 6 * time.Second

func bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return awscall.Bound(ctx, callLimit)
}

// fault explains an error of a DynamoDB action ("GetItem").
func (s *Store) fault(ctx context.Context, action string, err error) error {
	c := awscall.Call{Service: "DynamoDB", Action: "dynamodb:" + action, Resource: fmt.Sprintf("the table %s (%s)", s.Table, TableVariable)}
	return c.Explain(ctx, err)
}

// pause waits before try n (from 1) of something others interfered with: up to
// 20 ms at first, twice as much each time, 640 ms at most.
func (s *Store) pause(ctx context.Context, n int) error {
	most := 20 * time.Millisecond << min(n-1, 5)
	return s.Sleep(ctx, time.Duration(s.Random()*float64(most)))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
