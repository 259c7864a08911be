#!/usr/bin/env bash
# Tests the hardware: its portable part by a C program, the process over its real link by a Python one.
#
#   run.sh                the quick form
#   CC=clang CFLAGS=-Os run.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

here=Tests/ProofHardwareTests
log=.build/hardware-tests/log
passed=0
failed=0
mkdir -p .build/hardware-tests

# Adds up the counts of a part, whose last line is `N passed, M failed`; one that ends without counting has failed.
part() {
  local status=0
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

make -s -C "$here" CC="${CC:-cc}" CFLAGS="${CFLAGS:--O2 -g}" LDFLAGS="${LDFLAGS:-}" || exit 1
make -s -C CSources hardware || exit 1
part units .build/hardware-tests/proof-hardware-tests
part process /usr/bin/python3 Tests/Attacker/run.py --folder "$here" "$@"

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
