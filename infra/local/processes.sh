# shellcheck shell=bash
# Sourced by the emulators' scripts: what they do with their processes and ports is
# the same. The script has set root, name (the emulator's folders), what (its name
# for people), program (a word of its command line) and port, and defines healthy.
. "$root/infra/local/port.sh"
. "$root/infra/local/ending.sh"
is_port "$port"
url=http://127.0.0.1:$port
run=$root/.cache/$name-run/$port
venv=$root/.cache/$name
pidfile=$run/pid

# within SECONDS COMMAND... ends a command that takes longer, where the system can.
within() {
  if command -v timeout >/dev/null; then timeout "$@"; else "${@:2}"; fi
}

# request METHOD PATH succeeds when the emulator answers 200 within ten seconds.
request() {
  within 10 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" || exit 1
    printf "%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n" "$1" "$2" >&3
    read -r -t 10 status <&3 && [[ $status == *" 200"* ]]' "$port" "$1" "$2"
} 2>/dev/null

# ours prints the running emulator's pid. The command line is compared, and where it
# can be seen the run folder, because a pid may have been given to somebody else since.
ours() {
  local pid line
  pid=$(cat "$pidfile" 2>/dev/null) || return 1
  line=$({ tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o command= -p "$pid"; } 2>/dev/null) || return 1
  [[ $line == *"$program"* ]] || return 1
  [[ ! -d /proc/self ]] || grep -qszxF "TMPDIR=$run/tmp" "/proc/$pid/environ" || return 1
  echo "$pid"
}

# started prints the pids of everything that start has started and that still
# runs: what has the run folder in its environment, which functions get too, or
# where environments cannot be seen, what is in the emulator's process group.
started() {
  if [[ -d /proc/self ]]; then
    { grep -lszxF "TMPDIR=$run/tmp" /proc/[0-9]*/environ || true; } | cut -d/ -f3
  elif [[ -f $pidfile ]]; then
    ps -A -o pid=,pgid= | awk -v group="$(<"$pidfile")" '$2 == group { print $1 }'
  fi
}

# taken also where whoever has the port accepts nobody any more.
taken() {
  local code=0
  within 3 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"' "$port" 2>/dev/null || code=$?
  ((code == 0 || code == 124))
}

# vacant fails where somebody else has the port. Of the other emulator it removes
# what one that has died has left.
vacant() {
  local other=localemu
  [[ $name != localemu ]] || other=ministack
  if [[ -d $root/.cache/$other-run/$port ]]; then
    if taken; then
      echo "the other emulator, $other, runs on port $port: end it with make local-aws-down LOCAL_AWS_PORT=$port, or choose another port" >&2
      exit 1
    fi
    "$root/infra/local/$other.sh" stop "$port"
  fi
  if taken; then
    echo "port $port is taken by something that this script did not start: end that, or choose another port (with make: LOCAL_AWS_PORT, TEST_AWS_PORT, BENCH_AWS_PORT, COST_PORT or STACKS_PORT)" >&2
    exit 1
  fi
}

# alone_with_port waits for another start on this port to end, of either emulator,
# where the system can.
alone_with_port() {
  writable "$root/.cache"
  command -v flock >/dev/null || return 0
  exec 9>"$root/.cache/$port.lock"
  flock 9
}

# begin VARIABLE=VALUE... COMMAND... runs the emulator in a clean environment, and
# waits a minute at most until it is healthy.
begin() {
  rm -rf "$run"
  mkdir -p "$run/tmp"
  trap 'kill -KILL ${!:-} 2>/dev/null || true; end; exit 130' INT
  trap 'kill -KILL ${!:-} 2>/dev/null || true; end; exit 143' TERM HUP
  env -i PATH="$PATH" HOME="$run" TMPDIR="$run/tmp" LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "$@" </dev/null >"$run/log" 2>&1 8>&- 9>&- &
  if ! echo $! >"$pidfile"; then
    kill -KILL $!
    echo "nothing can be written into $run: is the disk full?" >&2
    exit 1
  fi
  for _ in $(seq 600); do
    healthy && { trap - INT TERM HUP; return; }
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  echo "$what did not start; the end of $run/log:" >&2
  tail -n 20 "$run/log" >&2
  end
  exit 1
}

# end ends all processes; the emulator is asked first.
end() {
  ask_and_kill 100
  rm -rf "$run"
}

check() { none_left "the emulator on port $port"; }

# alive fails when the emulator has died, with its last words.
alive() {
  ours >/dev/null && healthy && return
  if [[ -f $run/log ]]; then
    echo "$what has died on port $port; the end of $run/log:" >&2
    tail -n 20 "$run/log" >&2
  else
    echo "$what does not run on port $port" >&2
  fi
  exit 1
}

variables() {
  echo "export AWS_ENDPOINT_URL=$url AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1"
}
