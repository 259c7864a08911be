#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the core and its tests below .build/core-tests and runs them.
#
#   Tests/Unit/ProofCoreTests/run.sh [options of proofcore-tests]
#
# CC, CFLAGS, LDFLAGS, LDLIBS and BUILD may be set; RUN goes before the program (an emulator, a tool).
# PROOFKIT_WYCHEPROOF names another Wycheproof folder than Tests/Vectors/wycheproof.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
: "${CC:=cc}"
: "${CFLAGS:=-O2 -g}"
: "${LDFLAGS:=}"
: "${LDLIBS:=-lsodium}"
: "${RUN:=}"
: "${BUILD:=$root/.build/core-tests}"

make -s -j2 -C "$here" -f Makefile \
  ROOT="$root" BUILD="$BUILD" CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" LDLIBS="$LDLIBS"

wycheproof=${PROOFKIT_WYCHEPROOF:-$root/Tests/Vectors/wycheproof}
if [ -d "$wycheproof" ]; then
  set -- --wycheproof "$wycheproof" "$@"
fi
if [ -d "$root/Tests/Vectors" ]; then
  set -- --vectors "$root/Tests/Vectors" "$@"
fi
exec $RUN "$BUILD/proofcore-tests" "$@"
