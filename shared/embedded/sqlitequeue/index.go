package sqlitequeue

import "postino/shared/push"

// index is everything the queue decides by, in memory: which messages are
// ready, in flight or delayed, and whose turn it is. It holds no body but the
// few that were just sent. It knows no clock and no database: times are Unix
// milliseconds and come in, what must be written down is collected in returned.
type index struct {
	lanes    map[string]*lane
	nextLane int64
	// unstored are queues that the database does not know as they are.
	unstored []*lane
	due      dueHeap
	// nonce names the latest receive.
	nonce uint64
	// returned are messages whose receive count or queue changed since the last
	// flush.
	returned []*message
	// cached is the size of the bodies held.
	cached int
}

// lane is one queue.
type lane struct {
	id   int64
	name string
	Options
	stored   bool
	messages map[int64]*message
	tenants  map[string]*tenant
	// first to last are the tenants that have ready messages, in turn.
	first, last              *tenant
	ready, inFlight, delayed int

	// waiters are receivers waiting; waking says that one of them has been told
	// and is on its way. It wakes the next when it leaves something.
	waiters []chan struct{}
	waking  bool
}

// tenant is one message group of one queue. Groups take turns, so that a long
// backlog of one delays the others by a message and not by its length.
type tenant struct {
	name       string
	lane       *lane
	head, tail *message
	next       *tenant
	members    int
}

type state uint8

const (
	ready state = iota
	delayed
	inFlight
)

// message is what memory keeps of one: 64 bytes.
type message struct {
	seq    int64
	sent   int64
	tenant *tenant
	next   *message // in the tenant's ready list
	// payload is nil when only the database has it.
	payload  *payload
	nonce    uint64 // of the receive under way
	pos      int32  // in the due heap, unless ready
	receives int32
	state    state
}

type payload struct {
	body       string
	attributes []push.Attribute
}

func (p *payload) size() int {
	n := len(p.body)
	for _, a := range p.attributes {
		n += len(a.Name) + len(a.Type) + len(a.Value)
	}
	return n
}

func newIndex(nonce uint64) *index {
	return &index{lanes: map[string]*lane{}, nextLane: 1, nonce: nonce}
}

// lane gives the queue of that name and makes it on first use.
func (x *index) lane(name string) *lane {
	l := x.lanes[name]
	if l == nil {
		l = x.known(x.nextLane, name, Options{Visibility: defaultVisibility})
		l.stored = false
		x.unstored = append(x.unstored, l)
	}
	return l
}

// known puts in a queue that the database has.
func (x *index) known(id int64, name string, o Options) *lane {
	l := &lane{id: id, name: name, Options: o, stored: true, messages: map[int64]*message{}, tenants: map[string]*tenant{}}
	x.lanes[name] = l
	x.nextLane = max(x.nextLane, id+1)
	return l
}

// add puts a message in, ready when due has come.
func (x *index) add(l *lane, group string, m *message, due, now int64) {
	x.join(l, group, m)
	if m.payload != nil {
		x.cached += m.payload.size()
	}
	if due > now {
		m.state = delayed
		l.delayed++
		x.due.push(due, m)
		return
	}
	x.makeReady(m)
}

func (x *index) join(l *lane, group string, m *message) {
	t := l.tenants[group]
	if t == nil {
		t = &tenant{name: group, lane: l}
		l.tenants[group] = t
	}
	t.members++
	m.tenant = t
	l.messages[m.seq] = m
}

func (x *index) leave(m *message) {
	t := m.tenant
	delete(t.lane.messages, m.seq)
	if t.members--; t.members == 0 {
		delete(t.lane.tenants, t.name)
	}
}

// makeReady appends m to its tenant's list, or to that of the dead-letter queue
// when it has been received as often as its queue allows.
func (x *index) makeReady(m *message) {
	t := m.tenant
	if l := t.lane; l.MaxReceive > 0 && int(m.receives) >= l.MaxReceive && l.DeadLetter != "" && l.DeadLetter != l.name {
		x.leave(m)
		m.receives = 0
		x.join(x.lane(l.DeadLetter), t.name, m)
		x.returned = append(x.returned, m)
		t = m.tenant
	}
	m.state, m.next, m.nonce = ready, nil, 0
	l := t.lane
	l.ready++
	if t.head == nil {
		t.head, t.tail = m, m
		l.enqueue(t)
	} else {
		t.tail.next = m
		t.tail = m
	}
	l.wake()
}

