#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# proof-service as a process.
#
#   Tests/Process/Service/run.sh SCRIPT [ARGUMENT...]     server_test, changes, kill or load, and what it takes
#
# The last line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
script=$1
shift
export PYTHONDONTWRITEBYTECODE=1
for product in proof-service proof-load proofctl service-store; do
  swift build --quiet --package-path "$root" -c release --product "$product"
done
PROOF_BUILT="$(swift build --package-path "$root" -c release --show-bin-path)"
export PROOF_BUILT
exec "${PYTHON:-/usr/bin/python3}" "$here/$script.py" "$@"
