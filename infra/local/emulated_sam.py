"""The real SAM CLI, told that an emulator's addresses are S3's too.

`sam delete` reads where a nested stack's template lies from its address, and takes
only those that begin with https://s3 for S3's; an emulator's begin with
AWS_ENDPOINT_URL.
"""
import os

import samcli.lib.utils.s3 as s3

endpoint = os.environ["AWS_ENDPOINT_URL"].rstrip("/") + "/"
parse = s3.parse_s3_url


def parse_s3_url(url, *args, **kwargs):
    if isinstance(url, str) and url.startswith(endpoint):
        url = "https://s3.local/" + url[len(endpoint):]
    return parse(url, *args, **kwargs)


s3.parse_s3_url = parse_s3_url  # before the modules that take it by name are loaded

from samcli.cli.main import cli  # noqa: E402

cli(prog_name="sam")
