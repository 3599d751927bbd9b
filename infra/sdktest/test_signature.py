"""What Postino signs, as validators see it that were written for Amazon SNS.

Both insist on Amazon's host and one on Amazon's certificate authority as well;
that much is told otherwise here. How they read the message, rebuild the signed
text and check it is theirs.
"""

import json
import re
import urllib.request

import aws_sns_verifier.validator
import pytest
import sns_message_validator


@pytest.fixture
def validators(endpoint, monkeypatch):
    """Callables by name; each raises on a signature that is wrong."""
    host = "^" + re.escape(endpoint) + "/"
    monkeypatch.setattr(aws_sns_verifier.validator, "_DEFAULT_CERTIFICATE_URL_REGEX", host)
    monkeypatch.setattr(
        aws_sns_verifier.validator, "_validate_certificate",
        lambda url: aws_sns_verifier.validator._get_certificate(url).public_key())
    return {
        # aws-sns-message-validator knows version 1 alone.
        "1": [sns_message_validator.SNSMessageValidator(cert_url_regex=host).validate_message, verifier],
        "2": [verifier],
    }


def verifier(message):
    # It wants the member that SNS leaves out where there is no subject.
    message = {"Subject": "", **message}
    aws_sns_verifier.validate_sns_signature(message, auto_confirm_subscription=False)


@pytest.mark.parametrize("version", ["1", "2"])
def test_independent_validators_accept_every_message_and_no_forgery(sns, receiver, validators, topic, version):
    sns.set_topic_attributes(TopicArn=topic, AttributeName="SignatureVersion", AttributeValue=version)
    url = receiver.url()
    arn = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)["SubscriptionArn"]
    messages = [json.loads(receiver.next(url))]
    sns.confirm_subscription(TopicArn=topic, Token=messages[0]["Token"])
    text = "Ünïcødé <&> \"quoted\" \\ / \u2028 \x01 🙂\r\n" + "long " * 1000
    sns.publish(TopicArn=topic, Message=text)
    messages.append(json.loads(receiver.next(url)))
    sns.publish(TopicArn=topic, Message=text, Subject="Paid & <done>", MessageAttributes={"a": {"DataType": "String", "StringValue": "v"}})
    messages.append(json.loads(receiver.next(url)))
    sns.unsubscribe(SubscriptionArn=arn)

    assert [m["Type"] for m in messages] == ["SubscriptionConfirmation", "Notification", "Notification"]
    assert messages[1]["Message"] == messages[2]["Message"] == text
    for message in messages:
        assert message["SignatureVersion"] == version
        for validate in validators[version]:
            validate(message)
            forged = dict(message, Message=message["Message"] + " ")
            with pytest.raises(Exception, match="(?i)signature"):
                validate(forged)


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_farewell_after_an_unsubscribe_link_is_signed(sns, receiver, endpoint, validators, topic, version):
    sns.set_topic_attributes(TopicArn=topic, AttributeName="SignatureVersion", AttributeValue=version)
    url = receiver.url()
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)
    sns.confirm_subscription(TopicArn=topic, Token=receiver.token(url))
    sns.publish(TopicArn=topic, Message="m")
    urllib.request.urlopen(json.loads(receiver.next(url))["UnsubscribeURL"], timeout=20).close()
    farewell = json.loads(receiver.next(url))
    assert farewell["Type"] == "UnsubscribeConfirmation"
    for validate in validators[version]:
        validate(farewell)
