// Package deliverypolicy reads SNS delivery policies and answers the one
// question of a retry: attempt n ended like this at time t, so what now, when,
// in which phase and why. That answer is [Schedule.Decide]; everything else
// here leads up to it.
//
//   - [ParseSubscription] and [ParseTopic] read the two document forms strictly
//     and print them back as SNS does.
//   - [EffectiveFor] lets a subscription inherit from its topic, section by
//     section, and gives the [Schedule] in force.
//   - [AWSManaged], [CustomerManaged], [MNSBackoffRetry] and
//     [MNSExponentialDecay] are the fixed policies of SNS and Alibaba MNS as
//     instances of the same Schedule.
//
// The package is pure: the time and the random number come in as arguments, and
// nothing is kept. docs/delivery-policies.md tells users the same story with
// numbers, and a test holds the two together.
//
// Facts are from the SNS developer guide, "Amazon SNS message delivery
// retries", unless a comment names another source.
package deliverypolicy
