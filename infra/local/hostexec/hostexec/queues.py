"""Waiting for a message of a queue that lies in this process, without asking for it
again and again."""

from collections.abc import Callable

from localemu.services.sqs.models import StandardQueue


def something_in(queue: StandardQueue, seconds: float, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Waits until a message can be received or stopped says so, which wake causes to
    be asked. Whoever else waits is told too, since this waiter takes nothing yet."""
    with queue.visible.not_empty:
        queue.visible.not_empty.wait_for(lambda: queue.visible._qsize() or stopped(), seconds)
        there = bool(queue.visible._qsize()) and not stopped()
        if there:
            queue.visible.not_empty.notify()
        return there


def wake(queue: StandardQueue) -> None:
    with queue.visible.not_empty:
        queue.visible.not_empty.notify_all()
