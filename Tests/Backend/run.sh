#!/usr/bin/env bash
# The token fetch from outside, and every verb of the operator's tool, against real processes.
#
#   Tests/Backend/run.sh
#
# The Python packages come from PyPI into a venv below .build; once they are there nothing needs the network. The last
# line counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
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

# shellcheck source=.ci/parts.sh
. "$root/.ci/parts.sh"
part 'the fetch' "$venv/bin/python" "$here/flow.py"
part proofctl "$venv/bin/python" "$here/proofctl.py"
closing
