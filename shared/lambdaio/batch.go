package lambdaio

import (
	"context"
	"errors"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/pipeline"
)

// BatchHandler answers the SQS batches of the fanout, deliver and redrive
// functions. Their event source mappings must have ReportBatchItemFailures set:
// without it Lambda deletes the whole batch whatever the answer says.
type BatchHandler struct {
	// Process is the verb: it returns the ids of the records that must come back.
	Process func(ctx context.Context, records []pipeline.Record) (failed []string)
	// Log gets panics. May be nil.
	Log *slog.Logger
}

// Handle runs Process over the batch. BatchItemFailures is never nil: Go would
// write null, which not every poller takes for an empty list. When Process
// panics, or names a record that is not in the batch, the whole batch comes back:
// at worst something is done twice. The error, which fails the batch too, is for
// events that name no message to give back.
func (h BatchHandler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	if len(e.Records) == 0 {
		return answer, nil
	}
	records := make([]pipeline.Record, len(e.Records))
	known := make(map[string]bool, len(e.Records))
	for i, m := range e.Records {
		if m.MessageId == "" {
			return answer, errors.New("the SQS event has a record without a messageId")
		}
		records[i] = FromSQSMessage(m)
		known[m.MessageId] = true
	}
	for _, id := range h.failed(ctx, records, known) {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return answer, nil
}

// failed gives the ids to bring back, each once.
func (h BatchHandler) failed(ctx context.Context, records []pipeline.Record, known map[string]bool) (ids []string) {
	var named []string
	if err := guard(ctx, h.Log, func() error { named = h.Process(ctx, records); return nil }); err != nil {
		return all(records)
	}
	seen := make(map[string]bool, len(named))
	for _, id := range named {
		if !known[id] {
			logger(h.Log).ErrorContext(ctx, "a batch's failures name a message that is not in it; the whole batch comes back", "id", id)
			return all(records)
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func all(records []pipeline.Record) []string {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	return ids
}
