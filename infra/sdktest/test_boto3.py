"""Every action and error of the SNS API, as boto3 sees them."""

import json
import urllib.error
import urllib.parse
import urllib.request
import uuid

import botocore.exceptions
import pytest

RETRY = {"minDelayTarget": 5, "maxDelayTarget": 6, "numRetries": 1}


def refusal(call, **kwargs):
    """The code, text and status of a call that must fail."""
    with pytest.raises(botocore.exceptions.ClientError) as e:
        call(**kwargs)
    r = e.value.response
    assert r["ResponseMetadata"]["RequestId"]
    assert r["Error"]["Type"] == "Sender"
    return r["Error"]["Code"], r["Error"]["Message"], r["ResponseMetadata"]["HTTPStatusCode"]


def missing(arn):
    return arn.rsplit(":", 1)[0] + ":missing"


def follow(endpoint, **query):
    """GET of a link as messages carry it: unsigned."""
    try:
        with urllib.request.urlopen(endpoint + "/?" + urllib.parse.urlencode(query), timeout=20) as r:
            return r.status, r.headers, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read().decode()


# Topics


def test_create_topic_is_idempotent(sns, topic):
    name = topic.rsplit(":", 1)[1]
    assert sns.create_topic(Name=name)["TopicArn"] == topic


def test_create_topic_with_other_attributes_is_refused(sns, topic):
    name = topic.rsplit(":", 1)[1]
    assert refusal(sns.create_topic, Name=name, Attributes={"DisplayName": "x"}) == (
        "InvalidParameter", "Invalid parameter: Attributes Reason: Topic already exists with different attributes", 400)


def test_create_topic_with_other_tags_is_refused(sns, topic):
    name = topic.rsplit(":", 1)[1]
    assert refusal(sns.create_topic, Name=name, Tags=[{"Key": "a", "Value": "1"}]) == (
        "InvalidParameter", "Invalid parameter: Tags Reason: Topic already exists with different tags", 400)


@pytest.mark.parametrize("name", ["a b", "a.b", "a.fifo", "x" * 257])
def test_create_topic_with_a_bad_name_is_refused(sns, name):
    assert refusal(sns.create_topic, Name=name) == ("InvalidParameter", "Invalid parameter: Topic Name", 400)


def test_delete_topic_is_idempotent(sns):
    arn = sns.create_topic(Name=f"sdktest-{uuid.uuid4()}")["TopicArn"]
    sns.delete_topic(TopicArn=arn)
    sns.delete_topic(TopicArn=arn)
    assert refusal(sns.get_topic_attributes, TopicArn=arn) == ("NotFound", "Topic does not exist", 404)


def test_list_topics_pages_through_all(sns):
    run = uuid.uuid4()
    made = {sns.create_topic(Name=f"sdktest-{run}-{i}")["TopicArn"] for i in range(101)}
    try:
        listed = [t["TopicArn"] for page in sns.get_paginator("list_topics").paginate() for t in page["Topics"]]
        assert len(listed) == len(set(listed))
        assert made <= set(listed)
    finally:
        for arn in made:
            sns.delete_topic(TopicArn=arn)


