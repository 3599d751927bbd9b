package deliverypolicy

import "cmp"

// Effective is what applies to one subscription: its own sections, the topic's
// where it has none, the defaults where neither has.
type Effective struct {
	Schedule Schedule
	// MaxReceivesPerSecond is an average rate with bounded bursts; 0 is no limit.
	MaxReceivesPerSecond int
	// ContentType is the Content-Type of notifications, never "". Confirmations
	// always use [DefaultContentType].
	ContentType string
	// Retry is the policy behind Schedule, all its members set.
	Retry RetryPolicy
}

// EffectiveFor combines a topic's and a subscription's policy, either of which
// may be zero. Sections are inherited one by one and never mixed: a
// subscription with a retry policy takes nothing from the topic's retry policy,
// but still the topic's throttle and content type. raw is the subscription's
// present RawMessageDelivery: a content type of its own that needs raw delivery
// is passed over without it.
func EffectiveFor(t TopicPolicy, s SubscriptionPolicy, raw bool) Effective {
	if t.DisableSubscriptionOverrides {
		s = SubscriptionPolicy{}
	}
	if forSubscription(raw)(s.ContentType) != nil {
		s.ContentType = ""
	}
	retry := defaultRetry()
	for _, own := range []*RetryPolicy{t.Retry, s.Retry} {
		if own != nil {
			retry = own.filled()
		}
	}
	return Effective{
		Schedule:             retry.Schedule(),
		MaxReceivesPerSecond: cmp.Or(s.MaxReceivesPerSecond, t.MaxReceivesPerSecond),
		ContentType:          cmp.Or(s.ContentType, t.ContentType, DefaultContentType),
		Retry:                retry,
	}
}

// String is the subscription's EffectiveDeliveryPolicy attribute.
func (e Effective) String() string {
	return SubscriptionPolicy{
		Retry:                &e.Retry,
		MaxReceivesPerSecond: e.MaxReceivesPerSecond,
		ContentType:          e.ContentType,
	}.String()
}
