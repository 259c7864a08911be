#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Coverage of the core by its C tests and the fuzzers' committed corpora: lines, regions, branches.
#
#   Tests/Adversary/Coverage/run.sh             prints a table; fails below 95 % of the lines of any source of the core
#   Tests/Adversary/Coverage/run.sh --report    writes docs/results/coverage.md too
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
cd "$root"

readonly OUT=.build/coverage
readonly CORE=CSources/ProofCore
# Profiles are read by the tools of the compiler that wrote them; Debian's may be older.
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
COVERAGE=(-fprofile-instr-generate -fcoverage-mapping)
readonly FLAGS=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O0 -g
  "-I$CORE/include")

mkdir -p $OUT/core $OUT/fuzz $OUT/profiles
rm -f $OUT/profiles/*.profraw
programs=()
# Tests that give the figures must pass themselves.
broken=0

# The C tests: their own build, instrumented.
run_tests() {
  LLVM_PROFILE_FILE="$root/$OUT/profiles/tests-%p.profraw" CC="$toolchain/clang" CFLAGS="-O0 -g ${COVERAGE[*]}" \
    LDFLAGS=-fuse-ld=lld BUILD="$root/$OUT/tests" Tests/Unit/ProofCoreTests/run.sh "$@" >$OUT/tests.log 2>&1
}

# A processor without SHA-256 instructions cannot reach the code for them, so builds without that code are judged here.
left_out=0
run_tests --hash native --filter ratchet || true
if grep -q 'this processor has no native SHA-256' $OUT/tests.log; then
  COVERAGE+=(-DPFC_HASH_PORTABLE_ONLY)
  left_out=$(grep -l '^#if PFC_SHA256_NATIVE' $CORE/*.c | wc -l)
  echo "the native code in $left_out sources skipped: this processor has no native SHA-256"
fi
rm -f $OUT/profiles/*.profraw
run_tests || {
  echo "coverage: the C tests fail; $OUT/tests.log says which"
  broken=$((broken + 1))
}
programs+=("$OUT/tests/proofcore-tests")
echo "C tests: $(tail -n 1 $OUT/tests.log)"

# The corpora: each file once, through its harness.
for source in "$CORE"/*.c; do
  "$toolchain/clang" "${FLAGS[@]}" "${COVERAGE[@]}" -c "$source" -o "$OUT/core/$(basename "$source" .c).o"
done
for source in Tests/Adversary/Fuzz/*.c; do
  "$toolchain/clang" "${FLAGS[@]}" -c "$source" -o "$OUT/fuzz/$(basename "$source" .c).o"
done
for target in $(Tests/Adversary/Fuzz/run.sh --list); do
  parts=("$OUT/fuzz/${target}_fuzz.o" "$OUT/fuzz/fuzz.o")
  [[ $target != verifier ]] || parts+=("$OUT"/fuzz/verifier_{model,platform}.o)
  "$toolchain/clang" -fuse-ld=lld -fsanitize=fuzzer "${COVERAGE[@]}" "${parts[@]}" $OUT/core/*.o -lsodium \
    -o "$OUT/$target"
  LLVM_PROFILE_FILE="$root/$OUT/profiles/$target-%p.profraw" "$OUT/$target" Tests/Adversary/Fuzz/corpus/"$target"/* \
    >"$OUT/$target.log" 2>&1 || {
    grep -E "does not hold|ERROR|Running: " "$OUT/$target.log" | tail -n 3
    echo "coverage: the corpus of $target breaks a property"
    broken=$((broken + 1))
  }
  programs+=("$OUT/$target")
  echo "$target: $(find Tests/Adversary/Fuzz/corpus/"$target" -type f | wc -l) files"
done

"$toolchain/llvm-profdata" merge -sparse $OUT/profiles/*.profraw -o $OUT/all.profdata
objects=()
for program in "${programs[@]:1}"; do objects+=(-object "$program"); done
"$toolchain/llvm-cov" export -instr-profile $OUT/all.profdata "${programs[0]}" "${objects[@]}" $CORE/*.c \
  >$OUT/all.json 2>$OUT/llvm-cov.log
exec python3 "$here/judge.py" "$@" --broken=$broken --without-native="$left_out" $OUT/all.json
