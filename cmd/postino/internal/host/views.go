package host

import (
	"context"
	"time"

	"postino/shared/metrics"
	"postino/shared/operator"
	"postino/shared/push"
	"postino/shared/telemetry"
)

// deliveryLog shows the delivery log to the operator.
type deliveryLog struct{ dir string }

func (l deliveryLog) Logged(_ context.Context, f operator.Filter) ([]push.Delivery, time.Time, error) {
	records, err := telemetry.ReadDeliveryLog(l.dir, telemetry.DeliveryFilter{Subscription: f.Subscription, TopicARN: f.TopicARN, MessageID: f.MessageID, States: f.States}, f.Limit)
	out := make([]push.Delivery, len(records))
	for i, r := range records {
		out[i] = r.AsDelivery()
	}
	return out, time.Time{}, err
}

// gauges are what a scrape of the metrics asks.
func (h *Host) gauges() metrics.Gauges {
	return metrics.Gauges{
		Queues: func() []metrics.QueueDepth {
			infos := h.stack.Queue.Infos(context.Background())
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
