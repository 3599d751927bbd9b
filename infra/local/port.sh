# shellcheck shell=bash
# Sourced by scripts that are given the port of an emulator: what is none, or nowhere
# to write, is said in one line, before anything is started on it.
is_port() {
  [[ $1 =~ ^[1-9][0-9]{0,4}$ ]] && (($1 <= 65535)) && return
  echo "${1:-nothing} is no port: give a number from 1 to 65535" >&2
  exit 2
}

# writable FOLDER makes it where it is not there.
writable() {
  mkdir -p "$1" 2>/dev/null && [[ -w $1 ]] && return
  echo "$1 cannot be written to: change its owner or its mode" >&2
  exit 1
}
