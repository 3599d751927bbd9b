//go:build integration

package integration

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"postino/shared/aws/dynamostore"
)

// The template's table and the one that the store's own tests make must not part.
func TestTheDeployedTableIsTheOneTheStoreDefines(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	name := s.output("TableName")
	out, err := s.dynamodb.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	want := dynamostore.Definition(name)
	ignore := cmpopts.IgnoreUnexported(types.AttributeDefinition{}, types.KeySchemaElement{}, types.Projection{})
	order := cmpopts.SortSlices(func(a, b types.AttributeDefinition) bool { return *a.AttributeName < *b.AttributeName })
	if d := cmp.Diff(want.KeySchema, out.Table.KeySchema, ignore); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want.AttributeDefinitions, out.Table.AttributeDefinitions, ignore, order); d != "" {
		t.Error(d)
	}
	if out.Table.BillingModeSummary.BillingMode != want.BillingMode {
		t.Errorf("it is billed %s, want %s", out.Table.BillingModeSummary.BillingMode, want.BillingMode)
	}
	type index struct {
		Keys       []types.KeySchemaElement
		Projection *types.Projection
	}
	got, defined := map[string]index{}, map[string]index{}
	for _, i := range out.Table.GlobalSecondaryIndexes {
		got[*i.IndexName] = index{i.KeySchema, i.Projection}
	}
	for _, i := range want.GlobalSecondaryIndexes {
		defined[*i.IndexName] = index{i.KeySchema, i.Projection}
	}
	if d := cmp.Diff(defined, got, ignore, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
