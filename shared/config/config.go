// Package config reads Postino's settings from environment variables, once, into
// a typed struct. The server, the functions and the template use the same names;
// docs/configuration.md lists them and a test keeps that list true.
package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Config is what an installation can be told from outside.
type Config struct {
	// Data is the directory the embedded server keeps everything in.
	Data string
	// PublicURL is the http(s) URL under which subscribers reach the front door:
	// confirmation, unsubscribe and certificate links begin with it. It has no
	// trailing slash; "" means the server's own listening address.
	PublicURL string
	// Region and Account are the ones in ARNs; requests for others are refused.
	Region, Account string
	// Queues are SQS queue names or ARNs, five different ones.
	Queues pipeline.QueueNames
	// InlineFanout is the number of subscriptions up to which Publish makes the
	// jobs itself; a larger topic is fanned out in pages through the FanoutQueue.
	InlineFanout int
	// RequestTimeout bounds one push, from dialling to the last byte of the answer.
	RequestTimeout time.Duration
	// MaxQueueDelay is the wait up to which a queue's own delay is used; longer
	// ones are schedules.
	MaxQueueDelay time.Duration
	// MaxRedrives is how often one message may be sent again from a dead-letter
	// queue; 0 refuses all.
	MaxRedrives int
	// AllowNetworks are non-public networks that endpoints may lie in.
	AllowNetworks []netip.Prefix
	// EventTopicARN is the topic that EventBridge events are published to; ""
	// refuses them.
	EventTopicARN string
	// Table is the DynamoDB table's name; set, it chooses the adapters of AWS.
	Table string
	// ScheduleGroup is the EventBridge Scheduler group of waiting jobs, and
	// ScheduleRole the ARN of the role it sends them with.
	ScheduleGroup, ScheduleRole string
	// KeysKMSKey is the KMS key (id, ARN or alias) that seals the secrets of access
	// keys on AWS.
	KeysKMSKey string
	// Stack is the name of a deployed CloudFormation stack, or its ARN: the one that
	// the command line asks, or whose metrics a function writes.
	Stack string
	// Trace carries publishers' trace contexts on to endpoints.
	Trace bool
	// SuccessSampleRate is the percent of successful deliveries whose status the
	// functions record, 0 to 100.
	SuccessSampleRate int
	// LogLevel is the least severe level that is logged.
	LogLevel slog.Level
}

// Error says which variable has a value that cannot be used, and what can be.
type Error struct {
	Variable string
	// Problem completes the sentence that Variable begins.
	Problem string
}

func (e *Error) Error() string { return e.Variable + " " + e.Problem }

// Load reads every variable through getenv (os.Getenv in programs); an unset or
// empty one takes its default. The error, an *Error, is about the first variable
// in the documented order that cannot be used. A value is never quoted where it
// could hold a secret.
func Load(getenv func(string) string) (Config, error) {
	var c Config
	for _, v := range settings() {
		value := getenv(v.Name)
		if value == "" && v.fallback != "" {
			value = getenv(v.fallback)
		}
		if value == "" {
			value = v.Default
		}
		if value == "" {
			continue
		}
		if problem := v.set(&c, value); problem != nil {
			return Config{}, &Error{Variable: v.Name, Problem: problem.Error()}
		}
	}
	return c, c.consistent()
}

// consistent checks what no variable can be judged by alone.
func (c Config) consistent() error {
	seen := map[string]string{}
	for _, v := range settings() {
		if v.queue == nil {
			continue
		}
		// By name: the embedded queues do not tell two accounts apart.
		name := push.QueueName(*v.queue(&c.Queues))
		if other, taken := seen[name]; taken {
			return &Error{v.Name, fmt.Sprintf("names the same queue as %s, %q: the five queues must differ", other, name)}
		}
		seen[name] = v.Name
	}
	return c.eventTopicIsOurs()
}