def test_topic_attributes_of_a_new_topic(sns, topic):
    a = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    assert a["TopicArn"] == topic
    assert a["Owner"] == topic.split(":")[4]
    assert a["DisplayName"] == ""
    assert json.loads(a["Policy"])["Id"] == "__default_policy_ID"
    assert json.loads(a["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"] == {
        "minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3, "numMaxDelayRetries": 0,
        "numNoDelayRetries": 0, "numMinDelayRetries": 0, "backoffFunction": "linear"}
    assert "DeliveryPolicy" not in a and "SignatureVersion" not in a


def test_topic_delivery_policy_is_set_read_and_removed(sns, topic):
    def write(value):
        sns.set_topic_attributes(TopicArn=topic, AttributeName="DeliveryPolicy", AttributeValue=value)
        return sns.get_topic_attributes(TopicArn=topic)["Attributes"]

    a = write(json.dumps({"http": {"defaultHealthyRetryPolicy": RETRY}}))
    assert json.loads(a["DeliveryPolicy"]) == {"http": {"defaultHealthyRetryPolicy": RETRY, "disableSubscriptionOverrides": False}}
    assert json.loads(a["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"]["numRetries"] == 1
    a = write(json.dumps({"http": {"defaultHealthyRetryPolicy": None}}))
    assert json.loads(a["DeliveryPolicy"]) == {"http": {"disableSubscriptionOverrides": False}}
    assert "DeliveryPolicy" not in write("")


def test_topic_display_name_and_signature_version(sns, topic):
    name = "<ünïcode> & \"quotes\""
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue=name)
    sns.set_topic_attributes(TopicArn=topic, AttributeName="SignatureVersion", AttributeValue="2")
    a = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    assert (a["DisplayName"], a["SignatureVersion"]) == (name, "2")


@pytest.mark.parametrize("name", ["Policy", "KmsMasterKeyId", "HTTPFailureFeedbackRoleArn"])
def test_topic_attributes_that_are_not_served_are_refused(sns, topic, name):
    code, text, status = refusal(sns.set_topic_attributes, TopicArn=topic, AttributeName=name, AttributeValue="x")
    assert (code, status) == ("InvalidParameter", 400) and name in text


def test_unknown_topic_attribute_is_refused(sns, topic):
    assert refusal(sns.set_topic_attributes, TopicArn=topic, AttributeName="FifoTopic", AttributeValue="false") == (
        "InvalidParameter", "Invalid parameter: AttributeName", 400)


@pytest.mark.parametrize("document, field", [
    ("{invalid", "DeliveryPolicy: failed to parse JSON. "),
    ('{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":101}}}', "DeliveryPolicy: http.defaultHealthyRetryPolicy.numRetries must be"),
    ('{"throttlePolicy":{}}', "DeliveryPolicy: Unexpected JSON member: throttlePolicy"),
])
def test_a_bad_topic_delivery_policy_names_the_field(sns, topic, document, field):
    code, text, status = refusal(sns.set_topic_attributes, TopicArn=topic, AttributeName="DeliveryPolicy", AttributeValue=document)
    assert (code, status) == ("InvalidParameter", 400) and text.startswith("Invalid parameter: " + field)


@pytest.mark.parametrize("arn, text", [
    ("randomstring", "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1"),
    ("arn:aws:sns:xx-other-9:000000000000:t", "Invalid parameter: TopicArn"),
])
def test_bad_topic_arns_are_refused(sns, arn, text):
    assert refusal(sns.get_topic_attributes, TopicArn=arn) == ("InvalidParameter", text, 400)


def test_tags(sns, topic):
    sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "k1", "Value": "v1"}, {"Key": "k2", "Value": "v2"}])
    sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "k2", "Value": "v2b"}])
    sns.untag_resource(ResourceArn=topic, TagKeys=["k1"])
    assert sns.list_tags_for_resource(ResourceArn=topic)["Tags"] == [{"Key": "k2", "Value": "v2b"}]


def test_tag_errors(sns, topic):
    twice = [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}]
    assert refusal(sns.tag_resource, ResourceArn=topic, Tags=twice) == ("InvalidParameter", "Invalid parameter: Duplicated keys are not allowed.", 400)
    many = [{"Key": f"k{i}", "Value": ""} for i in range(51)]
    assert refusal(sns.tag_resource, ResourceArn=topic, Tags=many)[::2] == ("TagLimitExceeded", 400)
    assert refusal(sns.list_tags_for_resource, ResourceArn=missing(topic)) == ("ResourceNotFound", "Resource does not exist", 404)


# Subscriptions


def test_subscribe_answers_pending_confirmation_until_confirmed(sns, topic, receiver):
    url = receiver.url()
    assert sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)["SubscriptionArn"] == "pending confirmation"
    listed = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert [(s["SubscriptionArn"], s["Endpoint"], s["Protocol"]) for s in listed] == [("PendingConfirmation", url, "http")]
    arn = sns.confirm_subscription(TopicArn=topic, Token=receiver.token(url))["SubscriptionArn"]
    assert arn.startswith(topic + ":")
    assert sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)["SubscriptionArn"] == arn
    assert [s["SubscriptionArn"] for s in sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]] == [arn]
    pages = sns.get_paginator("list_subscriptions").paginate()
    assert arn in [s["SubscriptionArn"] for page in pages for s in page["Subscriptions"]]


def test_subscribing_again_sends_the_confirmation_again(sns, topic, receiver):
    url = receiver.url()
    first, second = [
        (sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)["SubscriptionArn"], receiver.token(url)) for _ in range(2)]
    assert first[0] == second[0]
    sns.confirm_subscription(TopicArn=topic, Token=first[1])


