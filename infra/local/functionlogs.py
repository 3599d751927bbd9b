"""What a function has logged before it answers belongs to that invocation, as on AWS.

MiniStack gives its reader 50 ms after the answer: on a busy machine a line comes later,
with the next invocation, or never where there is none. Here what is in the pipe at that
moment is read at once.
"""

import os
import queue
import select
import threading

from ministack.core.lambda_runtime import ProvidedWorker


class Output:
    """The output of a bootstrap; its lines go to a queue, of which the oldest are
    dropped when it is full."""

    def __init__(self, stream, lines: queue.Queue):
        self._stream, self._lines, self._rest = stream, lines, b""
        self._lock, self._ended = threading.Lock(), False
        os.set_blocking(stream.fileno(), False)

    def pump(self) -> None:
        """Reads until the end, so that the pipe is never full."""
        with self._stream:
            poll = select.poll()
            poll.register(self._stream.fileno(), select.POLLIN)
            while poll.poll() and self.take():
                pass

    def take(self) -> bool:
        """Reads what has been written; False at the end."""
        with self._lock:
            while not self._ended:
                try:
                    chunk = os.read(self._stream.fileno(), 1 << 16)
                except BlockingIOError:
                    return True
                *whole, self._rest = (self._rest + chunk).split(b"\n")
                if not chunk:
                    self._ended = True
                    whole = [self._rest] if self._rest else []
                for line in whole:
                    self._put(line.decode(errors="replace").rstrip("\r"))
            return False

    def _put(self, line: str) -> None:
        if self._lines.full():
            self._lines.get_nowait()
        self._lines.put_nowait(line)


def _pump_output(worker, stream, lines) -> None:
    worker.output = Output(stream, lines)
    worker.output.pump()


def _drain(worker, **_) -> str:
    if worker.output:
        worker.output.take()
    return worker._drain_stderr()


def apply() -> None:
    ProvidedWorker.output = None  # until there is a process
    ProvidedWorker._pump_output = _pump_output
    ProvidedWorker._drain_stderr_bounded = _drain
