#!/usr/bin/env bash
# Installs Python programs into a virtual environment of their own, once.
#
#   infra/local/venv.sh FOLDER VERSION "WHAT (HOW LONG, HOW LARGE)" REQUIREMENTS...
#
# The file .version in the folder is written last: an install that was cut off is
# removed and made anew. PYTHON is python3 unless set.
set -euo pipefail

folder=$1 version=$2 what=$3
shift 3
python=${PYTHON:-python3}

[[ -f $folder/.version && $(<"$folder/.version") == "$version" ]] && exit 0

fail() { echo "$1" >&2; exit 1; }

command -v "$python" >/dev/null || fail "$python is not installed: install Python 3 with venv and pip, or set PYTHON"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv and pip: install them (on Debian: apt-get install python3-venv), or set PYTHON"
echo "installing $what into $folder" >&2
rm -rf "$folder"
"$python" -m venv "$folder" >&2 || fail "$python could not make $folder: see above"
"$folder/bin/pip" install --quiet --disable-pip-version-check "$@" >&2 ||
  fail "pip could not install $what: see above; the next run tries again"
echo "$version" >"$folder/.version"
