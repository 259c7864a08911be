# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Shared by scripts that run parts and add up what they count. They source this file; errors end a pipe.
#
#   part NAME COMMAND…     shows the output, and tallies its last line
#   spoken LOG             prints LOG without what SwiftPM says while it waits
#   tally STATUS LINE      adds what LINE counts, `N passed, M failed`; good and bad are its two numbers
#   check FAULT COMMAND…   one check of the script's own; names the fault if the command fails
#   closing                prints the sum in the same form; fails if anything has
#
# A part that counts nothing, or ends badly without saying what failed, has failed once.
set -o pipefail

passed=0
failed=0
good=0
bad=0

# SwiftPM ends this message without a line feed, so the next line of the target, its count perhaps, stands behind it.
spoken() {
  sed -E "s/Another instance of SwiftPM \(PID: [0-9]+\) is already running[^.]*'[^']*', waiting until that process has \
finished execution\.\.\.//g" "$1"
}

tally() {
  good=0
  bad=1
  if [[ $2 =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    good=${BASH_REMATCH[1]}
    bad=${BASH_REMATCH[2]}
    if [[ $bad -eq 0 && ($1 -ne 0 || $good -eq 0) ]]; then bad=1; fi
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

part() {
  local log status=0
  log=$(mktemp)
  printf -- '-- %s\n' "$1"
  shift
  "$@" 2>&1 | tee "$log" || status=1
  tally "$status" "$(spoken "$log" | tail -n 1)"
  rm -f "$log"
}

check() {
  local fault=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $fault"
  fi
}

closing() {
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 ]]
}
