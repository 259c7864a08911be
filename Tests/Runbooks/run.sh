#!/usr/bin/env bash
# Plays docs/RUNBOOKS.md, and the local development of docs/RUNNING.md, as they stand.
#
#   Tests/Runbooks/run.sh [TEXT…]     tests whose name contains one
#
# The last line counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-unlock proof-shop proof-demo proof-hardware proof-relay proof-bench; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "${PYTHON:-/usr/bin/python3}" "$root/Tests/Runner/runner.py" "$root/Tests/Runbooks" "$@"
