# shellcheck shell=bash
# Sourced by scripts that run long steps: each runs in a process group of its own,
# so that Ctrl-C or a failure ends it whole, and what a step leaves running is a
# failure. The script defines cleanup, which runs at the end of it in any case.
set -m

steps=()

# begin NAME COMMAND... starts a step and gives its group in $begun.
begin() {
  local name=$1
  shift
  "$@" &
  begun=$!
  steps+=("$begun:$name")
}

# ended GROUP waits for a step to end; its status is the step's.
ended() {
  local code=0
  wait "$1" || code=$?
  alone "$1" || code=1
  return "$code"
}

# step NAME COMMAND... runs one to its end.
step() {
  begin "$@"
  ended "$begun" || { echo "$1 failed" >&2; exit 1; }
}

# watched EMULATOR PORT COMMAND... runs a command of a step's. When the emulator dies
# under it, or is another one by now, everything of the step is ended: its tests would wait for minutes for what
# cannot come. One that is only busy is asked three times.
watched() {
  local emulator=infra/local/$1.sh port=$2 pidfile=.cache/$1-run/$2/pid running tried=0 said was
  shift 2
  was=$(cat "$pidfile")
  set +m # the command stays in the step's group
  "$@" &
  running=$!
  while kill -0 "$running" 2>/dev/null; do
    sleep 1
    if said=$("$emulator" alive "$port" 2>&1) && [[ $(cat "$pidfile" 2>/dev/null) == "$was" ]]; then
      tried=0
    elif ((++tried == 3)); then
      echo "${said:-the emulator on port $port is another one by now}" >&2
      trap '' TERM
      kill -TERM 0
      wait
      return 1
    fi
  done
  wait "$running"
}

# alone gives what a step has started a moment to go, then ends it and complains.
alone() {
  local entry
  for _ in $(seq 30); do
    kill -0 -- "-$1" 2>/dev/null || return 0
    sleep 0.1
  done
  for entry in "${steps[@]}"; do
    [[ $entry == "$1:"* ]] && echo "${entry#*:} left processes running in group $1" >&2
  done
  kill -KILL -- "-$1" 2>/dev/null || true
  return 1
}

finish() {
  local code=$? entry
  trap '' EXIT INT TERM HUP
  for entry in ${steps[@]+"${steps[@]}"}; do
    kill -TERM -- "-${entry%%:*}" 2>/dev/null || true
  done
  wait
  cleanup || code=1
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
