package deliverypolicy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Limits of a policy, in seconds and retries.
const (
	maxTotal   = 3600 * time.Second
	maxDelay   = 3600
	maxRetries = 100
)

// RetryPolicy is the healthyRetryPolicy of a subscription, and the
// defaultHealthyRetryPolicy of a topic. Delays are seconds. The members that a
// document may leave out remember whether it did, because SNS reads a policy
// back with the members that were sent. Field order is SNS's order.
type RetryPolicy struct {
	// MinDelayTarget is 1 to MaxDelayTarget, MaxDelayTarget up to 3,600.
	MinDelayTarget int `json:"minDelayTarget"`
	MaxDelayTarget int `json:"maxDelayTarget"`
	// NumRetries is 0 to 100, and no less than the sum of the next three.
	NumRetries int `json:"numRetries"`
	// NumMaxDelayRetries counts the post-backoff phase; nil means 0.
	NumMaxDelayRetries *int `json:"numMaxDelayRetries,omitempty"`
	// NumNoDelayRetries counts the immediate phase; nil means 0.
	NumNoDelayRetries *int `json:"numNoDelayRetries,omitempty"`
	// NumMinDelayRetries counts the pre-backoff phase; nil means 0.
	NumMinDelayRetries *int `json:"numMinDelayRetries,omitempty"`
	// BackoffFunction "" means Linear.
	BackoffFunction Curve `json:"backoffFunction,omitempty"`
}

// defaultRetry is what applies where neither subscription nor topic says.
func defaultRetry() RetryPolicy {
	return RetryPolicy{MinDelayTarget: 20, MaxDelayTarget: 20, NumRetries: 3}.filled()
}

// filled is r with its defaults written out.
func (r RetryPolicy) filled() RetryPolicy {
	for _, count := range []**int{&r.NumMaxDelayRetries, &r.NumNoDelayRetries, &r.NumMinDelayRetries} {
		if *count == nil {
			*count = new(int)
		}
	}
	if r.BackoffFunction == "" {
		r.BackoffFunction = Linear
	}
	return r
}

// Schedule is r as a schedule. The backoff phase gets the retries that the
// other three phases leave.
func (r RetryPolicy) Schedule() Schedule {
	r = r.filled()
	immediate, pre, post := *r.NumNoDelayRetries, *r.NumMinDelayRetries, *r.NumMaxDelayRetries
	return Schedule{
		Immediate: immediate, PreBackoff: pre, Backoff: r.NumRetries - immediate - pre - post, PostBackoff: post,
		Min: time.Duration(r.MinDelayTarget) * time.Second, Max: time.Duration(r.MaxDelayTarget) * time.Second,
		Curve: r.BackoffFunction,
	}
}

// parseRetry reads a retry policy, nil for null. minDelayTarget, maxDelayTarget
// and numRetries are mandatory: so SNS has been reported to behave (AWS CDK,
// HealthyRetryPolicy), although one example in its guide has numRetries alone.
func parseRetry(path string, raw json.RawMessage) (*RetryPolicy, error) {
	if null(raw) {
		return nil, nil
	}
	var r RetryPolicy
	var least, most, retries *int
	err := eachMember(path, raw, func(path, name string, v json.RawMessage) (err error) {
		switch name {
		case "minDelayTarget":
			least, err = integer(path, v)
		case "maxDelayTarget":
			most, err = integer(path, v)
		case "numRetries":
			retries, err = integer(path, v)
		case "numMaxDelayRetries":
			r.NumMaxDelayRetries, err = integer(path, v)
		case "numNoDelayRetries":
			r.NumNoDelayRetries, err = integer(path, v)
		case "numMinDelayRetries":
			r.NumMinDelayRetries, err = integer(path, v)
		case "backoffFunction":
			r.BackoffFunction, err = curve(path, v)
		default:
			err = unexpected(path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name  string
		value *int
		into  *int
	}{
		{"minDelayTarget", least, &r.MinDelayTarget},
		{"maxDelayTarget", most, &r.MaxDelayTarget},
		{"numRetries", retries, &r.NumRetries},
	} {
		if m.value == nil {
			return nil, fmt.Errorf("%s.%s must be specified", path, m.name)
		}
		*m.into = *m.value
	}
	return &r, r.validate(path)
}

// validate checks the ranges, in an order that names the root of a fault first.
func (r RetryPolicy) validate(path string) error {
	full := r.filled()
	immediate, pre, post := *full.NumNoDelayRetries, *full.NumMinDelayRetries, *full.NumMaxDelayRetries
	for _, rule := range []struct {
		broken        bool
		field, demand string
	}{
		{r.MinDelayTarget < 1, "minDelayTarget", "must be greater than or equal to 1"},
		{r.MaxDelayTarget > maxDelay, "maxDelayTarget", "must be less than or equal to 3600"},
		{r.MaxDelayTarget < r.MinDelayTarget, "maxDelayTarget", "must be greater than or equal to minDelayTarget"},
		{r.NumRetries < 0, "numRetries", "must be greater than or equal to 0"},
		{r.NumRetries > maxRetries, "numRetries", "must be less than or equal to 100"},
		{immediate < 0, "numNoDelayRetries", "must be greater than or equal to 0"},
		{pre < 0, "numMinDelayRetries", "must be greater than or equal to 0"},
		{post < 0, "numMaxDelayRetries", "must be greater than or equal to 0"},
		// Subtracting cannot overflow here; adding could.
		{r.NumRetries-immediate < 0 || r.NumRetries-immediate-pre < 0 || r.NumRetries-immediate-pre-post < 0, "numRetries",
			"must be greater than or equal to total of numMinDelayRetries, numNoDelayRetries and numMaxDelayRetries"},
	} {
		if rule.broken {
			return fmt.Errorf("%s.%s %s", path, rule.field, rule.demand)
		}
	}
	if total := r.Schedule().Total(); total > maxTotal {
		return fmt.Errorf("%s total of all delays must be less than or equal to 3600 seconds, not %s",
			path, strconv.FormatFloat(total.Seconds(), 'f', -1, 64))
	}
	return nil
}

// curve reads a backoffFunction, "" for null.
func curve(path string, raw json.RawMessage) (Curve, error) {
	s, err := text(path, raw)
	if err != nil {
		return "", err
	}
	switch c := Curve(s); {
	case null(raw), c == Linear, c == Arithmetic, c == Geometric, c == Exponential:
		return c, nil
	}
	return "", fmt.Errorf("%s must be one of linear, arithmetic, geometric, exponential", path)
}
