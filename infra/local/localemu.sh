#!/usr/bin/env bash
# Emulated AWS on loopback: LocalEmu, the open fork of LocalStack, installed once
# into .cache/localemu. It needs Python 3.12 or later. Functions run as processes of
# this host (infra/local/hostexec).
#
#   infra/local/localemu.sh start  [PORT]   start (again: nothing to do); prints the endpoint
#   infra/local/localemu.sh stop   [PORT]   stop with everything it started
#   infra/local/localemu.sh check  [PORT]   fail when anything of it still runs
#   infra/local/localemu.sh alive  [PORT]   fail, with its last words, when it has died
#   infra/local/localemu.sh reset  [PORT]   forget all resources and stop functions
#   infra/local/localemu.sh env    [PORT]   the variables that point an SDK at it
#   infra/local/localemu.sh every-call [PORT]   the file with a line for every call of functions
#   infra/local/localemu.sh python          the Python it runs on, or what is missing
#
# PORT is 4566 unless given. State is in memory; two ports are two separate ones.
set -euo pipefail

VERSION=1.3.2
# Whose inner parts infra/local/hostexec replaces too: LocalEmu takes any later ones.
INNER=(moto-ext==5.1.54 rolo==0.8.9 Twisted==26.10.0 Werkzeug==3.1.9)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command=${1:-}
port=${2:-4566}
name=localemu what=LocalEmu program=hostexec

usage() { sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

healthy() { request GET /_localemu/health; }

. "$root/infra/local/processes.sh"

# python prints the first interpreter that will do; one on PATH may be a shim that
# leads nowhere, so each is asked.
python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.14 python3 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  echo "LocalEmu needs Python 3.12 or later with venv and pip, and none is on PATH or under pyenv: install one, or set PYTHON to it" >&2
  return 1
}

# exposed tells whether the port is open to other hosts, which it would be without
# a patch in infra/local/hostexec: functions and files of this host are behind it.
exposed() {
  local hex
  hex=$(printf '%04X' "$port")
  grep -qsE "^ *[0-9]+: 0+:$hex .{13,37} 0A " /proc/net/tcp /proc/net/tcp6
}

start() {
  alone_with_port
  if ours >/dev/null; then
    healthy && { echo "$url"; return; }
    end
  fi
  vacant
  local python
  python=$(python)
  PYTHON=$python "$root/infra/local/venv.sh" "$venv" "$VERSION" "LocalEmu $VERSION (about 100 s, 600 MB)" "localemu[runtime]==$VERSION" "${INNER[@]}"
  begin PYTHONPATH="$root/infra/local/hostexec" LAMBDA_RUNTIME_EXECUTOR=host \
    GATEWAY_LISTEN="127.0.0.1:$port" OVERRIDE_IN_DOCKER=0 FILESYSTEM_ROOT="$run/fs" DISABLE_EVENTS=1 IAM_ENFORCEMENT=1 ROOT_ACCESS_KEYS=test \
    IN_MEMORY_CLIENT=1 SQS_DISABLE_CLOUDWATCH_METRICS=1 LAMBDA_RETRY_BASE_DELAY=1 LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.02 \
    POSTINO_EVERY_CALL="$run/every-call" "$venv/bin/python" -m hostexec
  if exposed; then
    end
    echo "LocalEmu listens on other networks than loopback: it has been stopped" >&2
    exit 1
  fi
  echo "$url"
}

# reset starts anew: LocalEmu has no request for it.
reset() {
  alive
  end
  start >/dev/null
}

case $command in
  start) start ;;
  stop) end ;;
  check) check ;;
  alive) alive ;;
  reset) reset ;;
  python) python ;;
  every-call) echo "$run/every-call" ;;
  env) variables ;;
  *) usage ;;
esac
