#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# No branch and no address of the core depends on a secret: every check under valgrind's memcheck, with secrets marked
# undefined, for both compilers at several levels of optimisation, with libsodium's portable code and with what it picks
# for this processor. Then the same against planted mutants: a gate that lets one live has failed.
#
#   Tests/Adversary/ConstantTime/run.sh
#
# Values public in the middle of a call stand in revealed.c, with reasons. Not seen: instructions whose own time depends
# on their operands, and code that other compilers make.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
cd "$root"
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

readonly BUILD=.build/constant-time
readonly CORE=CSources/ProofCore
clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
readonly COMPILERS=(gcc "$clang") LEVELS=(-O0 -Os -O2 -O3)
# valgrind 3.19 does not understand all of DWARF 5.
readonly FLAGS=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -gdwarf-4 -DPFC_CONSTANT_TIME_CHECK
  "-I$CORE/include" -ICSources/ProofKey/include)
# Static, so that the linker can put revealed.c's functions around libsodium's own.
readonly LINK=('-Wl,-Bstatic' -lsodium '-Wl,-Bdynamic' -lpthread)
readonly JUDGE=(valgrind --quiet --error-limit=no --num-callers=12)

# Mutant, the function it replaces, the object that one stands in, the check that must catch it.
readonly MUTANTS=(
  'equal_early_exit|pfc_equal|crypto|equal and is-zero'
  'is_zero_early_exit|pfc_is_zero|crypto|equal and is-zero'
  'proof_check_bytewise|pfc_proof_check|proof|proof: make and check'
  'proof_key_table|pfc_proof_key_init|proof|proof: make and check'
  'derive_branch|pfc_derive|crypto|measurement: fold'
  'secrets_shortcut|pfc_secrets_make|key|secrets: diversified and literal'
  'equal_early_exit|pfc_equal|crypto|compact: make and check'
  'equal_early_exit|pfc_equal|crypto|gate: proofs of challenges'
  'equal_early_exit|pfc_equal|crypto|log: seal and open an entry'
  'equal_early_exit|pfc_equal|crypto|log: a reading'
  'equal_early_exit|pfc_equal|crypto|sealed: a visit'
  'equal_early_exit|pfc_equal|crypto|grant: a visit'
  'derive_branch|pfc_derive|crypto|channel: both ends'
  'gate_keys_branch|pfc_gate_keys_make|gate|gate: secret and keys'
)
# The same, of the native path's transcripts.
readonly NATIVE_MUTANTS=(
  'native_short_branch|pfc_native_mac_short|sha256_native|proof: make and check'
)

# link OUTPUT COMPILER OBJECT…: with the functions of revealed.c around those they name.
link() {
  local output=$1 compiler=$2 object
  local -a wrapped=()
  shift 2
  for object in "$@"; do
    [[ $object != */revealed.o ]] ||
      mapfile -t wrapped < <(nm -u "$object" | sed -n 's/.* __real_/-Wl,--wrap=/p')
  done
  [[ ${#wrapped[@]} -gt 0 ]]
  "$compiler" "${wrapped[@]}" "$@" "${LINK[@]}" -o "$output"
}

# compile COMPILER LEVEL FOLDER SOURCE…
compile() {
  local compiler=$1 level=$2 folder=$3 source
  shift 3
  mkdir -p "$folder"
  for source in "$@"; do
    "$compiler" "${FLAGS[@]}" "$level" "${includes[@]}" -c "$source" -o "$folder/$(basename "$source" .c).o"
  done
}

# terse LOG WHAT COMMAND…: a part of which only what failed is shown.
terse() {
  local log=$1 what=$2 status=0
  shift 2
  "$@" >"$log" 2>&1 || status=$?
  tally "$status" "$(tail -n 1 "$log")"
  echo "$what: $good checks passed, $bad failed"
  [[ $bad -eq 0 ]] || sed "s|$root/||g" "$log" | head -n 60
}

# kill_mutant LOG NAME SEEN-BY PROGRAM
kill_mutant() {
  local log=$1 name=$2 seen_by=$3 program=$4
  "${JUDGE[@]}" "$program" "$seen_by" >"$log" 2>&1 || true
  check "the mutant $name lives: \"$seen_by\" does not see it" \
    grep -q "^  FAILED  $seen_by: [0-9]* places depend on a secret" "$log"
}

# mutate COMPILER LEVEL OUT CORE-FOLDER MUTANT…
mutate() {
  local compiler=$1 level=$2 out=$3 core=$4 entry mutant replaced object seen_by
  shift 4
  for entry in "$@"; do
    IFS='|' read -r mutant replaced object seen_by <<<"$entry"
    compile "$compiler" "$level" "$out/mutants" "$here/mutants/$mutant.c"
    rm -rf "$out/weak"
    cp -r "$core" "$out/weak"
    objcopy --weaken-symbol="$replaced" "$out/weak/$object.o"
    link "$out/$mutant" "$compiler" "$out"/checks/*.o "$out/mutants/$mutant.o" "$out"/weak/*.o
    kill_mutant "$out/$mutant.log" "$mutant ($(basename "$out"))" "$seen_by" "$out/$mutant"
  done
}

judge() {
  local compiler=$1 level=$2 name
  name=$(basename "$compiler")$level
  local out=$BUILD/$name
  mkdir -p "$out"
  includes=(-ICSources/ProofKey)
  compile "$compiler" "$level" "$out/core" $CORE/*.c
  compile "$compiler" "$level" "$out/checks" "$here"/*.c
  link "$out/constant_time" "$compiler" "$out"/checks/*.o "$out"/core/*.o
  terse "$out/log" "$name" "${JUDGE[@]}" "$out/constant_time"
  terse "$out/log-init" "$name, after sodium_init" env SODIUM_INIT=1 "${JUDGE[@]}" "$out/constant_time"

  mutate "$compiler" "$level" "$out" "$out/core" "${MUTANTS[@]}"

  rm -rf "$out/native"
  cp -r "$out/core" "$out/native"
  rm "$out"/native/sha256.o "$out"/native/sha256_{x86,arm}.o
  includes=("-I$CORE")
  compile "$compiler" "$level" "$out/native" "$here/standin/kernel.c"
  link "$out/native_transcripts" "$compiler" "$out"/checks/*.o "$out"/native/*.o
  terse "$out/log-native" "$name, native transcripts" env NATIVE_TRANSCRIPTS=1 "${JUDGE[@]}" "$out/native_transcripts"
  NATIVE_TRANSCRIPTS=1 mutate "$compiler" "$level" "$out" "$out/native" "${NATIVE_MUTANTS[@]}"

  includes=("-I$here/mutants/dissolved")
  compile "$compiler" "$level" "$out/dissolved" "$here"/*.c
  link "$out/dissolved_table" "$compiler" "$out"/dissolved/*.o "$out"/core/*.o
  kill_mutant "$out/dissolved_table.log" "dissolved_table ($name)" "dissolved key: load and prove" \
    "$out/dissolved_table"
}

includes=()
for compiler in "${COMPILERS[@]}"; do
  for level in "${LEVELS[@]}"; do judge "$compiler" "$level"; done
done
part 'kernels of SHA-256' /usr/bin/python3 "$here/kernels.py"
echo "mutants: $(((${#MUTANTS[@]} + ${#NATIVE_MUTANTS[@]} + 1) * ${#COMPILERS[@]} * ${#LEVELS[@]})) planted"
closing
