#!/usr/bin/env bash
# Tests on the stacks beyond MiniStack: the integration suite on LocalEmu, and the
# functions in containers. What cannot run here is said, and is a failure where CI
# is "true".
#
#   infra/local/test-stacks.sh PORT   LocalEmu's; the containers' emulator takes the next
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
port=${1-}
. infra/local/port.sh
is_port "$port"
is_port "$((port + 1))"
go=${GO:-go}

cleanup() {
  infra/local/localemu.sh stop "$port" && infra/local/localemu.sh check "$port"
}
. infra/local/steps.sh

missing() {
  echo "!! $1 did NOT run." >&2
  [[ ${CI:-} != true ]] || exit 1
}

# suite is the integration test as on MiniStack. What else make integration runs, the
# adapters' own suites and make deploy's among it, runs there alone.
suite() {
  local environment
  cleanup
  export DEAD_LETTER_QUEUE_ARNS='arn:aws:sqs:us-east-1:000000000000:it-*'
  environment=$("${MAKE:-make}" -s local-aws STACK=localemu LOCAL_AWS_PORT="$port")
  infra/local/hostexec/test
  eval "$environment"
  POSTINO_EVERY_CALL=$(infra/local/localemu.sh every-call "$port")
  export POSTINO_EVERY_CALL
  # Fewer at once than on the first emulator, which answers several times as fast: calls
  # that take longer than three seconds are made again, and messages come twice.
  watched localemu "$port" "$go" test -count=1 -timeout 20m -parallel 8 -tags integration ./infra/integration/
}

# hung ends a LocalEmu that does not answer any more.
hung() {
  kill -STOP "$(<".cache/localemu-run/$port/pid")"
  "${MAKE:-make}" -s local-aws-down LOCAL_AWS_PORT="$port"
  infra/local/localemu.sh check "$port"
  [[ ! -d .cache/localemu-run/$port ]]
}

if infra/local/localemu.sh python >/dev/null; then
  step "the integration test on LocalEmu" suite
  step "the end of a LocalEmu that hangs" hung
else
  missing "The integration test on LocalEmu"
fi

if [[ ${ENGINE:-} == own ]] || infra/local/engine.sh needs; then
  step "the functions in containers" infra/samlocal/run "$((port + 1))"
else
  missing "The test of functions in containers"
fi
