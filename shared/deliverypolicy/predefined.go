package deliverypolicy

import (
	"time"

	"postino/shared/push"
)

// AWSManaged is SNS's fixed policy for Firehose, Lambda and SQS endpoints:
// 100,015 retries over 23 days: 3 at once, 2 after 1 s each, 10 from 1 to 20 s
// (1, 2, 4, 8, 16, then 20), 100,000 after 20 s each.
func AWSManaged() Schedule {
	return Schedule{
		Immediate: 3, PreBackoff: 2, Backoff: 10, PostBackoff: 100_000,
		Min: time.Second, Max: 20 * time.Second, Curve: Exponential,
	}
}

// CustomerManaged is SNS's fixed policy for SMTP, SMS and mobile push, and for
// throttled Firehose deliveries: 50 retries over more than 6 hours: 2 after 10 s
// each, 10 from 10 to 600 s (10, 20, 40 … 320, then 600), 38 after 600 s each.
func CustomerManaged() Schedule {
	return Schedule{
		PreBackoff: 2, Backoff: 10, PostBackoff: 38,
		Min: 10 * time.Second, Max: 600 * time.Second, Curve: Exponential,
	}
}

// MNSBackoffRetry is the NotifyStrategy BACKOFF_RETRY, the default of Alibaba
// Cloud MNS: three retries, each after a random 10 to 20 s (MNS documentation,
// NotifyStrategy).
func MNSBackoffRetry() Schedule {
	return Schedule{
		Backoff: 3, Min: 10 * time.Second, Max: 10 * time.Second, Curve: Linear,
		Spread: 10 * time.Second,
	}
}

// MNSExponentialDecay is the NotifyStrategy EXPONENTIAL_DECAY_RETRY: 176
// retries after 1, 2, 4 … 512 s and then 166 times 512 s, 86,015 s in all,
// about a day (MNS documentation, NotifyStrategy).
func MNSExponentialDecay() Schedule {
	return Schedule{
		Backoff: 10, PostBackoff: 166,
		Min: time.Second, Max: 512 * time.Second, Curve: Exponential,
	}
}

// Applies reports whether a subscription of protocol p may have a delivery
// policy of its own: http and https only. All others have a fixed one.
func Applies(p push.Protocol) bool { return p == push.HTTP || p == push.HTTPS }