func (l *lane) enqueue(t *tenant) {
	if l.first == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last, t.next = t, nil
}

// wake tells one waiting receiver, unless one is on its way already.
func (l *lane) wake() {
	if l.waking || len(l.waiters) == 0 || l.ready == 0 {
		return
	}
	l.waking = true
	close(l.waiters[0])
	l.waiters = l.waiters[1:]
}

// forget takes a receiver that has stopped waiting off the list.
func (l *lane) forget(w chan struct{}) {
	for i, have := range l.waiters {
		if have == w {
			l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
			return
		}
	}
	l.waking = false // it had been told: somebody else must go
	l.wake()
}

// advance makes everything ready whose time has come.
func (x *index) advance(now int64) {
	for len(x.due) > 0 && x.due[0].at <= now {
		x.bringBack(x.due[0].m)
	}
}

// bringBack makes a delayed or received message ready.
func (x *index) bringBack(m *message) {
	x.due.remove(int(m.pos))
	if m.state == inFlight {
		m.tenant.lane.inFlight--
		x.returned = append(x.returned, m)
	} else {
		m.tenant.lane.delayed--
	}
	x.makeReady(m)
}

// take hides up to limit ready messages until the given time, one tenant after
// the other.
func (x *index) take(l *lane, limit int, until int64) []*message {
	if limit = min(limit, l.ready); limit <= 0 {
		return nil
	}
	taken := make([]*message, 0, limit)
	for len(taken) < limit {
		t := l.first
		m := t.head
		t.head = m.next
		l.first = t.next
		if l.first == nil {
			l.last = nil
		}
		if t.head != nil {
			l.enqueue(t)
		} else {
			t.tail = nil
		}
		x.hide(m, until)
		taken = append(taken, m)
	}
	return taken
}

// hide marks a message that has left its ready list as received.
func (x *index) hide(m *message, until int64) {
	x.nonce++
	m.next, m.nonce, m.state = nil, x.nonce, inFlight
	m.receives++
	m.tenant.lane.ready--
	m.tenant.lane.inFlight++
	x.due.push(until, m)
}

// pick hides one given message, ready or delayed; false when it is in flight.
func (x *index) pick(m *message, until int64) bool {
	l := m.tenant.lane
	switch m.state {
	case inFlight:
		return false
	case delayed:
		x.due.remove(int(m.pos))
		l.delayed--
		l.ready++ // hide takes it off again
	case ready:
		l.unlink(m)
	}
	x.hide(m, until)
	return true
}

// unlink takes a ready message out of its tenant's list, and the tenant out of
// the turn when that was its last. It walks both.
func (l *lane) unlink(m *message) {
	t := m.tenant
	var before *message
	for at := t.head; at != m; at = at.next {
		before = at
	}
	if before == nil {
		t.head = m.next
	} else {
		before.next = m.next
	}
	if t.tail == m {
		t.tail = before
	}
	if t.head != nil {
		return
	}
	var prior *tenant
	for at := l.first; at != t; at = at.next {
		prior = at
	}
	if prior == nil {
		l.first = t.next
	} else {
		prior.next = t.next
	}
	if l.last == t {
		l.last = prior
	}
}

// received finds the message that a receive named, nil when it is gone or the
// receive has lapsed.
func (x *index) received(l *lane, seq int64, nonce uint64) *message {
	if l == nil {
		return nil
	}
	m := l.messages[seq]
	if m == nil || m.state != inFlight || m.nonce != nonce {
		return nil
	}
	return m
}

// remove forgets a message that is in flight.
func (x *index) remove(m *message) {
	x.due.remove(int(m.pos))
	m.tenant.lane.inFlight--
	x.leave(m)
	x.release(m)
}

// release lets the held body go.
func (x *index) release(m *message) *payload {
	p := m.payload
	if p != nil {
		x.cached -= p.size()
		m.payload = nil
	}
	return p
}
