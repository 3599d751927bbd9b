package conformance

import (
	"context"
	"time"

	"postino/shared/pipeline"
)

// Queue is a queue with both ends, as the suite exercises it: sending is the
// pipeline's port, receiving is what event sources and redrive use.
type Queue interface {
	pipeline.Queues
	// Receive hides up to max messages for the visibility timeout. It waits up to
	// wait for the first one.
	Receive(ctx context.Context, queue string, max int, visibility, wait time.Duration) ([]pipeline.Incoming, error)
	// Delete acknowledges by receipt; a stale receipt deletes nothing and is no error.
	Delete(ctx context.Context, queue string, receipts []string) error
	// ChangeVisibility makes a received message reappear after d from now.
	ChangeVisibility(ctx context.Context, queue, receipt string, d time.Duration) error
}