def test_the_confirmation_link_confirms_and_may_be_followed_again(sns, topic, receiver, endpoint):
    url = receiver.url()
    arn = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)["SubscriptionArn"]
    token = receiver.token(url)
    for _ in range(2):
        status, headers, body = follow(endpoint, Action="ConfirmSubscription", TopicArn=topic, Token=token)
        assert status == 200 and headers.get_content_type() == "text/xml"
        assert f"<SubscriptionArn>{arn}</SubscriptionArn>" in body
    assert sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["PendingConfirmation"] == "false"


@pytest.mark.parametrize("query, text", [
    ({"TopicArn": "not-an-arn", "Token": "aa"}, "Invalid parameter: Topic"),
    ({"Token": "abc123"}, "Invalid parameter: Token"),
    ({"Token": "randomtoken"}, "Invalid token"),
])
def test_a_bad_confirmation_link_answers_an_xml_error(topic, endpoint, query, text):
    status, headers, body = follow(endpoint, Action="ConfirmSubscription", **{"TopicArn": topic, **query})
    assert status == 400 and f"<Code>InvalidParameter</Code><Message>{text}</Message>" in body
    assert f"<RequestId>{headers['x-amzn-RequestId']}</RequestId>" in body


@pytest.mark.parametrize("protocol, to, text", [
    ("carrier-pigeon", "x", "Invalid parameter: Amazon SNS does not support this protocol string: carrier-pigeon"),
    ("https", "http://a.example", "Invalid parameter: Endpoint must match the specified protocol"),
])
def test_subscribe_refusals(sns, topic, protocol, to, text):
    assert refusal(sns.subscribe, TopicArn=topic, Protocol=protocol, Endpoint=to) == ("InvalidParameter", text, 400)


def test_subscribe_to_a_missing_topic(sns, topic, receiver):
    assert refusal(sns.subscribe, TopicArn=missing(topic), Protocol="http", Endpoint=receiver.url()) == ("NotFound", "Topic does not exist", 404)


@pytest.mark.parametrize("name, value, text", [
    ("RawMessageDelivery", "wrongvalue", "RawMessageDelivery: Invalid value [wrongvalue]. Must be true or false."),
    ("RedrivePolicy", '{"deadLetterTargetArn":"fake"}', "RedrivePolicy: deadLetterTargetArn is an invalid arn"),
    ("DeliveryPolicy", '{"healthyRetryPolicy":{"minDelayTarget":0,"maxDelayTarget":1,"numRetries":1}}', "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"),
])
def test_subscription_attributes_are_checked_by_both_actions(sns, topic, receiver, confirmed, name, value, text):
    assert refusal(sns.subscribe, TopicArn=topic, Protocol="http", Endpoint=receiver.url(), Attributes={name: value}) == (
        "InvalidParameter", "Invalid parameter: Attributes Reason: " + text, 400)
    assert refusal(sns.set_subscription_attributes, SubscriptionArn=confirmed[0], AttributeName=name, AttributeValue=value) == (
        "InvalidParameter", "Invalid parameter: " + text, 400)


@pytest.mark.parametrize("name", ["FilterPolicy", "FilterPolicyScope", "SubscriptionRoleArn", "ReplayPolicy"])
def test_subscription_attributes_that_are_not_served_are_refused(sns, confirmed, name):
    code, text, status = refusal(sns.set_subscription_attributes, SubscriptionArn=confirmed[0], AttributeName=name, AttributeValue="{}")
    assert (code, status) == ("InvalidParameter", 400) and name in text


def test_subscribe_again_with_other_attributes_is_refused(sns, topic, confirmed):
    assert refusal(sns.subscribe, TopicArn=topic, Protocol="http", Endpoint=confirmed[1], Attributes={"RawMessageDelivery": "true"}) == (
        "InvalidParameter", "Invalid parameter: Attributes Reason: Subscription already exists with different attributes", 400)


