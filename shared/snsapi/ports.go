package snsapi

import (
	"context"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/sigv4"
)

// Directory is where topics and subscriptions are kept. Every change of a topic
// or of one of its subscriptions bumps the topic's Version (and its counts) in
// the same transaction. A missing item is an error with push.CodeNotFound.
type Directory interface {
	pipeline.Directory
	// CreateTopic stores t unless its ARN exists; then it answers the existing
	// topic and false.
	CreateTopic(ctx context.Context, t push.Topic) (push.Topic, bool, error)
	// UpdateTopic applies change to the current topic and stores it, or returns
	// change's error. change may run more than once.
	UpdateTopic(ctx context.Context, arn string, change func(*push.Topic) error) (push.Topic, error)
	// DeleteTopic removes the topic and leaves tombstones of its subscriptions.
	// A missing topic is no error.
	DeleteTopic(ctx context.Context, arn string, now time.Time) error
	// Topics lists by ARN, those behind after.
	Topics(ctx context.Context, after string, limit int) (page []push.Topic, next string, err error)

	// CreateSubscription stores s unless a live one for the same (topic,
	// protocol, endpoint) exists; then it answers that one and false.
	CreateSubscription(ctx context.Context, s push.Subscription) (push.Subscription, bool, error)
	// UpdateSubscription does with a subscription what UpdateTopic does with a
	// topic. It also revives a tombstone when change clears DeletedAt.
	UpdateSubscription(ctx context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error)
	// DeleteSubscription leaves a tombstone and answers what was there.
	DeleteSubscription(ctx context.Context, arn string, now time.Time) (push.Subscription, error)
	// AllSubscriptions lists those of every topic by ARN, tombstones excluded.
	AllSubscriptions(ctx context.Context, after string, limit int) (page []push.Subscription, next string, err error)
	// ByToken finds the subscription (tombstones included) that token confirms.
	ByToken(ctx context.Context, token string) (push.Subscription, error)
}

// Gate decides who may call.
type Gate interface {
	// Admit judges the request r for an action on a topic, "" where the action
	// names none, before its parameters are judged. It gives the id of the key
	// that has signed r, "" where the gate stands open to everybody. A refusal is a
	// *push.Error with one of SNS's codes.
	Admit(ctx context.Context, r sigv4.Request, action, topicARN string) (keyID string, err error)
}

// Publisher is the pipeline's Publish verb.
type Publisher interface {
	// Publish answers one result per entry, in order. The error is for the call
	// as a whole (no such topic, batch too long).
	Publish(ctx context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error)
	// Announce queues a confirmation of the given kind to s's endpoint.
	Announce(ctx context.Context, kind push.Kind, s push.Subscription) error
}
