package pipeline

import (
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

	pushes, faults uint8
	// burned counts the faults that may cost an attempt: crashes, reappearances,
	// lapsed leases and failed writes of an attempt that was made.
	burned    uint8
	waits     uint8
	redrives  uint8
	delivered bool
	letters   uint8 // 0, 1, or 2 for several
	letter    int16
	parked    bool
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

func (w *world) id(n *node) int16 {
	if n.id == 0 {
		w.nodes = append(w.nodes, n)
		n.id = int16(len(w.nodes) - 1)
		n.replaced = w.replaced(n)
		n.early = w.early(n)
	}
	return n.id
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
	return &w.kinds[w.message(r.Queue, Outgoing{Body: r.Body}, r.ReceiveCount-1)]
}

// message numbers a queue message; received says that it was received before.
func (w *world) message(queue string, out Outgoing, received int) int16 {
	name := queue + "\n" + out.Body
	if received > 0 {
		name = "again " + name
	}
	if id, ok := w.named[name]; ok {
		return id
	}
	k := kind{record: Record{ID: "one", Body: out.Body, Group: out.Group, Attributes: out.Attributes, Queue: queue, ReceiveCount: received + 1}}
	var err error
	if k.job, err = push.DecodeJob(out.Body); err != nil {
		k.letter = true
	}
	k.number = k.job.Attempt
	if k.job.Generation != "" {
		k.number += 100
	}
	w.kinds = append(w.kinds, k)
	id := int16(len(w.kinds) - 1)
	w.named[name] = id
	if received > 0 {
		w.kinds[id].again = id
	} else {
		w.kinds[id].again = w.message(queue, out, 1)
	}
	return id
}

// clock is when the message is handled at its due time.
func (k *kind) clock() time.Time {
	at := crashStart.Add(time.Duration(max(k.job.Attempt-1, 0)) * attemptsApart)
	if k.job.Generation != "" {
		at = at.Add(24 * time.Hour)
	}
	if k.job.Slot.After(at) {
		at = k.job.Slot
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
