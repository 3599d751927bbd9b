#!/usr/bin/env bash
# Deploys the stack to emulated AWS, puts load on it with infra/bench, and stops
# everything.
#
#   infra/local/benchaws.sh PORT FLAGS...   the emulator's port, then flags of bench aws
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
port=${1-}
. infra/local/port.sh
is_port "$port"
shift
go=${GO:-go}
export EMULATOR=ministack

cleanup() {
  infra/local/ministack.sh stop "$port" && infra/local/ministack.sh check "$port"
}
. infra/local/steps.sh

# What an earlier run left in its logs and queues would be counted.
infra/local/ministack.sh stop "$port"
export QUEUE_DELAY_SECONDS=10 # schedules come within seconds
step "the deployment" infra/local/sam.sh up "$port" >/dev/null
environment=$(infra/local/sam.sh env "$port")
eval "$environment"
mkdir -p bin
"$go" build -o bin/bench ./infra/bench
step "the benchmark" watched ministack "$port" bin/bench aws --calls "$(infra/local/ministack.sh every-call "$port")" "$@"
