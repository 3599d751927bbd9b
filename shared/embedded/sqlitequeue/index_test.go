package sqlitequeue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelMessage is a message as the plain model has it.
type modelMessage struct {
	seq      int64
	queue    string
	group    string
	state    state
	due      int64
	nonce    uint64
	receives int32
}

// model is the index's promises written down once more, on slices.
type model struct {
	now      int64
	messages []*modelMessage
	ready    map[string][]*modelMessage // by queue and group, first in first out
	turn     map[string][]string        // by queue, the groups that have ready ones
	limit    map[string]int
}

func (m *model) key(x *modelMessage) string { return x.queue + "/" + x.group }

func (m *model) makeReady(x *modelMessage) {
	if max := m.limit[x.queue]; max > 0 && int(x.receives) >= max {
		x.queue, x.receives = "dead", 0
	}
	x.state = ready
	if len(m.ready[m.key(x)]) == 0 {
		m.turn[x.queue] = append(m.turn[x.queue], x.group)
	}
	m.ready[m.key(x)] = append(m.ready[m.key(x)], x)
}

func (m *model) advance() {
	var back []*modelMessage
	for _, x := range m.messages {
		if x.state != ready && x.due <= m.now {
			back = append(back, x)
		}
	}
	slices.SortStableFunc(back, func(a, b *modelMessage) int { return int(a.due - b.due) })
	for _, x := range back {
		m.makeReady(x)
	}
}

func (m *model) take(queue string, limit int) (taken []*modelMessage) {
	for len(taken) < limit && len(m.turn[queue]) > 0 {
		group := m.turn[queue][0]
		m.turn[queue] = m.turn[queue][1:]
		list := m.ready[queue+"/"+group]
		taken = append(taken, list[0])
		m.ready[queue+"/"+group] = list[1:]
		if len(list) > 1 {
			m.turn[queue] = append(m.turn[queue], group)
		}
	}
	return taken
}

func (m *model) unready(x *modelMessage) {
	k := m.key(x)
	m.ready[k] = slices.DeleteFunc(m.ready[k], func(o *modelMessage) bool { return o == x })
	if len(m.ready[k]) == 0 {
		m.turn[x.queue] = slices.DeleteFunc(m.turn[x.queue], func(g string) bool { return g == x.group })
	}
}

// The index agrees with the model after every step of a random life. Due times
// are kept distinct, since the order of those that are equal is open.
func TestIndexGoesAsTheModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex(7)
		x.lane("b").MaxReceive, x.lane("b").DeadLetter = 2, "dead"
		m := &model{ready: map[string][]*modelMessage{}, turn: map[string][]string{}, limit: map[string]int{"b": 2}}
		seq, due := int64(0), int64(0)
		nextDue := func() int64 { due++; return m.now + 1 + due*7%50*1000 + due }
		queues, groups := rapid.SampledFrom([]string{"a", "b", "dead"}), rapid.SampledFrom([]string{"", "g", "h", "i"})
		hide := func(mm *modelMessage, until int64, got *message) {
			mm.state, mm.due, mm.nonce = inFlight, until, got.nonce
			mm.receives++
		}
		steps := map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				seq++
				mm := &modelMessage{seq: seq, queue: queues.Draw(t, "queue"), group: groups.Draw(t, "group")}
				m.messages = append(m.messages, mm)
				if rapid.Bool().Draw(t, "delayed") {
					mm.state, mm.due = delayed, nextDue()
				} else {
					m.makeReady(mm)
				}
				x.add(x.lane(mm.queue), mm.group, &message{seq: seq, payload: &payload{body: "xyz"}}, mm.due, m.now)
			},
			"advance": func(t *rapid.T) {
				m.now += rapid.Int64Range(1, 20_000).Draw(t, "by")
				m.advance()
				x.advance(m.now)
			},
			"take": func(t *rapid.T) {
				queue, limit, until := queues.Draw(t, "queue"), rapid.IntRange(1, 4).Draw(t, "limit"), int64(0)
				want := m.take(queue, limit)
				// One time for all of a receive; they come back in any order, so
				// spread them as separate receives would.
				for _, mm := range want {
					until = nextDue()
					got := x.take(x.lane(queue), 1, until)
					if len(got) != 1 || got[0].seq != mm.seq {
						t.Fatalf("took %v, want message %d", got, mm.seq)
					}
					hide(mm, until, got[0])
				}
				if len(want) < limit {
					if got := x.take(x.lane(queue), limit, 1); len(got) > 0 {
						t.Fatalf("took %d more than there are", len(got))
					}
				}
			},
			"delete": some(m, func(t *rapid.T, mm *modelMessage) {
				nonce := mm.nonce
				if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
					nonce--
				}
				got := x.received(x.lane(mm.queue), mm.seq, nonce)
				if valid := mm.state == inFlight && nonce == mm.nonce; valid != (got != nil) {
					t.Fatalf("receipt of message %d valid: %v, want %v", mm.seq, got != nil, valid)
				}
				if got != nil {
					x.remove(got)
					m.messages = slices.DeleteFunc(m.messages, func(o *modelMessage) bool { return o == mm })
				}
			}),
			"change visibility": some(m, func(t *rapid.T, mm *modelMessage) {
				got := x.received(x.lane(mm.queue), mm.seq, mm.nonce)
				if got == nil {
					return
				}
				if rapid.Bool().Draw(t, "now") {
					x.bringBack(got)
					m.makeReady(mm)
				} else {
					mm.due = nextDue()
					x.due.move(int(got.pos), mm.due)
				}
			}),
			"pick": some(m, func(t *rapid.T, mm *modelMessage) {
				got, until := x.lane(mm.queue).messages[mm.seq], nextDue()
				if got == nil {
					t.Fatalf("message %d is not in %s", mm.seq, mm.queue)
				}
				if picked := x.pick(got, until); picked != (mm.state != inFlight) {
					t.Fatalf("picked: %v in state %d", picked, mm.state)
				}
				if mm.state == ready {
					m.unready(mm)
				}
				if mm.state != inFlight {
					hide(mm, until, got)
				}
			}),
			"": func(t *rapid.T) { compare(t, x, m) },
		}
		t.Repeat(steps)
	})
}

