#!/usr/bin/env bash
# The probe's tests: its two test programs, then stability of a whole app.
#
#   run.sh [--long]       --long: also what takes minutes
#   CC=clang run.sh       another compiler
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

out=.build/probe
here=Tests/ProofProbeTests
mkdir -p "$out"
passed=0
failed=0

# Adds up the counts of a part, whose last line is `N passed, M failed`; one that ends without counting has failed.
part() {
  local log=$out/$1.log status=0
  printf -- '-- %s\n' "$1"
  shift
  "$@" 2>&1 | tee "$log" || status=1
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    if [[ $status -ne 0 && ${BASH_REMATCH[2]} -eq 0 ]]; then failed=$((failed + 1)); fi
  else
    failed=$((failed + 1))
  fi
}

build() {
  local include=(-ICSources/ProofCore/include -ICSources/ProofKey/include -ICSources/ProofProbe/include
    -ICSources/ProofProbe -ITests/ProofCoreTests)
  # shellcheck disable=SC2086
  "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wcast-qual -Wundef -Wvla -Werror -g -O2 ${CFLAGS:-} -pthread "${include[@]}" -o "$out/probe-process-tests" \
    "$here"/process_*.c Tests/ProofCoreTests/harness.c CSources/ProofCore/*.c CSources/ProofKey/*.c \
    CSources/ProofProbe/*.c -lsodium
}

long=
if [[ ${1:-} == --long ]]; then long=long; fi

build || exit 1
part files make --no-print-directory -f "$here/files.mk" $long
part process "$out/probe-process-tests" "$@"
part stability "$here/stability.py" "$@"

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
