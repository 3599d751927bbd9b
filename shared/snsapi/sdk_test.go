package snsapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"
)

// overHTTP serves the API on loopback.
func overHTTP(t *testing.T, a *API) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		answer := a.Serve(r.Context(), Request{Method: r.Method, Path: r.URL.Path, RawQuery: r.URL.RawQuery, Header: r.Header, Body: body})
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body) // a client that left needs no answer
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// goClient is the real SDK, pointed at the API.
func goClient(t *testing.T, b *bench) *sns.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sns.New(sns.Options{
		BaseEndpoint: aws.String(overHTTP(t, b.API)), Region: b.Region, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), Retryer: aws.NopRetryer{},
	})
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestTheGoSDKGetsThroughTheLifeOfATopic(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Run("life", func(t *testing.T) {
		b := newBench(t)
		c, ctx := goClient(t, b), context.Background()
		topic := must[*sns.CreateTopicOutput](t)(c.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("t"),
			Attributes: map[string]string{"DisplayName": "d", "SignatureVersion": "2"}, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})).TopicArn
		if got := must[*sns.ListTopicsOutput](t)(c.ListTopics(ctx, nil)).Topics; len(got) != 1 || *got[0].TopicArn != *topic {
			t.Errorf("topics %v", got)
		}
		must[*sns.SetTopicAttributesOutput](t)(c.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{TopicArn: topic, AttributeName: aws.String("DisplayName"), AttributeValue: aws.String("é<&>")}))
		if got := must[*sns.GetTopicAttributesOutput](t)(c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: topic})).Attributes; got["DisplayName"] != "é<&>" || got["SignatureVersion"] != "2" {
			t.Errorf("attributes %v", got)
		}
		must[*sns.TagResourceOutput](t)(c.TagResource(ctx, &sns.TagResourceInput{ResourceArn: topic, Tags: []types.Tag{{Key: aws.String("l"), Value: aws.String("w")}}}))
		must[*sns.UntagResourceOutput](t)(c.UntagResource(ctx, &sns.UntagResourceInput{ResourceArn: topic, TagKeys: []string{"k"}}))
		if got := must[*sns.ListTagsForResourceOutput](t)(c.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: topic})).Tags; len(got) != 1 || *got[0].Key != "l" {
			t.Errorf("tags %v", got)
		}
		sub := must[*sns.SubscribeOutput](t)(c.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("http"), Endpoint: aws.String("http://a.example/"),
			Attributes: map[string]string{"RawMessageDelivery": "true"}, ReturnSubscriptionArn: true})).SubscriptionArn
		if got := *must[*sns.SubscribeOutput](t)(c.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("http"), Endpoint: aws.String("http://a.example/")})).SubscriptionArn; got != "pending confirmation" {
			t.Errorf("pending answers %q", got)
		}
		if got := must[*sns.ListSubscriptionsOutput](t)(c.ListSubscriptions(ctx, nil)).Subscriptions; len(got) != 1 || *got[0].SubscriptionArn != "PendingConfirmation" {
			t.Errorf("subscriptions %v", got)
		}
		confirmed := must[*sns.ConfirmSubscriptionOutput](t)(c.ConfirmSubscription(ctx, &sns.ConfirmSubscriptionInput{TopicArn: topic, Token: aws.String(b.token(*sub)), AuthenticateOnUnsubscribe: aws.String("true")}))
		if *confirmed.SubscriptionArn != *sub {
			t.Errorf("confirmed %s", *confirmed.SubscriptionArn)
		}
		must[*sns.SetSubscriptionAttributesOutput](t)(c.SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{SubscriptionArn: sub, AttributeName: aws.String("RedrivePolicy"), AttributeValue: aws.String(queueT)}))
		if got := must[*sns.GetSubscriptionAttributesOutput](t)(c.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: sub})).Attributes; got["RedrivePolicy"] != queueT || got["ConfirmationWasAuthenticated"] != "true" {
			t.Errorf("attributes %v", got)
		}
		must[*sns.PublishOutput](t)(c.Publish(ctx, &sns.PublishInput{TopicArn: topic, Message: aws.String("m"), Subject: aws.String("s"), MessageAttributes: map[string]types.MessageAttributeValue{
			"b": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}}, "s": {DataType: aws.String("String"), StringValue: aws.String("v")}}}))
		if got := b.publisher.published[0]; got.Invocation == "" || len(got.Entries[0].Attributes) != 2 || *got.Entries[0].Subject != "s" {
			t.Errorf("published %+v", got)
		}
		batch := must[*sns.PublishBatchOutput](t)(c.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: topic, PublishBatchRequestEntries: []types.PublishBatchRequestEntry{
			{Id: aws.String("a"), Message: aws.String("m")}, {Id: aws.String("b"), Message: aws.String("m"), Subject: aws.String("two\nlines")}}}))
		if len(batch.Successful) != 1 || len(batch.Failed) != 1 || *batch.Failed[0].Code != "InvalidParameter" || !batch.Failed[0].SenderFault {
			t.Errorf("batch %+v", batch)
		}
		if got := must[*sns.ListSubscriptionsByTopicOutput](t)(c.ListSubscriptionsByTopic(ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: topic})).Subscriptions; *got[0].SubscriptionArn != *sub {
			t.Errorf("subscriptions %v", got)
		}
		must[*sns.UnsubscribeOutput](t)(c.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: sub}))
		must[*sns.DeleteTopicOutput](t)(c.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: topic}))
	})
}

func TestTheGoSDKMapsErrorsToItsTypesAndFindsTheRequestID(t *testing.T) {
	b := newBench(t)
	c, ctx := goClient(t, b), context.Background()
	b.newTopic("t")
	for name, one := range map[string]struct {
		call func() error
		as   any
	}{
		"NotFound": {func() error {
			_, err := c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: aws.String(absent)})
			return err
		}, new(*types.NotFoundException)},
		"InvalidParameter": {func() error { _, err := c.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("a b")}); return err }, new(*types.InvalidParameterException)},
		"ParameterValueInvalid": {func() error {
			_, err := c.Publish(ctx, &sns.PublishInput{TopicArn: aws.String(topicT), Message: aws.String("m"), MessageAttributes: map[string]types.MessageAttributeValue{"a": {DataType: aws.String("X"), StringValue: aws.String("v")}}})
			return err
		}, new(*types.InvalidParameterValueException)},
		"ResourceNotFound": {func() error {
			_, err := c.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: aws.String(absent)})
			return err
		}, new(*types.ResourceNotFoundException)},
		"EmptyBatchRequest": {func() error {
			_, err := c.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: aws.String(topicT), PublishBatchRequestEntries: []types.PublishBatchRequestEntry{}})
			return err
		}, new(*types.EmptyBatchRequestException)},
	} {
		err := one.call()
		if !errors.As(err, one.as) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorFault() != smithy.FaultClient && api.ErrorFault() != smithy.FaultUnknown {
			t.Errorf("%s: fault %v", name, api.ErrorFault())
		}
		if !strings.Contains(err.Error(), "RequestID: ") || strings.Contains(err.Error(), "RequestID: ,") {
			t.Errorf("%s: no request id in %v", name, err)
		}
	}
}