def test_subscription_attributes_are_set_read_and_removed(sns, topic, confirmed):
    arn, url = confirmed

    def write(name, value):
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
        return sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]

    a = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    account = topic.split(":")[4]
    assert {k: a[k] for k in ("SubscriptionArn", "TopicArn", "Owner", "Protocol", "Endpoint", "PendingConfirmation", "RawMessageDelivery", "ConfirmationWasAuthenticated")} == {
        "SubscriptionArn": arn, "TopicArn": topic, "Owner": account, "Protocol": "http", "Endpoint": url,
        "PendingConfirmation": "false", "RawMessageDelivery": "false", "ConfirmationWasAuthenticated": "false"}
    assert "DeliveryPolicy" not in a and "RedrivePolicy" not in a and a["SubscriptionPrincipal"]
    a = write("DeliveryPolicy", json.dumps({"healthyRetryPolicy": RETRY}))
    assert set(json.loads(a["DeliveryPolicy"])) == {"healthyRetryPolicy", "sicklyRetryPolicy", "throttlePolicy", "requestPolicy", "guaranteed"}
    assert json.loads(a["EffectiveDeliveryPolicy"])["healthyRetryPolicy"]["numRetries"] == 1
    assert "DeliveryPolicy" not in write("DeliveryPolicy", "")
    queue = {"deadLetterTargetArn": topic.replace(":sns:", ":sqs:").rsplit(":", 1)[0] + ":sdktest"}
    assert json.loads(write("RedrivePolicy", json.dumps(queue))["RedrivePolicy"]) == queue
    assert "RedrivePolicy" not in write("RedrivePolicy", "")
    assert write("RawMessageDelivery", "true")["RawMessageDelivery"] == "true"


def test_missing_subscriptions(sns, topic):
    arn = f"{topic}:{uuid.uuid4()}"
    want = ("NotFound", "Subscription does not exist", 404)
    assert refusal(sns.get_subscription_attributes, SubscriptionArn=arn) == want
    assert refusal(sns.set_subscription_attributes, SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue="true") == want
    sns.unsubscribe(SubscriptionArn=arn)


@pytest.mark.parametrize("arn, text", [
    ("pending confirmation", "SubscriptionArn Reason: An ARN must have at least 6 elements, not 1"),
    ("arn:aws:sns:us-east-1:000000000000:t", "SubscriptionId"),
])
def test_unsubscribe_refusals(sns, arn, text):
    assert refusal(sns.unsubscribe, SubscriptionArn=arn) == ("InvalidParameter", "Invalid parameter: " + text, 400)


def test_unsubscribe_without_an_arn(careless):
    assert refusal(careless.unsubscribe) == ("InvalidParameter", "Invalid parameter: SubscriptionArn Reason: no value for required parameter", 400)


def test_the_unsubscribe_link_and_the_farewell_that_restores(sns, topic, confirmed, receiver, endpoint):
    arn, url = confirmed
    assert follow(endpoint, Action="Unsubscribe", SubscriptionArn=arn)[0] == 200
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []
    assert sns.confirm_subscription(TopicArn=topic, Token=receiver.token(url))["SubscriptionArn"] == arn
    assert len(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]) == 1


def test_authenticate_on_unsubscribe(sns, topic, receiver, endpoint):
    url = receiver.url()
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)
    arn = sns.confirm_subscription(TopicArn=topic, Token=receiver.token(url), AuthenticateOnUnsubscribe="true")["SubscriptionArn"]
    assert sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["ConfirmationWasAuthenticated"] == "true"
    status, _, body = follow(endpoint, Action="Unsubscribe", SubscriptionArn=arn)
    assert status == 403 and "<Code>AuthorizationError</Code>" in body
    sns.unsubscribe(SubscriptionArn=arn)
    assert refusal(sns.get_subscription_attributes, SubscriptionArn=arn)[0] == "NotFound"


# Publishing


