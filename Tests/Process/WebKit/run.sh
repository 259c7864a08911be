#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The bridge and the presenter in windows of WebKitGTK, under Xvfb: builds the package Sources/WebKitGTK and what
# stands beside it.
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
for product in proofctl proof-service proof-gate gate-app event-judge; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
sample=(env -u CC swift build --package-path "$root/Sources/WebKitGTK" --scratch-path "$root/.build/webkit")
"${sample[@]}" --quiet
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
program="$("${sample[@]}" --show-bin-path)/bridge-sample"
python=$root/.build/pypi/bin/python
screen=$(mktemp -d)
trap 'rm -rf "$screen"' EXIT

# shellcheck source=SCRIPTDIR/../../../.ci/parts.sh
. "$root/.ci/parts.sh"
part bridge "$python" "$root/Tests/Process/WebKit/run.py" "$program"
part presenter xvfb-run -a -s "-screen 0 800x600x24 -fbdir $screen" \
  "$python" "$root/Tests/Process/WebKit/presenter.py" "$program" "$screen"
closing
