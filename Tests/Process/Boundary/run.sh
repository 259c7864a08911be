#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that no C type and no package-only name leaves ProofModel.
#
#   Tests/Process/Boundary/run.sh          everything below, in order; ends with 1 at the first thing that is not so
#
# 1. Only Core/ folders import C modules or use `unsafe`.
# 2. A client from outside the package builds against it and does what it expects (Probe/).
# 3. The symbol graph of the public API names no C declaration, and the probe uses every name in it.
# 4. Planted leaks do not compile, each with the error it is planted for (planted/), and two controls do.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
out=$root/.build/boundary
mkdir -p "$out"
cd "$root"

fail() {
  echo "boundary: $*" >&2
  exit 1
}

# 1. The folder says who may touch C.
c_modules='ProofCore|ProofKey|ProofProbe|CSodium|CCrypto|LibCrypto|CCurl|LibCurl|CTPM|LibTSS2|CMicroHTTPD|CSQLite'
c_import="import +($c_modules|CPostgres|LibPQ)"
if grep -rnE "^ *(public |package |internal |private )?$c_import" Sources --include='*.swift' | grep -v '/Core/'; then
  fail "a C module is imported outside Core/"
fi
if grep -rnwE 'unsafe' Sources/Proof{Model,Kit,KitKeys,KitTPM} --include='*.swift' |
  grep -v '/Core/' | grep -vE ':\s*(///|//)'; then
  fail "'unsafe' is used outside Core/"
fi
if grep -rnE "^ *(public|package) $c_import" Sources --include='*.swift'; then
  fail "a C module is imported publicly"
fi
if grep -rnE '^ *(public |internal )?import +Foundation' Sources/ProofModel; then
  fail "ProofModel imports Foundation"
fi
echo "ok: C and unsafe stay in Core/"

# 2. A client from outside. A plan made before would not know of sources that the package has gained since.
rm -f "$out"/build/*.yaml
swift build --package-path Tests/Process --product boundary-probe --scratch-path "$out/build" >"$out/probe.log" 2>&1 ||
  {
    grep -A6 "error" "$out/probe.log" || cat "$out/probe.log"
    fail "the probe does not build"
  }
"$out/build/debug/boundary-probe" || fail "the probe failed"

# 3. The symbol graph.
swift build >"$out/build.log" 2>&1 || { cat "$out/build.log"; fail "the package does not build"; }
built=$(swift build --show-bin-path)
modules=$built/Modules
c_flags=(-Xcc "-fmodule-map-file=$built/ProofCore.build/module.modulemap" -Xcc -I -Xcc CSources/ProofCore/include
  -Xcc "-fmodule-map-file=CSources/CSodium/module.modulemap")
mkdir -p "$out/symbols"
extract=$(dirname "$(readlink -f "$(command -v swift)")")/swift-symbolgraph-extract
target=$(swift -print-target-info | sed -n 's/^ *"triple": "\(.*\)",/\1/p' | head -n 1)
for module in ProofBytes ProofModel ProofKit; do
  "$extract" -module-name "$module" -I "$modules" "${c_flags[@]}" -target "$target" \
    -minimum-access-level public -output-dir "$out/symbols" -skip-synthesized-members \
    -Xcc "-fmodule-map-file=$built/ProofKey.build/module.modulemap" \
    -Xcc "-fmodule-map-file=$built/ProofProbe.build/module.modulemap"
done
/usr/bin/python3 Tests/Process/Boundary/symbols.py Tests/Process/Boundary/Probe "$out"/symbols/*.json

# 4. Planted leaks.
flags=(-swift-version 6 "${c_flags[@]}")
judge() {
  local file=$1 expected
  shift
  expected=$(sed -n 's|^// expect: ||p' "$file")
  [ -n "$expected" ] || fail "$file does not say what it expects"
  if swiftc "${flags[@]}" "$@" >"$out/planted.log" 2>&1; then
    [ "$expected" = nothing ] || fail "$file compiles"
  else
    [ "$expected" != nothing ] || { cat "$out/planted.log"; fail "$file, a control, does not compile"; }
    grep -qF -- "$expected" "$out/planted.log" ||
      { cat "$out/planted.log"; fail "$file fails for another reason than: $expected"; }
  fi
  echo "ok: $(basename "$(dirname "$file")")/$(basename "$file" .swift): $expected"
}
mapfile -t base < <(find Sources/ProofBytes -name '*.swift')
swiftc -swift-version 6 -emit-module -module-name ProofBytes -package-name boundary "${base[@]}" \
  -o "$out/ProofBytes.swiftmodule"
flags+=(-I "$out")
mapfile -t sources < <(find Sources/ProofModel -name '*.swift')
for file in Tests/Process/Boundary/planted/inside/*.swift; do
  judge "$file" -typecheck -module-name ProofModel -package-name boundary "${sources[@]}" "$file"
done
for file in Tests/Process/Boundary/planted/outside/*.swift; do
  # Ownership and lifetimes are judged after type checking.
  judge "$file" -emit-sil -o /dev/null -module-name Client -package-name another -I "$modules" "$file"
done
echo "the boundary holds"
