"""The AWS CLI against the server."""

import json
import uuid


def test_the_cli_gets_through_the_life_of_a_topic(cli, receiver):
    name = f"sdktest-{uuid.uuid4()}"
    topic = cli("create-topic", "--name", name, "--attributes", "DisplayName=shown", "--tags", "Key=k,Value=v")["TopicArn"]
    try:
        assert topic in [t["TopicArn"] for t in cli("list-topics")["Topics"]]
        cli("set-topic-attributes", "--topic-arn", topic, "--attribute-name", "SignatureVersion", "--attribute-value", "2")
        attributes = cli("get-topic-attributes", "--topic-arn", topic)["Attributes"]
        assert (attributes["DisplayName"], attributes["SignatureVersion"]) == ("shown", "2")

        url = receiver.url()
        policy = json.dumps({"healthyRetryPolicy": {"minDelayTarget": 1, "maxDelayTarget": 2, "numRetries": 3}})
        sub = cli("subscribe", "--topic-arn", topic, "--protocol", "http", "--notification-endpoint", url, "--return-subscription-arn",
                  "--attributes", json.dumps({"DeliveryPolicy": policy, "RawMessageDelivery": "true"}))["SubscriptionArn"]
        assert cli("confirm-subscription", "--topic-arn", topic, "--token", receiver.token(url))["SubscriptionArn"] == sub
        assert [s["SubscriptionArn"] for s in cli("list-subscriptions-by-topic", "--topic-arn", topic)["Subscriptions"]] == [sub]

        assert uuid.UUID(cli("publish", "--topic-arn", topic, "--message", "from the shell")["MessageId"])
        assert receiver.next(url) == "from the shell"
        batch = cli("publish-batch", "--topic-arn", topic, "--publish-batch-request-entries", "Id=a,Message=one")
        assert [e["Id"] for e in batch["Successful"]] == ["a"]

        cli("set-subscription-attributes", "--subscription-arn", sub, "--attribute-name", "RawMessageDelivery", "--attribute-value", "false")
        attributes = cli("get-subscription-attributes", "--subscription-arn", sub)["Attributes"]
        assert attributes["RawMessageDelivery"] == "false"
        assert json.loads(attributes["EffectiveDeliveryPolicy"])["healthyRetryPolicy"]["maxDelayTarget"] == 2
        cli("unsubscribe", "--subscription-arn", sub)
    finally:
        cli("delete-topic", "--topic-arn", topic)


def test_the_cli_shows_our_errors(cli):
    error = cli("create-topic", "--name", "a b", fails=True)
    assert "(InvalidParameter)" in error and "Invalid parameter: Topic Name" in error
