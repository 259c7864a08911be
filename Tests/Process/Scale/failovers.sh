#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs, optimised, and plays failovers: failovers.sh ROUNDS [OPTIONS of failovers.py]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
for product in proof-service proofctl proof-gate proof-load; do
  swift build --quiet -c release --product "$product"
done
PROOF_BUILT=$PWD/.build/release exec .build/pypi/bin/python -B Tests/Process/Scale/failovers.py "$@"
