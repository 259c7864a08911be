#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes every parser of ProofJOSE under the address sanitizer: Tests/Process/JOSE/fuzz/run.sh [SECONDS]
#
# The harness and the library's sources are one module here, because SwiftPM cannot link libFuzzer. The committed
# corpus is where it starts; what it finds on the way stays below .build, a failing input is named in the output. SEED=N
# repeats a run. The last line counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
readonly seconds=${1:-60} work=$PWD/.build/jose-fuzz
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
readonly toolchain
mkdir -p "$work/corpus" "$work/artifacts"

objects=()
read -r -a openssl <<<"$(pkg-config --cflags libcrypto)"
for source in CSources/CCrypto/*.c; do
  object=$work/$(basename "$source" .c).o
  "$toolchain/clang" -std=c11 -O1 -g -fsanitize=address,fuzzer-no-link "${openssl[@]+"${openssl[@]}"}" \
    -I CSources/CCrypto/include -c "$source" -o "$object"
  objects+=("$object")
done
cat >"$work/module.modulemap" <<MAP
module CCrypto { header "$PWD/CSources/CCrypto/include/CCrypto.h" export * }
MAP

# The compiler leaves files of the module where it stands.
fuzzed() {
  (cd "$work" && swiftc -swift-version 6 -O -g -whole-module-optimization -parse-as-library -package-name ProofKit \
    -sanitize=fuzzer,address "$@")
}
mapfile -t base < <(find "$PWD/Sources/ProofBytes" -name '*.swift' | sort)
fuzzed -module-name ProofBytes -emit-module -emit-object "${base[@]}" -o "$work/ProofBytes.o"
objects+=("$work/ProofBytes.o")

mapfile -t sources < <(find "$PWD/Sources/ProofJOSE" -name '*.swift' | sort)
sources+=("$PWD/Tests/Process/JOSE/fuzz/JOSEFuzz.swift")
read -r -a libraries <<<"$(pkg-config --libs libcrypto)"
fuzzed -module-name JOSEFuzz -I "$work" -use-ld=lld -Xcc -fmodule-map-file="$work/module.modulemap" \
  "${sources[@]}" "${objects[@]}" "${libraries[@]}" -o "$work/jose-fuzz"

export SWIFT_BACKTRACE=enable=no
status=0
"$work/jose-fuzz" -seed="${SEED:-1}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
  -print_final_stats=1 -dict=Tests/Process/JOSE/fuzz/jose.dict -artifact_prefix="$work/artifacts/" \
  "$work/corpus" Tests/Process/JOSE/fuzz/corpus >"$work/log" 2>&1 || status=$?
grep -E '^stat::number_of_executed_units|ERROR|Fatal|Test unit written' "$work/log" || true
echo "$((status == 0)) passed, $((status != 0)) failed"
exit "$status"
