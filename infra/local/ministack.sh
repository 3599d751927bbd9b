#!/usr/bin/env bash
# Emulated AWS on loopback: MiniStack, installed once into .cache/ministack.
#
#   infra/local/ministack.sh start [PORT]   start (again: nothing to do); prints the endpoint
#   infra/local/ministack.sh stop  [PORT]   stop with everything it started
#   infra/local/ministack.sh check [PORT]   fail when anything of it still runs
#   infra/local/ministack.sh alive [PORT]   fail, with its last words, when it has died
#   infra/local/ministack.sh reset [PORT]   forget all resources and stop functions
#   infra/local/ministack.sh env   [PORT]   the variables that point an SDK at it
#   infra/local/ministack.sh calls [PORT]   the file in which functions' calls are recorded, each kind once
#   infra/local/ministack.sh every-call [PORT]   the one with a line for every call
#
# PORT is 4566 unless given. State is in memory; two ports are two separate ones.
set -euo pipefail

VERSION=1.5.33
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command=${1:-}
port=${2:-4566}
name=ministack what=MiniStack program=ministack

usage() { sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

healthy() { request GET /_ministack/health; }

. "$root/infra/local/processes.sh"

start() {
  alone_with_port
  if ours >/dev/null; then
    healthy && { echo "$url"; return; }
    stop
  fi
  vacant
  "$root/infra/local/venv.sh" "$venv" "$VERSION" "MiniStack $VERSION (about 80 s, 380 MB)" "ministack[full]==$VERSION"
  begin BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" AWS_ENDPOINT_URL="$url" IOT_MTLS_ENABLED=0 AUTH=true \
    POSTINO_CALLS="$run/calls" POSTINO_EVERY_CALL="$run/every-call" "$venv/bin/python" "$root/infra/local/emulator.py"
  : >>"$run/calls"
  : >>"$run/every-call"
  echo "$url"
}

# stop resets first, so that functions end what they are at; one that is busy
# would outlive the emulator all the same.
stop() {
  ! ours >/dev/null || request POST /_ministack/reset || true
  end
}

case $command in
  start) start ;;
  stop) stop ;;
  check) check ;;
  alive) alive ;;
  reset) request POST /_ministack/reset ;;
  calls | every-call) echo "$run/$command" ;;
  env) variables ;;
  *) usage ;;
esac
