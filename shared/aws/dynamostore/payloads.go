package dynamostore

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// maxPayload bounds what a stored payload unpacks to: SQS's largest message.
const maxPayload = 1 << 20

// maxPacked is what of DynamoDB's 400 KB an item's other attributes leave.
const maxPacked = 399_000

// PutPayload keeps a body under a name until expires at least. It is written
// once: the same name holds the same body, and a second call at most prolongs it.
// A body that no item can hold is refused (*pipeline.RefusedError).
func (s *Store) PutPayload(ctx context.Context, name, body string, expires time.Time) error {
	var packed bytes.Buffer
	// A job is base64 in JSON: packed it is a quarter smaller, and so is the bill.
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, body); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if n := packed.Len(); n > maxPacked {
		return &pipeline.RefusedError{Reason: fmt.Sprintf("a payload has at most %d bytes packed, this one %d", maxPacked, n)}
	}
	i := newItem(payloadKey(name))
	i["body"] = &types.AttributeValueMemberB{Value: packed.Bytes()}
	i.setTTL(expires)
	_, _, err := s.put(ctx, i, condition{"attribute_not_exists(pk) OR #ttl < :ttl", map[string]string{"#ttl": TTLAttribute}, item{":ttl": i[TTLAttribute]}})
	return err
}

// Payload reads a body; false when there is none of the name.
func (s *Store) Payload(ctx context.Context, name string) (body string, ok bool, err error) {
	i, err := s.get(ctx, key(payloadKey(name)), true)
	if err != nil || i == nil {
		return "", false, err
	}
	if err := read(i).fault("a payload"); err != nil {
		return "", false, err
	}
	packed, _ := i["body"].(*types.AttributeValueMemberB)
	if packed == nil {
		return "", false, unreadable(fmt.Errorf("it has no body"))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Value))
	if err != nil {
		return "", false, unreadable(err)
	}
	b, err := io.ReadAll(io.LimitReader(z, maxPayload+1))
	if err == nil && len(b) > maxPayload {
		err = fmt.Errorf("it unpacks to more than %d bytes", maxPayload)
	}
	if err != nil {
		return "", false, unreadable(err)
	}
	return string(b), true, nil
}

func unreadable(err error) error {
	return &push.Error{Code: push.CodeInternalError, Text: "A stored message cannot be read.", Cause: fmt.Errorf("payload: %w", err)}
}
