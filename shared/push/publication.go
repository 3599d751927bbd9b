package push

// Publication is one entry of a Publish or PublishBatch call as it came in.
type Publication struct {
	// EntryID is the batch entry's id, "" for a single Publish.
	EntryID string
	Message string
	// Subject is nil when absent.
	Subject *string
	// Structure is the MessageStructure parameter: "" or "json".
	Structure  string
	Attributes []Attribute
	// Trace is what the publisher sent of it; it is no part of the message.
	Trace Trace
	// GroupID and DeduplicationID belong to FIFO topics.
	GroupID, DeduplicationID string
}
