#!/usr/bin/env bash
# Installs Python programs into a virtual environment of their own, once.
#
#   infra/local/venv.sh FOLDER VERSION "WHAT (HOW LONG, HOW LARGE)" REQUIREMENTS...
#
# The file .version in the folder is written last: an install that was cut off is
# removed and made anew. Of two that want the same one, the second waits, where the
# system has flock. PYTHON is python3 unless set, 3.10 or later.
set -euo pipefail

folder=$1 version=$2 what=$3
shift 3
python=${PYTHON:-python3}
# Locked by who installs, and holds the process group that it does so in: after a
# kill -9 that goes on without its lock.
installing=$folder.installing

. "$(dirname "${BASH_SOURCE[0]}")/port.sh"

# A Python that has gone since is none.
installed() { [[ -x $folder/bin/python && -f $folder/.version && $(<"$folder/.version") == "$version" ]]; }
fail() { echo "$1" >&2; exit 1; }

installed && exit 0
command -v "$python" >/dev/null || fail "$python is not installed: install Python 3 with venv and pip, or set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  fail "$python is older than Python 3.10, which $what needs: install a later one, or set PYTHON"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv and pip: install them (on Debian: apt-get install python3-venv), or set PYTHON"

# end ends an install that is under way, if the process group is still ours.
end() {
  local group line
  group=$(cat "$installing") && [[ -n $group ]] || return 0
  line=$({ tr '\0' ' ' <"/proc/$group/cmdline" || ps -o command= -p "$group"; } 2>/dev/null) || return 0
  [[ $line == *"$folder"* ]] && kill -KILL -- "-$group" 2>/dev/null
  return 0
}

writable "$(dirname "$folder")"
exec 9>>"$installing"
if command -v flock >/dev/null && ! flock -n 9; then
  echo "waiting for another install into $folder" >&2
  flock 9
fi
end
installed && exit 0
trap 'end; : >"$installing"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run runs a command in a process group of its own.
set -m
run() {
  "$@" >&2 9>&- &
  echo $! >"$installing"
  wait $!
}

echo "installing $what into $folder" >&2
rm -rf "$folder"
run "$python" -m venv "$folder" || fail "$python could not make $folder: see above"
run "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" ||
  fail "pip could not install $what: see above; the next run tries again"
echo "$version" >"$folder/.version"
