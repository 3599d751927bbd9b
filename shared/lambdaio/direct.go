package lambdaio

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// DirectPublish is the payload of a direct invoke of the publish function. Its
// members mean what the parameters of SNS's Publish mean; with Entries it is a
// PublishBatch and the message stands in the entries alone. An asynchronous invoke
// shows its answer to nobody, so its entries that fail are noticed by nobody: send
// one message with each.
type DirectPublish struct {
	TopicARN string `json:"topicArn"`
	DirectMessage
	// Entries are one to ten messages, each with an id of its own.
	Entries []DirectEntry `json:"entries"`
}

// DirectMessage is one message to publish.
type DirectMessage struct {
	Message string `json:"message"`
	// Subject is nil when absent.
	Subject           *string                    `json:"subject"`
	MessageStructure  string                     `json:"messageStructure"`
	MessageAttributes map[string]DirectAttribute `json:"messageAttributes"`
	// TraceParent and TraceState are the W3C trace context that goes on to the
	// endpoints where POSTINO_TRACE is yes; what is not valid is left out. Beside
	// Entries they stand for the entries that have none of their own.
	TraceParent string `json:"traceparent"`
	TraceState  string `json:"tracestate"`
}

// DirectEntry is one message of a batch; ID has 1 to 80 letters, digits, hyphens
// and underscores.
type DirectEntry struct {
	ID string `json:"id"`
	DirectMessage
}

// DirectAttribute is one message attribute. BinaryValue is standard base64 and
// goes with Binary types, StringValue with all others.
type DirectAttribute struct {
	DataType    string  `json:"dataType"`
	StringValue *string `json:"stringValue"`
	BinaryValue *string `json:"binaryValue"`
}

// PublishAnswer answers a publish of one message.
type PublishAnswer struct {
	MessageID string `json:"messageId"`
}

// BatchAnswer answers a publish of entries: each is in one of the two lists,
// neither of which is ever null.
type BatchAnswer struct {
	Successful []BatchSuccess `json:"successful"`
	Failed     []BatchFailure `json:"failed"`
}

// BatchSuccess is an accepted entry.
type BatchSuccess struct {
	ID        string `json:"id"`
	MessageID string `json:"messageId"`
}

// BatchFailure is a refused entry, with the code and text SNS would give.
// SenderFault is false when publishing the same entry again may succeed.
type BatchFailure struct {
	ID          string    `json:"id"`
	Code        push.Code `json:"code"`
	Message     string    `json:"message"`
	SenderFault bool      `json:"senderFault"`
}

// publishDirect names what it publishes after the invocation.
func (h PublishHandler) publishDirect(ctx context.Context, raw json.RawMessage, invocation string) (any, error) {
	var d DirectPublish
	if err := strict(raw, &d); err != nil {
		return nil, push.Errorf(push.CodeValidationError, "The direct publish cannot be read: %s", jsonProblem(err))
	}
	if _, err := push.ParseARN(d.TopicARN); err != nil {
		return nil, push.Invalid("TopicArn Reason: %s", err)
	}
	request := pipeline.PublishRequest{TopicARN: d.TopicARN, Invocation: invocation}
	if d.Entries == nil {
		p, err := d.publication("")
		if err != nil {
			return nil, err
		}
		request.Entries = []push.Publication{p}
		return h.publishOne(ctx, request)
	}
	if !d.empty() {
		return nil, push.Errorf(push.CodeValidationError, "A direct publish has either entries or a message of its own, not both.")
	}
	for i := range d.Entries {
		if e := &d.Entries[i]; e.TraceParent == "" {
			e.TraceParent, e.TraceState = d.TraceParent, d.TraceState
		}
	}
	return h.publishEntries(ctx, request, d.Entries)
}

