#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Takes out the probe's defences one by one: the test or attack each is there for must notice. Needs root.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

part 'its process' Tests/Unit/ProofProbeTests/mutants.py
part 'its files' Tests/Unit/ProofProbeTests/files_mutants.py
part 'under attack' Tests/Adversary/Attack/mutants.py
closing
