#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the hardware: its portable part by a C program, the process over its real link by a Python one.
#
#   run.sh                the quick form
#   CC=clang CFLAGS=-Os run.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

here=Tests/Unit/ProofHardwareTests

make -s -C "$here" CC="${CC:-cc}" CFLAGS="${CFLAGS:--O2 -g}" LDFLAGS="${LDFLAGS:-}" || exit 1
make -s -C CSources hardware || exit 1
part units .build/hardware-tests/proof-hardware-tests
part process /usr/bin/python3 Tests/Adversary/Attacker/run.py --folder "$here" "$@"

closing
