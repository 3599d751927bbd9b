# shellcheck shell=bash
# Sourced by scripts that are given the port of an emulator: what is none is said
# in one line, before anything is started on it.
is_port() {
  [[ $1 =~ ^[1-9][0-9]{0,4}$ ]] && (($1 <= 65535)) && return
  echo "$1 is no port: give a number from 1 to 65535" >&2
  exit 2
}
