package main

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// observed is what the functions' logs say of a time (docs/telemetry.md).
type observed struct {
	// Invocations by function, from Lambda's own START lines.
	Invocations map[string]int
	// Lanes are the deliver function's batches, by the queue they came from.
	Lanes map[string]lane
	// LatenessMS is how late attempts with a due time began, by the functions'
	// own clock, which knows the jitter.
	LatenessMS []float64
}

// lane sums up batch lines.
type lane struct {
	Batches, Records, Waited, Faults, Returned int
}

// fill is the mean number of records in an invocation.
func (l lane) fill() figure { return figure(float64(l.Records) / float64(l.Batches)) }

// add reads one line of a function's log. Lines that are neither Lambda's nor
// JSON are nothing to it.
func (o *observed) add(function, line string) {
	if strings.HasPrefix(line, "START RequestId:") {
		o.Invocations[function]++
		return
	}
	var l struct {
		Msg, Lane                         string
		Records, Waited, Faults, Returned int
	}
	var metrics struct {
		AWS      json.RawMessage `json:"_aws"`
		Lane     string
		Lateness []float64
	}
	if json.Unmarshal([]byte(line), &metrics) == nil && metrics.AWS != nil {
		o.LatenessMS = append(o.LatenessMS, metrics.Lateness...)
		return
	}
	if json.Unmarshal([]byte(line), &l) != nil || l.Msg != "batch" {
		return
	}
	sum := o.Lanes[l.Lane]
	sum.Batches++
	sum.Records, sum.Waited = sum.Records+l.Records, sum.Waited+l.Waited
	sum.Faults, sum.Returned = sum.Faults+l.Faults, sum.Returned+l.Returned
	o.Lanes[l.Lane] = sum
}

// observe reads the functions' logs from a time on.
func (s *awsSuite) observe(since time.Time) (observed, error) {
	o := observed{Invocations: map[string]int{}, Lanes: map[string]lane{}}
	for _, function := range s.stack.functions {
		group := "/postino/" + s.stack.name + "/" + function
		pages := cloudwatchlogs.NewFilterLogEventsPaginator(s.stack.logs, &cloudwatchlogs.FilterLogEventsInput{
			LogGroupName: &group, StartTime: aws.Int64(since.UnixMilli())})
		for pages.HasMorePages() {
			page, err := pages.NextPage(s.ctx)
			if err != nil {
				return o, err
			}
			for _, e := range page.Events {
				o.add(function, aws.ToString(e.Message))
			}
		}
	}
	slices.Sort(o.LatenessMS)
	return o, nil
}

// quietFor is how long the logs must say nothing new for the functions to be
// taken for idle. An invocation logs when it ends, after its deliveries.
const quietFor = 1200 * time.Millisecond

// quiet waits until the functions are idle and gives what they did since.
func (s *awsSuite) quiet(since time.Time) (observed, error) {
	last, err := s.observe(since)
	for moved := time.Now(); err == nil && time.Since(moved) < quietFor; {
		s.pass(300 * time.Millisecond)
		var now observed
		if now, err = s.observe(since); err == nil && !reflect.DeepEqual(now, last) {
			last, moved = now, time.Now()
		}
		if s.ctx.Err() != nil {
			err = s.ctx.Err()
		}
	}
	return last, err
}

// callRecord is the emulator's file with a line for each call of a function:
// FUNCTION ACTION.
type callRecord struct{ path string }

// offset is where the file ends now.
func (c callRecord) offset() (int64, error) {
	i, err := os.Stat(c.path)
	if err != nil {
		return 0, err
	}
	return i.Size(), nil
}

// since counts the calls behind an offset by function and action. Functions of
// other stacks do not count.
func (c callRecord) since(from int64, functions map[string]string) (map[string]map[string]int, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	calls := map[string]map[string]int{}
	lines := bufio.NewScanner(io.NewSectionReader(f, from, math.MaxInt64-from))
	for lines.Scan() {
		name, action, _ := strings.Cut(lines.Text(), " ")
		function, ours := functions[name]
		if !ours {
			continue
		}
		if calls[function] == nil {
			calls[function] = map[string]int{}
		}
		calls[function][action]++
	}
	return calls, lines.Err()
}
