#!/usr/bin/env bash
# Tests the second implementation, compares the committed vectors with what it makes, and verifies what others made.
#
#   Tests/Vectors/run.sh [FILE...]
#
# Each FILE holds blocks that another implementation printed (README.md, "Producers"). The last line counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
venv="$root/.build/venv"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p "$root/.build"
[ -x "$venv/bin/python" ] || "${PYTHON:-/usr/bin/python3}" -m venv "$venv"
"$venv/bin/python" -c 'import nacl.bindings' 2>/dev/null ||
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check PyNaCl

# shellcheck source=.ci/parts.sh
. "$root/.ci/parts.sh"
part 'unit tests' "$venv/bin/python" "$here/../Runner/runner.py" "$here"
part generated "$venv/bin/python" "$here/generate.py" --check
for file in "$@"; do part "$(basename "$file")" "$venv/bin/python" "$here/check.py" "$file"; done
closing
