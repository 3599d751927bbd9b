"""LocalEmu's execution environment as a process of this host."""

from localemu.services.lambda_.invocation.lambda_models import InvocationResult
from localemu.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from hostexec.process import FunctionProcess


class HostExecutor(RuntimeExecutor):
    """One execution environment. Its process is started anew when it has ended, as
    Lambda does after a crash or a timeout; that it could not start is the answer to
    the invocation that it was started for."""

    def __init__(self, id, function_version):
        super().__init__(id=id, function_version=function_version)
        self._env: dict[str, str] = {}
        self._process: FunctionProcess | None = None
        self._failure: bytes | None = None  # to start
        self._logged = 0  # bytes of the process's log that have been passed on

    def start(self, env_vars: dict[str, str]) -> None:
        self._env = env_vars
        self._begin()

    def stop(self) -> None:
        if self._process:
            self._process.close()

    def invoke(self, payload: dict[str, str], function_timeout: int | None = None) -> InvocationResult:
        if self._process is None or (self._failure is None and self._process.ended):
            self._begin()
        process, request_id = self._process, payload["invoke-id"]
        if self._failure is not None:
            body, failed = self._failure, True
            self._process = None
            process.close()
        else:
            body, failed = process.invoke(
                request_id,
                payload["payload"].encode(),
                {
                    "Lambda-Runtime-Invoked-Function-Arn": payload["invoked-function-arn"],
                    "Lambda-Runtime-Trace-Id": payload["trace-id"],
                },
            )
        written = process.log_from(self._logged)
        self._logged += len(written)
        # Lambda's own lines, without which LocalEmu takes a silent function for a fault.
        logs = f"START RequestId: {request_id}\n{written.decode(errors='replace')}END RequestId: {request_id}\n"
        return InvocationResult(request_id, body, is_error=failed, logs=logs)

    def get_logs(self) -> str:
        return self._process.log_from(0).decode(errors="replace") if self._process else ""

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return "127.0.0.1"

    def get_runtime_endpoint(self) -> str:
        return "http://127.0.0.1"  # of LocalEmu's runtime in a container; none is here

    @classmethod
    def prepare_version(cls, function_version) -> None:
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version) -> None:
        pass  # LocalEmu removes the code; nothing else was made

    def _begin(self) -> None:
        config = self.function_version.config
        self._process = FunctionProcess(config.code.get_unzipped_code_location(), self._env, config.timeout or 3)
        self._logged = 0
        self._failure = self._process.wait_until_ready()
