package pipeline

import (
	"fmt"
	"strings"
	"time"

	"postino/shared/push"
)

// limits bound an exploration.
type limits struct {
	faults, waits, redrives int
	// retries is the policy's numRetries.
	retries int
	// stalls lets one fault lapse a live worker's lease and bring its message
	// back, as a pause of minutes does; without it each is a fault of its own.
	stalls bool
	// exact tells apart messages that differ only in what sets delays, and lets
	// every kind of wait occur; otherwise all waits are for a slot.
	exact bool
	// unreduced tries the steps that commute in every order too.
	unreduced bool
	// permanent lets the endpoint answer a permanent fault too.
	permanent bool
}

// violation is a broken promise and the shortest way to it.
type violation struct {
	promise int
	what    string
	trace   []string
}

func (v *violation) String() string {
	return fmt.Sprintf("promise %d: %s\n  %s", v.promise, v.what, strings.Join(v.trace, "\n  "))
}

// explorer visits every point that can be reached within its limits, the
// nearest first.
type explorer struct {
	*world
	limits
	seen   map[point]int32
	points []point
	parent []int32
	edges  [][2]int32
	ends   []int32
	// telling makes the steps come with their names.
	telling bool
}

func explore(c *code, l limits) (*explorer, *violation) {
	e := &explorer{world: newWorld(c), limits: l, seen: map[point]int32{}}
	e.world.exact = l.exact
	first := push.Job{Kind: push.Notification, Subscription: crashSub, Attempt: 1,
		Message: push.Message{ID: "6e2d9d4e-8a0e-4a0e-9b5e-0d5b8f1a7c11", TopicARN: crashTopic, Body: "hello", Timestamp: crashStart}}
	p := point{waits: uint8(l.waits), redrives: uint8(l.redrives)}
	p.recs[0].owner, p.recs[1].owner = nobody, nobody
	p.add(held{e.message(crashNames.Attempt, Outgoing{Body: first.Encode()}, 0), nobody})
	e.visit(p, -1)
	for i := 0; i < len(e.points); i++ {
		from := e.points[i]
		if promise, what := e.broken(&from); what != "" {
			return e, &violation{promise, what, e.trace(int32(i))}
		}
		if from.quiet() {
			e.ends = append(e.ends, int32(i))
		}
		e.successors(from, func(to point, _ string) { e.visit(to, int32(i)) })
	}
	return e, e.stuck()
}

func (e *explorer) visit(p point, from int32) {
	id, ok := e.seen[p]
	if !ok {
		id = int32(len(e.points))
		e.seen[p] = id
		e.points = append(e.points, p)
		e.parent = append(e.parent, from)
	}
	if from >= 0 {
		e.edges = append(e.edges, [2]int32{from, id})
	}
}

// trace tells the shortest way to a point.
func (e *explorer) trace(i int32) (steps []string) {
	e.telling = true
	for ; e.parent[i] >= 0; i = e.parent[i] {
		name := ""
		e.successors(e.points[e.parent[i]], func(to point, step string) {
			if to == e.points[i] {
				name = step
			}
		})
		steps = append([]string{name}, steps...)
	}
	e.telling = false
	return steps
}

// broken checks a point against promises 1 to 3; promise 4 is checked at each
// push, see early.
func (e *explorer) broken(p *point) (int, string) {
	if p.parked {
		return 1, "a job went to FailedJobsQueue"
	}
	if p.quiet() && !p.ended {
		return 1, "lost: neither delivered nor dead-lettered, and no message is left"
	}
	for _, r := range p.recs {
		if p.quiet() && r.id != 0 && !e.records[r.id].State.Ended() {
			return 1, fmt.Sprintf("the delivery has ended, but its record says %s", e.records[r.id].State)
		}
	}
	if n := e.copies(p); n > 1+int(p.faults) {
		return 2, fmt.Sprintf("%d copies of one job after %d faults", n, p.faults)
	}
	if most := (1 + e.retries) * (1 + e.limits.redrives - int(p.redrives)); int(p.pushes) > most {
		return 3, fmt.Sprintf("%d pushes more than crashes, repeats and failed writes account for; the policy allows %d", p.pushes, most)
	}
	for _, at := range p.at {
		if at != 0 {
			if why := e.nodes[at].early; why != "" {
				return 4, why
			}
		}
	}
	return 0, ""
}

// copies is the most messages there are of one job, not counting an original
// whose replacement has just been sent.
func (e *explorer) copies(p *point) (most int) {
	for i := range p.msgs[:p.n] {
		n := 0
		for _, m := range p.msgs[:p.n] {
			same := e.kinds[m.kind].number == e.kinds[p.msgs[i].kind].number
			if same && (m.by == nobody || !e.nodes[p.at[m.by]].replaced) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// early says why the push that n is about to make would come too soon: before
// the retry's delay, counted from the recorded end of the attempt before, or
// before its slot; or with more than a tenth of jitter.
func (w *world) early(n *node) string {
	if n.pending.op != opPush {
		return ""
	}
	j := w.kindOf(n).job
	if n.pending.at.Before(j.Slot) {
		return fmt.Sprintf("attempt %d is pushed before its throttle slot", j.Attempt)
	}
	for at := n; at.parent != nil; at = at.parent {
		if at.parent.pending.op != opClaim || !at.via.ok || j.Attempt == 1 {
			continue
		}
		history := w.records[at.via.current].Attempts
		due := history[len(history)-1].Ended.Add(crashDelay)
		switch {
		case history[len(history)-1].Number != j.Attempt-1:
			return fmt.Sprintf("attempt %d follows attempt %d", j.Attempt, history[len(history)-1].Number)
		case n.pending.at.Before(due):
			return fmt.Sprintf("attempt %d is pushed %s early", j.Attempt, due.Sub(n.pending.at))
		case j.NotBefore.Before(due):
			return fmt.Sprintf("attempt %d says it is due %s early", j.Attempt, due.Sub(j.NotBefore))
		}
	}
	return ""
}

// crashDelay is the delay of both retries of crashPolicy.
const crashDelay = 20 * time.Second

// crashPolicy has a rate, so that every attempt asks for a slot.
const crashPolicy = `{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":2},"throttlePolicy":{"maxReceivesPerSecond":1}}`

// stuck finds a point from which no schedule, faultless ones included, leads to
// an end: a message that goes round forever.
func (e *explorer) stuck() *violation {
	into := make([][]int32, len(e.points))
	for _, edge := range e.edges {
		into[edge[1]] = append(into[edge[1]], edge[0])
	}
	ended := make([]bool, len(e.points))
	next := append([]int32(nil), e.ends...)
	for _, i := range next {
		ended[i] = true
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for _, from := range into[i] {
			if !ended[from] {
				ended[from] = true
				next = append(next, from)
			}
		}
	}
	for i, ok := range ended {
		if !ok {
			return &violation{1, "stuck: no way leads to an end from here", e.trace(int32(i))}
		}
	}
	return nil
}
