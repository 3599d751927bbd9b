package pipeline

import (
	"context"
	"slices"
	"time"

	"postino/shared/push"
)

// What the mayor can order.

// resume lets a waiting strand go on, well or with a fault.
func (m *mayor) resume(i int, s *strand) {
	m.waiting = slices.Delete(m.waiting, i, i+1)
	v := goesOn
	if m.faults > 0 {
		if drawn := m.draw(13, "fault"); drawn <= int(diesAfter) {
			v = verdict(drawn)
		}
	}
	if s.op == opPush && (v == failsBefore || v == failsAfter) {
		v = goesOn // a push has no error
	}
	if v != goesOn {
		m.faults--
	}
	switch {
	case v == diesBefore || v == diesAfter:
		m.kill(s.task)
	case v == failsAfter || v == failsBefore && (s.op == opCreate || s.op == opSettle):
		m.burned[delivery(s.key)]++
	}
	s.tell <- v
}

// kill ends a task: its other strands stop where they are, its messages come
// back, and its process starts anew.
func (m *mayor) kill(t *task) {
	t.dead = true
	m.burn(t)
	m.waiting = slices.DeleteFunc(m.waiting, func(s *strand) bool {
		if s.task == t {
			s.tell <- diesBefore
		}
		return s.task == t
	})
	if t.verb == "deliver" {
		m.newDeliver(t.process)
	}
}

func (m *mayor) burn(t *task) {
	for _, k := range t.keys {
		m.burned[delivery(k)]++
	}
}

// start runs a verb on records.
func (m *mayor) start(t *task, run func(ctx context.Context, p ports) []string) {
	m.tasks = append(m.tasks, t)
	t.began = time.Now()
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), taskKey{}, t), time.Minute)
	go func() {
		defer cancel()
		returned := false
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			t.done = true
			t.dead = t.dead || !returned
		}()
		failed := run(ctx, ports{m.city})
		m.mu.Lock()
		defer m.mu.Unlock()
		t.failed, returned = failed, true
	}()
}

// receive hands visible messages of a queue to the function that takes them.
func (m *mayor) receive(queue string) {
	t := &task{verb: "deliver"}
	most := 1
	switch queue {
	case crashNames.Fanout:
		t.verb = "fanout"
	case crashDLQ, crashNames.DeadLetter:
		t.verb = "redrive"
		m.redrives--
	default:
		most = 1 + (m.nextID+len(m.tasks))%3
	}
	slices.SortFunc(m.queues[queue], byAge)
	for _, s := range m.queues[queue] {
		if s.visible.After(time.Now()) || len(t.records) == most {
			continue
		}
		s.record.ReceiveCount++
		s.receipt++
		s.visible = time.Now().Add(visibility)
		t.records = append(t.records, s.record)
		t.receipts = append(t.receipts, s.receipt)
		if j, err := push.DecodeJob(s.record.Body); err == nil {
			t.keys = append(t.keys, j.Key())
		}
	}
	switch t.verb {
	case "fanout":
		m.start(t, func(ctx context.Context, p ports) []string {
			return (&Fanout{Directory: p, Queues: p, Names: crashNames, Now: time.Now}).Handle(ctx, t.records)
		})
	case "redrive":
		m.redrive(t)
	default:
		t.process = m.nextID % len(m.deliver)
		d := m.deliver[t.process]
		m.start(t, func(ctx context.Context, _ ports) []string { return d.Handle(ctx, t.records) })
	}
}

func (m *mayor) redrive(t *task) {
	note, _ := noteOf(t.records[0].Attributes)
	t.accepted = func() {
		if len(t.failed) == 0 && note.Redrives == 0 && !m.subs[note.Subscription].Deleted() {
			m.owed[push.DeliveryKey{Subscription: note.Subscription, MessageID: note.MessageID}] = t.began
		}
	}
	m.start(t, func(ctx context.Context, p ports) []string {
		return (&Redrive{Directory: p, Queues: m.redriveTo, Names: crashNames, Now: time.Now, MaxRedrives: 1}).Handle(ctx, t.records)
	})
}

// startPublish publishes to either topic.
func (m *mayor) startPublish() {
	m.publish--
	topic := []string{citySmall, cityLarge}[m.draw(2, "topic")]
	t := &task{verb: "publish"}
	var answers []PublishResult
	var failure error
	t.accepted = func() {
		for _, a := range answers {
			for arn, s := range m.subs {
				if failure == nil && a.Err == nil && s.TopicARN == topic {
					m.owed[push.DeliveryKey{Subscription: arn, MessageID: a.MessageID}] = t.began
				}
			}
		}
	}
	m.start(t, func(ctx context.Context, p ports) []string {
		v := &Publish{Directory: p, Queues: p, Names: crashNames, Signer: p, Now: time.Now, NewID: m.id, InlineLimit: cityInline}
		answers, failure = v.Publish(ctx, PublishRequest{TopicARN: topic, Entries: []push.Publication{{Message: "hello"}}})
		return nil
	})
}

// change unsubscribes an endpoint, or gives it a policy with fewer retries.
func (m *mayor) change() {
	m.changes--
	arn := []string{citySmall + ":plain", cityLarge + ":plain", cityLarge + ":throttled"}[m.draw(3, "changed")]
	s := m.subs[arn]
	if m.draw(2, "unsubscribe") == 1 {
		s.DeletedAt = time.Now()
	} else {
		s.DeliveryPolicy = cityPolicy(arn, cityRetries-1, 0)
	}
	m.subs[arn] = s
}

// held is a message that a task holds, if any.
func (m *mayor) held() *stored {
	for _, t := range m.tasks {
		for i, r := range t.records {
			for _, s := range m.queues[r.Queue] {
				if s.record.ID == r.ID && s.receipt == t.receipts[i] && s.visible.After(time.Now()) {
					return s
				}
			}
		}
	}
	return nil
}

// reappear makes a message visible too early.
func (m *mayor) reappear(s *stored) {
	m.faults--
	s.visible = time.Now()
	if j, err := push.DecodeJob(s.record.Body); err == nil {
		m.burned[delivery(j.Key())]++
	}
}

// stall lets all that is under way pause for so long that leases lapse and
// messages reappear.
func (m *mayor) stall() {
	m.faults--
	for _, t := range m.tasks {
		m.burn(t)
	}
	m.sleep(visibility + time.Minute)
}

// sleep gives the city its time: the mayor holds its lock otherwise.
func (m *mayor) sleep(d time.Duration) {
	m.mu.Unlock()
	time.Sleep(d)
	m.mu.Lock()
}

// pass lets time go on to the next thing that is due.
func (m *mayor) pass() {
	wait := m.next(true)
	if m.sleeping > 0 || wait < 0 {
		wait = 500 * time.Millisecond
	}
	m.sleep(wait)
}

// next is how long nothing happens, negative when nothing will; ring lets the
// alarms go off that are due then.
func (m *mayor) next(ring bool) time.Duration {
	wait := time.Duration(-1)
	soon := func(at time.Time) {
		if d := max(time.Until(at), 0); wait < 0 || d < wait {
			wait = d
		}
	}
	for queue, messages := range m.queues {
		for _, s := range messages {
			if m.handles(queue) {
				soon(s.visible)
			}
		}
	}
	for _, a := range m.timers {
		if !a.rung {
			soon(a.at.Add(-time.Minute)) // timers are early
		}
	}
	if ring {
		for _, a := range m.timers {
			if !a.rung && time.Until(a.at.Add(-time.Minute)) <= 0 {
				a.rung = true
				m.enqueue(a.queue, a.out, "timer")
			}
		}
	}
	return wait
}
