// Subscribes an endpoint to a topic and publishes to it, with the AWS SDK for
// JavaScript.
//
//     eval "$(bin/postino env)"
//     npm install --prefix samples/sdk/node
//     node samples/sdk/node/publish.mjs http://127.0.0.1:8080/
import { setTimeout } from 'node:timers/promises';
import {
  SNSClient, CreateTopicCommand, GetSubscriptionAttributesCommand, PublishCommand, SubscribeCommand,
} from '@aws-sdk/client-sns';

const sns = new SNSClient({});
const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'orders-node' }));
const endpoint = process.argv[2];
if (endpoint) {
  const { SubscriptionArn } = await sns.send(new SubscribeCommand({
    TopicArn, Protocol: 'http', Endpoint: endpoint, ReturnSubscriptionArn: true,
    Attributes: { DeliveryPolicy: JSON.stringify({ healthyRetryPolicy: {
      numRetries: 10, minDelayTarget: 5, maxDelayTarget: 260, backoffFunction: 'exponential' } }) },
  }));
  console.log(`waiting for ${endpoint} to confirm …`);
  for (let i = 0; ; i++) {
    const { Attributes } = await sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    if (Attributes.PendingConfirmation === 'false') break;
    if (i === 30) throw new Error('the endpoint has not confirmed: what does the receiver say?');
    await setTimeout(1000);
  }
}
const sent = await sns.send(new PublishCommand({
  TopicArn, Subject: 'Order paid', Message: JSON.stringify({ order: 1042 }),
  MessageAttributes: { kind: { DataType: 'String', StringValue: 'paid' } },
}));
console.log('published', sent.MessageId);
