#!/bin/sh
# The token fetch from outside, and every verb of the operator's tool, against real processes.
#
#   Tests/Backend/run.sh
#
# The Python packages come from PyPI into a venv below .build; once they are there nothing needs the network. The last
# line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv="$root/.build/venv"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p "$root/.build"
[ -x "$venv/bin/python" ] || "${PYTHON:-/usr/bin/python3}" -m venv "$venv"
"$venv/bin/python" -c 'import cryptography, jwcrypto, jwt, nacl' 2>/dev/null ||
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check PyJWT cryptography jwcrypto PyNaCl

# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-unlock app-peer; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN

passed=0
failed=0
for part in flow.py proofctl.py; do
  status=0
  "$venv/bin/python" "$here/$part" >"$root/.build/backend.log" 2>&1 || status=$?
  cat "$root/.build/backend.log"
  last=$(tail -n 1 "$root/.build/backend.log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || echo "0 passed, 1 failed")
  bad=${last#*, }
  bad=${bad%% *}
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + ${last%% *}))
  failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
