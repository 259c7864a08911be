#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The core's own C test program on the Cortex-M3: the vectors it reads, and the bytes it emits, are this machine's.
#
#   Tests/Process/Firmware/vectors.sh [options of proofcore-tests]     without any, all of its tests
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# shellcheck source=.ci/parts.sh
. .ci/parts.sh
readonly build=$PWD/.build/firmware
readonly sodium=$PWD/.build/foreign/libsodium/source/src/libsodium/include
readonly machine='-mcpu=cortex-m3 -mthumb'

make -s -C CSources/ports/cortex-m3 "$build/cortex-m3/libsodium.a"
# shellcheck disable=SC2086
crt=$(arm-none-eabi-gcc $machine -print-file-name=rdimon-crt0.o)

# Words of a command line with blanks in them do not reach a program on the board: none here has any.
cat >"$build/on-board" <<'SCRIPT'
#!/usr/bin/env bash
words=enable=on,target=native
for word in "$@"; do words+=,arg=$word; done
exec qemu-system-arm -M mps2-an385 -display none -monitor none -serial none -nic user,restrict=on \
  -semihosting-config "$words" -kernel "$1"
SCRIPT
chmod +x "$build/on-board"

tests() {
  CC=arm-none-eabi-gcc BUILD="$build/core-tests" RUN="$build/on-board" \
    CFLAGS="$machine -Os -ffunction-sections -fdata-sections -Wno-format -include $PWD/Tests/Process/Firmware/newlib.h \
      -isystem $sodium -isystem $build/include" \
    LDFLAGS="-nostartfiles --specs=rdimon.specs -Wl,--gc-sections -T $PWD/Tests/Process/Firmware/semihosted.ld" \
    LDLIBS="$PWD/Tests/Process/Firmware/semihosted.c -Wl,--wrap=ge25519_scalarmult_base \
      $build/cortex-m3/libsodium.a $crt" \
    Tests/Unit/ProofCoreTests/run.sh "$@"
}

Tests/Unit/ProofCoreTests/run.sh --emit >"$build/emitted-here.txt"
tests --emit >"$build/emitted-there.txt"
check 'the Cortex-M3 emits other bytes than this machine' cmp "$build/emitted-here.txt" "$build/emitted-there.txt"
part 'on the board' tests "$@"
closing
