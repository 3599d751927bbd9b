// Subscribes an endpoint to a topic and publishes to it, with the AWS SDK for
// JavaScript.
//
//     eval "$(bin/postino env)"        # nothing below knows of Postino
//     npm install --prefix samples/sdk/node
//     node samples/sdk/node/publish.mjs http://127.0.0.1:8080/
import { createInterface } from 'node:readline/promises';
import { SNSClient, CreateTopicCommand, PublishCommand, SubscribeCommand } from '@aws-sdk/client-sns';

const sns = new SNSClient({});
const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'orders' }));
const endpoint = process.argv[2];
if (endpoint) {
  await sns.send(new SubscribeCommand({
    TopicArn, Protocol: 'http', Endpoint: endpoint,
    Attributes: { DeliveryPolicy: JSON.stringify({ healthyRetryPolicy: {
      numRetries: 10, minDelayTarget: 5, maxDelayTarget: 260, backoffFunction: 'exponential' } }) },
  }));
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  await terminal.question('Press Enter when the receiver says that it has confirmed … ');
  terminal.close();
}
const sent = await sns.send(new PublishCommand({
  TopicArn, Subject: 'Order paid', Message: JSON.stringify({ order: 1042 }),
  MessageAttributes: { kind: { DataType: 'String', StringValue: 'paid' } },
}));
console.log('published', sent.MessageId);
