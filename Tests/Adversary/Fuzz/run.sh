#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes the core's parsers and its message loop, from the committed corpus, under address and undefined sanitizers.
#
#   run.sh SECONDS [TARGET…]            shares SECONDS among the targets (all of them if none is named)
#   run.sh --renew SECONDS [TARGET…]    grows the corpus from seeds and what is there, minimises it, and sets the floors
#   run.sh --floors                     sets the floors by what the committed corpus reaches
#   run.sh --list                       names the targets
#
# SEED=N repeats a run; CORE=FOLDER fuzzes another copy of the core; BUILD=FOLDER keeps a run apart from others at the
# the same time. Three checks for each target: the corpus reaches what floor.txt says (a parser that the compiler
# removed, or a corpus that no longer gets anywhere, is found here), an empty corpus grows beyond its first input,
# and no input breaks a property. An input that does is left below .build/fuzz/crashes and named.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
cd "$root"

readonly TARGETS=(config measurement token order message frame record verifier gate http compact work logbook logflash
  sealed channel grant)
readonly BUILD=${BUILD:-.build/fuzz}
readonly GROWTH_RUNS=2000
readonly CORPUS_FILES_MAX=100
readonly SEED=${SEED:-1}
readonly CORE=${CORE:-CSources/ProofCore}

# libFuzzer belongs to the clang that stands beside swift.
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
readonly CLANG=$toolchain/clang
readonly STRICT=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
readonly SANITIZE=-fsanitize=address,undefined

# options_of TARGET: the longest input worth trying.
options_of() {
  case $1 in
    verifier) echo -max_len=1500 ;;
    frame) echo -max_len=2000 ;;
    logbook | logflash) echo -max_len=400 ;;
    *) echo -max_len=1000 ;;
  esac
}

# The way of the hash depends on the processor: with it the figures of two machines would differ.
readonly UNCOUNTED=(crypto sha256 sha256_arm sha256_native sha256_trial sha256_x86)

# Only the core is instrumented for coverage: the figures are its, not the harness's.
build() {
  local source target name covering
  mkdir -p "$BUILD/objects"
  local -a common=("${STRICT[@]}"
    -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all "-I$CORE/include")
  for source in "$CORE"/*.c; do
    name=$(basename "$source" .c)
    covering=,fuzzer-no-link
    [[ " ${UNCOUNTED[*]} " != *" $name "* ]] || covering=
    "$CLANG" "${common[@]}" $SANITIZE$covering -c "$source" -o "$BUILD/objects/core_$name.o"
  done
  for source in "$here"/*.c; do
    "$CLANG" "${common[@]}" $SANITIZE -c "$source" -o "$BUILD/objects/$(basename "$source" .c).o"
  done
  local -a link=("$CLANG" -fuse-ld=lld) core=("$BUILD/objects/fuzz.o" "$BUILD"/objects/core_*.o -lsodium)
  for target in "${TARGETS[@]}"; do
    local -a parts=("$BUILD/objects/${target}_fuzz.o")
    [[ $target != verifier ]] || parts+=("$BUILD"/objects/verifier_{model,platform}.o)
    "${link[@]}" $SANITIZE,fuzzer "${parts[@]}" "${core[@]}" -o "$BUILD/$target"
  done
  "${link[@]}" $SANITIZE "$BUILD/objects/seeds.o" "${core[@]}" -o "$BUILD/seeds"
}

# run TARGET LOG OPTION…: a libFuzzer run that leaves its output in LOG. Fails as the fuzzer does.
run() {
  local target=$1 log=$2
  shift 2
  "$BUILD/$target" -seed="$SEED" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 "$@" >"$log" 2>&1
}

# figures LOG WHEN: "edges features" of the last line of this kind (INITED, DONE).
figures() {
  sed -n "s/^#[0-9]*[[:space:]]*$2[[:space:]]*cov: \([0-9]*\) ft: \([0-9]*\).*/\1 \2/p" "$1" | tail -n 1
}

# corpus_figures TARGET: what the committed corpus reaches by itself.
corpus_figures() {
  run "$1" "$BUILD/logs/$1-corpus.log" -runs=0 "$here/corpus/$1" || return 1
  figures "$BUILD/logs/$1-corpus.log" INITED
}

passed=0
failed=0

# judge WHETHER WHAT…: counts one check and prints it.
judge() {
  local whether=$1
  shift
  if [[ $whether -eq 0 ]]; then
    passed=$((passed + 1))
    echo "  ok      $*"
  else
    failed=$((failed + 1))
    echo "  FAILED  $*"
  fi
}

check_floor() {
  local target=$1 edges_floor features_floor edges features status=0
  read -r edges_floor features_floor < <(awk -v target="$target" '$1 == target { print $2, $3 }' "$here/floor.txt")
  if ! read -r edges features < <(corpus_figures "$target"); then
    edges=0
    features=0
  fi
  [[ $edges -ge ${edges_floor:?} && $features -ge ${features_floor:?} ]] || status=1
  judge $status "the corpus reaches $edges edges, $features features (floor $edges_floor, $features_floor)"
}

check_growth() {
  local target=$1 log=$BUILD/logs/$1-growth.log status=0 first=0 last=0
  rm -rf "$BUILD/empty"
  mkdir -p "$BUILD/empty"
  run "$target" "$log" -runs=$GROWTH_RUNS "-artifact_prefix=$BUILD/crashes/$target-" "$(options_of "$target")" \
    "$BUILD/empty" || status=1
  read -r first _ < <(figures "$log" INITED) || true
  read -r last _ < <(figures "$log" DONE) || true
  [[ ${last:-0} -gt ${first:-0} ]] || status=1
  judge $status "an empty corpus grows from ${first:-0} to ${last:-0} edges in $GROWTH_RUNS runs"
}

