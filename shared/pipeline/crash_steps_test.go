package pipeline

import (
	"fmt"

	"postino/shared/push"
)

// say words a step, but only while a trace is told: there are millions.
func (e *explorer) say(format string, args ...any) string {
	if !e.telling {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// successors gives every point that one step leads to: the environment's steps
// and each worker's, as they should be and with each fault.
func (e *explorer) successors(p point, to func(point, string)) {
	for w, at := range p.at {
		if at != 0 && local(e.nodes[at]) && !e.unreduced {
			// What it does next touches nothing that others see, so its order
			// among their steps does not matter: it goes first.
			e.work(p, w, to)
			return
		}
	}
	e.queue(p, to)
	e.leases(p, to)
	for w, at := range p.at {
		if at != 0 {
			e.work(p, w, to)
		}
	}
}

// local nodes are those whose next step commutes with all that others may do
// meanwhile. A send is one: what it stores may as well be received later. So is
// the end of a handling: a crash that keeps the message from being acknowledged
// may as well come at once and the message be received later.
func local(n *node) bool {
	switch n.pending.op {
	case opSubscription, opTopic, opReserve, opPush, opSend:
		return true
	}
	return n.done
}

func (e *explorer) left(p *point) bool { return int(p.faults) < e.limits.faults }

func burn(p *point) { p.faults++; p.pushes-- }

// queue: messages are received, or reappear too early; a dead letter is sent
// again when all is quiet.
func (e *explorer) queue(p point, to func(point, string)) {
	idle := nobody
	for w := range p.at {
		if p.at[w] == 0 {
			idle = w
			break
		}
	}
	for i, m := range p.msgs[:p.n] {
		k := &e.kinds[m.kind]
		if m.by == nobody && idle != nobody && (i == 0 || p.msgs[i-1] != m) {
			q := p
			q.msgs[i].by = int8(idle)
			q.sort()
			q.at[idle] = e.id(e.received(m.kind, false))
			to(q, e.say("worker %d receives job %d%s", idle, k.job.Attempt, k))
			if e.limits.exact && p.waits > 0 && !k.job.NotBefore.IsZero() {
				q.at[idle] = e.id(e.received(m.kind, true))
				q.waits--
				to(q, e.say("worker %d receives job %d before it is due", idle, k.job.Attempt))
			}
		}
		if m.by != nobody && e.left(&p) {
			q := p
			q.msgs[i] = held{k.again, nobody}
			q.sort()
			burn(&q)
			to(q, e.say("FAULT job %d, held by worker %d, reappears", k.job.Attempt, m.by))
		}
	}
	if p.quiet() && p.letter != 0 {
		q := p
		q.add(held{p.letter, nobody})
		q.letter, q.ended = 0, false
		q.redrives--
		to(q, "the dead letter is sent again")
	}
}

func (k *kind) String() string {
	s := ""
	if k.letter {
		s = " (a dead letter)"
	}
	if k.record.ReceiveCount > 1 {
		s += " again"
	}
	if k.job.Stumbles > 0 {
		s += fmt.Sprintf(" after %d stumbles", k.job.Stumbles)
	}
	return s
}

// leases lapse in time when their owner is gone, and as a fault when it lives.
func (e *explorer) leases(p point, to func(point, string)) {
	for i, r := range p.recs {
		if !r.leased {
			continue
		}
		q := p
		q.recs[i].leased = false
		if r.owner == nobody {
			to(q, "the lease of a worker that is gone lapses")
		} else if e.left(&p) {
			burn(&q)
			to(q, e.say("FAULT the lease of worker %d lapses", r.owner))
		}
	}
	for w := range p.at {
		i := p.heldBy(w)
		if q := p; e.stalls && e.left(&p) && i >= 0 && q.lapse(w) {
			q.msgs[i] = held{e.kinds[p.msgs[i].kind].again, nobody}
			q.sort()
			burn(&q)
			to(q, e.say("FAULT worker %d stalls until its lease has lapsed and its job reappeared", w))
		}
	}
}

// work: worker w crashes, or takes its next step.
func (e *explorer) work(p point, w int, to func(point, string)) {
	n := e.nodes[p.at[w]]
	if e.left(&p) && (!n.idle || e.unreduced) { // elsewhere a crash is the same as one later or earlier
		q := p
		e.release(&q, w)
		q.idle(w)
		burn(&q)
		to(q, e.say("FAULT worker %d crashes before: %s", w, n))
	}
	if n.done {
		q := p
		if i := q.heldBy(w); n.acked && i >= 0 {
			q.remove(i)
		} else {
			e.release(&q, w)
		}
		q.idle(w)
		to(q, e.say("worker %d: %s", w, n))
		return
	}
	then := func(q point, a answer, note string) {
		q.at[w] = e.id(e.after(n, a))
		to(q, e.say("%sworker %d: %s%s", mark(q, p), w, n, note))
	}
	switch n.pending.op {
	case opPush:
		e.pushed(p, then)
		return
	case opSubscription, opReserve:
		e.waited(p, n, then)
	}
	q := p
	a := e.effect(&q, w, n)
	then(q, a, e.result(n, a))
	if e.left(&p) {
		fault := burn
		if op := n.pending.op; op != opCreate && op != opSettle {
			fault = func(p *point) { p.faults++ }
		}
		none := p
		fault(&none)
		then(none, answer{failed: true}, " fails")
		if q != p {
			if n.pending.op == opSend {
				fault = burn // a duplicate, if the send is repeated
			}
			fault(&q)
			then(q, answer{failed: true}, " fails after it took effect")
		}
	}
}

func mark(q, p point) string {
	if q.faults > p.faults {
		return "FAULT "
	}
	return ""
}

// release makes the message that w holds visible again.
func (e *explorer) release(p *point, w int) {
	if i := p.heldBy(w); i >= 0 {
		p.msgs[i] = held{e.kinds[p.msgs[i].kind].again, nobody}
		p.sort()
	}
}

// pushed: what the endpoint may say.
func (e *explorer) pushed(p point, then func(point, answer, string)) {
	p.pushes++
	then(p, answer{class: push.Retryable}, ": 503")
	if e.permanent {
		then(p, answer{class: push.Permanent}, ": 404")
	}
	if e.left(&p) {
		q := p
		burn(&q)
		then(q, answer{stopped: true}, " is broken off: the process is told to stop")
	}
	p.ended = true
	then(p, answer{class: push.Success}, ": 200")
}

// waited: the attempt is put off, by a pause or a slot that lies ahead.
func (e *explorer) waited(p point, n *node, then func(point, answer, string)) {
	if p.waits == 0 {
		return
	}
	p.waits--
	if n.pending.op == opReserve {
		then(p, answer{wait: slotWait}, ": in a while")
	} else if e.limits.exact && !e.kindOf(n).letter {
		then(p, answer{paused: true}, ": paused")
	}
}

// effect does to p what worker w's call does, and answers it.
func (e *explorer) effect(p *point, w int, n *node) answer {
	c := n.pending
	r := &p.recs[0]
	if c.delivery.Key.Generation+c.key.Generation != "" {
		r = &p.recs[1]
	}
	d := c.delivery
	have := e.records[r.id]
	switch c.op {
	case opClaim:
		ok := r.id == 0 || have.Attempt == d.Attempt-1 && have.State == push.Finished || have.Attempt == d.Attempt && have.State == push.Claimed && !r.leased
		if !ok {
			return answer{current: int(r.id)}
		}
		if r.id != 0 {
			d.Attempts, d.CreatedAt = have.Attempts, have.CreatedAt
		}
		*r = kept{e.stored(n, r.id, d), int8(w), true}
		return answer{ok: true, current: int(r.id)}
	case opCreate:
		if r.id != 0 {
			return answer{current: int(r.id)}
		}
		*r = kept{e.stored(n, r.id, d), nobody, false}
		return answer{ok: true, current: int(r.id)}
	case opSettle:
		if have.Attempt != d.Attempt || have.State != push.Claimed || r.owner != int8(w) || d.Owner != "me" {
			return answer{current: int(r.id)}
		}
		*r = kept{e.stored(n, r.id, d), nobody, false}
		return answer{ok: true, current: int(r.id)}
	case opEnd:
		if r.id != 0 && have.Attempt == c.attempt {
			have.State, have.Target, have.Reason = c.state, c.target, c.reason
			*r = kept{e.stored(n, r.id, have), nobody, false}
		}
	case opSend:
		e.sent(p, n)
	}
	return answer{}
}

// stored numbers the record that n's call makes of record old.
func (e *explorer) stored(n *node, old int16, d push.Delivery) int16 {
	id, ok := n.stored[old]
	if !ok {
		if n.stored == nil {
			n.stored = map[int16]int16{}
		}
		id = int16(e.intern(d))
		n.stored[old] = id
	}
	return id
}

func (e *explorer) sent(p *point, n *node) {
	if n.sends == 0 {
		n.sends = e.message(n.pending.queue, n.pending.out, 0)
	}
	id := n.sends
	switch n.pending.queue {
	case crashNames.Attempt, crashNames.Retry:
		p.add(held{id, nobody})
	case crashNames.Failed:
		p.parked = true
	default:
		p.ended = true
		if p.redrives > 0 {
			p.letter = id
		}
	}
}

func (n *node) String() string {
	switch c := n.pending; {
	case n.done && n.acked:
		return "acknowledge"
	case n.done:
		return "leave the message to come back"
	case c.op == opSend:
		if j, err := push.DecodeJob(c.out.Body); err == nil {
			return fmt.Sprintf("send job %d to %s", j.Attempt, c.queue)
		}
		return "send to " + c.queue
	case c.op == opClaim, c.op == opCreate, c.op == opSettle:
		return fmt.Sprintf("%s (%d, %s)", c.op, c.delivery.Attempt, c.delivery.State)
	case c.op == opEnd:
		return fmt.Sprintf("%s (%d, %s)", c.op, c.attempt, c.state)
	default:
		return string(c.op)
	}
}

func (e *explorer) result(n *node, a answer) string {
	switch n.pending.op {
	case opClaim, opCreate, opSettle:
		if !a.ok {
			have := e.records[a.current]
			return e.say(" is refused by (%d, %s)", have.Attempt, have.State)
		}
	}
	return ""
}
