#!/bin/sh
# Tests the second implementation, compares the committed vectors with what it makes, and verifies what others made.
#
#   Tests/Vectors/run.sh [FILE...]
#
# Each FILE holds blocks that another implementation printed (README.md, "Producers"). The last line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv="$root/.build/venv"
log="$root/.build/vectors.log"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p "$root/.build"
[ -x "$venv/bin/python" ] || "${PYTHON:-/usr/bin/python3}" -m venv "$venv"
"$venv/bin/python" -c 'import nacl.bindings' 2>/dev/null ||
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check PyNaCl

passed=0
failed=0
status=0

# Adds up the counts in the log's last line, "N passed, M failed"; a program that counts nothing has failed.
count() {
  cat "$log"
  last=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || echo "0 passed, 1 failed")
  good=${last%% *}
  bad=${last#*, }
  bad=${bad%% *}
  if [ "$1" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

"$venv/bin/python" "$here/unit.py" >"$log" 2>&1 || status=$?
count "$status"
status=0
"$venv/bin/python" "$here/generate.py" --check >"$log" 2>&1 || status=$?
count "$status"
for file in "$@"; do
  status=0
  "$venv/bin/python" "$here/check.py" "$file" >"$log" 2>&1 || status=$?
  count "$status"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
