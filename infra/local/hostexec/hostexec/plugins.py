"""What LocalEmu loads from here."""

from localemu.runtime import hooks
from localemu.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


class HostExecutorPlugin(RuntimeExecutorPlugin):
    """Chosen by LAMBDA_RUNTIME_EXECUTOR=host."""

    name = "host"

    def load(self, *args, **kwargs):
        from hostexec.executor import HostExecutor

        return HostExecutor


@hooks.on_infra_start()
def repair():
    """Each module says what of LocalEmu's it mends."""
    from hostexec import (
        alarms,
        asyncinvoke,
        clients,
        cloudformation,
        dynamodb,
        eventsource,
        filterpattern,
        functionurl,
        loggroup,
        permissions,
        sqsbodies,
        trail,
    )

    for module in (
        alarms,
        asyncinvoke,
        clients,
        cloudformation,
        dynamodb,
        eventsource,
        filterpattern,
        functionurl,
        loggroup,
        permissions,
        sqsbodies,
        trail,
    ):
        module.repair()
