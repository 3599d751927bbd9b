#!/usr/bin/env bash
# A container engine for the tests alone: a dockerd with its own socket, data and
# network under .cache, which touches neither this host's engine nor its firewall.
# Debian packages are unpacked into .cache/engine and not installed. It needs root,
# because containers do.
#
#   infra/local/engine.sh start   start (again: nothing to do); prints what to export
#   infra/local/engine.sh stop    stop with everything it started
#   infra/local/engine.sh check   fail when anything of it still runs
#   infra/local/engine.sh env     the variables that point docker and sam at it
#   infra/local/engine.sh needs   fail, saying so, where something that it needs is missing
#
# HOST_ADDRESS, among the variables, is where containers reach this host.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$root/.cache"
cache=$(cd "$root/.cache" && pwd -P) # as /proc/mounts has it
programs=$cache/engine
run=$cache/engine-run
socket=$run/sock
pidfile=$run/pid
bridge=postino0
address=172.29.117.1
command=${1:-}

. "$root/infra/local/ending.sh"

usage() { sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
fail() { echo "$1" >&2; exit 1; }

# needs are what this script cannot get by itself.
needs() {
  local instead="use one of your own (ENGINE=own make sam-local), see docs/local-stacks.md"
  [[ $(uname -s) == Linux ]] || fail "a container engine for the tests alone needs Linux: $instead"
  [[ $(id -u) == 0 ]] || fail "a container engine for the tests alone needs root: $instead"
  { command -v apt-get && command -v dpkg-deb; } >/dev/null ||
    fail "a container engine for the tests alone is made of Debian packages, and there is no apt-get here: $instead"
  ((${#socket} < 100)) || fail "$socket is too long a name for a socket: move the repository to a shorter path"
}

# with runs a program of the packages.
with() {
  env PATH="$programs/usr/sbin:$programs/usr/bin:$programs/sbin:$programs/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    LD_LIBRARY_PATH="$(echo "$programs"/usr/lib/*-linux-gnu | tr ' ' :)" DOCKER_HOST="unix://$socket" DOCKER_CONFIG="$run/config" "$@"
}

# install unpacks docker.io and what it needs that this host does not have. The
# file .version comes last: what was cut off is removed and made anew.
install() {
  local version=1 new=$programs.new
  [[ -f $programs/.version && $(<"$programs/.version") == "$version" ]] && return
  echo "unpacking a container engine into $programs (about 20 s, 250 MB)" >&2
  rm -rf "$new" "$programs"
  mkdir -p "$new/archives/partial"
  download "$new/archives" || { apt-get update -qq >&2 && download "$new/archives"; } ||
    fail "apt-get could not download docker.io, busybox-static and iproute2: see above; the next run tries again"
  for package in "$new"/archives/*.deb; do
    dpkg-deb -x "$package" "$new"
  done
  rm -rf "$new/archives"
  echo "$version" >"$new/.version"
  mv "$new" "$programs"
}

# download fetches packages that are not installed, and reinstalls none. Packages
# that are installed already come as well, so that all programs are in one place.
download() {
  apt-get install -qq -y --no-install-recommends --download-only --reinstall \
    -o Dir::Cache::archives="$1" -o Debug::NoLocking=1 docker.io busybox-static iproute2 >"$1.log" 2>&1 || { cat "$1.log" >&2; return 1; }
}

# ours prints the running engine's pid. The command line is compared because a pid
# may have been given to somebody else since.
ours() {
  local pid
  pid=$(cat "$pidfile" 2>/dev/null) || return 1
  { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$run/data" || return 1
  echo "$pid"
}

# started prints the pids of everything the engine has started: its programs, which
# carry the folder in their command lines too, and the shims' children, the containers.
started() {
  local pid
  for pid in $({ grep -lsF -f <(echo "$run/") /proc/[0-9]*/cmdline || true; } | cut -d/ -f3); do
    [[ $(readlink "/proc/$pid/exe") == "$programs"/* ]] || continue # somebody reads its log, say
    echo "$pid"
    cat "/proc/$pid/task/$pid/children" 2>/dev/null || true
  done | tr -s ' ' '\n' | sort -u
}

start() {
  ours >/dev/null && healthy && { environment; return; }
  needs
  exec 9>"$cache/engine.lock"
  ! command -v flock >/dev/null || flock 9
  install
  stop # what a killed one has left
  mkdir -p "$run"
  [[ ! -d /sys/class/net/$bridge ]] ||
    fail "the network $bridge is there already: another copy of the repository runs its container engine, stop that first (there: infra/local/engine.sh stop), or remove what a killed one left with ip link del $bridge"
  : >"$run/bridge"
  with ip link add "$bridge" type bridge && with ip addr add "$address/24" dev "$bridge" && with ip link set "$bridge" up ||
    fail "the network $bridge could not be made (see above): the engine needs CAP_NET_ADMIN"
  with setsid dockerd --host "unix://$socket" --data-root "$run/data" --exec-root "$run/exec" --pidfile "$pidfile" \
    --bridge "$bridge" --iptables=false --ip6tables=false --ip-masq=false </dev/null >"$run/log" 2>&1 9>&- &
  local starting=$!
  for _ in $(seq 300); do
    healthy && { image; environment; return; }
    kill -0 "$starting" 2>/dev/null || break
    sleep 0.1
  done
  echo "the container engine did not start; the end of $run/log:" >&2
  tail -n 20 "$run/log" >&2
  stop
  exit 1
}

healthy() { with timeout 5 docker version >/dev/null 2>&1; }

# image makes a stand-in for Lambda's base image, which comes from a registry that
# this host need not reach. A provided function wants no more than a place to be:
# the runtime emulator in front of it is sam's own.
image() {
  local files=$run/image name
  mkdir -p "$files"/{bin,tmp,etc,var/task}
  cp "$programs/bin/busybox" "$files/bin/"
  for name in sh mv chmod mkdir ls cat; do
    ln -sf busybox "$files/bin/$name"
  done
  case $(uname -m) in
    aarch64 | arm64) name=arm64 ;;
    *) name=x86_64 ;;
  esac
  tar -C "$files" -c . | with docker import -c 'ENV LAMBDA_TASK_ROOT=/var/task PATH=/bin TZ=:UTC' - "public.ecr.aws/lambda/provided:al2023-$name" >/dev/null
}

stop() {
  ask_and_kill 150
  check
  local made=
  [[ ! -f $run/bridge ]] || made=yes
  if [[ -d $run ]]; then
    { grep -F " $run/" /proc/mounts || true; } | cut -d' ' -f2 | sort -r | while read -r mount; do
      umount -l "$mount"
    done
    rm -rf "$run"
  fi
  # Only what this folder's engine has made: another copy of the repository may have its own.
  [[ -z $made || ! -d /sys/class/net/$bridge ]] || with ip link del "$bridge"
}

check() { none_left "the container engine"; }

environment() { printf 'export DOCKER_HOST=%q HOST_ADDRESS=%s\n' "unix://$socket" "$address"; }

case $command in
  start) start ;;
  stop) stop ;;
  check) check ;;
  env) environment ;;
  needs) needs ;;
  *) usage ;;
esac
