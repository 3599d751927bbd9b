package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"postino/shared/aws/awscall"
)

// accessKey is a caller's key of Postino's own.
type accessKey struct{ ID, Secret string }

// sdkArgs ask the client to publish to a topic with the SNS SDK, signed.
type sdkArgs struct {
	Endpoint, Region, Topic string
	Key                     accessKey
	Run                     uint32
	load
}

// newSNS is a client of a stack's front door. It tries each call once: a second
// try would be counted as what the stack does.
func newSNS(ctx context.Context, endpoint, region string, key accessKey) (*sns.Client, error) {
	settings, err := awscall.Load(ctx)
	if err != nil {
		return nil, err
	}
	return sns.New(sns.Options{
		BaseEndpoint: &endpoint, Region: region, HTTPClient: settings.HTTPClient, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(key.ID, key.Secret, ""),
	}), nil
}

// publishing is a sender of n messages a call: Publish for one, else PublishBatch.
func publishing(client *sns.Client, topic string, n int) sender {
	return func(ctx context.Context, first marker) error {
		message := func(i int) *string {
			m, b := first, newMessage()
			m.Seq += int64(i)
			m.put(b)
			return aws.String(string(b))
		}
		if n == 1 {
			_, err := client.Publish(ctx, &sns.PublishInput{TopicArn: &topic, Message: message(0)})
			return err
		}
		in := &sns.PublishBatchInput{TopicArn: &topic}
		for i := range n {
			in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, types.PublishBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), Message: message(i)})
		}
		out, err := client.PublishBatch(ctx, in)
		if err == nil && len(out.Successful) != n {
			err = fmt.Errorf("%d of %d entries were accepted", len(out.Successful), n)
		}
		return err
	}
}
