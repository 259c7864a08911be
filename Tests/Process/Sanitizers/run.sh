#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tests again, under sanitizers. Each has a build of its own.
#
#   run.sh c        the C core's, the probe's and the hardware's, under address, undefined behaviour and thread
#   run.sh swift    the Swift package's, with both inside, under address, and under thread
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

c_tests() {
  # gold, the linker by default, warns hundreds of times about the sanitizers' symbols; lld does not.
  part core env CC=clang BUILD="$PWD/.build/sanitizers/core" LDFLAGS=-fuse-ld=lld \
    CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all' \
    Tests/Unit/ProofCoreTests/run.sh
  # The probe's hashing and files, beside the package: there they see files that change, and threads of its own.
  part probe-files-address make --no-print-directory -f Tests/Unit/ProofProbeTests/files.mk sanitized-address
  part probe-files-thread make --no-print-directory -f Tests/Unit/ProofProbeTests/files.mk sanitized-thread
  part probe env CC=clang BUILD="$PWD/.build/sanitizers/probe" LDFLAGS=-fuse-ld=lld \
    CFLAGS='-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all' \
    Tests/Unit/ProofProbeTests/run.sh process
  # The hardware's portable part.
  make -s -C Tests/Unit/ProofHardwareTests CC=clang BUILD="$PWD/.build/sanitizers/hardware" LDFLAGS=-fuse-ld=lld \
    CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'
  part hardware .build/sanitizers/hardware/proof-hardware-tests
}

# The Swift tests in three processes, one after the other. In one, 1,500 tests wait for two threads of the pool, and
# under the thread sanitizer some of them waited for longer than their own limits.
readonly app='^ProofKit' service='^(ProofService|HTTPServing|ProofJOSE|ProofGate|ProofBackend)'

# swift_tests NAME OPTION…: each group is a part of its own; the last is what no other group has.
swift_tests() {
  local name=$1
  shift
  part "$name-app" Tests/Unit/run-swift "$@" --filter "$app"
  part "$name-service" Tests/Unit/run-swift "$@" --filter "$service"
  part "$name-rest" Tests/Unit/run-swift "$@" --skip "$app" --skip "$service"
}

case $1 in
  c) c_tests ;;
  swift)
    # One test may take long under a sanitizer.
    export SWIFT_TESTS_SILENCE=3600
    LSAN_OPTIONS="suppressions=$PWD/Tests/Process/Sanitizers/leaks:print_suppressions=0" \
      swift_tests swift-address --sanitize=address --scratch-path .build/sanitizers/address -Xswiftc -use-ld=lld
    swift_tests swift-thread --sanitize=thread --scratch-path .build/sanitizers/thread -Xswiftc -use-ld=lld
    ;;
  *) echo "sanitizers: c or swift, not $1" >&2 && exit 2 ;;
esac

closing
