package pipeline

import (
	"fmt"
	"slices"
	"time"

	"postino/shared/push"
)

// workers that may be under way at once.
const workers = 2

// nobody owns a message that is visible, or a claim whose owner is gone.
const nobody = -1

// point is a state of the world: what is stored and how far each worker is.
// Equal points behave equally, so each is visited once.
type point struct {
	msgs [8]held // sorted, the first n
	n    uint8
	// recs are the records of the first and of the redriven generation.
	recs [2]kept
	// at is each worker's node, 0 when idle.
	at [workers]int16

	faults, waits, redrives uint8
	// pushes counts up by one for each push and down by one for each fault that
	// may cost one: crashes, reappearances, lapsed leases, writes that failed
	// behind a push, sends that failed and yet took effect.
	pushes int8
	// ended: it was delivered or dead-lettered; letter is the latest dead letter
	// that may be sent again.
	ended  bool
	letter int16
	parked bool
}

// held is a queue message and the worker that holds it.
type held struct {
	kind int16
	by   int8
}

// kept is a stored record.
type kept struct {
	id     int16
	owner  int8
	leased bool
}

func (p *point) add(m held) {
	if int(p.n) == len(p.msgs) {
		panic("more copies than a point can hold")
	}
	p.msgs[p.n] = m
	p.n++
	p.sort()
}

func (p *point) remove(i int) {
	copy(p.msgs[i:], p.msgs[i+1:p.n])
	p.n--
	p.msgs[p.n] = held{}
}

func (p *point) sort() {
	slices.SortFunc(p.msgs[:p.n], func(a, b held) int {
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		return int(a.by) - int(b.by)
	})
}

func (p *point) heldBy(w int) int {
	return slices.IndexFunc(p.msgs[:p.n], func(m held) bool { return m.by == int8(w) })
}

// idle ends worker w: its claim, if any, is nobody's now.
func (p *point) idle(w int) {
	p.at[w] = 0
	for i := range p.recs {
		if p.recs[i].owner == int8(w) {
			p.recs[i].owner = nobody
		}
	}
}

// lapse ends the leases of worker w.
func (p *point) lapse(w int) (any bool) {
	for i := range p.recs {
		if p.recs[i].leased && p.recs[i].owner == int8(w) {
			p.recs[i].leased = false
			any = true
		}
	}
	return any
}

func (p *point) quiet() bool { return p.n == 0 && p.at == [workers]int16{} }

// world is what the explorer knows besides points: the code, and the queue
// messages and nodes that points name by number.
type world struct {
	*code
	nodes []*node
	kinds []kind
	named map[string]int16
	// exact tells apart messages that differ only in what sets delays.
	exact bool
}

// kind is a queue message, up to its identity.
type kind struct {
	record Record
	job    push.Job
	letter bool
	// number is the same for all messages of one attempt of one generation.
	number int
	// again is the same message once it was received before.
	again int16
	early *node
	fresh *node
}

func newWorld(c *code) *world {
	return &world{code: c, nodes: make([]*node, 1), kinds: make([]kind, 1), named: map[string]int16{}}
}

// id numbers a node. Nodes with the same future share a number.
func (w *world) id(n *node) int16 {
	if n.id != 0 {
		return n.id
	}
	n.replaced = w.replaced(n)
	n.early = w.early(n)
	n.idle = w.idle(n)
	future := w.future(n)
	if id, ok := w.named[future]; ok && future != "" {
		n.id = id
		return id
	}
	w.nodes = append(w.nodes, n)
	n.id = int16(len(w.nodes) - 1)
	if future != "" {
		w.named[future] = n.id
	}
	return n.id
}

// idle reports whether a crash at n is the same as one at a later node, or as
// none at all.
func (w *world) idle(n *node) bool {
	switch n.pending.op {
	case opSubscription, opTopic, opReserve:
		return true
	case opClaim: // nothing was done yet, and the message may count no more receives
		k := w.kindOf(n)
		return k == &w.kinds[k.again]
	}
	return n.done && !n.acked
}

