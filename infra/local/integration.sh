#!/usr/bin/env bash
# Deploys the stack to emulated AWS, tests it from outside, runs the adapters' suites
# and the cost scenarios on the same emulator, measures a few cold starts, compares the
# functions' permissions with what they did, and stops everything.
#
#   infra/local/integration.sh PORT   the emulator's port; the deployment test's own takes the next
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
port=${1-}
. infra/local/port.sh
is_port "$port"
is_port "$((port + 1))"
go=${GO:-go}
export EMULATOR=ministack

# The deployment test's own make local-aws: when that test is killed, only this
# script can stop what it started.
export LOCAL_AWS_TEST_PORT=$((port + 1))

cleanup() {
  local one code=0
  for one in "$port" "$LOCAL_AWS_TEST_PORT"; do
    infra/local/ministack.sh stop "$one" && infra/local/ministack.sh check "$one" || code=1
  done
  return "$code"
}
. infra/local/steps.sh

# A stack of an earlier run is not what is to be tested.
infra/local/ministack.sh stop "$port"
# The tests' own queues, so that the functions' access to Postino's is seen.
export DEAD_LETTER_QUEUE_ARNS='arn:aws:sqs:us-east-1:000000000000:it-*'
step "the deployment" infra/local/sam.sh up "$port" >/dev/null
environment=$(infra/local/sam.sh env "$port")
eval "$environment"
POSTINO_EVERY_CALL=$(infra/local/ministack.sh every-call "$port")
export POSTINO_EVERY_CALL
(cd infra/local && PYTHONDONTWRITEBYTECODE=1 ../../.cache/ministack/bin/python -m unittest -q test_functionlogs)
# What keeps the processors busy runs one after the other, beside the stack's own
# tests, which mostly wait.
busy() {
  "$go" test -count=1 -timeout 15m -p 1 -tags integration ./infra/deploytest/ ./infra/local/ &&
    "$go" test -count=1 -timeout 15m -p 1 -tags integration ./shared/aws/... ./infra/cost/
}
begin "make deploy's test or the adapters' suites" watched ministack "$port" busy
beside=$begun
step "the integration test" watched ministack "$port" "$go" test -count=1 -timeout 15m -tags integration ./infra/integration/
ended "$beside" || { echo "make deploy's test or the adapters' suites failed" >&2; exit 1; }
# Times, which nothing of this script's disturbs any more.
step "the measuring of cold starts" watched ministack "$port" "$go" test -count=1 -timeout 5m -tags integration ./infra/coldstart/
POSTINO_CALLS=$(infra/local/ministack.sh calls "$port")
export POSTINO_CALLS
step "the comparison of permissions" "$go" test -count=1 -tags integration ./infra/permissions/
