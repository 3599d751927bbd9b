package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"postino/shared/envelope"
	"postino/shared/push"
)

// The city's topics: one below the inline limit, one above. Each subscription
// has a policy of its own kind.
const (
	citySmall   = "arn:aws:sns:eu-west-1:123456789012:small"
	cityLarge   = "arn:aws:sns:eu-west-1:123456789012:large"
	cityInline  = 2
	cityRetries = 2
	visibility  = 360 * time.Second
)

func cityDelay(subscription string) time.Duration {
	if strings.Contains(subscription, "slow") {
		return 1000 * time.Second // beyond what a queue delays
	}
	return 20 * time.Second
}

func cityPolicy(subscription string, retries, rate int) string {
	seconds := int(cityDelay(subscription) / time.Second)
	doc := fmt.Sprintf(`{"healthyRetryPolicy":{"minDelayTarget":%d,"maxDelayTarget":%d,"numRetries":%d}`, seconds, seconds, retries)
	if rate > 0 {
		doc += fmt.Sprintf(`,"throttlePolicy":{"maxReceivesPerSecond":%d}`, rate)
	}
	return doc + "}"
}

func (c *city) found() {
	for _, topic := range []string{citySmall, cityLarge} {
		c.topics[topic] = push.Topic{ARN: topic, Version: 1}
		for i, name := range []string{"plain", "slow", "throttled", "raw"} {
			if topic == citySmall && i >= cityInline {
				break
			}
			arn := topic + ":" + name
			s := push.Subscription{ARN: arn, TopicARN: topic, Protocol: push.HTTPS, Endpoint: arn, Confirmed: true, Raw: name == "raw",
				DeliveryPolicy: cityPolicy(arn, cityRetries, map[string]int{"throttled": 1}[name])}
			if name != "raw" { // whose letters go to DeadLetterQueue
				s.RedrivePolicy = `{"deadLetterTargetArn":"` + crashDLQ + `"}`
			}
			c.subs[arn] = s
		}
	}
}

// mayor draws what happens next.
type mayor struct {
	*city
	// draw chooses a number from 0 to below n.
	draw     func(n int, what string) int
	faults   int
	publish  int
	changes  int
	redrives int
	deliver  [2]*Deliver
	// The ports that a wrong variant replaces.
	deliveries         Deliveries
	sending, redriveTo Queues
	owed               map[push.DeliveryKey]time.Time
	answers            int
}

func (m *mayor) newDeliver(i int) {
	p := ports{m.city}
	m.deliver[i] = &Deliver{Directory: p, Deliveries: m.deliveries, Slots: p, Queues: m.sending, Timer: p, Sender: posting{p}, Signer: p,
		Names: crashNames, Health: &Health{}, Links: envelope.Links{PublicURL: "https://push.example.com"}, Now: time.Now,
		Sleep: func(_ context.Context, d time.Duration) error {
			m.mu.Lock()
			m.sleeping++
			m.mu.Unlock()
			time.Sleep(d)
			m.mu.Lock()
			m.sleeping--
			m.mu.Unlock()
			return nil
		},
		Random: func() float64 { return 0.99 }, NewID: m.id, RequestTimeout: 15 * time.Second, CacheFor: 5 * time.Second}
}

func (m *mayor) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextID++
	return fmt.Sprintf("id-%d", m.nextID)
}

func TestPromises1To4HoldOverThousandsOfRandomDays(t *testing.T) {
	const rounds = 30
	var days, steps, pushes, faults int
	for range rounds { // of a hundred days each
		rapid.Check(t, func(t *rapid.T) {
			rapid.SyncTest(t, func(t *rapid.T) {
				m := newMayor(func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) })
				before := m.faults
				steps += m.day()
				if len(m.broken) > 0 {
					t.Fatalf("%s", strings.Join(m.broken, "\n"))
				}
				days++
				faults += before - m.faults
				for _, n := range m.pushes {
					pushes += n
				}
			})
		})
	}
	t.Logf("%d days: %d steps, %d pushes, %d faults", days, steps, pushes, faults)
}

func TestRandomDaysRefuteWrongVariants(t *testing.T) {
	for name, v := range map[string]struct {
		alter  func(*mayor, ports)
		broken string
	}{
		"no-send: acknowledges without sending the successor": {func(m *mayor, p ports) {
			m.sending = forgetful{p, 1}
		}, "promise 1"},
		"greedy: pushes though its claim was refused": {func(m *mayor, p ports) {
			m.deliveries = granting{p}
		}, "promise 1"},
		"one-generation: redrives under the old key": {func(m *mayor, p ports) {
			m.redriveTo = sameKey{p}
		}, "promise 1"},
		"hasty: makes the delay too short": {func(m *mayor, p ports) {
			m.sending = hurrying{p}
		}, "promise 4"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				var broken []string
				synctest.Test(t, func(*testing.T) {
					r := rand.New(rand.NewPCG(seed, 1))
					m := newMayor(func(n int, _ string) int { return r.IntN(n) })
					v.alter(m, ports{m.city})
					m.newDeliver(0)
					m.newDeliver(1)
					m.day()
					broken = m.broken
				})
				if len(broken) > 0 {
					t.Logf("day %d: %s", seed, broken[0])
					if !strings.Contains(broken[0], v.broken) {
						t.Errorf("want %s", v.broken)
					}
					return
				}
			}
			t.Error("no day refutes it")
		})
	}
}

