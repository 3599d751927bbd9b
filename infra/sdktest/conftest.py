"""Fixtures: a boto3 client for the server under test and an HTTP endpoint that
receives what the server pushes.

POSTINO_ENDPOINT is the server's URL (http://127.0.0.1:9324, say); it must be
allowed to push to loopback. POSTINO_REGION is its region, us-east-1 if unset.
"""

import http.server
import json
import os
import queue
import subprocess
import sys
import threading
import uuid

import boto3
import botocore.config
import pytest

WAIT = 20  # seconds for something that should take milliseconds


def setting(name, default=None):
    value = os.environ.get(name) or default
    if value is None:
        pytest.exit(f"{name} must be set to the server under test", returncode=2)
    return value


@pytest.fixture(scope="session")
def endpoint():
    return setting("POSTINO_ENDPOINT").rstrip("/")


@pytest.fixture(scope="session")
def region():
    return setting("POSTINO_REGION", "us-east-1")


def client(endpoint, region, **config):
    return boto3.client(
        "sns",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "test"),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "test"),
        config=botocore.config.Config(retries={"total_max_attempts": 1}, **config),
    )


@pytest.fixture(scope="session")
def sns(endpoint, region):
    return client(endpoint, region)


@pytest.fixture(scope="session")
def careless(endpoint, region):
    """A client that sends whatever it is given, unchecked."""
    return client(endpoint, region, parameter_validation=False)


@pytest.fixture
def topic(sns):
    arn = sns.create_topic(Name=f"sdktest-{uuid.uuid4()}")["TopicArn"]
    yield arn
    sns.delete_topic(TopicArn=arn)


class Receiver:
    """An endpoint that answers 200 and keeps what it was sent, per path."""

    def __init__(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver.box(self.path).put(body.decode())

            def log_message(self, *args):
                pass

        self.lock = threading.Lock()
        self.boxes = {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def box(self, path):
        with self.lock:
            return self.boxes.setdefault(path, queue.Queue())

    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/{uuid.uuid4()}"

    def next(self, url):
        """The next body pushed to a URL."""
        return self.box("/" + url.rsplit("/", 1)[1]).get(timeout=WAIT)

    def token(self, url):
        message = json.loads(self.next(url))
        assert message["Type"] in ("SubscriptionConfirmation", "UnsubscribeConfirmation")
        return message["Token"]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(scope="session")
def receiver():
    r = Receiver()
    yield r
    r.close()


@pytest.fixture
def confirmed(sns, topic, receiver):
    """A confirmed subscription: its ARN and its URL."""
    url = receiver.url()
    arn = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)["SubscriptionArn"]
    sns.confirm_subscription(TopicArn=topic, Token=receiver.token(url))
    return arn, url


@pytest.fixture(scope="session")
def cli(endpoint, region):
    """Runs the AWS CLI and answers its JSON, or its standard error when it fails."""

    def run(*args, fails=False):
        env = dict(os.environ, AWS_PAGER="", AWS_DEFAULT_REGION=region, AWS_EC2_METADATA_DISABLED="true", AWS_MAX_ATTEMPTS="1")
        env.setdefault("AWS_ACCESS_KEY_ID", "test")
        env.setdefault("AWS_SECRET_ACCESS_KEY", "test")
        done = subprocess.run(
            [sys.executable, "-m", "awscli", "--endpoint-url", endpoint, "--output", "json", "sns", *args],
            env=env, capture_output=True, text=True, timeout=120,
        )
        if fails:
            assert done.returncode != 0, done.stdout
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    return run
