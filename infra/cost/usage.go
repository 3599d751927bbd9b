package main

import "maps"

// Unit is something AWS bills.
type Unit string

// The units, as counts.json and prices.json name them.
const (
	// SQSRequest is a call, or each started 64 KB of one that carries more.
	SQSRequest Unit = "sqsRequest"
	// SQSFairRequest is one that concerns messages with a MessageGroupId, billed
	// on top.
	SQSFairRequest Unit = "sqsFairRequest"
	// WriteUnit is a DynamoDB write of 1 KB to the table or an index.
	WriteUnit Unit = "dynamodbWriteUnit"
	// ReadUnit is a DynamoDB strong read of 4 KB; a weak one is half of it.
	ReadUnit Unit = "dynamodbReadUnit"
	// Schedule is one invocation of EventBridge Scheduler.
	Schedule Unit = "schedule"
	// Invoke is a Lambda request.
	Invoke Unit = "lambdaRequest"
	// GBSecond is Lambda time times memory.
	GBSecond Unit = "lambdaGBSecond"
	// LogByte is a byte of log lines; EMF lines are log lines too.
	LogByte Unit = "logByte"
	// EgressByte is a byte of a push, request line and headers included.
	EgressByte Unit = "egressByte"
)

// Units in the order of the page.
var Units = []Unit{Invoke, GBSecond, SQSRequest, SQSFairRequest, WriteUnit, ReadUnit, Schedule, LogByte, EgressByte}

// Usage is how much of each unit was used.
type Usage map[Unit]float64

// Add adds more to u.
func (u Usage) Add(more Usage) {
	for unit, n := range more {
		u[unit] += n
	}
}

// Per divides by n.
func (u Usage) Per(n int) Usage {
	out := maps.Clone(u)
	for unit := range out {
		out[unit] /= float64(n)
	}
	return out
}

// chunks is how many units of the given size hold n bytes, one at least.
func chunks(n, size int) float64 { return float64(max(1, (n+size-1)/size)) }
