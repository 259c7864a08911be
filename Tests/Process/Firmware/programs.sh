#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program that measures on the board, figures-PROFILE.elf, from the firmware's own objects.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
readonly build=$PWD/.build/firmware/cortex-m3
readonly machine=(-mcpu=cortex-m3 -mthumb)
readonly port=CSources/ports/cortex-m3

make -s -C "$port" "$build/full.elf" "$build/large.elf" "$build/libsodium.a"
crt=$(arm-none-eabi-gcc "${machine[@]}" -print-file-name=rdimon-crt0.o)

for profile in full large; do
  arm-none-eabi-gcc "${machine[@]}" -Os -std=c11 -Wall -Wextra -Wno-format -Werror -ffunction-sections -fdata-sections \
    -D"PFC_PROFILE=\"$profile.h\"" -include Tests/Process/Firmware/newlib.h -ICSources/ports/profiles -I"$port" \
    -ICSources/ProofCore/include -ICSources/ProofDevice/include -ITests/Unit/ProofCoreTests -ITests/Adversary/Faults \
    -isystem .build/foreign/libsodium/source/src/libsodium/include -isystem .build/firmware/include \
    -nostartfiles --specs=rdimon.specs -Wl,--gc-sections -Wl,--wrap=ge25519_scalarmult_base \
    -T Tests/Process/Firmware/semihosted.ld -o "$build/figures-$profile.elf" \
    Tests/Process/Firmware/{figures,semihosted}.c Tests/Unit/ProofCoreTests/{world,flash,forge,harness}.c \
    "$port/clock.c" \
    "$build/$profile"/CSources/ProofCore/*.o "$build/libsodium.a" "$crt"
done
