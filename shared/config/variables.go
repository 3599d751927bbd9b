package config

import "postino/shared/pipeline"

// Variable describes one environment variable.
type Variable struct {
	Name string
	// Default is the value taken when the variable is unset or empty; "" for none.
	Default string
	// Meaning is one sentence of Markdown, with unit and range.
	Meaning string
}

// Variables lists all variables in the order in which Load reads them.
func Variables() []Variable {
	all := settings()
	out := make([]Variable, len(all))
	for i, s := range all {
		out[i] = s.Variable
	}
	return out
}

// setting is a Variable with the code that reads it.
type setting struct {
	Variable
	// fallback is a second variable's name, read when the first is empty.
	fallback string
	set      func(c *Config, value string) error
	// queue is set for the variables that name one of the five queues.
	queue func(*pipeline.QueueNames) *string
}

// settings is the one list of variables; documentation and Load both follow it.
func settings() []setting {
	return []setting{
		plain("POSTINO_DATA", "./data",
			"Directory of the embedded server's database, keys and logs. Unused on AWS.", setData),
		plain("POSTINO_PUBLIC_URL", "",
			"The `http` or `https` URL under which subscribers reach this server; confirmation, unsubscribe and certificate links begin with it. Unset: the listening address; on AWS the Function URL.", setPublicURL),
		{Variable: Variable{"POSTINO_REGION", "us-east-1",
			"Region in ARNs. Unset: `AWS_REGION`, which Lambda sets."}, fallback: "AWS_REGION", set: setRegion},
		plain("POSTINO_ACCOUNT", "000000000000",
			"Account in ARNs, 12 digits.", setAccount),
		queue("POSTINO_ATTEMPT_QUEUE", "AttemptQueue",
			"Queue of first attempts: a name or an ARN, as for all queues.",
			func(q *pipeline.QueueNames) *string { return &q.Attempt }),
		queue("POSTINO_RETRY_QUEUE", "RetryQueue",
			"Queue of later attempts.",
			func(q *pipeline.QueueNames) *string { return &q.Retry }),
		queue("POSTINO_FANOUT_QUEUE", "FanoutQueue",
			"Queue of fan-out pages of large topics.",
			func(q *pipeline.QueueNames) *string { return &q.Fanout }),
		queue("POSTINO_DEAD_LETTER_QUEUE", "DeadLetterQueue",
			"Where a dead delivery goes when its subscription has no usable RedrivePolicy.",
			func(q *pipeline.QueueNames) *string { return &q.DeadLetter }),
		queue("POSTINO_FAILED_JOBS_QUEUE", "FailedJobsQueue",
			"Where queue messages go that Postino itself could not handle, with the reason.",
			func(q *pipeline.QueueNames) *string { return &q.Failed }),
		plain("POSTINO_INLINE_FANOUT", "100",
			"Subscriptions up to which Publish makes the jobs itself, 1 to 1000; larger topics go through the FanoutQueue.", setInlineFanout),
		plain("POSTINO_REQUEST_TIMEOUT", "15s",
			"Time one push may take in all, `100ms` to `50s`.", setRequestTimeout),
		plain("POSTINO_MAX_QUEUE_DELAY", "15m",
			"Wait up to which a queue's own delay is used, whole seconds from `10s` to `15m`; longer ones become schedules. Less than `3m` is for emulators only: EventBridge Scheduler may fire a minute late.", setMaxQueueDelay),
		plain("POSTINO_MAX_REDRIVES", "1",
			"How often one message may be sent again from a dead-letter queue, 0 to 100.", setMaxRedrives),
		plain("POSTINO_ALLOW_NETWORKS", "",
			"Non-public networks that endpoints may lie in: CIDR blocks or addresses, separated by commas or spaces. Unset: none.", setAllowNetworks),
		plain("POSTINO_EVENT_TOPIC_ARN", "",
			"Topic that EventBridge events are published to. Unset: they are refused.", setEventTopic),
		plain("POSTINO_TABLE", "",
			"DynamoDB table; set, a function keeps everything on AWS instead of in `POSTINO_DATA`. The embedded server ignores it.", setTable),
		plain("POSTINO_SCHEDULE_GROUP", "",
			"EventBridge Scheduler group of jobs that wait longer than 15 minutes; needed on AWS.", setScheduleGroup),
		plain("POSTINO_SCHEDULE_ROLE", "",
			"ARN of the role that EventBridge Scheduler sends those jobs with; needed on AWS.", setScheduleRole),
		plain("POSTINO_KEYS_KMS_KEY", "",
			"KMS key, by id, ARN or alias, that seals the secrets of access keys; needed on AWS by the publish function and by `postino keys`.", setKeysKMSKey),
		plain("POSTINO_STACK", "",
			"CloudFormation stack that the `postino` commands ask, as `--stack` does, and that the functions' metrics carry as `Stack` (unset: the function's name). The embedded server ignores it.", setStack),
		plain("POSTINO_TRACE", "no",
			"`yes` hands the W3C trace context of a publish (`traceparent`, `tracestate`) on to endpoints.", setTrace),
		plain("POSTINO_SUCCESS_SAMPLE_RATE", "0",
			"Percent of successful deliveries whose status record the functions log, 0 to 100; a topic's `HTTPSuccessFeedbackSampleRate` goes before it. The embedded server records all.", setSuccessSampleRate),
		plain("POSTINO_LOG_LEVEL", "info",
			"Least severe level that is logged: `debug`, `info`, `warn` or `error`.", setLogLevel),
	}
}

func plain(name, standard, meaning string, set func(*Config, string) error) setting {
	return setting{Variable: Variable{name, standard, meaning}, set: set}
}

func queue(name, standard, meaning string, field func(*pipeline.QueueNames) *string) setting {
	return setting{Variable: Variable{name, standard, meaning}, queue: field,
		set: func(c *Config, value string) error { return setQueue(field(&c.Queues), value) }}
}
