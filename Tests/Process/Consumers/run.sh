#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs of other people, outside the package, built and run as they would be.
#
#   Tests/Process/Consumers/run.sh
#
# The builds stay below .build/consumers and serve the next run; after `make clean`, and in a fresh clone, everything is
# built from nothing. The last line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1

# SwiftPM takes CC for a clang.
for product in proofctl proof-service proof-unlock; do
  env -u CC swift build --quiet --package-path "$root" --product "$product"
done
PROOF_BIN="$(env -u CC swift build --package-path "$root" --show-bin-path)"
export PROOF_BIN
exec "${PYTHON:-/usr/bin/python3}" "$here/consumers.py" "$@"
