#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The store in PostgreSQL, the history checker and proof-service on that store, against servers that cluster.sh starts.
#
#   run.sh [FILTER]
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../../.." || exit 1
# shellcheck source=.ci/parts.sh
. .ci/parts.sh

# The store must not be able to send a cancel request: it would make an unsafe commit look safe.
no_cancel() { ! grep -rnE 'PQ(cancel|getCancel|requestCancel)\b' CSources/CPostgres Sources/PostgresStore; }

check 'the store names no function that cancels' no_cancel
suites='^(PostgresStoreTests|HistoryCheckerTests)'
suites+='|^ProofServiceTests\.(StoreConformance|SaltConformance|StorePlaceTests|StoreMoveTests)'
suites+='|^ProofServiceTests\.PostgresAccountStoreTests'
suites+='|^ProofBackendTests\.(ReplayStoreTests|RedemptionStoreTests|IssueLedgerTests)'
readonly suites
part store "$here/cluster.sh" Tests/Unit/run-swift --filter "${1:-$suites}"
# The tests above built the programs.
if [[ $# -eq 0 ]]; then
  part service "$here/cluster.sh" /usr/bin/python3 -B "$here/service_test.py"
  part cluster .build/pypi/bin/python -B "$here/cluster_test.py"
  part sharding /usr/bin/python3 -B "$here/sharding_test.py"
  part move "$here/cluster.sh" /usr/bin/python3 -B "$here/move_test.py"
  # Suites of other parts, each store of which is a database of its own.
  export PROOF_STORE_MAKER=$here/fresh_store.sh
  part events "$here/cluster.sh" Tests/Process/Gate/run.sh ServiceEvents
  part gates "$here/cluster.sh" .build/pypi/bin/python -B "$here/gates_test.py"
  part disk-clock "$here/cluster.sh" /usr/bin/python3 -B "$here/disk_clock_test.py"
  part ledger "$here/cluster.sh" .build/pypi/bin/python -B "$here/ledger_test.py"
  PROOF_BIN=$PWD/.build/debug part fetch "$here/cluster.sh" .build/pypi/bin/python -B Tests/Process/Backend/flow.py
fi
closing
