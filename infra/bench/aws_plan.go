package main

import "time"

// scenario is one load on a stack.
type scenario struct {
	name string
	// fanOut is the number of subscriptions, batch how many messages a call
	// publishes, messages how many there are.
	fanOut, batch int
	messages      int64
	// lane is the receiver's.
	lane string
	// policy is the subscriptions' DeliveryPolicy, wait the retry delay in it.
	policy string
	wait   time.Duration
	// slack is how many calls more of a kind there may be than expect says.
	slack map[string]float64
	// expect says what the scenario should cost by the rows of docs/cost.md.
	expect func(r awsRow) []share
}

const (
	// queueWait is a delay within every queue's, scheduleWait one beyond that of a
	// stack with mostQueueDelay.
	queueWait      = 3 * time.Second
	scheduleWait   = 12 * time.Second
	mostQueueDelay = 10 * time.Second
)

// scenarios are all of them, in a quick run with fewer messages.
func scenarios(quick bool) []scenario {
	n := func(full, small int64) int64 {
		if quick {
			return small
		}
		return full
	}
	return []scenario{
		{name: "fan-out 1, Publish", fanOut: 1, batch: 1, messages: n(100, 10), lane: "s", expect: published("first-1")},
		{name: "fan-out 1, PublishBatch", fanOut: 1, batch: 10, messages: n(500, 20), lane: "s", expect: published("first-10")},
		{name: "fan-out 10, Publish", fanOut: 10, batch: 1, messages: n(50, 5), lane: "s", expect: published("first-10")},
		{name: "fan-out 10, PublishBatch", fanOut: 10, batch: 10, messages: n(100, 10), lane: "s", expect: publishedWide},
		{name: "flaky, retried by the queue", fanOut: 1, batch: 10, messages: n(200, 20), lane: "tenth", policy: fixed(3, queueWait), wait: queueWait, expect: failedOnce(false)},
		{name: "flaky, retried by schedules", fanOut: 1, batch: 10, messages: n(200, 20), lane: "tenth", policy: fixed(3, scheduleWait), wait: scheduleWait, expect: failedOnce(true)},
		{name: "throttled to 2 a second", fanOut: 1, batch: 1, messages: n(20, 6), lane: "s", policy: `{"throttlePolicy":{"maxReceivesPerSecond":2}}`,
			slack: idleSlots, expect: throttled},
	}
}

// idleSlots: the first slot after an idle time takes a refused write more, and
// each process that is at it at the same time another one.
var idleSlots = map[string]float64{updateItem: 2 * awsClients}

// published is messages whose first attempt succeeds, by the delivery.
func published(row string) func(awsRow) []share {
	return func(r awsRow) []share { return []share{{row: row, times: float64(r.Deliveries)}} }
}

// publishedWide is ten messages a call for ten subscriptions: sends are full, as
// at fan-out 10, and the topic is read once a call.
func publishedWide(r awsRow) []share {
	return []share{
		{row: "first-10", call: sendBatch, times: float64(r.Deliveries)},
		{row: "first-1", call: getItem, times: float64(r.PublishCalls)},
	}
}

// failedOnce is batches of ten, of which what was refused once was recorded, put
// off and recorded again.
func failedOnce(scheduled bool) func(awsRow) []share {
	return func(r awsRow) []share {
		failed := float64(r.Refused)
		shares := []share{
			{row: "first-10", times: float64(r.Deliveries)},
			{row: "recovered", times: failed},
			putBack(r),
		}
		if scheduled { // its send is among those that put back
			return append(shares,
				share{row: "first-failed-scheduled", call: putItem, times: failed},
				share{row: "first-failed-scheduled", call: createSchedule, times: failed})
		}
		return append(shares, share{row: "first-failed", times: failed})
	}
}

// throttled is the row of that name; how many find no slot within two seconds
// depends on when they come.
func throttled(r awsRow) []share {
	return []share{
		{row: "first-1", times: float64(r.Deliveries)},
		{row: "throttled", call: updateItem, times: float64(r.Deliveries)},
		putBack(r),
	}
}

// putBack is one send for each job that was put back to wait: for a slot, or for
// the rest of a wait whose schedule aims early.
func putBack(r awsRow) share {
	waited := 0
	for _, l := range r.Seen.Lanes {
		waited += l.Waited
	}
	return share{row: "retry", call: sendBatch, times: float64(waited)}
}
