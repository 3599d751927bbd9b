package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Meter is the transport of an SDK that counts what its calls are billed for. An
// operation it has no price for is an error: an uncounted call would make the
// page a lie.
type Meter struct {
	Next aws.HTTPClient
	// Table reads items before and after they are written; it must not go through
	// the meter.
	Table *dynamodb.Client

	mu    sync.Mutex
	usage Usage
	calls map[string]int
}

// Do implements the SDK's HTTPClient. Calls go one after the other, lest an item
// change between its two looks.
func (m *Meter) Do(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	operation := operationOf(r)
	settle, err := m.bill(r.Context(), operation, body)
	if err != nil {
		return nil, err
	}
	resp, err := m.Next.Do(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	used, err := settle(resp.StatusCode, answer)
	if err != nil {
		return nil, err
	}
	if m.usage == nil {
		m.usage, m.calls = Usage{}, map[string]int{}
	}
	m.usage.Add(used)
	if len(used) > 0 {
		m.calls[operation]++
	}
	return resp, nil
}

// Take gives what was used since the last time, and the calls that used it.
func (m *Meter) Take() (Usage, map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, c := m.usage, m.calls
	m.usage, m.calls = Usage{}, map[string]int{}
	if u == nil {
		u, c = Usage{}, map[string]int{}
	}
	return u, c
}

// operationOf is "DynamoDB.PutItem", "SQS.SendMessage"; of REST services the
// method and the first part of the path.
func operationOf(r *http.Request) string {
	service, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		first, _, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		return r.Method + " " + first
	}
	return strings.TrimPrefix(strings.TrimPrefix(service[:strings.IndexAny(service+"_", "_")], "Amazon"), "Trent") + "." + operation
}

// settle says what a call was billed, once its answer is there.
type settle func(status int, answer []byte) (Usage, error)

func (m *Meter) bill(ctx context.Context, operation string, body []byte) (settle, error) {
	switch operation {
	case "SQS.SendMessageBatch", "SQS.SendMessage":
		return billSend(body)
	case "SQS.GetQueueUrl": // once a process and queue, which no count per delivery should show
		return always(Usage{}), nil
	case "DynamoDB.GetItem", "DynamoDB.Query":
		return billRead(body)
	case "DynamoDB.PutItem", "DynamoDB.UpdateItem":
		return m.billWrite(ctx, body)
	case "POST schedules":
		return always(Usage{Schedule: 1}), nil
	}
	return nil, fmt.Errorf("cost: nobody knows what %s is billed", operation)
}

func always(u Usage) settle { return func(int, []byte) (Usage, error) { return u, nil } }

// entry is a message on its way into a queue.
type entry struct {
	MessageBody       string
	MessageGroupId    string
	MessageAttributes map[string]struct{ DataType, StringValue, BinaryValue string }
}

func (e entry) size() int {
	n := len(e.MessageBody)
	for name, a := range e.MessageAttributes {
		n += len(name) + len(a.DataType) + len(a.StringValue) + base64.StdEncoding.DecodedLen(len(a.BinaryValue))
	}
	return n
}

func billSend(body []byte) (settle, error) {
	var in struct {
		entry
		Entries []entry
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	size, fair := in.size(), in.MessageGroupId != ""
	for _, e := range in.Entries {
		size += e.size()
		fair = fair || e.MessageGroupId != ""
	}
	return always(requests(size, fair)), nil
}

// requests is what an SQS call with so many bytes of messages is billed.
func requests(size int, fair bool) Usage {
	u := Usage{SQSRequest: chunks(size, 64<<10)}
	if fair {
		u[SQSFairRequest] = u[SQSRequest]
	}
	return u
}

func billRead(body []byte) (settle, error) {
	var in struct{ ConsistentRead bool }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	return func(status int, answer []byte) (Usage, error) {
		var out struct {
			Item  json.RawMessage
			Items []json.RawMessage
		}
		if status != http.StatusOK {
			return Usage{ReadUnit: 1}, nil
		}
		if err := json.Unmarshal(answer, &out); err != nil {
			return nil, err
		}
		size := len(out.Item) // JSON is longer than the item: an upper bound
		for _, i := range out.Items {
			size += len(i)
		}
		units := chunks(size, 4<<10)
		if !in.ConsistentRead {
			units /= 2
		}
		return Usage{ReadUnit: units}, nil
	}, nil
}

// billWrite looks at the item before and after. A refused condition is billed as
// a write of what is there.
func (m *Meter) billWrite(ctx context.Context, body []byte) (settle, error) {
	type keys struct{ PK, SK struct{ S string } }
	var in struct {
		TableName string
		Key, Item struct {
			PK struct{ S string } `json:"pk"`
			SK struct{ S string } `json:"sk"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	k := keys{in.Key.PK, in.Key.SK}
	if k.PK.S == "" {
		k = keys{in.Item.PK, in.Item.SK}
	}
	look := func() (item, error) {
		out, err := m.Table.GetItem(ctx, &dynamodb.GetItemInput{TableName: &in.TableName, ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: k.PK.S}, "sk": &types.AttributeValueMemberS{Value: k.SK.S}}})
		if err != nil {
			return nil, err
		}
		return out.Item, nil
	}
	before, err := look()
	if err != nil {
		return nil, err
	}
	return func(status int, _ []byte) (Usage, error) {
		if status != http.StatusOK {
			return Usage{WriteUnit: chunks(before.size(), 1<<10)}, nil
		}
		after, err := look()
		return Usage{WriteUnit: writeUnits(before, after)}, err
	}, nil
}
