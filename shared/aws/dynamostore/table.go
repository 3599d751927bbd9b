package dynamostore

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Index names.
const (
	listingIndex = "listing"
	statesIndex  = "states"
)

// TTLAttribute is the attribute by which DynamoDB deletes expired items: whole
// seconds of Unix time. The table's time to live must be enabled on it.
const TTLAttribute = "ttl"

// Definition is the table as the template makes it and tests make it: on demand,
// string keys, two indexes that hold keys only.
func Definition(table string) *dynamodb.CreateTableInput {
	names := []string{"pk", "sk", listPK, listSK, statePK, stateSK}
	attributes := make([]types.AttributeDefinition, len(names))
	for i, n := range names {
		attributes[i] = types.AttributeDefinition{AttributeName: aws.String(n), AttributeType: types.ScalarAttributeTypeS}
	}
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(table),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: attributes,
		KeySchema:            keySchema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			// statePK rides along so that a subscription's deliveries can be told
			// apart by class without being read.
			{IndexName: aws.String(listingIndex), KeySchema: keySchema(listPK, listSK),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{statePK}}},
			{IndexName: aws.String(statesIndex), KeySchema: keySchema(statePK, stateSK),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
		},
	}
}

// Expiry is the table's time to live; CreateTable cannot set it.
func Expiry(table string) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(TTLAttribute), Enabled: aws.Bool(true)}}
}

func keySchema(hash, order string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(order), KeyType: types.KeyTypeRange},
	}
}
