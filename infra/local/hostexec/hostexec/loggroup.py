"""A function's logs in the group that its LoggingConfig names, which LocalEmu keeps
and does not use."""

from localemu.services.lambda_.invocation.execution_environment import ExecutionEnvironment


def apply() -> None:
    default = ExecutionEnvironment.get_log_group_name

    def get_log_group_name(self):
        return self.function_version.config.logging_config.get("LogGroup") or default(self)

    ExecutionEnvironment.get_log_group_name = get_log_group_name
