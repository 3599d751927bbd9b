package dynamostore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

// itemVersion is written into every item as "v". Its own and all older ones are
// read.
const itemVersion = 1

// item is a DynamoDB item. Zero values are left out.
type item map[string]types.AttributeValue

func newItem(pk, sk string) item {
	return item{"pk": text(pk), "sk": text(sk), "v": number(itemVersion)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number[N int | int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func (i item) setText(name, s string) {
	if s != "" {
		i[name] = text(s)
	}
}

func (i item) setBool(name string, b bool) {
	if b {
		i[name] = &types.AttributeValueMemberBOOL{Value: true}
	}
}

func (i item) setTime(name string, t time.Time) {
	if !t.IsZero() {
		i[name] = text(instant(t))
	}
}

// setTTL sets when DynamoDB may delete the item: not before t, and within some
// days after it.
func (i item) setTTL(t time.Time) {
	if !t.IsZero() {
		i["ttl"] = number(t.Unix() + 1)
	}
}

// instant writes a time as text of fixed width, so that conditions and sort keys
// compare it and people can read it: UTC with nanoseconds.
func instant(t time.Time) string { return t.UTC().Format(instantForm) }

const instantForm = "2006-01-02T15:04:05.000000000Z"

// fields reads an item and keeps the first error.
type fields struct {
	item
	err error
}

// read begins to read an item and judges its version.
func read(i item) *fields {
	f := &fields{item: i}
	if v := f.number("v"); f.err == nil && (v < 1 || v > itemVersion) {
		f.err = fmt.Errorf("it has schema version %d, this build reads 1 to %d", v, itemVersion)
	}
	return f
}

// fault is the first error, as one of the item what was read for.
func (f *fields) fault(what string) error {
	if f.err == nil {
		return nil
	}
	return &push.Error{Code: push.CodeInternalError, Cause: fmt.Errorf("the table's item of %s: %w", what, f.err),
		Text: "A stored item cannot be read. Use the build that wrote it, or restore a backup."}
}

func (f *fields) fail(name string, err error) {
	if f.err == nil {
		f.err = fmt.Errorf("attribute %s: %w", name, err)
	}
}

func (f *fields) text(name string) string {
	switch a := f.item[name].(type) {
	case nil:
		return ""
	case *types.AttributeValueMemberS:
		return a.Value
	default:
		f.fail(name, fmt.Errorf("is a %T, no string", a))
		return ""
	}
}

func (f *fields) number(name string) int64 {
	switch a := f.item[name].(type) {
	case nil:
		return 0
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(a.Value, 10, 64)
		if err != nil {
			f.fail(name, err)
		}
		return n
	default:
		f.fail(name, fmt.Errorf("is a %T, no number", a))
		return 0
	}
}

func (f *fields) bool(name string) bool {
	b, ok := f.item[name].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}

func (f *fields) time(name string) time.Time {
	s := f.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(instantForm, s)
	if err != nil {
		f.fail(name, err)
	}
	return t.UTC()
}
