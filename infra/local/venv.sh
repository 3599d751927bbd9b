#!/usr/bin/env bash
# Installs Python programs into a virtual environment of their own, once.
#
#   infra/local/venv.sh FOLDER VERSION "WHAT (HOW LONG, HOW LARGE)" REQUIREMENTS...
#
# The file .version in the folder is written last: an install that was cut off is
# removed and made anew. Of two that want the same one, the second waits. PYTHON
# is python3 unless set, 3.10 or later.
set -euo pipefail

folder=$1 version=$2 what=$3
shift 3
python=${PYTHON:-python3}
lock=$folder.lock

installed() { [[ -f $folder/.version && $(<"$folder/.version") == "$version" ]]; }
fail() { echo "$1" >&2; exit 1; }

installed && exit 0
command -v "$python" >/dev/null || fail "$python is not installed: install Python 3 with venv and pip, or set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  fail "$python is older than Python 3.10, which $what needs: install a later one, or set PYTHON"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv and pip: install them (on Debian: apt-get install python3-venv), or set PYTHON"

# end ends an install that is under way: the process group in the lock, if it is
# still ours.
end() {
  local group line
  group=$(cat "$lock/group" 2>/dev/null) || return 0
  line=$({ tr '\0' ' ' <"/proc/$group/cmdline" || ps -o command= -p "$group"; } 2>/dev/null) || return 0
  [[ $line == *"$folder"* ]] && kill -KILL -- "-$group" 2>/dev/null
  return 0
}

mkdir -p "$(dirname "$folder")"
said=
until mkdir "$lock" 2>/dev/null; do
  holder=$(cat "$lock/holder" 2>/dev/null || true)
  # A lock without a holder was left by somebody who was killed at once.
  if [[ -n $holder ]] && ! kill -0 "$holder" 2>/dev/null || [[ -z $holder && -n $(find "$lock" -maxdepth 0 -mmin +1 2>/dev/null) ]]; then
    end
    rm -rf "$lock"
  elif [[ -z $said ]]; then
    echo "waiting for another install into $folder (process ${holder:-just begun})" >&2
    said=yes
  fi
  sleep 0.5
done
trap 'end; rm -rf "$lock"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
echo $$ >"$lock/holder"
installed && exit 0

# run runs a command in a process group of its own.
set -m
run() {
  "$@" >&2 &
  echo $! >"$lock/group"
  wait $!
}

echo "installing $what into $folder" >&2
rm -rf "$folder"
run "$python" -m venv "$folder" || fail "$python could not make $folder: see above"
run "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" ||
  fail "pip could not install $what: see above; the next run tries again"
echo "$version" >"$folder/.version"
