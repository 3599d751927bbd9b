package dynamostore

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/access"
	"postino/shared/push"
)

// CreateKey implements access.Store.
func (s *Store) CreateKey(ctx context.Context, k access.Key) (created bool, err error) {
	i := newItem(accessKey(k.ID))
	i.setTexts("actions", k.Actions)
	i.setTexts("topics", k.Topics)
	i.setText("note", k.Note)
	i.setTime("created", k.CreatedAt)
	i["sealed"] = &types.AttributeValueMemberB{Value: k.Sealed}
	i[listPK], i[listSK] = text(keyList), text(k.ID)
	// A try whose answer got lost has written the same sealed secret, which no
	// other writer can have.
	_, ok, err := s.put(ctx, i, condition{"attribute_not_exists(pk) OR sealed = :sealed", nil, item{":sealed": i["sealed"]}})
	return ok, err
}

// Key implements access.Store. It is read strongly: a key that was revoked must
// not come back from a replica.
func (s *Store) Key(ctx context.Context, id string) (access.Key, error) {
	i, err := s.get(ctx, key(accessKey(id)), true)
	if err != nil {
		return access.Key{}, err
	}
	if i == nil {
		return access.Key{}, push.Errorf(push.CodeNotFound, "Access key does not exist")
	}
	return readAccessKey(i)
}

// Keys implements access.Store. Its order comes from an index that follows
// changes within a second or so.
func (s *Store) Keys(ctx context.Context, after string, limit int) ([]access.Key, string, error) {
	items, next, err := s.list(ctx, keyList, after, limit)
	if err != nil {
		return nil, "", err
	}
	byID := map[string]access.Key{}
	for _, i := range items {
		k, err := readAccessKey(i)
		if err != nil {
			return nil, "", err
		}
		byID[k.ID] = k
	}
	return sorted(byID), next, nil
}

// DeleteKey implements access.Store.
func (s *Store) DeleteKey(ctx context.Context, id string) (existed bool, err error) {
	call, cancel := bound(ctx)
	defer cancel()
	out, err := s.Client.DeleteItem(call, &dynamodb.DeleteItemInput{TableName: &s.Table, Key: key(accessKey(id)), ReturnValues: types.ReturnValueAllOld})
	if err != nil {
		return false, s.fault(ctx, "DeleteItem", err)
	}
	return len(out.Attributes) > 0, nil
}

func readAccessKey(i item) (access.Key, error) {
	f := read(i)
	k := access.Key{ID: strings.TrimPrefix(f.text("pk"), "A#"), Actions: f.texts("actions"), Topics: f.texts("topics"),
		Note: f.text("note"), CreatedAt: f.time("created")}
	if sealed, ok := i["sealed"].(*types.AttributeValueMemberB); ok {
		k.Sealed = sealed.Value
	}
	return k, f.fault("the access key " + k.ID)
}

// setTexts writes a list of strings, none when it is empty.
func (i item) setTexts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	values := make([]types.AttributeValue, len(list))
	for n, s := range list {
		values[n] = text(s)
	}
	i[name] = &types.AttributeValueMemberL{Value: values}
}

// texts reads what setTexts wrote. Anything else in its place is a fault: an empty
// list would allow everything.
func (f *fields) texts(name string) (list []string) {
	switch a := f.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberL:
		for _, v := range a.Value {
			one := fields{item: item{name: v}}
			list = append(list, one.text(name))
			if one.err != nil {
				f.fail(name, one.err)
			}
		}
	default:
		f.fail(name, errors.New("is no list"))
	}
	return list
}
