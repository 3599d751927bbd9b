package build

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/aws/awscall"
	"postino/shared/signing"
)

// keyAPI are the calls signingKey makes; *dynamodb.Client has them.
type keyAPI interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// signingKey is the installation's key for message signatures: one item of the
// table, which DynamoDB encrypts at rest. It is written once, by whichever
// function starts first, and is good for as long as its certificate.
type signingKey struct {
	Client keyAPI
	Table  string
	Now    func() time.Time
}

// The key's item.
const (
	signingKeyPK = "C#signing"
	signingKeySK = "C"
	pemAttribute = "pem"
)

// keyLimit bounds one call, its tries included; a function has ten seconds to
// start.
const keyLimit = 6 * time.Second

// loadOrCreate gives the key and certificate in PEM form. Of functions that start
// at once all end up with the same.
func (k signingKey) loadOrCreate(ctx context.Context) ([]byte, error) {
	pem, err := k.load(ctx)
	if err != nil || pem != nil {
		return pem, err
	}
	if pem, err = signing.NewPEM(k.Now()); err != nil {
		return nil, err
	}
	return k.create(ctx, pem)
}

func key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: signingKeyPK},
		"sk": &types.AttributeValueMemberS{Value: signingKeySK},
	}
}

// load gives nil when there is no key yet.
func (k signingKey) load(ctx context.Context) ([]byte, error) {
	call, cancel := awscall.Bound(ctx, keyLimit)
	defer cancel()
	out, err := k.Client.GetItem(call, &dynamodb.GetItemInput{TableName: &k.Table, Key: key(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, k.explain(ctx, "dynamodb:GetItem", err)
	}
	return pemOf(out.Item), nil
}

// create writes pem unless another function was faster, and gives what is there.
func (k signingKey) create(ctx context.Context, pem []byte) ([]byte, error) {
	item := key()
	item["v"] = &types.AttributeValueMemberN{Value: "1"}
	item[pemAttribute] = &types.AttributeValueMemberB{Value: pem}
	call, cancel := awscall.Bound(ctx, keyLimit)
	defer cancel()
	_, err := k.Client.PutItem(call, &dynamodb.PutItemInput{TableName: &k.Table, Item: item,
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// Or it was an earlier try of this very call: then pem is what is there.
		if pem = pemOf(refused.Item); pem == nil {
			return nil, errors.New("the signing key in the table has no " + pemAttribute + ": restore it from a backup, or delete the item " + signingKeyPK + " to have a new one made")
		}
		return pem, nil
	}
	if err != nil {
		return nil, k.explain(ctx, "dynamodb:PutItem", err)
	}
	return pem, nil
}

func pemOf(item map[string]types.AttributeValue) []byte {
	if b, ok := item[pemAttribute].(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

func (k signingKey) explain(ctx context.Context, action string, err error) error {
	c := awscall.Call{Service: "DynamoDB", Action: action, Resource: "the table " + k.Table + " (POSTINO_TABLE)"}
	return c.Explain(ctx, err)
}
