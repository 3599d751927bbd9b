"""Asynchronous invocations' pollers that stop at once.

LocalEmu's waits up to two seconds for its queue, and when a function is changed the
new version waits for it, under a lock that every function needs.
"""

from localemu.services.lambda_.invocation import event_manager
from localemu.services.lambda_.invocation.event_manager import LOG, Poller

from hostexec.queues import something_in, wake


def apply() -> None:
    stop = Poller.stop

    def stop_at_once(self):
        stop(self)
        wake(queue_of(self))

    Poller.run, Poller.stop = run, stop_at_once


def run(self: Poller, *_args, **_kwargs) -> None:
    version = self.version_manager.function_version
    client, queue, stopped = event_manager.get_sqs_client(version), queue_of(self), self._shutdown_event
    while not stopped.is_set():
        try:
            if not something_in(queue, 60, stopped.is_set):
                continue
            taken = client.receive_message(QueueUrl=self.event_queue_url, MaxNumberOfMessages=10, VisibilityTimeout=version.config.timeout + 60)
            for message in taken["Messages"] or ():
                self.invoker_pool.submit(self.handle_message, message)
        except Exception as e:
            LOG.error("polling the events of %s failed: %s", version.qualified_arn, e)
            stopped.wait(1)


def queue_of(poller: Poller):
    client = event_manager.get_sqs_client(poller.version_manager.function_version)
    return client.queue_manager.get_queue(poller.event_queue_url)
