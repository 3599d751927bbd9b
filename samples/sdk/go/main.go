// Command go subscribes an endpoint to a topic and publishes to it, with the
// AWS SDK for Go.
//
//	eval "$(bin/postino env)"        # nothing below knows of Postino
//	go run ./samples/sdk/go http://127.0.0.1:8080/
package main

import (
	"context"
	"fmt"
	"log"
	"os"

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
	topic, err := client.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("orders")})
	if err != nil {
		return err
	}
	for _, endpoint := range endpoints {
		_, err := client.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: aws.String("http"), Endpoint: &endpoint,
			Attributes: map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":10,"minDelayTarget":5,"maxDelayTarget":260,"backoffFunction":"exponential"}}`}})
		if err != nil {
			return err
		}
		fmt.Print("Press Enter when the receiver says that it has confirmed … ")
		_, _ = fmt.Scanln()
	}
	sent, err := client.Publish(ctx, &sns.PublishInput{TopicArn: topic.TopicArn, Subject: aws.String("Order paid"), Message: aws.String(`{"order":1042}`),
		MessageAttributes: map[string]types.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("paid")}}})
	if err != nil {
		return err
	}
	fmt.Println("published", *sent.MessageId)
	return nil
}
