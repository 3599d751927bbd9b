"""Subscribes an endpoint to a topic and publishes to it, with boto3.

    eval "$(bin/postino env)"        # nothing below knows of Postino
    .cache/venv/bin/python samples/sdk/python/publish.py http://127.0.0.1:8080/
"""

import json
import sys

import boto3

sns = boto3.client("sns")
topic = sns.create_topic(Name="orders")["TopicArn"]
if len(sys.argv) > 1:
    sns.subscribe(
        TopicArn=topic, Protocol="http", Endpoint=sys.argv[1],
        Attributes={"DeliveryPolicy": json.dumps({"healthyRetryPolicy": {
            "numRetries": 10, "minDelayTarget": 5, "maxDelayTarget": 260, "backoffFunction": "exponential"}})})
    input("Press Enter when the receiver says that it has confirmed … ")
sent = sns.publish(
    TopicArn=topic, Subject="Order paid", Message=json.dumps({"order": 1042}),
    MessageAttributes={"kind": {"DataType": "String", "StringValue": "paid"}})
print("published", sent["MessageId"])