def test_publish_reaches_the_endpoint(sns, topic, confirmed, receiver):
    sent = sns.publish(TopicArn=topic, Subject="s", Message="héllo <&>", MessageAttributes={
        "text": {"DataType": "String", "StringValue": "v"}, "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}})
    assert uuid.UUID(sent["MessageId"])
    message = json.loads(receiver.next(confirmed[1]))
    assert (message["Type"], message["TopicArn"], message["Message"]) == ("Notification", topic, "héllo <&>")


def test_publish_by_target_arn_raw_and_structured(sns, topic, confirmed, receiver):
    sns.set_subscription_attributes(SubscriptionArn=confirmed[0], AttributeName="RawMessageDelivery", AttributeValue="true")
    sns.publish(TargetArn=topic, MessageStructure="json", Message=json.dumps({"default": "d", "http": "h"}))
    assert receiver.next(confirmed[1]) == "h"


@pytest.mark.parametrize("kwargs, code, text", [
    ({"Message": ""}, "InvalidParameter", "Invalid parameter: Empty message"),
    ({"Message": "m", "Subject": ""}, "InvalidParameter", "Invalid parameter: Subject"),
    ({"Message": "x" * 262145}, "InvalidParameter", "Invalid parameter: Message too long"),
    ({"Message": "{", "MessageStructure": "json"}, "InvalidParameter", "Invalid parameter: Message Structure - JSON message body failed to parse"),
    ({"Message": '{"http":"h"}', "MessageStructure": "json"}, "InvalidParameter", "Invalid parameter: Message Structure - No default entry in JSON message body"),
    ({"Message": "m", "MessageDeduplicationId": "d"}, "InvalidParameter", "Invalid parameter: MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type"),
    ({"Message": "m", "MessageAttributes": {"attr1": {"DataType": "String", "StringValue": ""}}}, "ParameterValueInvalid", "The message attribute 'attr1' must contain non-empty message attribute value for message attribute type 'String'."),
    ({"Message": "m", "MessageAttributes": {"attr1": {"DataType": "String", "BinaryValue": b"1"}}}, "ParameterValueInvalid", "The message attribute 'attr1' with type 'String' must use field 'String'."),
    ({"Message": "m", "MessageAttributes": {"attr1": {"StringValue": "v"}}}, "ValidationError", "1 validation error detected: Value null at 'messageAttributes.attr1.member.dataType' failed to satisfy constraint: Member must not be null"),
])
def test_publish_refusals(careless, topic, kwargs, code, text):
    assert refusal(careless.publish, TopicArn=topic, **kwargs) == (code, text, 400)


def test_publish_to_nowhere(sns, topic):
    assert refusal(sns.publish, Message="m") == ("InvalidParameter", "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter", 400)
    assert refusal(sns.publish, TopicArn=missing(topic), Message="m") == ("NotFound", "Topic does not exist", 404)


def test_publish_to_a_phone_is_refused(sns):
    code, text, status = refusal(sns.publish, PhoneNumber="+15551234567", Message="m")
    assert (code, status) == ("InvalidParameter", 400) and "PhoneNumber" in text


def test_batch_answers_for_every_entry(sns, topic, confirmed, receiver):
    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=[
        {"Id": "good", "Message": "one"}, {"Id": "bad", "Message": "two", "Subject": "line\nbreak"}, {"Id": "fine", "Message": "three"}])
    assert [e["Id"] for e in answer["Successful"]] == ["good", "fine"]
    assert answer["Failed"] == [{"Id": "bad", "Code": "InvalidParameter", "Message": "Invalid parameter: Subject", "SenderFault": True}]
    assert {json.loads(receiver.next(confirmed[1]))["Message"] for _ in range(2)} == {"one", "three"}


@pytest.mark.parametrize("entries, code, text", [
    ([], "EmptyBatchRequest", None),
    ([{"Id": str(i), "Message": "m"} for i in range(11)], "TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible."),
    ([{"Id": "a", "Message": "m"}] * 2, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id."),
    ([{"Id": "a" * 81, "Message": "m"}], "InvalidBatchEntryId", "The Id of a batch entry in the batch request is too long: " + "a" * 81),
    ([{"Id": "message.id", "Message": "m"}], "InvalidBatchEntryId", "The Id of a batch entry in the batch request contains an impermissible character: message.id"),
    ([{"Id": str(i), "Message": "x" * 131073} for i in range(2)], "BatchRequestTooLong", "The length of all the messages put together is more than the limit."),
])
def test_batch_refusals(sns, topic, entries, code, text):
    got = refusal(sns.publish_batch, TopicArn=topic, PublishBatchRequestEntries=entries)
    assert got == (code, text or got[1], 400)


# What is no action of this server


def test_actions_that_are_not_built_are_refused_by_name(sns, topic):
    code, text, status = refusal(sns.add_permission, TopicArn=topic, Label="l", AWSAccountId=["000000000000"], ActionName=["Publish"])
    assert (code, status) == ("InvalidAction", 400) and "AddPermission" in text


def test_unknown_and_missing_actions_and_other_protocols(endpoint):
    def post(body, **headers):
        r = urllib.request.Request(endpoint + "/", data=body.encode(), headers=headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as e:
            urllib.request.urlopen(r, timeout=20)
        return e.value.code, e.value.read().decode()

    for body, headers, code in [
        ("Action=Frobnicate", {}, "InvalidAction"), ("Version=2010-03-31", {}, "MissingAction"),
        ("{}", {"X-Amz-Target": "SNS.ListTopics", "Content-Type": "application/x-amz-json-1.0"}, "InvalidAction"),
    ]:
        status, answer = post(body, **headers)
        assert status == 400 and f"<Code>{code}</Code>" in answer
