"""SQS event sources that invoke several at once.

LocalEmu's event source takes the next batch when the one before has been answered,
so that an endpoint which hangs holds up everything behind it, and it finds out by an
HTTP request whether there is anything to take: those of a few stacks keep a
processor busy. AWS invokes up to MaximumConcurrency at once (AWS Lambda developer
guide, "Configuring scaling behavior for SQS event source mappings"). Here batches are
handled beside each other, a queue is asked when it has something, and a source that is
off takes nothing any more: LocalEmu says so before its last look at the queue is over.
"""

import threading

from localemu.services.lambda_.event_source_mapping.esm_worker import EsmWorker
from localemu.services.lambda_.event_source_mapping.pollers.sqs_poller import LOG, SqsPoller
from localemu.services.sqs.models import StandardQueue, sqs_stores
from localemu.utils.aws.arns import parse_arn

from hostexec.queues import something_in

# Without a MaximumConcurrency AWS goes on to more than a thousand, by and by.
DEFAULT_CONCURRENCY = 50


def apply() -> None:
    begin, poll_one = EsmWorker.__init__, SqsPoller.poll_events

    def begin_with_places(self, esm_config, poller, *args, **kwargs):
        begin(self, esm_config, poller, *args, **kwargs)
        at_once = (esm_config.get("ScalingConfig") or {}).get("MaximumConcurrency", DEFAULT_CONCURRENCY)
        poller.places = threading.BoundedSemaphore(at_once)
        poller.stopped = self._shutdown_event.is_set

    def poll(self):
        queue = queue_of(self.source_arn)
        if not isinstance(queue, StandardQueue):  # a FIFO queue's groups have an order to keep
            poll_one(self)
        elif self.places.acquire(timeout=1):
            taken = False
            try:
                messages = something_in(queue, 1, self.stopped) and receive(self)
                if messages:
                    threading.Thread(target=handle, args=(self, messages), daemon=True, name="event-source-batch").start()
                    taken = True
            finally:
                if not taken:
                    self.places.release()

    EsmWorker.__init__ = begin_with_places
    SqsPoller.poll_events = poll


def receive(poller: SqsPoller) -> list[dict]:
    return poller.source_client.receive_message(
        QueueUrl=poller.queue_url,
        MaxNumberOfMessages=min(poller.batch_size, 10),
        WaitTimeSeconds=min(poller.maximum_batching_window, 20),
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages", [])


def handle(poller: SqsPoller, messages: list[dict]) -> None:
    try:
        poller.handle_messages(messages)
    except Exception as e:  # the batch comes back at its visibility timeout
        LOG.info("a batch failed: %s", e)
    finally:
        poller.places.release()


def queue_of(arn: str):
    where = parse_arn(arn)
    return sqs_stores[where["account"]][where["region"]].queues.get(where["resource"])
