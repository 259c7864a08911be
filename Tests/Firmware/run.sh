#!/usr/bin/env bash
# Everything about the firmware, on the board that qemu and Unicorn play. Adds up what its parts count.
#
#   Tests/Firmware/run.sh           20 power cuts, the vectors, skipped instructions of a choice of messages
#   Tests/Firmware/run.sh --long    200 power cuts, all of the core's tests, all messages and pairs as well
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

cuts=20
vectors=(--filter vectors)
skip=(--short)
if [[ ${1:-} == --long ]]; then
  cuts=200
  vectors=()
  skip=()
fi

passed=0
failed=0

# counted NAME COMMAND…: shows the output and adds the counts of its last line; without one, a failure.
counted() {
  local name=$1 log=.build/firmware/log
  shift
  printf -- '-- %s\n' "$name"
  "$@" 2>&1 | tee "$log"
  local status=${PIPESTATUS[0]}
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    if [[ $status -ne 0 && ${BASH_REMATCH[2]} -eq 0 ]]; then failed=$((failed + 1)); fi
  else
    failed=$((failed + 1))
  fi
}

if ! "${MAKE:-make}" -s firmware demo-programs; then
  echo '0 passed, 1 failed'
  exit 1
fi
counted 'Cortex-M0+' .ci/counted make -s -C CSources/ports/cortex-m3 CPU=cortex-m0plus images
counted 'Cortex-M33' .ci/counted make -s -C CSources/ports/cortex-m3 CPU=cortex-m33 images
counted 'board' /usr/bin/python3 Tests/Firmware/run.py --cuts "$cuts"
counted 'vectors' Tests/Firmware/vectors.sh "${vectors[@]}"
# What comes from PyPI, and beside it what Debian has.
counted 'skipped instructions' env PYTHONPATH=/usr/lib/python3/dist-packages .build/pypi/bin/python \
  Tests/Firmware/skip.py "${skip[@]}"

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
