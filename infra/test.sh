#!/usr/bin/env bash
# make test. The integration test, which mostly waits, runs
# beside the steps that keep the processors busy.
#
#   infra/test.sh PORT TARGETS...   the emulator's port, then make's targets in order
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
port=$1
shift
. infra/local/port.sh
is_port "$port"
log=$(mktemp)

cleanup() { rm -f "$log"; }
. infra/local/steps.sh

begin "the integration test" infra/local/integration.sh "$port" >"$log" 2>&1
integration=$begun
for target in "$@"; do
  step "make $target" "${MAKE:-make}" --no-print-directory "$target"
done
code=0
ended "$integration" || code=$?
cat "$log"
((code == 0)) || { echo "make integration failed" >&2; exit 1; }
