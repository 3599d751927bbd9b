// Package stack opens the adapters of AWS together, for the functions and for an
// operator's own machine.
package stack

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"postino/shared/access"
	"postino/shared/aws/dynamostore"
	"postino/shared/aws/kmsseal"
	"postino/shared/aws/sqsqueue"
	"postino/shared/config"
	"postino/shared/installation"
)

// Stack is the adapters of one installation.
type Stack struct {
	Config config.Config
	// Settings make further clients.
	Settings aws.Config

	DB    *dynamodb.Client
	Store *dynamostore.Store
	Queue *sqsqueue.Queue
	// Keys are those that callers sign with. Making and checking them needs the
	// KMS key, listing and revoking does not.
	Keys *access.Keyring
}

// Open makes the adapters over settings, which awscall.Load gives. It makes no
// call.
func Open(settings aws.Config, c config.Config) (*Stack, error) {
	s := &Stack{Config: c, Settings: settings, DB: dynamodb.NewFromConfig(settings)}
	var err error
	if s.Store, err = dynamostore.New(dynamostore.Config{Client: s.DB, Table: c.Table}); err != nil {
		return nil, err
	}
	s.Queue, err = sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(settings), Region: settings.Region,
		Known: []string{c.Queues.DeadLetter, c.Queues.Failed}})
	s.Keys = installation.Keys(c, s.Store, kmsseal.New(kms.NewFromConfig(settings), c.KeysKMSKey))
	return s, err
}
