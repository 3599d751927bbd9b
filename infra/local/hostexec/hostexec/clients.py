"""Clients that are made once.

LocalEmu makes an SDK client, which costs more than most calls, for every event
source, every function's log and every look at a function's code. Its calls of itself
are nobody's, whatever role it takes for them: here they share clients.
"""

import functools

import boto3
from localemu.aws.connect import ClientFactory
from localemu.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller
from localemu.services.lambda_.invocation import lambda_models


def apply() -> None:
    def with_own_name(self, *, region_name=None, **_):
        return self(region_name=region_name)

    register, done = SqsPoller._register_client_hooks, set()

    def register_once(self):
        if id(self.source_client.meta.events) not in done:
            done.add(id(self.source_client.meta.events))
            register(self)

    ClientFactory.with_assumed_role = with_own_name
    SqsPoller._register_client_hooks = register_once
    lambda_models.boto3 = Boto3


class Boto3:
    """Stands for the module boto3 where addresses of code are signed."""

    client = functools.lru_cache(boto3.client)
