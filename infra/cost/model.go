package main

import "time"

// The model of what no transport sees. Its figures are assumptions, stated on the
// page; the counts are not.
const (
	// deliverMB and otherMB are the functions' memory; a test compares them with
	// template.yaml.
	deliverMB = 128
	otherMB   = 256
	// overhead is what an invocation takes besides calls and pushes, and a
	// publish with its RSA signature at this memory's share of a processor.
	overhead        = 3 * time.Millisecond
	publishOverhead = 15 * time.Millisecond
	// callTime is a call of DynamoDB, SQS or Scheduler from within the region.
	callTime = 6 * time.Millisecond
	// answerTime is what an endpoint that works takes to answer, hangTime what one
	// that hangs takes from a push: the request timeout.
	answerTime = 100 * time.Millisecond
	hangTime   = 15 * time.Second
	// lambdaLines are the bytes of Lambda's own log lines for an invocation (START,
	// END, REPORT), handshake those that a new TLS connection sends, answer those
	// of a publish's answer with its headers: about. No row has them.
	lambdaLines = 300
	handshake   = 2000
	answer      = 1000
	// topicLetters is the length of the topic's name in the scenarios.
	topicLetters = 61
)

// Counted is what a scenario came to.
type Counted struct {
	Name string `json:"name"`
	// Title is the page's row, Per what one of N is: a delivery, an attempt.
	Title string `json:"title"`
	Per   string `json:"per"`
	// Fill is how many jobs came in a batch.
	Fill int `json:"fill"`
	// Usage is that of one.
	Usage Usage `json:"usage"`
	// Calls are the SDK's calls for one, as counted on the wire.
	Calls map[string]float64 `json:"calls"`
}
