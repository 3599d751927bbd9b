"""SQS event sources that invoke several at once.

LocalEmu's event source takes the next batch when the one before has been answered,
so that an endpoint which hangs holds up everything behind it, and it finds out by an
HTTP request whether there is anything to take: those of a few stacks keep a
processor busy. AWS invokes up to MaximumConcurrency at once (AWS Lambda developer
guide, "Configuring scaling behavior for SQS event source mappings"). Here batches are
handled beside each other, and a queue is looked into before it is asked.
"""

import threading
import time

from localemu.services.lambda_.event_source_mapping.esm_worker import EsmWorker
from localemu.services.lambda_.event_source_mapping.pollers.sqs_poller import LOG, SqsPoller
from localemu.services.sqs.models import sqs_stores
from localemu.utils.aws.arns import parse_arn

# AWS's limit without a MaximumConcurrency is in the hundreds.
DEFAULT_CONCURRENCY = 50


def repair() -> None:
    begin = EsmWorker.__init__

    def begin_with_places(self, esm_config, poller, *args, **kwargs):
        begin(self, esm_config, poller, *args, **kwargs)
        at_once = (esm_config.get("ScalingConfig") or {}).get("MaximumConcurrency", DEFAULT_CONCURRENCY)
        poller.places = threading.BoundedSemaphore(at_once)

    handle = SqsPoller.handle_messages

    def poll_events(self):
        if not self.places.acquire(timeout=1):
            return
        messages = None
        try:
            if something_in(self.source_arn, 1):
                messages = received(self)
        finally:
            if not messages:
                self.places.release()
        if messages:
            threading.Thread(target=handle_and_release, args=(self, messages), daemon=True, name="event-source-batch").start()

    def received(self):
        response = self.source_client.receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=min(self.batch_size, 10),
            WaitTimeSeconds=min(self.maximum_batching_window, 20),
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        )
        return response.get("Messages")

    def handle_and_release(self, messages):
        try:
            handle(self, messages)
        except Exception as e:  # the batch comes back at its visibility timeout
            LOG.info("a batch failed: %s", e)
        finally:
            self.places.release()

    EsmWorker.__init__ = begin_with_places
    SqsPoller.poll_events = poll_events


def something_in(arn: str, seconds: float) -> bool:
    """Waits until a message can be received from the queue."""
    where = parse_arn(arn)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        queue = sqs_stores[where["account"]][where["region"]].queues.get(where["resource"])
        if queue is not None and queue.visible.qsize():
            return True
        time.sleep(0.05)
    return False
