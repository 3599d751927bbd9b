//go:build integration

package dynamostore_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/access"
	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/conformance"
	"postino/shared/pipeline"
	"postino/shared/snsapi"
)

func open(t *testing.T) *dynamostore.Store {
	t.Helper()
	client := dynamodb.NewFromConfig(awstest.Config(t))
	return onTable(t, client, awstest.Table(t, client))
}

func onTable(t *testing.T, client *dynamodb.Client, table string) *dynamostore.Store {
	t.Helper()
	s, err := dynamostore.New(dynamostore.Config{Client: client, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// harness runs a suite; a restart is another process on the same table.
func harness[P any](p func(*dynamostore.Store) P) conformance.Harness[P] {
	return conformance.Harness[P]{
		Open: func(t *testing.T) P { return p(open(t)) },
		Reopen: func(t *testing.T, before P) P {
			was := any(before).(*dynamostore.Store)
			return p(onTable(t, dynamodb.NewFromConfig(awstest.Config(t)), was.Table))
		},
		Late: 2 * time.Second, Longest: 20 * time.Second,
	}
}

func TestTheStoreKeepsTheDirectorysPromises(t *testing.T) {
	conformance.ExerciseDirectory(t, harness(func(s *dynamostore.Store) snsapi.Directory { return s }))
}

func TestTheStoreKeepsTheKeysPromises(t *testing.T) {
	conformance.ExerciseKeys(t, harness(func(s *dynamostore.Store) access.Store { return s }))
}

func TestTheStoreKeepsTheDeliveriesPromises(t *testing.T) {
	conformance.ExerciseDeliveries(t, harness(func(s *dynamostore.Store) pipeline.Deliveries { return s }))
}

func TestTheStoreKeepsTheSlotsPromises(t *testing.T) {
	conformance.ExerciseSlots(t, harness(func(s *dynamostore.Store) pipeline.Slots { return s }))
}