func newMayor(draw func(n int, what string) int) *mayor {
	c := newCity()
	c.found()
	m := &mayor{city: c, draw: draw, faults: draw(41, "faults"), publish: 1 + draw(8, "publishes"), changes: draw(3, "changes"),
		redrives: draw(5, "redrives"), owed: map[push.DeliveryKey]time.Time{}}
	p := ports{c}
	m.deliveries, m.sending, m.redriveTo = p, p, p
	bad := draw(4, "bad answers of three")
	c.answer = func() (push.Class, time.Duration) {
		m.answers++
		switch {
		case m.answers*7%3 >= bad:
			return push.Success, 0
		case m.answers%11 == 0:
			return push.Permanent, 0
		default:
			return push.Retryable, time.Duration(m.answers%3) * time.Second
		}
	}
	m.newDeliver(0)
	m.newDeliver(1)
	return m
}

// day runs a city with faults until all is quiet or a promise is broken, and
// judges it.
func (m *mayor) day() (steps int) {
	defer time.Sleep(time.Minute) // goroutines that rest go home
	defer close(m.over)
	for m.step() {
		if steps++; steps > 20_000 {
			m.mu.Lock()
			m.fail("promise 1: stuck: %s", m.describe())
			m.mu.Unlock()
		}
	}
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.broken) == 0 {
		m.judge()
	}
	return steps
}

// judge checks promises 1 to 3 when all is quiet.
func (m *mayor) judge() {
	for key, since := range m.owed {
		if m.subs[key.Subscription].Deleted() || !m.success[key].Before(since) || !m.letters[key].Before(since) {
			continue
		}
		m.fail("promise 1: %v, owed since %s, is neither delivered nor dead-lettered nor dropped", key, since.Sub(m.dawn))
	}
	for key, d := range m.records {
		if !d.State.Ended() {
			m.fail("promise 1: the record of %v has not ended: (%d, %s)", key, d.Attempt, d.State)
		}
	}
	for key, pushes := range m.pushes {
		if most := (1+cityRetries)*(1+m.redriven[key]) + m.first[key] - 1 + m.burned[key]; pushes > most {
			m.fail("promise 3: %d pushes of %v, at most %d were due", pushes, key, most)
		}
	}
	if n := len(m.queues[crashNames.Failed]); n > 0 {
		m.fail("promise 1: %d messages in FailedJobsQueue", n)
	}
}

// step lets one thing happen and says whether anything is left to happen.
func (m *mayor) step() bool {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.broken) > 0 {
		return false
	}
	m.collect()
	type choice struct {
		name string
		do   func()
	}
	var all []choice
	may := func(name string, do func()) { all = append(all, choice{name, do}) }
	slices.SortStableFunc(m.waiting, func(a, b *strand) int { return cmp.Compare(a.name+string(a.op), b.name+string(b.op)) })
	for i, s := range m.waiting {
		may("", func() { m.resume(i, s) })
	}
	if len(m.tasks) < 3 {
		for _, queue := range slices.Sorted(maps.Keys(m.queues)) {
			if m.visible(queue) > 0 && m.handles(queue) {
				may("", func() { m.receive(queue) })
			}
		}
		if m.publish > 0 {
			may("", m.startPublish)
		}
	}
	if m.changes > 0 && m.publish == 0 {
		may("", m.change)
	}
	if m.faults > 0 {
		if early := m.held(); early != nil {
			may("", func() { m.reappear(early) })
		}
		if len(m.waiting) > 0 {
			may("", m.stall)
		}
	}
	if len(m.waiting) == 0 && (len(m.tasks) > 0 || m.next(false) >= 0) {
		may("", m.pass)
	}
	if len(all) == 0 {
		return false
	}
	i := 0
	if len(all) > 1 && m.publish+m.faults+m.changes > 0 {
		i = m.draw(len(all), "next")
	}
	all[i].do()
	return true
}

// handles reports whether a function takes from the queue now: dead letters are
// sent again only while redrives are left.
func (m *mayor) handles(queue string) bool {
	return queue != crashNames.Failed && (queue != crashDLQ && queue != crashNames.DeadLetter || m.redrives > 0)
}

func (m *mayor) visible(queue string) (n int) {
	for _, s := range m.queues[queue] {
		if !s.visible.After(time.Now()) {
			n++
		}
	}
	return n
}

// collect acknowledges what finished tasks let go.
func (m *mayor) collect() {
	m.tasks = slices.DeleteFunc(m.tasks, func(t *task) bool {
		if !t.done {
			return false
		}
		if !t.dead {
			for i, r := range t.records {
				if !slices.Contains(t.failed, r.ID) {
					m.queues[r.Queue] = slices.DeleteFunc(m.queues[r.Queue], func(s *stored) bool {
						return s.record.ID == r.ID && s.receipt == t.receipts[i]
					})
				}
			}
			if t.accepted != nil {
				t.accepted()
			}
		}
		return true
	})
}
