package pipeline

import "postino/shared/push"

// PublishRequest is a Publish (one entry) or PublishBatch (up to ten) call.
type PublishRequest struct {
	TopicARN string
	// Invocation identifies the client's call across its own retries
	// (amz-sdk-invocation-id); "" when unknown. With it a retried call
	// publishes the same message ids again.
	Invocation string
	// Event says that Invocation stands for the content too: the bytes of an event
	// may differ from one try to the next, in the spaces of its JSON say.
	Event   bool
	Entries []push.Publication
}

// PublishResult answers one entry: a message id, or why not.
type PublishResult struct {
	EntryID   string
	MessageID string
	Err       error
}

// Record is one queue message as a function receives it.
type Record struct {
	ID           string
	Body         string
	Group        string
	Attributes   []push.Attribute
	ReceiveCount int
	// Queue is the source queue's ARN.
	Queue string
}