// some is a step on a message, when there is one.
func some(m *model, step func(*rapid.T, *modelMessage)) func(*rapid.T) {
	return func(t *rapid.T) {
		if len(m.messages) > 0 {
			step(t, rapid.SampledFrom(m.messages).Draw(t, "message"))
		}
	}
}

func compare(t *rapid.T, x *index, m *model) {
	counts := map[string][3]int{}
	for _, mm := range m.messages {
		c := counts[mm.queue]
		c[mm.state]++
		counts[mm.queue] = c
		got := x.lane(mm.queue).messages[mm.seq]
		if got == nil || got.state != mm.state || got.receives != mm.receives || got.tenant.name != mm.group {
			t.Fatalf("message is %+v, want %+v", got, mm)
		}
		if mm.state != ready && (x.due[got.pos].m != got || x.due[got.pos].at != mm.due) {
			t.Fatalf("message %d is not in its place in the heap", mm.seq)
		}
	}
	total, size := 0, 0
	for name, l := range x.lanes {
		if got := [3]int{l.ready, l.delayed, l.inFlight}; got != counts[name] {
			t.Fatalf("%s counts %v ready, delayed, in flight, want %v", name, got, counts[name])
		}
		members := 0
		for _, tenant := range l.tenants {
			members += tenant.members
		}
		if members != len(l.messages) {
			t.Fatalf("%s has %d messages and its tenants %d", name, len(l.messages), members)
		}
		total += len(l.messages)
		for _, m := range l.messages {
			if m.payload != nil {
				size += m.payload.size()
			}
		}
	}
	if total != len(m.messages) || size != x.cached {
		t.Fatalf("%d messages and %d bytes cached, want %d and %d", total, x.cached, len(m.messages), size)
	}
}

func TestHeapGivesTheEarliestWhateverIsRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		byAt := map[*message]int64{}
		for i, at := range rapid.SliceOf(rapid.Int64Range(0, 50)).Draw(t, "times") {
			m := &message{seq: int64(i)}
			h.push(at, m)
			byAt[m] = at
			if i%3 == 2 {
				victim := h[rapid.IntRange(0, len(h)-1).Draw(t, "victim")].m
				h.remove(int(victim.pos))
				delete(byAt, victim)
			}
		}
		last := int64(-1)
		for len(h) > 0 {
			e := h[0]
			if e.at < last || byAt[e.m] != e.at {
				t.Fatalf("%d after %d", e.at, last)
			}
			last = e.at
			h.remove(0)
			delete(byAt, e.m)
		}
		if len(byAt) > 0 {
			t.Fatalf("%d were not given", len(byAt))
		}
	})
}

func TestALongBacklogOfOneTenantDelaysAnotherByATurn(t *testing.T) {
	x := newIndex(0)
	l := x.lane("q")
	for i := range int64(10_000) {
		x.add(l, "busy", &message{seq: i}, 0, 0)
	}
	x.add(l, "quiet", &message{seq: 10_000}, 0, 0)
	x.add(l, "", &message{seq: 10_001}, 0, 0)
	got := fmt.Sprint(groupsOf(x.take(l, 5, 1)))
	if want := "[busy quiet  busy busy]"; got != want {
		t.Errorf("turns went to %s, want %s", got, want)
	}
}

func groupsOf(messages []*message) (groups []string) {
	for _, m := range messages {
		groups = append(groups, m.tenant.name)
	}
	return groups
}

func TestAReceiverThatWasToldAndLeftTellsTheNext(t *testing.T) {
	x := newIndex(0)
	l := x.lane("q")
	first, second := make(chan struct{}), make(chan struct{})
	l.waiters = []chan struct{}{first, second}
	x.add(l, "", &message{seq: 1}, 0, 0)
	told := func(w chan struct{}) bool {
		select {
		case <-w:
			return true
		default:
			return false
		}
	}
	if !told(first) || told(second) {
		t.Fatalf("told: first %v, second %v", told(first), told(second))
	}
	l.forget(first)
	if !told(second) {
		t.Error("the second was not told")
	}
}
