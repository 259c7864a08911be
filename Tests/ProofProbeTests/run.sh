#!/usr/bin/env bash
# The probe's tests: its two test programs, then stability of a whole app.
#
#   run.sh [--long] [PART…]    --long: also what takes minutes. Parts: files, process, stability; without any, all
#
# CC, CFLAGS and LDFLAGS are for the part `process`; BUILD is the folder of what it builds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

out=${BUILD:-.build/probe}
here=Tests/ProofProbeTests
mkdir -p "$out"

build() {
  local include=(-ICSources/ProofCore/include -ICSources/ProofKey/include -ICSources/ProofProbe/include
    -ICSources/ProofProbe -ITests/ProofCoreTests)
  "${CC:-cc}" -shared -fPIC -O2 -Wl,-z,lazy -o "$out/liblazy.so" "$here/lazy_caller.c" || return
  # shellcheck disable=SC2086
  "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wcast-qual -Wundef -Wvla -Werror -g -O2 ${CFLAGS:-} ${LDFLAGS:-} -pthread "${include[@]}" \
    -rdynamic -Wl,--wrap=pfp_mappings_read,--wrap=pfp_objects_read -o "$out/probe-process-tests" "$here"/process_*.c \
    Tests/ProofCoreTests/harness.c CSources/ProofCore/*.c CSources/ProofKey/*.c CSources/ProofProbe/*.c \
    "$out/liblazy.so" "-Wl,-rpath,\$ORIGIN" -lsodium
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
    process) if build; then part process "$out/probe-process-tests" "${long[@]}"; else tally 1 ''; fi ;;
    stability) part stability "$here/stability.py" "${long[@]}" ;;
    *) echo "no such part: $name" && tally 1 '' ;;
  esac
done

closing