func (h PublishHandler) publishOne(ctx context.Context, r pipeline.PublishRequest) (any, error) {
	results, err := h.Publisher.Publish(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := results[0].Err; err != nil {
		return nil, err
	}
	return PublishAnswer{results[0].MessageID}, nil
}

// publishEntries sends on what can be read of a batch and puts the rest on the
// list of failures, as PublishBatch does.
func (h PublishHandler) publishEntries(ctx context.Context, r pipeline.PublishRequest, entries []DirectEntry) (any, error) {
	if err := checkBatch(entries); err != nil {
		return nil, err
	}
	answer := BatchAnswer{Successful: []BatchSuccess{}, Failed: []BatchFailure{}}
	for _, e := range entries {
		p, err := e.publication(e.ID)
		if err != nil {
			answer.Failed = append(answer.Failed, h.failure(ctx, e.ID, err))
			continue
		}
		r.Entries = append(r.Entries, p)
	}
	if len(r.Entries) == 0 {
		return answer, nil
	}
	results, err := h.Publisher.Publish(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, result := range results {
		if result.Err != nil {
			answer.Failed = append(answer.Failed, h.failure(ctx, result.EntryID, result.Err))
		} else {
			answer.Successful = append(answer.Successful, BatchSuccess{result.EntryID, result.MessageID})
		}
	}
	return answer, nil
}

func (h PublishHandler) failure(ctx context.Context, id string, err error) BatchFailure {
	e := asError(err)
	h.logFault(ctx, e)
	return BatchFailure{ID: id, Code: e.Code, Message: e.Text, SenderFault: e.Code.HTTPStatus() < 500}
}

// invocation names the invoke across Lambda's own retries: an asynchronous invoke
// keeps its request id when it is tried again, so it publishes the same message
// ids again. "" when there is no request id.
func invocation(requestID string) string {
	if requestID == "" {
		return ""
	}
	return "lambda:" + requestID
}

func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

func (m DirectMessage) empty() bool {
	return m.Message == "" && m.Subject == nil && m.MessageStructure == "" && m.MessageAttributes == nil
}

func (m DirectMessage) publication(id string) (push.Publication, error) {
	p := push.Publication{EntryID: id, Message: m.Message, Subject: m.Subject, Structure: m.MessageStructure,
		Trace: push.ParseTrace(m.TraceParent, m.TraceState)}
	for name, a := range m.MessageAttributes {
		value, err := a.value(name)
		if err != nil {
			return p, err
		}
		p.Attributes = append(p.Attributes, push.Attribute{Name: name, Type: a.DataType, Value: value})
	}
	slices.SortFunc(p.Attributes, func(a, b push.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// value takes the one member that the type calls for. Whether name, type and text
// are valid is for push.Publication.Validate.
func (a DirectAttribute) value(name string) (string, error) {
	wanted, other, field := a.StringValue, a.BinaryValue, "stringValue"
	if (push.Attribute{Type: a.DataType}).Binary() {
		wanted, other, field = other, wanted, "binaryValue"
	}
	if other != nil || wanted == nil {
		return "", push.Errorf(push.CodeParameterValueInvalid, "The message attribute '%s' of type '%s' must have a %s and nothing else.", name, a.DataType, field)
	}
	if field == "binaryValue" {
		if _, err := base64.StdEncoding.DecodeString(*wanted); err != nil {
			return "", push.Errorf(push.CodeParameterValueInvalid, "The binaryValue of message attribute '%s' is not base64.", name)
		}
	}
	return *wanted, nil
}

// checkBatch judges a batch as a whole (SNS API reference, PublishBatch).
func checkBatch(entries []DirectEntry) error {
	switch {
	case len(entries) == 0:
		return push.Errorf(push.CodeEmptyBatch, "The batch request doesn't contain any entries.")
	case len(entries) > pipeline.MaxBatch:
		return push.Errorf(push.CodeTooManyEntries, "The batch request contains more entries than permissible.")
	}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if !validEntryID(e.ID) {
			return push.Errorf(push.CodeInvalidBatchEntryID, "A batch entry's id must have 1 to 80 letters, digits, hyphens and underscores.")
		}
		if seen[e.ID] {
			return push.Errorf(push.CodeBatchIDsNotDistinct, "Two or more batch entries in the request have the same Id.")
		}
		seen[e.ID] = true
	}
	return nil
}

func validEntryID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return id != "" && len(id) <= 80 && strings.Trim(id, letters) == ""
}
