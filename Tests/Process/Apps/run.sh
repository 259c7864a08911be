#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The probe inside programs of other people, which also enrol with a running proof-service.
#
#   Tests/Process/Apps/run.sh [OPTION…]     options of run.py
#
# The last line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1

# SwiftPM takes CC for a clang.
for product in proofctl proof-service; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "${PYTHON:-/usr/bin/python3}" "$here/run.py" "$@"
