#!/usr/bin/env bash
# The probe's tests: its two test programs, then stability of a whole app.
#
#   run.sh [--long] [PART…]    --long: also what takes minutes. Parts: files, process, stability; without any, all
#
# CC, CFLAGS and LDFLAGS are for the part `process`; BUILD is the folder of what it builds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

out=${BUILD:-.build/probe}
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
    -Wcast-qual -Wundef -Wvla -Werror -g -O2 ${CFLAGS:-} ${LDFLAGS:-} -pthread "${include[@]}" \
    -o "$out/probe-process-tests" "$here"/process_*.c Tests/ProofCoreTests/harness.c CSources/ProofCore/*.c \
    CSources/ProofKey/*.c CSources/ProofProbe/*.c -lsodium
}

long=()
if [[ ${1:-} == --long ]]; then
  long=(--long)
  shift
fi
if [[ $# -eq 0 ]]; then set -- files process stability; fi

for name in "$@"; do
  case $name in
    files) part files make --no-print-directory -f "$here/files.mk" "${long[@]#--}" ;;
    process) if build; then part process "$out/probe-process-tests" "${long[@]}"; else failed=$((failed + 1)); fi ;;
    stability) part stability "$here/stability.py" "${long[@]}" ;;
    *) echo "no such part: $name" && failed=$((failed + 1)) ;;
  esac
done

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
