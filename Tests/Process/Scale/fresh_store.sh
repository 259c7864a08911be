#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a database with the schema on the server `main` of cluster.sh, and prints the `--store` of the service's role.
#
#   PROOF_STORE_MAKER=Tests/Process/Scale/fresh_store.sh Tests/Process/Gate/run.sh …
#
# Tests/Process/Backend/place.py calls it for each of its stores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${PROOF_BIN:-$here/../../../.build/debug}
port=$(cat "$PROOF_POSTGRES/main/port")
passwords=$PROOF_POSTGRES/passwords
database=store_$$
readonly here bin port passwords database

if [[ ! -f $passwords ]]; then
  for role in service migrator gate; do echo "localhost:$port:*:proof_$role:$role-secret"; done >"$passwords.$$"
  chmod 600 "$passwords.$$"
  mv "$passwords.$$" "$passwords"
fi
"${POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/psql" -q -X -h "$PROOF_POSTGRES/main/socket" -p "$port" -U postgres \
  -d postgres -c "CREATE DATABASE $database OWNER proof_migrator" >&2

# uri ROLE
uri() {
  local files="sslrootcert=$PROOF_POSTGRES/authority.pem&passfile=$passwords"
  echo "postgres://proof_$1@localhost:$port/$database?$files&connect_timeout=30"
}
"$bin/proofctl" store migrate --store "$(uri migrator)" >&2
uri service
