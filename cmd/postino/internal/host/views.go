package host

import (
	"context"
	"postino/shared/pipeline"
	"time"

	"postino/shared/embedded/sqlitequeue"
	"postino/shared/metrics"
	"postino/shared/operator"
	"postino/shared/push"
	"postino/shared/telemetry"
)

// operatorQueues shows the queues to the operator.
type operatorQueues struct{ *sqlitequeue.Queue }

func (q operatorQueues) List(ctx context.Context) ([]operator.QueueInfo, error) {
	infos, err := q.Queue.List(ctx)
	out := make([]operator.QueueInfo, len(infos))
	for i, n := range infos {
		out[i] = operator.QueueInfo{Name: n.Name, Visible: n.Visible, InFlight: n.InFlight, Delayed: n.Delayed, OldestSent: n.OldestSent}
	}
	return out, err
}

func (q operatorQueues) Peek(ctx context.Context, queue, after string, limit int) ([]operator.Letter, string, error) {
	page, next, err := q.Queue.Peek(ctx, queue, after, limit)
	out := make([]operator.Letter, len(page))
	for i, m := range page {
		out[i] = letter(m)
	}
	return out, next, err
}

func (q operatorQueues) Take(ctx context.Context, queue, id string, visibility time.Duration) (operator.Letter, bool, error) {
	m, ok, err := q.Queue.Take(ctx, queue, id, visibility)
	return letter(m), ok, err
}

func letter(m pipeline.Incoming) operator.Letter {
	return operator.Letter{ID: m.ID, Receipt: m.Receipt, Body: m.Body, Group: m.Group, Attributes: m.Attributes, ReceiveCount: m.ReceiveCount, Sent: m.Sent}
}

// deliveryLog shows the delivery log to the operator.
type deliveryLog struct{ dir string }

func (l deliveryLog) Logged(_ context.Context, f operator.Filter) ([]push.Delivery, error) {
	records, err := telemetry.ReadDeliveryLog(l.dir, telemetry.DeliveryFilter{Subscription: f.Subscription, TopicARN: f.TopicARN, MessageID: f.MessageID, States: f.States}, f.Limit)
	out := make([]push.Delivery, len(records))
	for i, r := range records {
		out[i] = r.AsDelivery()
	}
	return out, err
}

// gauges are what a scrape of the metrics asks.
func (h *Host) gauges() metrics.Gauges {
	return metrics.Gauges{
		Queues: func() []metrics.QueueDepth {
			infos, err := h.stack.Queue.List(context.Background())
			if err != nil {
				return nil
			}
			out := make([]metrics.QueueDepth, len(infos))
			for i, n := range infos {
				out[i] = metrics.QueueDepth{Queue: n.Name, Visible: n.Visible, InFlight: n.InFlight, Delayed: n.Delayed}
			}
			return out
		},
		ThrottleBacklog: func() time.Duration { return h.stack.Store.Backlog(time.Now()) },
		LogDropped:      h.log.Dropped,
	}
}
