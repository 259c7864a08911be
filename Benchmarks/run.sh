#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures. `report` writes docs/results/DATE.md and DATE.html, `figures` asserts the deterministic ones, `probe` has
# files at length, `floor` a warm proof beside what the kernel charges for one, `tree` a trial beside b3sum, `gate` a
# gate behind nginx.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  report)
    for product in proof-service proof-load proof-bench; do
      swift build --quiet -c release --product "$product"
    done
    exec "$(swift build -c release --show-bin-path)/proof-bench" --report
    ;;
  figures) exec .ci/counted swift run --quiet -c release proof-bench --check ;;
  probe)
    for step in warm curves report; do
      Benchmarks/probe-files/bench.py "$step"
    done
    ;;
  tree) exec Benchmarks/probe-files/bench.py tree ;;
  floor) exec Benchmarks/probe-files/bench.py floor --seconds 30 ;;
  gate)
    .ci/pypi backend
    for product in proof-service proofctl proof-gate; do
      swift build --quiet -c release --product "$product"
    done
    PROOF_BIN="$(swift build -c release --show-bin-path)"
    export PROOF_BIN
    exec .build/pypi/bin/python Benchmarks/gate-proxy/bench.py
    ;;
  *)
    echo "usage: Benchmarks/run.sh report|figures|probe|floor|tree|gate" >&2
    exit 2
    ;;
esac
