package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// costs are the calls for one of each of docs/cost.md's rows, by the names that
// infra/cost gives rows and calls.
type costs map[string]map[string]float64

// Calls as infra/cost names them.
const (
	getItem        = "DynamoDB.GetItem"
	putItem        = "DynamoDB.PutItem"
	updateItem     = "DynamoDB.UpdateItem"
	sendBatch      = "SQS.SendMessageBatch"
	createSchedule = "POST schedules"
)

// named are IAM's names of the same calls, in the order of the page.
var named = []struct{ call, action string }{
	{sendBatch, "sqs:SendMessageBatch"},
	{getItem, "dynamodb:GetItem"},
	{putItem, "dynamodb:PutItem"},
	{updateItem, "dynamodb:UpdateItem"},
	{createSchedule, "scheduler:CreateSchedule"},
}

// started are calls that a process makes when it starts or reads a topic's list
// anew, which no row of docs/cost.md has. Every other call that is in no row is one
// too many.
var started = map[string]bool{"dynamodb:Query": true, "sqs:GetQueueUrl": true, "kms:Decrypt": true}

func readCosts(path string) (costs, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name  string
		Calls map[string]float64
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := costs{}
	for _, r := range rows {
		c[r.Name] = r.Calls
	}
	return c, nil
}

// share is so many times a row of docs/cost.md, of one call or, with "", of all.
type share struct {
	row, call string
	times     float64
}

// awsCheck compares one call with docs/cost.md.
type awsCheck struct {
	Action string
	// Want is what the page's counts come to, Got what was made.
	Want, Got float64
	// Beyond is how many more were made.
	Beyond float64
	Agree  bool
}

// check sets the calls of a scenario against what docs/cost.md says. Sends,
// writes and schedules must be as many as there. Reads may be more by what fills
// caches: a process of Deliver keeps a subscription and its topic for five
// seconds, and a process of Publish reads its key and the signing key when it
// starts, and its key again when it has kept that for too long.
func (c costs) check(sc scenario, r awsRow) (checks []awsCheck) {
	got := map[string]float64{}
	for _, calls := range r.Calls {
		for action, n := range calls {
			got[action] += float64(n)
		}
	}
	want := map[string]float64{}
	for _, s := range sc.expect(r) {
		for call, n := range c[s.row] {
			if s.call == "" || s.call == call {
				want[call] += n * s.times
			}
		}
	}
	for _, n := range named {
		k := awsCheck{Action: n.action, Want: want[n.call], Got: got[n.action]}
		delete(got, n.action)
		k.Beyond = k.Got - k.Want
		most := sc.slack[n.call]
		if n.call == getItem {
			most += r.mostFills()
		}
		k.Agree = k.Beyond > -0.5 && k.Beyond < most+0.5
		if k.Got > 0 || k.Want > 0.5 {
			checks = append(checks, k)
		}
	}
	for _, action := range slices.Sorted(maps.Keys(got)) {
		if !started[action] {
			checks = append(checks, awsCheck{Action: action, Got: got[action], Beyond: got[action]})
		}
	}
	return checks
}

// mostFills is how many reads can be the caches': an invocation of Deliver reads
// each of the topic's subscriptions that it has jobs of once, and its topic; a
// process of Publish asks for two items where it decrypts a key, and for the topic
// again where it reads the list. A key that is read again and is the same is not
// decrypted: what else Publish has read beside the topic, once a call at most.
func (r awsRow) mostFills() float64 {
	publish := r.Calls["publish"]
	reads := 2*publish["kms:Decrypt"] + 2*publish["dynamodb:Query"]
	calls := int(r.PublishCalls)
	reads += min(max(publish["dynamodb:GetItem"]-calls-reads, 0), calls)
	for _, l := range r.Seen.Lanes {
		reads += 2 * min(l.Records, l.Batches*r.FanOut)
	}
	return float64(reads)
}
