#!/usr/bin/env bash
# Emulated AWS on loopback: MiniStack, installed once into .cache/ministack.
#
#   infra/local/ministack.sh start [PORT]   start (again: nothing to do); prints the endpoint
#   infra/local/ministack.sh stop  [PORT]   stop with everything it started
#   infra/local/ministack.sh check [PORT]   fail when anything of it still runs
#   infra/local/ministack.sh reset [PORT]   forget all resources and stop functions
#   infra/local/ministack.sh env   [PORT]   the variables that point an SDK at it
#   infra/local/ministack.sh calls [PORT]   the file in which functions' calls are recorded, each kind once
#   infra/local/ministack.sh every-call [PORT]   the one with a line for every call
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

usage() { sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

[[ $port =~ ^[0-9]+$ ]] || usage

# request METHOD PATH succeeds when the emulator answers 200 within ten seconds.
request() {
  local status
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n' "$1" "$2" >&3
  read -r -t 10 status <&3 || status=
  exec 3<&-
  [[ $status == *" 200"* ]]
} 2>/dev/null

healthy() { request GET /_ministack/health; }

# ours prints the running emulator's pid. The command line is compared because a
# pid may have been given to somebody else since.
ours() {
  local pid line
  pid=$(cat "$pidfile" 2>/dev/null) || return 1
  line=$({ tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o command= -p "$pid"; } 2>/dev/null) || return 1
  [[ $line == *ministack* ]] || return 1
  echo "$pid"
}

# started prints the pids of everything that start has started and that still
# runs: what has the run folder in its environment, which functions inherit, or
# where environments cannot be seen, what is in the emulator's process group.
started() {
  if [[ -d /proc/self ]]; then
    { grep -lszxF "TMPDIR=$run/tmp" /proc/[0-9]*/environ || true; } | cut -d/ -f3
  elif [[ -f $pidfile ]]; then
    ps -A -o pid=,pgid= | awk -v group="$(<"$pidfile")" '$2 == group { print $1 }'
  fi
}

# start runs the emulator in a clean environment, which functions inherit.
start() {
  if ours >/dev/null; then
    healthy && { echo "$url"; return; }
    stop
  fi
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "port $port is taken by something that this script did not start: choose another, LOCAL_AWS_PORT=4600 say" >&2
    exit 1
  fi
  "$root/infra/local/venv.sh" "$venv" "$VERSION" "MiniStack $VERSION (about 80 s, 380 MB)" "ministack[full]==$VERSION"
  mkdir -p "$run/tmp"
  : >"$run/calls"
  : >"$run/every-call"
  env -i PATH="$PATH" HOME="$run" TMPDIR="$run/tmp" LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
    BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" AWS_ENDPOINT_URL="$url" IOT_MTLS_ENABLED=0 AUTH=true \
    POSTINO_CALLS="$run/calls" POSTINO_EVERY_CALL="$run/every-call" "$venv/bin/python" "$root/infra/local/emulator.py" </dev/null >"$run/log" 2>&1 &
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

# stop resets first, so that functions end what they are at; one that is busy
# would outlive the emulator all the same.
stop() {
  local pid
  if pid=$(ours); then
    request POST /_ministack/reset || true
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
      ours >/dev/null || break
      sleep 0.1
    done
  fi
  for pid in $(started); do
    kill -KILL "$pid" 2>/dev/null || true
  done
  rm -rf "$run"
}

# check waits a moment, for processes that have been killed and not yet gone.
check() {
  local left
  for _ in $(seq 50); do
    left=$(started)
    [[ -z $left ]] && return
    sleep 0.1
  done
  echo "these processes were left behind by the emulator on port $port: ${left//$'\n'/ }" >&2
  exit 1
}

case $command in
  start) start ;;
  stop) stop ;;
  check) check ;;
  reset) request POST /_ministack/reset ;;
  calls | every-call) echo "$run/$command" ;;
  env)
    echo "export AWS_ENDPOINT_URL=$url AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1"
    ;;
  *) usage ;;
esac
