package dynamostore

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// key makes the key of an item from topicKey and the like.
func key(pk, sk string) item { return item{"pk": text(pk), "sk": text(sk)} }

// get reads an item, nil when there is none.
func (s *Store) get(ctx context.Context, key item, strong bool) (item, error) {
	call, cancel := bound(ctx)
	defer cancel()
	out, err := s.Client.GetItem(call, &dynamodb.GetItemInput{TableName: &s.Table, Key: key, ConsistentRead: &strong})
	if err != nil {
		return nil, s.fault(ctx, "GetItem", err)
	}
	return out.Item, nil
}

// condition is when a write may happen; names begin with #, values with :.
type condition struct {
	expression string
	names      map[string]string
	values     item
}

// put writes an item when c allows it. ok is false when it did not; current is
// then the item that refused, nil when there was none.
func (s *Store) put(ctx context.Context, i item, c condition) (current item, ok bool, err error) {
	call, cancel := bound(ctx)
	defer cancel()
	_, err = s.Client.PutItem(call, &dynamodb.PutItemInput{TableName: &s.Table, Item: i,
		ConditionExpression: &c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: orNil(c.values),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	return s.conditional(ctx, "PutItem", i, err)
}

// update changes an item when c allows it; current is the item as it then
// stands, or the one that refused.
func (s *Store) update(ctx context.Context, key item, change string, c condition) (current item, ok bool, err error) {
	call, cancel := bound(ctx)
	defer cancel()
	out, err := s.Client.UpdateItem(call, &dynamodb.UpdateItemInput{TableName: &s.Table, Key: key, UpdateExpression: &change,
		ConditionExpression: &c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: orNil(c.values),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if err != nil {
		return s.conditional(ctx, "UpdateItem", nil, err)
	}
	return out.Attributes, true, nil
}

func (s *Store) conditional(ctx context.Context, action string, written item, err error) (item, bool, error) {
	var refused *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return written, true, nil
	case errors.As(err, &refused):
		return refused.Item, false, nil
	}
	return nil, false, s.fault(ctx, action, err)
}

// orNil is for DynamoDB, which refuses an empty map.
func orNil(i item) map[string]types.AttributeValue {
	if len(i) == 0 {
		return nil
	}
	return i
}

// query gives one page of a query, of one key's items in the order of their sort
// keys, and the key to go on behind, nil at the end.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) ([]item, item, error) {
	call, cancel := bound(ctx)
	defer cancel()
	in.TableName = &s.Table
	out, err := s.Client.Query(call, in)
	if err != nil {
		return nil, nil, s.fault(ctx, "Query", err)
	}
	items := make([]item, len(out.Items))
	for i := range out.Items {
		items[i] = out.Items[i]
	}
	return items, out.LastEvaluatedKey, nil
}

// getAll reads the items of many keys, in no order; what is missing is left out.
func (s *Store) getAll(ctx context.Context, keys []item, strong bool) (found []item, err error) {
	call, cancel := bound(ctx)
	defer cancel()
	for part := range slices.Chunk(keys, 100) { // BatchGetItem's limit
		ask := types.KeysAndAttributes{ConsistentRead: &strong}
		for _, k := range part {
			ask.Keys = append(ask.Keys, k)
		}
		for try := 1; len(ask.Keys) > 0; try++ {
			out, err := s.Client.BatchGetItem(call, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{s.Table: ask}})
			if err != nil {
				return nil, s.fault(ctx, "BatchGetItem", err)
			}
			for _, i := range out.Responses[s.Table] {
				found = append(found, i)
			}
			ask = out.UnprocessedKeys[s.Table]
			if len(ask.Keys) > 0 {
				if err := s.pause(call, try); err != nil {
					return nil, s.fault(ctx, "BatchGetItem", err)
				}
			}
		}
	}
	return found, nil
}

// keyOf is the table key of an item or index entry.
func keyOf(i item) item { return item{"pk": i["pk"], "sk": i["sk"]} }

func limitOf(n int) *int32 { return aws.Int32(int32(min(max(n, 1), 1000))) }
