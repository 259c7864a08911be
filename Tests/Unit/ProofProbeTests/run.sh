#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The probe's tests: its three test programs, root file systems, then stability of a whole app.
#
#   run.sh [--long] [PART…]    --long: also what takes minutes. Parts: files, handover, process, roots, stability;
#                              without any, all
#
# CC, CFLAGS and LDFLAGS are for the part `process`; BUILD is the folder of what it builds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

out=${BUILD:-.build/probe}
here=Tests/Unit/ProofProbeTests
mkdir -p "$out"

build() {
  local include=(-ICSources/ProofCore/include -ICSources/ProofKey/include -ICSources/ProofProbe/include
    -ICSources/ProofProbe -ITests/Unit/ProofCoreTests)
  local strict=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wcast-qual -Wundef -Wvla -Werror -g -O2 -pthread)
  local plain=("${CC:-cc}" -shared -fPIC -O1 -fno-builtin)
  "${CC:-cc}" -shared -fPIC -O2 -Wl,-z,lazy -o "$out/liblazy.so" "$here/lazy_caller.c" || return
  "${plain[@]}" -o "$out/liblinksalias.so" "$here/fixtures/links_alias.c" || return
  "${plain[@]}" -o "$out/liblinksnamesake.so" "$here/fixtures/links_alias.c" || return
  "${plain[@]}" -Wl,-z,lazy,-z,relro -o "$out/liblinkscaller.so" "$here/fixtures/links_caller.c" \
    "$out/liblinksalias.so" "-Wl,-rpath,\$ORIGIN" || return
  "${plain[@]}" -nostdlib -Wl,-z,max-page-size=0x200000 -o "$out/liblinksconstants.so" \
    "$here/fixtures/links_constants.c" || return
  "${plain[@]}" -o "$out/libnssmodule.so" "$here/fixtures/nss_module.c" || return
  # shellcheck disable=SC2086
  "${CC:-cc}" "${strict[@]}" ${CFLAGS:-} ${LDFLAGS:-} "${include[@]}" \
    -rdynamic -Wl,--wrap=pfp_mappings_read,--wrap=pfp_objects_read,--wrap=pfp_hash_memory,--wrap=pfp_keep_clock \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=vasprintf,--wrap=fopen,--wrap=fdopendir \
    -Wl,--wrap=open,--wrap=openat,--wrap=fstatfs,--wrap=ioctl,--wrap=dl_iterate_phdr \
    -o "$out/probe-process-tests" "$here"/process_*.c \
    Tests/Unit/ProofCoreTests/harness.c CSources/ProofCore/*.c CSources/ProofKey/*.c CSources/ProofProbe/*/*.c \
    "$out/liblazy.so" "-Wl,-rpath,\$ORIGIN" -lsodium || return
  # shellcheck disable=SC2086
  "${CC:-cc}" "${strict[@]}" ${CFLAGS:-} ${LDFLAGS:-} -fno-pie -no-pie -Wl,-z,lazy "${include[@]}" \
    -o "$out/links-program" "$here/fixtures/links_program.c" \
    CSources/ProofCore/*.c CSources/ProofKey/*.c CSources/ProofProbe/*/*.c -lsodium
}

# Static, for root file systems that have no library.
build_listing() {
  local include=(-ICSources/ProofCore/include -ICSources/ProofKey/include -ICSources/ProofProbe/include
    -ICSources/ProofProbe)
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O2 -static -pthread "${include[@]}" -o "$out/root-listing" \
    "$here/root_listing.c" CSources/ProofCore/*.c CSources/ProofKey/*.c CSources/ProofProbe/*/*.c -lsodium \
    2>"$out/log" || { cat "$out/log" && return 1; }
}

long=()
if [[ ${1:-} == --long ]]; then
  long=(--long)
  shift
fi
if [[ $# -eq 0 ]]; then set -- files handover process roots stability; fi

for name in "$@"; do
  case $name in
    files) part files make --no-print-directory -f "$here/files.mk" "${long[@]#--}" ;;
    handover) part handover make --no-print-directory -f "$here/files.mk" "handover${long[*]/#--/-}" ;;
    process) if build; then part process "$out/probe-process-tests" "${long[@]}"; else tally 1 ''; fi ;;
    roots) if build_listing; then part roots "$here/roots.py" "$out/root-listing"; else tally 1 ''; fi ;;
    stability) part stability "$here/stability.py" "${long[@]}" ;;
    *) echo "no such part: $name" && tally 1 '' ;;
  esac
done

closing
