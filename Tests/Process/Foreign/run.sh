#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The core and its C tests on other machines: 32-bit Arm, big-endian 64-bit s390x, and 64-bit Arm, whose processor has
# SHA-256 instructions of its own, under qemu.
#
# Each machine runs the whole C test program, and must emit the same vectors, byte for byte, as this one does: an
# integer read in host order, or a structure written as it stands in memory, shows here and nowhere else. What the core
# promises about its symbols and its stack holds there as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# shellcheck source=.ci/parts.sh
. .ci/parts.sh
readonly out=$PWD/.build/foreign

# on ARCHITECTURE TRIPLET EMULATOR
on() {
  local architecture=$1 triplet=$2 emulator=$3
  local root=$out/$architecture/sysroot/root build=$out/$architecture/build
  Tests/Process/Foreign/sysroot "$architecture" "$out/$architecture/sysroot"

  local -a tests=(env CC="$triplet-gcc" CFLAGS="-O2 -isystem $root/usr/include" BUILD="$build/tests"
    LDLIBS="-L$root/usr/lib/$triplet -lsodium" RUN="$emulator -L $root" Tests/Unit/ProofCoreTests/run.sh)
  part "$architecture" "${tests[@]}"

  "${tests[@]}" --emit >"$build/emitted.txt" || true
  check "$architecture emits other bytes than this machine" cmp "$out/emitted.txt" "$build/emitted.txt"

  make --no-print-directory -s -C CSources CROSS="$triplet-" SYSROOT="$root" BUILD="$build/core" all stack-peak
  part "$architecture, symbols" env NM="$triplet-nm" Tests/Process/Objects/symbols.py \
    "$build"/core/objects/CSources/ProofCore/*.o
  if [[ $architecture == arm64 ]]; then
    part "$architecture, kernels of SHA-256" env OBJDUMP="$triplet-objdump" Tests/Adversary/ConstantTime/kernels.py \
      --object "$build/core/objects/CSources/ProofCore/sha256_arm.o"
    # Skipped tests count nothing, and a part that counts nothing has failed.
    part "$architecture, native SHA-256" "${tests[@]}" --hash native --filter sha256
  fi
  # s390x sets 160 bytes aside in every frame: its stack says nothing about the hardware's.
  if [[ $architecture == armhf ]]; then
    part "$architecture, stack" Tests/Process/Objects/stack.py --peak "$emulator" -L "$root" "$build/core/stack-peak"
  fi
}

mkdir -p "$out"
Tests/Unit/ProofCoreTests/run.sh --emit >"$out/emitted.txt"
on armhf arm-linux-gnueabihf qemu-arm
on s390x s390x-linux-gnu qemu-s390x
on arm64 aarch64-linux-gnu qemu-aarch64

closing
