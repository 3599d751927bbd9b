package telemetry

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"postino/shared/pipeline"
)

// EMF counts what happens and writes it in CloudWatch's embedded metric format
// (CloudWatch user guide, embedded metric format specification): lines of the
// function's log that CloudWatch makes metrics of, so that no attempt waits for a
// call. It is our own: the format is a few lines of JSON, and a library would bring
// buffering and flushing that know nothing of invocations.
// docs/telemetry.md lists the metrics.
//
// The only dimensions are Stack and, where it tells something, Lane: each value
// of a dimension is a metric that costs, so endpoints, topics and subscriptions
// are in the log lines alone.
type EMF struct {
	o EMFOptions

	mu sync.Mutex
	// lanes has what was counted since the last flush, "" where it came from no
	// queue of ours.
	lanes map[string]*Tally
}

// EMFOptions of NewEMF.
type EMFOptions struct {
	// Out gets whole lines, one Write for each flush; the function's own log.
	Out io.Writer
	// Stack is the dimension's value, not empty.
	Stack string
	// Queues tells which lane a queue is.
	Queues pipeline.QueueNames
}

// NewEMF counts from nought.
func NewEMF(o EMFOptions) *EMF {
	return &EMF{o: o, lanes: map[string]*Tally{}}
}

// Observe counts e.
func (m *EMF) Observe(e pipeline.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(e.Lane).add(&e)
}

// Batch counts a batch that a queue handed over, and how many of its records went
// back to it.
func (m *EMF) Batch(queue string, records, returned int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(queue)
	t.Returned += returned
	t.batchSize = append(t.batchSize, float64(records))
}

func (m *EMF) of(queue string) *Tally {
	lane := m.o.Queues.Lane(queue)
	t := m.lanes[lane]
	if t == nil {
		t = &Tally{}
		m.lanes[lane] = t
	}
	return t
}

// Flush writes what was counted since the last one, a line for each lane, of which
// a batch has one, and gives it all in one. Of invocations that run side by
// side each writes what it finds: nothing is lost or written twice, since each
// flushes when its own events are in. Nothing is written of nothing.
func (m *EMF) Flush(now time.Time) (Tally, error) {
	m.mu.Lock()
	lanes := m.lanes
	m.lanes = make(map[string]*Tally, len(lanes))
	m.mu.Unlock()
	var total Tally
	var lines []byte
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		t := lanes[lane]
		total.plus(t)
		for _, d := range m.documents(t, lane, now) {
			line, err := json.Marshal(d)
			if err != nil { // numbers that are finite, and strings
				return total, err
			}
			lines = append(append(lines, line...), '\n')
		}
	}
	if len(lines) == 0 {
		return total, nil
	}
	_, err := m.o.Out.Write(lines)
	return total, err
}

// The format's bound of values of a metric in one document; its bound of metrics,
// 100 a directive, is far off.
const maxValues = 100

// emfDocument is the root node: the metadata object _aws, and beside it what that
// refers to by name.
type emfDocument map[string]any

type emfMetadata struct {
	// Timestamp is in Unix milliseconds.
	Timestamp         int64
	CloudWatchMetrics []emfDirective
}

type emfDirective struct {
	Namespace string
	// Dimensions is a list of sets; each makes metrics of its own.
	Dimensions [][]string
	Metrics    []emfMetric
}

type emfMetric struct{ Name, Unit string }

// documents makes t's documents: one, unless some metric has more values than fit.
func (m *EMF) documents(t *Tally, lane string, now time.Time) (all []emfDocument) {
	for start := 0; ; start += maxValues {
		doc := emfDocument{"Stack": m.o.Stack}
		overall := emfDirective{Namespace: "Postino", Dimensions: [][]string{{"Stack"}}}
		byLane := emfDirective{Namespace: "Postino", Dimensions: [][]string{{"Stack", "Lane"}}}
		if start == 0 {
			for _, c := range t.counters() {
				if c.n > 0 {
					doc[c.name] = c.n
					overall.Metrics = append(overall.Metrics, emfMetric{c.name, "Count"})
				}
			}
		}
		for _, d := range t.distributions() {
			if start >= len(d.values) {
				continue
			}
			doc[d.name] = d.values[start:min(start+maxValues, len(d.values))]
			to := &overall
			if d.byLane && lane != "" {
				to = &byLane
			}
			to.Metrics = append(to.Metrics, emfMetric{d.name, d.unit})
		}
		var directives []emfDirective
		for _, d := range []emfDirective{overall, byLane} {
			if len(d.Metrics) > 0 {
				directives = append(directives, d)
			}
		}
		if directives == nil {
			return all
		}
		if lane != "" {
			doc["Lane"] = lane
		}
		doc["_aws"] = emfMetadata{now.UnixMilli(), directives}
		all = append(all, doc)
	}
}
