#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ProofJOSE from outside: the C shim without memory and at its bounds, then interoperation with PyJWT and jwcrypto, both
# ways.
#
#   Tests/Process/JOSE/run.sh [NAME...]       NAME selects interoperation tests, such as Sealed
#
# The Python packages come from PyPI (.ci/pypi); once they are there nothing needs the network. The last line counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
python="${PYPI_FOLDER:-$root/.build/pypi}/bin/python"
work="$root/.build/jose"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p "$work"
if ! "$root/.ci/pypi" jose; then
  echo "0 passed, 1 failed"
  exit 1
fi

# build NAME FILE...
build() {
  local name=$1
  shift
  # shellcheck disable=SC2046 # flags are words
  "${CC:-cc}" -std=c11 -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
    -fsanitize=address,undefined -fno-sanitize-recover=all $(pkg-config --cflags libcrypto) \
    -I "$root/CSources/CCrypto/include" "$root"/CSources/CCrypto/*.c "${@/#/$here/shim/}" \
    $(pkg-config --libs libcrypto) -o "$work/$name"
}
build faults faults.c
build bounds bounds.c key_bounds.c

# SwiftPM takes CC for a clang.
env -u CC swift build --quiet --package-path "$root" --product jose-peer
JOSE_PEER="$(env -u CC swift build --package-path "$root" --show-bin-path)/jose-peer"
export JOSE_PEER

# shellcheck source=.ci/parts.sh
. "$root/.ci/parts.sh"
part 'without memory' "$work/faults"
part bounds "$work/bounds"
part vectors "$python" "$here/vectors.py" --check "$root/Tests/Vectors/jose/peers.txt"
part interoperation "$python" "$here/interop.py" "$@"
closing
