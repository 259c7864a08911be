#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# proof-gate beside proxies of other people, over TLS, with a real service, an app that proves and an API behind it.
#
#   Tests/Process/Gate/run.sh [TEXT…]     tests whose name contains one
#
# The Python packages come from PyPI (.ci/pypi). The last line counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
if ! "$root/.ci/pypi" backend; then
  echo "0 passed, 1 failed"
  exit 1
fi
# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-gate gate-app; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "$root/.build/pypi/bin/python" "$root/Tests/Support/Runner/runner.py" "$root/Tests/Process/Gate" "$@"
