// Command go subscribes an endpoint to a topic and publishes to it, with the
// AWS SDK for Go.
//
//	eval "$(bin/postino env)"
//	go run ./samples/sdk/go http://127.0.0.1:8080/
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, endpoints []string) error {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	client := sns.NewFromConfig(settings)
	topic, err := client.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("orders-go")})
	if err != nil {
		return err
	}
	for _, endpoint := range endpoints {
		s, err := client.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: aws.String("http"), Endpoint: &endpoint, ReturnSubscriptionArn: true,
			Attributes: map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":10,"minDelayTarget":5,"maxDelayTarget":260,"backoffFunction":"exponential"}}`}})
		if err != nil {
			return err
		}
		fmt.Printf("waiting for %s to confirm …\n", endpoint)
		if err := confirmed(ctx, client, s.SubscriptionArn); err != nil {
			return err
		}
	}
	sent, err := client.Publish(ctx, &sns.PublishInput{TopicArn: topic.TopicArn, Subject: aws.String("Order paid"), Message: aws.String(`{"order":1042}`),
		MessageAttributes: map[string]types.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("paid")}}})
	if err != nil {
		return err
	}
	fmt.Println("published", *sent.MessageId)
	return nil
}

// confirmed waits up to half a minute for the endpoint to confirm.
func confirmed(ctx context.Context, client *sns.Client, subscription *string) error {
	for range 30 {
		s, err := client.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: subscription})
		if err != nil || s.Attributes["PendingConfirmation"] == "false" {
			return err
		}
		time.Sleep(time.Second)
	}
	return errors.New("the endpoint has not confirmed: what does the receiver say?")
}
