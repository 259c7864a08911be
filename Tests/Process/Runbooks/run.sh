#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays docs/RUNBOOKS.md as it stands.
#
#   Tests/Process/Runbooks/run.sh [TEXT…]     tests whose name contains one
#
# The last line counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
# SwiftPM takes CC for a clang.
# Those that the pages start, and all others for their version.
mapfile -t products < <(sed -n 's/.*name: "\(proof[a-z-]*\)".*/\1/p' "$root/Package.swift" | sort -u)
for product in "${products[@]}"; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "${PYTHON:-/usr/bin/python3}" "$root/Tests/Support/Runner/runner.py" "$root/Tests/Process/Runbooks" "$@"
