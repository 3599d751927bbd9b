"""Who may call, with the signatures that boto3 and the AWS CLI really make. The
server has keys, so that every other test here signs for it too."""

import datetime
import json
import os
import subprocess
import urllib.error
import urllib.request

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.exceptions
import botocore.httpsession
import pytest

from test_boto3 import refusal


def postino(*args):
    done = subprocess.run(["bin/postino", *args, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def client(endpoint, region, key, secret, attempts=1, **more):
    config = botocore.config.Config(retries={"total_max_attempts": attempts, "mode": "standard"})
    return boto3.client("sns", endpoint_url=endpoint, region_name=region, aws_access_key_id=key, aws_secret_access_key=secret, config=config, **more)


@pytest.fixture
def own():
    return os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]


def fetch(request):
    try:
        with urllib.request.urlopen(request, timeout=20) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_an_unsigned_call_is_refused(endpoint):
    status, answer = fetch(urllib.request.Request(endpoint + "/", data=b"Action=ListTopics", method="POST"))
    assert status == 403 and "<Code>MissingAuthenticationToken</Code>" in answer


def test_unknown_keys_and_wrong_secrets_are_refused(endpoint, region, own):
    key, secret = own
    assert refusal(client(endpoint, region, "AKIAIOSFODNN7EXAMPLE", secret).list_topics)[::2] == ("InvalidClientTokenId", 403)
    assert refusal(client(endpoint, region, key, secret[::-1]).list_topics)[::2] == ("SignatureDoesNotMatch", 403)


def test_a_session_token_is_refused_in_words_that_help(endpoint, region, own):
    code, text, _ = refusal(client(endpoint, region, *own, aws_session_token="left over").list_topics)
    assert code == "InvalidClientTokenId" and "Unset AWS_SESSION_TOKEN" in text


def test_the_region_of_the_client_does_not_matter(endpoint, own):
    assert "Topics" in client(endpoint, "ap-southeast-4", *own).list_topics()


def test_a_limited_key_does_what_it_is_for(endpoint, region, sns, topic):
    name = topic.rsplit(":", 1)[1]
    made = postino("keys", "add", "--actions", "Publish", "--topics", name)
    limited = client(endpoint, region, made["id"], made["secret"])
    assert limited.publish(TopicArn=topic, Message="m")["MessageId"]
    code, text, status = refusal(limited.publish, TopicArn=topic + "2", Message="m")
    assert (code, status) == ("AuthorizationError", 403) and f"SNS:Publish on resource: {topic}2" in text
    assert refusal(limited.list_topics)[0] == "AuthorizationError"
    postino("keys", "revoke", made["id"])
    assert refusal(limited.publish, TopicArn=topic, Message="m")[0] == "InvalidClientTokenId"


@pytest.mark.parametrize("minutes, says", [(-20, "Signature expired"), (20, "Signature not yet current")])
def test_a_clock_that_is_off_is_named(endpoint, region, own, minutes, says):
    off = datetime.timedelta(minutes=minutes)


    def late(request, **_):
        signer = botocore.auth.SigV4Auth(boto3.Session(*own).get_credentials().get_frozen_credentials(), "sns", region)
        when = (datetime.datetime.now(datetime.timezone.utc) + off).strftime("%Y%m%dT%H%M%SZ")
        for name in ("Authorization", "X-Amz-Date"):
            del request.headers[name]
        request.context["timestamp"] = when
        request.headers["X-Amz-Date"] = when
        canonical = signer.canonical_request(request)
        signer._inject_signature_to_request(request, signer.signature(signer.string_to_sign(request, canonical), request))

    c = client(endpoint, region, *own)
    c.meta.events.register_last("request-created.sns", late)
    code, text, status = refusal(c.list_topics)
    assert (code, status) == ("SignatureDoesNotMatch", 403) and says in text and "clock" in text


def test_a_try_that_is_sent_again_publishes_the_same_message(endpoint, region, own, topic):
    """The answer to the first try gets lost. boto3 signs neither the call's id nor
    the try's number, so within a second both tries have one signature."""
    sent, session, ids = [], botocore.httpsession.URLLib3Session(), []

    def lose(request, **_):
        sent.append(request)
        if len(sent) == 1:
            answer = session.send(request)
            ids.append(answer.text.split("<MessageId>")[1].split("<")[0])
            raise botocore.exceptions.ConnectionClosedError(endpoint_url=request.url)

    c = client(endpoint, region, *own, attempts=3)
    c.meta.events.register("before-send.sns.Publish", lose)
    assert [c.publish(TopicArn=topic, Message="m")["MessageId"]] == ids
    assert len(sent) == 2
    for r in sent:
        assert "SignedHeaders=content-type;host;x-amz-date," in str(r.headers["Authorization"])


def test_a_presigned_url_is_good_for_its_time(endpoint, region, own, topic):
    c = client(endpoint, region, *own)
    url = c.generate_presigned_url("publish", Params={"TopicArn": topic, "Message": "presigned & \u00fc"}, ExpiresIn=600, HttpMethod="GET")
    for _ in range(2):
        status, answer = fetch(urllib.request.Request(url))
        assert status == 200 and "<MessageId>" in answer
    posted = c.generate_presigned_url("list_topics", ExpiresIn=600)
    assert fetch(urllib.request.Request(posted, data=b"", method="POST"))[0] == 200
    status, answer = fetch(urllib.request.Request(url.replace("Message=presigned", "Message=altered")))
    assert status == 403 and "<Code>SignatureDoesNotMatch</Code>" in answer
    status, answer = fetch(urllib.request.Request(url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000000")))
    assert status == 400 and "<Code>IncompleteSignature</Code>" in answer


def test_the_cli_signs_for_itself_and_is_told_why_not(cli, monkeypatch):
    assert "Topics" in cli("list-topics")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "(SignatureDoesNotMatch)" in cli("list-topics", fails=True)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    assert "(InvalidClientTokenId)" in cli("list-topics", fails=True)
