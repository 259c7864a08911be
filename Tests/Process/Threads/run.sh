#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The Swift tests on other machines: on one with a single processor, where tasks share one thread, and on one whose
# threads come late. A test that holds a task's thread until another task goes on, or that takes a thread for begun,
# then waits for ever or fails.
#
#   run.sh [SEED]     which threads are late; drawn and printed unless it is given
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../../.."
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

seed=${1:-$RANDOM}
library=$PWD/.build/slow-machine.so
swift build --quiet --build-tests
cc -std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fPIC -shared \
  -o "$library" "$here/slow_machine.c"
echo "late threads: seed $seed"

# The probe finds the library that is preloaded.
tests=(Tests/Unit/run-swift --skip-build --skip LiveEvidenceTests)
part one-processor env LD_PRELOAD="$library" SLOW_PROCESSORS=1 "${tests[@]}"
part late-threads env LD_PRELOAD="$library" SLOW_SEED="$seed" "${tests[@]}"
closing
