"""Function URLs under a path.

LocalEmu serves a Function URL by its host name, which leads to this host only
where a name server says so. /_aws/lambda-url/ID/... needs none. A domain that a
user puts in front of a Function URL changes the path in the same way: functions
see neither.
"""

from localemu.http import Request
from localemu.services.edge import ROUTER
from rolo.request import get_raw_path, restore_payload

PREFIX = "/_aws/lambda-url/"


def apply() -> None:
    ROUTER.add(PREFIX + "<function>/", endpoint=forward, defaults={"path": ""})
    ROUTER.add(PREFIX + "<function>/<path:path>", endpoint=forward)


def forward(request: Request, function: str, path: str):
    """Answers as the Function URL of that id does. The region in the name only has
    to be one: ids are looked up without it."""
    del path  # decoded already; what comes after the id must stay as it was sent
    host = f"{function}.lambda-url.us-east-1.localhost"
    raw = get_raw_path(request).removeprefix(PREFIX + function) or "/"
    headers = request.headers.copy()
    headers["Host"] = host
    return ROUTER.dispatch(
        Request(
            method=request.method,
            path=raw,
            raw_path=raw,
            headers=headers,
            body=restore_payload(request),
            query_string=request.query_string.decode(),
            remote_addr=request.remote_addr,
        )
    )
