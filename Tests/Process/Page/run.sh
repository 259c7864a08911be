#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of a gate in Chromium, Firefox ESR and WebKitGTK, behind a real nginx over TLS; Caddy and HAProxy pass it on.
#
#   Tests/Process/Page/run.sh [TEXT…]         tests whose name contains one
#   PROOF_IMAGES=yes Tests/Process/Page/run.sh InChromium    makes the pictures of docs/PAGE.md anew
#
# The Python packages come from PyPI (.ci/pypi). A browser that is missing is a failure. The last line counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
if ! "$root/.ci/pypi" backend page; then
  echo "0 passed, 1 failed"
  exit 1
fi
# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-gate; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "$root/.build/pypi/bin/python" "$root/Tests/Support/Runner/runner.py" "$root/Tests/Process/Page" "$@"
