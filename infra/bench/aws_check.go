package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
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
// anew, which docs/cost.md leaves out. Every other call that is in no row is one
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
	// Fill is how many of Got filled the functions' caches.
	Fill  float64
	Agree bool
}

// check sets the calls of a scenario against what docs/cost.md says. Sends,
// writes and schedules must be as many as there. Reads may be more by what fills
// caches: a process of Deliver keeps a subscription and its topic for five
// seconds, so that an invocation reads two items for each of its jobs at most,
// and a process of Publish reads its key and the signing key when it starts.
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
		if n.call == getItem {
			k.Fill = k.Got - k.Want
			k.Agree = k.Fill > -0.5 && k.Fill <= r.mostFills()+0.5
		} else {
			k.Agree = math.Abs(k.Got-k.Want) < 0.5
		}
		if k.Got > 0 || k.Want > 0.5 {
			checks = append(checks, k)
		}
	}
	for action, n := range got {
		if !started[action] {
			checks = append(checks, awsCheck{Action: action, Got: n})
		}
	}
	return checks
}

// mostFills is how many reads can be the caches'.
func (r awsRow) mostFills() float64 {
	records := 0
	for _, l := range r.Seen.Lanes {
		records += l.Records
	}
	return float64(2*records + 2*r.Calls["publish"]["kms:Decrypt"] + 2*r.Calls["publish"]["dynamodb:Query"])
}
