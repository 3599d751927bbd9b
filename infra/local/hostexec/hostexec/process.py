"""One process of a function, from its start to its end."""

import json
import os
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future, TimeoutError
from pathlib import Path

from hostexec.runtimeapi import RuntimeAPI


# Lambda's own limit (AWS Lambda developer guide, "Lambda execution environment lifecycle").
INIT_TIMEOUT = 10


class FunctionProcess:
    """Runs bootstrap and gives it one invocation at a time."""

    def __init__(self, code: Path, env: dict[str, str], timeout: float):
        """timeout, in seconds, is the function's own, for one invocation."""
        self._timeout = timeout
        self._lock = threading.Lock()
        self._started: Future[None] = Future()
        self._result: Future[tuple[bytes, bool]] | None = None
        self._request_id = ""
        self._closing = False
        self._api = RuntimeAPI(self._ready, self._init_error, self._answered)
        self._log = tempfile.TemporaryFile(prefix="function-log-")
        self._process = subprocess.Popen(
            [code / "bootstrap"],
            cwd=code,
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "TMPDIR": tempfile.gettempdir(),  # localemu.sh finds its processes by it
                **{name: str(value) for name, value in env.items()},
                "AWS_LAMBDA_RUNTIME_API": self._api.address,
                "LAMBDA_TASK_ROOT": str(code),
            },
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        threading.Thread(target=self._watch, daemon=True, name="lambda-process").start()

    def wait_until_ready(self) -> bytes | None:
        """Waits until the process asks for work. What it failed with comes back as
        Lambda would put it."""
        try:
            self._started.result(INIT_TIMEOUT)
        except InitError as e:
            return e.payload
        except TimeoutError:
            self._process.kill()
            return failure("Sandbox.Timedout", f"Error: Init timed out after {INIT_TIMEOUT} seconds")
        return None

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def invoke(self, request_id: str, payload: bytes, headers: dict[str, str]) -> tuple[bytes, bool]:
        """Gives the answer and whether it is an error. A process that takes longer
        than its timeout is ended, as Lambda does."""
        with self._lock:
            self._result, self._request_id = Future(), request_id
        if self.ended:  # and _watch may have come too early to find the future
            self._exited(self._process.returncode)
        deadline = int((time.time() + self._timeout) * 1000)
        self._api.put(
            payload,
            {
                "Lambda-Runtime-Aws-Request-Id": request_id,
                "Lambda-Runtime-Deadline-Ms": str(deadline),
                **headers,
            },
        )
        try:
            return self._result.result(self._timeout)
        except TimeoutError:
            self._process.kill()
            return failure("Sandbox.Timedout", f"RequestId: {request_id} Error: Task timed out after {self._timeout:.2f} seconds"), True
        finally:
            with self._lock:
                self._result = None
                closing = self._closing
            if closing:
                self._process.kill()

    def close(self) -> None:
        """Ends the process, once it has answered what it is working on: on AWS a new
        version of a function interrupts nothing."""
        with self._lock:
            self._closing = True
            busy = self._result is not None
        if not busy:
            self._process.kill()

    def log_from(self, offset: int) -> bytes:
        """What the process has written since its log had offset bytes, 1 MiB at most."""
        return os.pread(self._log.fileno(), 1 << 20, offset)

    def _ready(self) -> None:
        if not self._started.done():
            self._started.set_result(None)

    def _init_error(self, body: bytes) -> None:
        if not self._started.done():
            self._started.set_exception(InitError(body))

    def _answered(self, request_id: str, body: bytes, failed: bool) -> None:
        with self._lock:
            result = self._result if request_id == self._request_id else None
            if result is not None and not result.done():
                result.set_result((body, failed))

    def _watch(self) -> None:
        self._exited(self._process.wait())
        self._api.close()

    def _exited(self, code: int) -> None:
        error = failure("Runtime.ExitError", f"RequestId: {self._request_id} Error: Runtime exited with error: {how(code)}")
        self._init_error(error)
        self._answered(self._request_id, error, True)


class InitError(Exception):
    def __init__(self, payload: bytes):
        super().__init__(payload.decode(errors="replace"))
        self.payload = payload


def failure(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def how(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {-code}"
