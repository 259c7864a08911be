#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The stores of measurements, strings, redemptions and used proofs under real kills: a process is ended before every
# system call of a save. Those of redemptions and used proofs under power cuts, too.
#
#   Tests/Adversary/Store/run.sh
#
# The last line counts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work="$root/.build/store"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p "$work"
"${CC:-cc}" -std=c11 -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "$here/cut.c" -o "$work/cut"
"${CC:-cc}" -std=c11 -O1 -g -fPIC -shared -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "$here/medium.c" \
  -o "$work/medium.so"

# SwiftPM takes CC for a clang.
env -u CC swift build --quiet --package-path "$root" --product store-victim
victim="$(env -u CC swift build --package-path "$root" --show-bin-path)/store-victim"
"${PYTHON:-/usr/bin/python3}" "$here/cut.py" "$work/cut" "$victim" "$work/medium.so"
