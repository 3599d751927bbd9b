package build

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"postino/shared/envelope"
	"postino/shared/signing"
)

// table is the one item of a table that matters here.
type table struct {
	mu   sync.Mutex
	item map[string]types.AttributeValue
	// blind hides the item from reads, as if it were written just after them.
	blind bool
	err   error
	puts  int
}

func (t *table) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !*in.ConsistentRead {
		return nil, errors.New("the key must be read strongly")
	}
	if t.blind {
		return &dynamodb.GetItemOutput{}, t.err
	}
	return &dynamodb.GetItemOutput{Item: t.item}, t.err
}

func (t *table) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.puts++
	if *in.ConditionExpression != "attribute_not_exists(pk)" {
		return nil, errors.New("the key must never be overwritten")
	}
	if t.item != nil {
		return nil, &types.ConditionalCheckFailedException{Item: t.item}
	}
	t.item = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

func (t *table) key() signingKey { return signingKey{Client: t, Table: "postino", Now: time.Now} }

func TestTheSigningKeyIsMadeOnceAndReadFromThenOn(t *testing.T) {
	db := &table{}
	made, err := db.key().loadOrCreate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signing.FromPEM(made, envelope.Links{}); err != nil {
		t.Error(err)
	}
	again, err := db.key().loadOrCreate(t.Context())
	if err != nil || !bytes.Equal(made, again) || db.puts != 1 {
		t.Errorf("the second start wrote %d times and has another key: %v, %v", db.puts, !bytes.Equal(made, again), err)
	}
}

func TestOfTwoFunctionsThatStartAtOnceBothHaveTheFirstOnesKey(t *testing.T) {
	db := &table{}
	made, err := db.key().loadOrCreate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.blind = true
	late, err := db.key().loadOrCreate(t.Context())
	if err != nil || !bytes.Equal(made, late) {
		t.Errorf("keys differ: %v, %v", !bytes.Equal(made, late), err)
	}
}

func TestASigningKeyThatCannotBeReadSaysWhatToDo(t *testing.T) {
	denied := &table{err: &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"}}
	if _, err := denied.key().loadOrCreate(t.Context()); err == nil || !strings.Contains(err.Error(), "dynamodb:GetItem") || !strings.Contains(err.Error(), "POSTINO_TABLE") {
		t.Errorf("got %v", err)
	}
	empty := &table{item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: signingKeyPK}}}
	if _, err := empty.key().loadOrCreate(t.Context()); err == nil || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("got %v", err)
	}
}
