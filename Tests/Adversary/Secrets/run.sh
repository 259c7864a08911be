#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Secrets are wiped when a call is done, and the measurement proof key stands nowhere.
#
#   Tests/Adversary/Secrets/run.sh              all of it
#   Tests/Adversary/Secrets/run.sh --wiping     the first two parts alone
#
# Four parts. Wiping: each call with secrets on a painted stack, which is then searched, with static memory, for any
# eight bytes of them; for both compilers at several levels, with libsodium's portable code and with what it picks for
# this processor, on both paths of SHA-256. Without wiping: the same calls, linked so that the core's wipes do nothing,
# must be caught. Each wipe: taken out one at a time (each_wipe.py). The key: binaries and memory at rest
# (key_search.py).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
cd "$root"
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

readonly BUILD=.build/secrets
readonly CORE=CSources/ProofCore
clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
readonly COMPILERS=(gcc "$clang") LEVELS=(-O0 -Os -O2 -O3)
readonly FLAGS=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "-I$CORE/include"
  -ICSources/ProofKey/include -ICSources/ProofDevice/include)
# Static, so that libsodium's own static memory is searched too.
readonly LINK=('-Wl,-Bstatic' -lsodium '-Wl,-Bdynamic' -lpthread)

# terse WHAT COMMAND…: a part of which only what failed is shown.
terse() {
  local what=$1 log=$BUILD/log status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  tally "$status" "$(tail -n 1 "$log")"
  echo "$what: $good passed, $bad failed"
  if [[ $bad -eq 0 ]]; then
    grep -vE '^  ok |^[0-9]+ passed' "$log" || true
  else
    grep -v '^  ok ' "$log" | sed "s|$root/||g" | head -n 60
  fi
}

# link OUTPUT COMPILER LEVEL ARGUMENT…: core, hardware, key and wipe test.
link() {
  local output=$1 compiler=$2 level=$3
  shift 3
  "$compiler" "${FLAGS[@]}" "$level" "$@" $CORE/*.c CSources/ProofDevice/*.c CSources/ProofKey/sdk_key.c \
    "$here"/wipe*.c "$here/needle.c" \
    "${LINK[@]}" -o "$output"
}

mkdir -p $BUILD
: >$BUILD/seen
# Numbers of enum pfc_hash_path: libsodium's, and this machine's own if it has one.
PATHS=(1)
case $(uname -m) in x86_64) native=2 ;; aarch64) native=3 ;; *) native=0 ;; esac
link "$BUILD/wipe-path" gcc -O2
status=0
HASH_PATH=$native "$BUILD/wipe-path" >/dev/null 2>&1 || status=$?
if [[ $native -ne 0 && $status -ne 2 ]]; then
  PATHS+=("$native")
else
  echo "$((2 * ${#COMPILERS[@]} * ${#LEVELS[@]})) runs of the wipe test skipped: this processor has no native SHA-256"
fi
export LEFTOVERS=$here/leftovers.txt LEFTOVERS_SEEN=$root/$BUILD/seen
for compiler in "${COMPILERS[@]}"; do
  for level in "${LEVELS[@]}"; do
    name=$(basename "$compiler")$level
    link "$BUILD/wipe-$name" "$compiler" "$level"
    for path in "${PATHS[@]}"; do
      terse "wiping, $name, hash path $path" env HASH_PATH="$path" "$BUILD/wipe-$name"
      terse "wiping, $name, hash path $path, after sodium_init" env HASH_PATH="$path" SODIUM_INIT=1 "$BUILD/wipe-$name"
    done
    # The core's one way to wipe, made to do nothing; libsodium's own wipes stay.
    link "$BUILD/unwiped-$name" "$compiler" "$level" -Dsodium_memzero=no_memzero "$here/no_memzero.c"
    terse "without wiping, $name" env HASH_PATH=1 "$BUILD/unwiped-$name" --without-wiping
  done
done

# Every line of the list is needed by some compiler at some level.
while IFS= read -r line; do
  check "leftovers.txt: found no more, take it off: $line" grep -qxF "$line" $BUILD/seen
done < <(grep -v '^#' "$here/leftovers.txt")

if [[ ${1:-} == --wiping ]]; then
  closing
  exit
fi
terse "each wipe" python3 "$here/each_wipe.py"
terse "the key" python3 "$here/key_search.py"
closing
