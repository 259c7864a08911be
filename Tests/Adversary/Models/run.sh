#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the models with spin: what holds of each, and that its broken variants are refused.
#
#   run.sh [--long]    --long: also with one worker more, which takes half a minute and 1 GiB
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

out=$PWD/.build/models
models=$PWD/Tests/Adversary/Models
mkdir -p "$out"

# play MODEL CLAIM DEFINES…: plays every execution. CLAIM 0 looks for hangs and failed assertions; CLAIM 1 checks that
# the end comes. Prints `held`, or the reason of the refusal (`hangs`, `asserts`, `never ends`), or nothing if spin did
# not finish.
play() {
  local model=$1 claim=$2
  local -a flags=(-m1000000)
  shift 2
  if [[ $claim -eq 1 ]]; then flags+=(-a -f); fi
  (
    rm -rf "${out:?}/$model" && mkdir "$out/$model" && cd "$out/$model" || exit 1
    spin "$@" "-DCLAIM=$claim" -a "$models/$model.pml" >spin.log 2>&1 || exit 1
    cc -O1 -DNFAIR=3 -o pan pan.c 2>cc.log || exit 1
    timeout 600 ./pan "${flags[@]}" >pan.log 2>&1 || exit 1
    if grep -q 'max search depth too small' pan.log; then exit 1; fi
    sed -n 's/.*errors: 0$/held/p; s/.*pan:[0-9]*: invalid end state.*/hangs/p; s/.*pan:[0-9]*: assertion.*/asserts/p
            s/.*pan:[0-9]*: acceptance cycle.*/never ends/p' pan.log
  )
}

# expect WORDS ANSWER MODEL CLAIM DEFINES…
expect() {
  local words=$1 answer=$2 said
  shift 2
  said=$(play "$@")
  if [[ $said == "$answer" ]]; then
    echo "models: $words: $said"
  else
    echo "models: $words: ${said:-no answer}, expected $answer; the output is in $out"
  fi
  [[ $said == "$answer" ]]
  tally $? "$([[ $said == "$answer" ]] && echo 1 passed, 0 failed || echo 0 passed, 1 failed)"
}

expect 'handoff, 2 workers' held handoff 0 -DWORKERS=2
expect 'handoff, 2 workers, its end' held handoff 1 -DWORKERS=2
expect 'handoff with items set aside' hangs handoff 0 -DWORKERS=2 -DOLD=1
expect 'handoff with items set aside, its end' 'never ends' handoff 1 -DWORKERS=2 -DOLD=1
expect 'handoff with a calling thread that wakes no worker' hangs handoff 0 -DWORKERS=2 -DOLD=2
expect 'handoff without a free place for each worker' asserts handoff 0 -DWORKERS=2 -DOLD=3 -DPLACES=1
expect 'batches, 4 callers, 2 lanes' held batches 0
expect 'batches, 4 callers, 3 lanes' held batches 0 -DLANES=3
expect 'batches, 4 callers, 1 lane' held batches 0 -DLANES=1
expect 'batches, 3 callers, their end' held batches 1 -DCALLERS=3 -DLANES=1
expect 'batches with a lane freed without a look at the queue' asserts batches 0 -DOLD=1
expect 'batches with a look at the queue in a section of its own' asserts batches 0 -DOLD=2
expect 'batches with an appointed caller that leaves' asserts batches 0 -DOLD=3
expect 'batches with calls that stay in the queue' asserts batches 0 -DOLD=4
expect 'batches with the last lane freed beside a call that waits' asserts batches 0 -DOLD=5
expect 'batches with a call that waits beside free lanes only' asserts batches 0 -DOLD=6
expect 'batches with a call that takes a lane and stays in the queue' asserts batches 0 -DOLD=7
expect 'answers put off, 2 requests' held later 0
expect 'answers put off, their end' held later 1
expect 'answers put off, marked before they are suspended' asserts later 0 -DOLD=1
expect 'answers put off with one look at the wake-up' hangs later 0 -DOLD=2
expect 'answers put off with a stop that does not wait' asserts later 0 -DOLD=3
expect 'answers put off, counted after they are suspended' asserts later 0 -DOLD=4
expect 'answers put off with a stop that does not wait for who resumes' asserts later 0 -DOLD=5
expect 'connections that are handed out, 2 lanes' held accept 0
expect 'connections that are handed out, their end' held accept 1
expect 'connections that are handed out to lanes with other requests' held accept 1 -DOTHERS=1
expect 'connections with a look at the lanes before the flag' hangs accept 0 -DOLD=1
expect 'connections with a look at the flag by a busy lane' hangs accept 0 -DOLD=2
expect 'connections with a freed lane that gets nothing' 'never ends' accept 1 -DOLD=3 -DOTHERS=1
if [[ ${1:-} == --long ]]; then
  expect 'handoff, 3 workers' held handoff 0 -DWORKERS=3
fi
closing
