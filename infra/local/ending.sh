# shellcheck shell=bash
# Sourced by the scripts that run something in the background. Such a script defines
# ours, which prints the pid of what it runs, and started, which prints those of
# everything that came of it.

# ask_and_kill TENTHS asks what runs to end, waits so many tenths of a second for it,
# and kills what is left.
ask_and_kill() {
  local pid
  if pid=$(ours); then
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq "$1"); do
      ours >/dev/null || break
      sleep 0.1
    done
  fi
  for pid in $(started); do
    kill -KILL "$pid" 2>/dev/null || true
  done
}

# none_left BY fails when anything still runs, after a moment for processes that have
# been killed and not yet gone.
none_left() {
  local left
  for _ in $(seq 50); do
    left=$(started)
    [[ -z $left ]] && return
    sleep 0.1
  done
  echo "these processes were left behind by $1: ${left//$'\n'/ }" >&2
  exit 1
}
