"""The Lambda Runtime API for one function process.

AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes",
version 2018-06-01: the process asks for the next invocation, which blocks until
there is one, and posts its response or error; or it posts that it cannot start.
"""

import queue
import threading
from collections.abc import Callable

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

BASE = "/2018-06-01/runtime/"


class QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *args, **kwargs):
        pass  # a line for each call would drown the emulator's own


class RuntimeAPI:
    """Serves one process on a port of its own, which is how an idle process learns
    that the emulator has gone: its connection ends, and so does the process."""

    def __init__(
        self,
        on_ready: Callable[[], None],
        on_init_error: Callable[[bytes], None],
        on_result: Callable[[str, bytes, bool], None],
    ):
        """on_ready is called whenever the process asks for work, on_init_error with
        the error it posts, on_result with request id, body and whether it failed."""
        self._on_ready, self._on_init_error, self._on_result = on_ready, on_init_error, on_result
        self._invocations: queue.SimpleQueue[tuple[bytes, dict[str, str]] | None] = queue.SimpleQueue()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=QuietHandler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True, name="lambda-runtime-api").start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def put(self, payload: bytes, headers: dict[str, str]) -> None:
        """Hands the process an invocation."""
        self._invocations.put((payload, headers))

    def close(self) -> None:
        self._invocations.put(None)
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ, start_response):
        request = Request(environ)
        match (request.method, request.path.removeprefix(BASE).split("/")):
            case ("GET", ["invocation", "next"]):
                response = self._next()
            case ("POST", ["init", "error"]):
                self._on_init_error(request.get_data())
                response = Response(status=202)
            case ("POST", ["invocation", request_id, ("response" | "error") as kind]):
                self._on_result(request_id, request.get_data(), kind == "error")
                response = Response(status=202)
            case _:
                response = Response(status=404)
        return response(environ, start_response)

    def _next(self) -> Response:
        self._on_ready()
        invocation = self._invocations.get()
        if invocation is None:
            return Response(status=410)
        payload, headers = invocation
        return Response(payload, headers=headers, mimetype="application/json")
