#!/usr/bin/env bash
# Counts anew what the scenarios of infra/cost ask of emulated AWS, which it starts
# and stops, and writes infra/cost/counts.json.
#
#   infra/local/costcounts.sh PORT   the emulator's port
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
port=${1-}
. infra/local/port.sh
is_port "$port"
go=${GO:-go}

cleanup() {
  infra/local/ministack.sh stop "$port" && infra/local/ministack.sh check "$port"
}
. infra/local/steps.sh

step "the emulator" infra/local/ministack.sh start "$port" >/dev/null
unset AWS_PROFILE AWS_SESSION_TOKEN
eval "$(infra/local/ministack.sh env "$port")"
step "the counting" watched ministack "$port" "$go" test -count=1 -timeout 15m -tags integration ./infra/cost/ -run TheCountsAreThoseOfThePage -update
