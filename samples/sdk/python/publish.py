"""Subscribes an endpoint to a topic and publishes to it, with boto3.

    eval "$(bin/postino env)"
    .cache/venv/bin/python samples/sdk/python/publish.py http://127.0.0.1:8080/
"""

import json
import sys
import time

import boto3

sns = boto3.client("sns")
topic = sns.create_topic(Name="orders-python")["TopicArn"]
if len(sys.argv) > 1:
    subscription = sns.subscribe(
        TopicArn=topic, Protocol="http", Endpoint=sys.argv[1], ReturnSubscriptionArn=True,
        Attributes={"DeliveryPolicy": json.dumps({"healthyRetryPolicy": {
            "numRetries": 10, "minDelayTarget": 5, "maxDelayTarget": 260, "backoffFunction": "exponential"}})})["SubscriptionArn"]
    print(f"waiting for {sys.argv[1]} to confirm …", flush=True)
    for _ in range(30):
        if sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]["PendingConfirmation"] == "false":
            break
        time.sleep(1)
    else:
        sys.exit("the endpoint has not confirmed: what does the receiver say?")
sent = sns.publish(
    TopicArn=topic, Subject="Order paid", Message=json.dumps({"order": 1042}),
    MessageAttributes={"kind": {"DataType": "String", "StringValue": "paid"}})
print("published", sent["MessageId"])
