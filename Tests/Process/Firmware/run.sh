#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything about the firmware, on the board that qemu and Unicorn play. Adds up what its parts count.
#
#   Tests/Process/Firmware/run.sh           20 power cuts, the vectors, skipped instructions of a choice of messages, on
#                                           the images of all three profiles
#   Tests/Process/Firmware/run.sh --long    200 power cuts, all of the core's tests, all messages and pairs as well
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

cuts=20
vectors=(--filter vectors)
skip=(--short)
if [[ ${1:-} == --long ]]; then
  cuts=200
  vectors=()
  skip=()
fi

if ! "${MAKE:-make}" -s firmware programs; then
  echo '0 passed, 1 failed'
  exit 1
fi
part 'Cortex-M0+' .ci/counted make -s -C CSources/ports/cortex-m3 CPU=cortex-m0plus images
part 'Cortex-M33' .ci/counted make -s -C CSources/ports/cortex-m3 CPU=cortex-m33 images
part 'board' /usr/bin/python3 Tests/Process/Firmware/run.py --cuts "$cuts"
part 'vectors' Tests/Process/Firmware/vectors.sh "${vectors[@]}"
# Python with packages of PyPI, and those of Debian beside them.
for profile in full large symmetric; do
  part "skipped instructions, $profile" env PYTHONPATH=/usr/lib/python3/dist-packages .build/pypi/bin/python \
    Tests/Process/Firmware/skip.py --profile $profile "${skip[@]}"
done

closing
