#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The token fetch from outside, every verb of the operator's tool, orders and rotations, against real processes.
#
#   Tests/Process/Backend/run.sh
#
# The Python packages come from PyPI (.ci/pypi); once they are there nothing needs the network. The last line counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
python="$root/.build/pypi/bin/python"
export PYTHONDONTWRITEBYTECODE=1

if ! "$root/.ci/pypi" backend; then
  echo "0 passed, 1 failed"
  exit 1
fi

# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-unlock proof-hardware app-peer request-peer; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN

# shellcheck source=.ci/parts.sh
. "$root/.ci/parts.sh"
part 'the fetch' "$python" "$here/flow.py"
part proofctl "$python" "$here/proofctl.py"
part 'requests and events in Python' "$python" "$here/request_proofs.py"
part 'requests signed in a TPM' "$python" "$here/request_tpm.py"
part 'installation keys' "$python" "$here/installation.py"
part 'strings of apps' "$python" "$here/own_strings.py"
part 'hardware with a factory secret' "$python" "$here/factory.py"
part 'orders beside a running backend' "$python" "$here/orders.py"
part 'admissions to gates' "$python" "$here/gates.py"
part 'keys that rotate' "$python" "$here/rotation.py"
closing
