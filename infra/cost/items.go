package main

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/aws/dynamostore"
)

// An item's size is what its names and values take in UTF-8, numbers about a byte
// for two digits (DynamoDB developer guide, item sizes).
type item map[string]types.AttributeValue

func (i item) size() (n int) {
	for name, v := range i {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(strings.Trim(v.Value, "-."))/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return 3 + item(v.Value).size() + len(v.Value)
	case *types.AttributeValueMemberL:
		n = 3
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
		return n
	default: // booleans and null
		return 1
	}
}

// writeUnits is what changing before into after costs: the larger of the two in
// started KB, and for each index that the change concerns one write, or two where
// an entry moves.
func writeUnits(before, after item) float64 {
	units := chunks(max(before.size(), after.size()), 1<<10)
	for _, x := range indexes() {
		units += x.units(before, after)
	}
	return units
}

// index is a global secondary index: its keys and what else it holds.
type index struct {
	keys []string
	all  []string
}

// indexes are those of the table's own definition.
func indexes() (out []index) {
	for _, g := range dynamostore.Definition("t").GlobalSecondaryIndexes {
		var x index
		for _, k := range g.KeySchema {
			x.keys = append(x.keys, *k.AttributeName)
		}
		x.all = append(append([]string{"pk", "sk"}, x.keys...), g.Projection.NonKeyAttributes...)
		out = append(out, x)
	}
	return out
}

func (x index) units(before, after item) float64 {
	was, is := x.entry(before), x.entry(after)
	switch {
	case was == nil && is == nil, was != nil && is != nil && same(was, is, x.all):
		return 0
	case was != nil && is != nil && !same(was, is, x.keys):
		return chunks(was.size(), 1<<10) + chunks(is.size(), 1<<10)
	default:
		return chunks(max(was.size(), is.size()), 1<<10)
	}
}

// entry is what the index holds of i, nil when it holds nothing.
func (x index) entry(i item) item {
	out := item{}
	for _, k := range x.keys {
		if i[k] == nil {
			return nil
		}
	}
	for _, name := range x.all {
		if v := i[name]; v != nil {
			out[name] = v
		}
	}
	return out
}

func same(a, b item, names []string) bool {
	for _, n := range names {
		x, _ := a[n].(*types.AttributeValueMemberS)
		y, _ := b[n].(*types.AttributeValueMemberS)
		if (x == nil) != (y == nil) || x != nil && x.Value != y.Value {
			return false
		}
	}
	return true
}