check_fuzzing() {
  local target=$1 seconds=$2 log=$BUILD/logs/$1-fuzz.log status=0 edges features runs rate
  mkdir -p "$BUILD/found/$target"
  run "$target" "$log" "-max_total_time=$seconds" "-artifact_prefix=$BUILD/crashes/$target-" \
    "-dict=$here/fuzz.dict" "$(options_of "$target")" "$BUILD/found/$target" "$here/corpus/$target" || status=1
  read -r edges features < <(figures "$log" DONE) || true
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  judge $status "no property broken in ${runs:-?} inputs, $seconds s, ${rate:-?} a second:" \
    "${edges:-?} edges, ${features:-?} features"
  [[ $status -eq 0 ]] || report "$target" "$log"
}

# Reports the failed check, its place, and the file that reproduces it.
report() {
  grep -E 'does not hold|runtime error|ERROR: (Address|libFuzzer)|^    #[0-9]+ .* in (pfc_|check_|after_|world_)' "$2" |
    sed "s|$root/||g" | head -n 12 || true
  sed -n 's/.*Test unit written to //p' "$2" | sed "s|^|          again: $BUILD/$1 |"
}

# minimise TARGET FROM…: a hundred files or fewer that reach what all of them reach, into the committed corpus.
minimise() {
  local target=$1 fine=$BUILD/minimised/$1-features coarse=$BUILD/minimised/$1-edges file
  shift
  rm -rf "$fine" "$coarse"
  mkdir -p "$fine" "$coarse" "$here/corpus"
  run "$target" "$BUILD/logs/$target-merge.log" -set_cover_merge=1 -max_len=3000 "$fine" "$@"
  # Too many for every feature: then every edge, and as many of the others as there is room for. Names are digests,
  # so their order is as good as chance.
  if [[ $(find "$fine" -type f | wc -l) -gt $CORPUS_FILES_MAX ]]; then
    run "$target" "$BUILD/logs/$target-merge.log" -set_cover_merge=1 -use_counters=0 -max_len=3000 "$coarse" "$fine"
    for file in "$fine"/*; do
      [[ $(find "$coarse" -type f | wc -l) -lt $CORPUS_FILES_MAX ]] || break
      cp "$file" "$coarse/"
    done
    fine=$coarse
  fi
  # Seeds that tell a story are kept by name: no figure says what they are good for.
  find "$BUILD/seeds.d/$target" -name 'story-*' -exec cp -t "$fine" {} +
  rm -rf "${here:?}/corpus/$target"
  cp -r "$fine" "$here/corpus/$target"
  echo "  $target: $(find "$fine" -type f | wc -l) files, $(du -bs "$here/corpus/$target" | cut -f1) bytes"
}

# renew SECONDS TARGET…
renew() {
  local seconds=$1 target
  shift
  rm -rf "$BUILD/seeds.d" "$BUILD/minimised"
  "$BUILD/seeds" "$BUILD/seeds.d"
  for target in "$@"; do
    mkdir -p "$BUILD/found/$target" "$here/corpus/$target"
    run "$target" "$BUILD/logs/$target-renew.log" "-max_total_time=$((seconds / $#))" -use_value_profile=1 \
      "-artifact_prefix=$BUILD/crashes/$target-" "-dict=$here/fuzz.dict" "$(options_of "$target")" \
      "$BUILD/found/$target" "$here/corpus/$target" "$BUILD/seeds.d/$target" ||
      report "$target" "$BUILD/logs/$target-renew.log"
    minimise "$target" "$BUILD/found/$target" "$here/corpus/$target" "$BUILD/seeds.d/$target"
    set_floor "$target"
  done
}

set_floor() {
  local edges features
  read -r edges features < <(corpus_figures "$1")
  {
    sed "/^$1 /d" "$here/floor.txt"
    echo "$1 $((edges * 9 / 10)) $((features * 9 / 10))"
  } >"$BUILD/floor.txt"
  mv "$BUILD/floor.txt" "$here/floor.txt"
}

main() {
  local target share
  local -a chosen
  if [[ ${1:-} == --list ]]; then
    printf '%s\n' "${TARGETS[@]}"
    return
  fi
  mkdir -p "$BUILD/crashes" "$BUILD/logs"
  build
  if [[ ${1:-} == --floors ]]; then
    for target in "${TARGETS[@]}"; do set_floor "$target"; done
    return
  fi
  local renewing=0
  if [[ ${1:-} == --renew ]]; then
    renewing=1
    shift
  fi
  local seconds=${1:?usage: run.sh [--renew] SECONDS [TARGET…]}
  shift
  chosen=("$@")
  [[ ${#chosen[@]} -gt 0 ]] || chosen=("${TARGETS[@]}")
  if [[ $renewing -eq 1 ]]; then
    renew "$seconds" "${chosen[@]}"
    return
  fi
  share=$(((seconds + ${#chosen[@]} - 1) / ${#chosen[@]}))
  echo "seed $SEED, $share s for each target"
  for target in "${chosen[@]}"; do
    [[ -x $BUILD/$target ]] || {
      echo "run.sh: no such target: $target (${TARGETS[*]})" >&2
      exit 2
    }
    echo "$target"
    check_floor "$target"
    check_growth "$target"
    check_fuzzing "$target" "$share"
  done
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 ]]
}

main "$@"
