"""What LocalEmu loads from here."""

import importlib

from localemu.runtime import hooks
from localemu.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


class HostExecutorPlugin(RuntimeExecutorPlugin):
    """Chosen by LAMBDA_RUNTIME_EXECUTOR=host."""

    name = "host"

    def load(self, *args, **kwargs):
        from hostexec.executor import HostExecutor

        return HostExecutor


# Each says what of LocalEmu's it changes, and why.
PATCHES = ("alarms", "asyncinvoke", "clients", "cloudformation", "dynamodb", "eventsource", "filterpattern", "functionurl", "loggroup", "permissions", "sqsbodies", "trail")


@hooks.on_infra_start()
def apply():
    for name in PATCHES:
        importlib.import_module(f"hostexec.{name}").apply()