// future describes all that can still happen from n on, where that is no more
// than sends and ends, and is "" elsewhere.
func (w *world) future(n *node) string {
	switch {
	case n.done:
		return fmt.Sprintf("done %v %v", n.acked, w.replaced(n))
	case n.pending.op == opSend || n.pending.op == opEnd:
		c := n.pending
		ok, failed := w.future(w.after(n, answer{})), w.future(w.after(n, answer{failed: true}))
		if ok == "" || failed == "" {
			return ""
		}
		return fmt.Sprintf("%s %q %q %v %d %s %v %v (%s) (%s)", c.op, c.queue, c.out.Body, c.key, c.attempt, c.state, c.reason, w.replaced(n), ok, failed)
	}
	return ""
}

// replaced reports whether the handling that led to n has sent its own job again.
func (w *world) replaced(n *node) bool {
	for ; n.parent != nil; n = n.parent {
		if sent := n.parent.pending; sent.op == opSend && !n.via.failed {
			if j, err := push.DecodeJob(sent.out.Body); err == nil && j.Attempt == w.kindOf(n).job.Attempt {
				return true
			}
		}
	}
	return false
}

func (w *world) kindOf(n *node) *kind {
	r := n.root.record
	return &w.kinds[w.message(r.Queue, Outgoing{Body: r.Body, Attributes: r.Attributes}, r.ReceiveCount-1)]
}

// message numbers a queue message; received says that it was received before.
func (w *world) message(queue string, out Outgoing, received int) int16 {
	job, err := push.DecodeJob(out.Body)
	if err == nil && !w.exact {
		job, received = plain(job, received)
		out.Body = job.Encode()
	}
	name := fmt.Sprintf("%s %d\n%s", queue, received, out.Body)
	if id, ok := w.named[name]; ok {
		return id
	}
	w.kinds = append(w.kinds, kind{job: job, letter: err != nil,
		record: Record{ID: "one", Body: out.Body, Group: out.Group, Attributes: out.Attributes, Queue: queue, ReceiveCount: received + 1}})
	id := int16(len(w.kinds) - 1)
	w.named[name] = id
	w.kinds[id].number = job.Attempt
	if job.Generation != "" {
		w.kinds[id].number += 100
	}
	again := id
	if received == 0 {
		again = w.message(queue, out, 1)
	}
	w.kinds[id].again = again
	return id
}

// plain drops from a job what only sets delays: how often it stumbled and how
// long it has waited, and of a retry how often it was received. That a first
// attempt was in hand before does matter. Explorations that are exact, with
// fewer faults, show that nothing else depends on these.
func plain(j push.Job, received int) (push.Job, int) {
	j.WaitingSince = time.Time{}
	if j.Attempt > 1 {
		j.Stumbles, received = 0, 0
	} else {
		j.NotBefore = time.Time{}
	}
	j.Stumbles = min(j.Stumbles, 1)
	return j, received
}

// clock is when the message is handled at its due time.
func (k *kind) clock() time.Time {
	at := crashStart.Add(time.Duration(max(k.job.Attempt-1, 0)) * attemptsApart)
	if k.job.Generation != "" {
		at = at.Add(24 * time.Hour)
	}
	for _, due := range []time.Time{k.job.NotBefore, k.job.Slot} {
		if due.After(at) {
			at = due
		}
	}
	return at
}

// received is the node at which the message was just received: on time, or
// some time before it is due.
func (w *world) received(id int16, early bool) *node {
	k := &w.kinds[id]
	if early {
		if k.early == nil {
			k.early = w.start(root{record: k.record, now: k.job.NotBefore.Add(-arrivesEarly)})
		}
		return k.early
	}
	if k.fresh == nil {
		k.fresh = w.start(root{record: k.record, now: k.clock()})
	}
	return k.fresh
}
