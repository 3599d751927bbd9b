#!/usr/bin/env bash
# Emulated AWS on loopback: MiniStack, installed once into .cache/ministack.
#
#   infra/local/ministack.sh start [PORT]   start (again: nothing to do); prints the endpoint
#   infra/local/ministack.sh stop  [PORT]   stop with everything it started
#   infra/local/ministack.sh reset [PORT]   forget all resources and stop functions
#   infra/local/ministack.sh env   [PORT]   the variables that point an SDK at it
#
# PORT is 4566 unless given. State is in memory; two ports are two separate ones.
set -euo pipefail

VERSION=1.5.33
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$root/.cache/ministack
command=${1:-}
port=${2:-4566}
url=http://127.0.0.1:$port
run=$root/.cache/ministack-run/$port
pidfile=$run/pid

usage() { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

[[ $port =~ ^[0-9]+$ ]] || usage

healthy() { curl -sf -m 2 "$url/_ministack/health" >/dev/null 2>&1; }

# ours prints the running emulator's pid. The command line is compared because a
# pid may have been given to somebody else since.
ours() {
  local pid
  pid=$(cat "$pidfile" 2>/dev/null) || return 1
  [[ $(ps -o command= -p "$pid" 2>/dev/null) == *ministack* ]] || return 1
  echo "$pid"
}

install() {
  [[ -f $venv/.version && $(<"$venv/.version") == "$VERSION" ]] && return
  echo "installing MiniStack $VERSION into $venv (about 80 s, 380 MB)" >&2
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "ministack[full]==$VERSION" >&2
  echo "$VERSION" >"$venv/.version"
}

# start runs the emulator in a process group of its own, so that stop finds all its
# functions' processes, and in a clean environment, which those inherit. The
# wrapper lets schedules fire within half a second instead of ten, and keeps
# connections open: its server would close each after 1,000 requests, in the
# middle of one, and SDKs then send that twice.
start() {
  if ours >/dev/null; then
    healthy && { echo "$url"; return; }
    stop
  fi
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "port $port is taken by something that this script did not start" >&2
    exit 1
  fi
  install
  mkdir -p "$run/tmp"
  env -i PATH="$PATH" HOME="$run" TMPDIR="$run/tmp" LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
    BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" AWS_ENDPOINT_URL="$url" IOT_MTLS_ENABLED=0 \
    "$venv/bin/python" -c '
import os
if os.getpgrp() != os.getpid(): os.setsid()
import ministack.services.scheduler as s; s._SCHEDULE_TICK_INTERVAL = 0.5
from hypercorn.config import Config; Config.keep_alive_max_requests = 1 << 40; Config.keep_alive_timeout = 120
from ministack.app import main; main()' </dev/null >"$run/log" 2>&1 &
  echo $! >"$pidfile"
  for _ in $(seq 300); do
    healthy && { echo "$url"; return; }
    ours >/dev/null || break
    sleep 0.1
  done
  echo "MiniStack did not start; the end of $run/log:" >&2
  tail -n 20 "$run/log" >&2
  stop
  exit 1
}

# stop resets first: a function that is busy would outlive the emulator.
stop() {
  local pid
  if pid=$(ours); then
    curl -sf -m 10 -X POST "$url/_ministack/reset" >/dev/null 2>&1 || true
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
      ours >/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true # what is left of its group
  fi
  rm -rf "$run"
}

case $command in
  start) start ;;
  stop) stop ;;
  reset) curl -sf -m 30 -X POST "$url/_ministack/reset" >/dev/null ;;
  env)
    echo "export AWS_ENDPOINT_URL=$url AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1"
    ;;
  *) usage ;;
esac
