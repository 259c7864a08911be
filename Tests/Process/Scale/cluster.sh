#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command beside two PostgreSQL servers of its own, and removes them afterwards.
#
#   cluster.sh COMMAND…
#
# PROOF_POSTGRES names the folder for the command:
#   main, alone     a server each: `socket` (folder of its Unix socket), `port`, `log`
#   authority.pem   the authority of both servers' certificates, for the name localhost; other.pem is another one
#
# Over TCP both take TLS and SCRAM only. `alone` waits at each commit for a standby that does not exist.
# Passwords are those below: the servers listen on loopback, and end with the command.
set -euo pipefail
readonly bin=${POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
folder=$(mktemp -d)
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly folder tests

# PostgreSQL refuses to run as root.
as_postgres() {
  if [[ $(id -u) -eq 0 ]]; then setpriv --reuid postgres --regid postgres --init-groups -- "$@"; else "$@"; fi
}

finish() {
  local name
  for name in main alone; do
    if [[ -f $folder/$name/data/postmaster.pid ]]; then
      as_postgres "$bin/pg_ctl" -D "$folder/$name/data" -m immediate -w stop >/dev/null || true
    fi
  done
  rm -rf "$folder"
}
trap finish EXIT

# authority NAME: a certificate authority, NAME.pem and NAME.key.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
    -keyout "$folder/$1.key" -out "$folder/$1.pem" 2>/dev/null
}

certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
    -keyout "$folder/server.key" -out "$folder/server.csr" 2>/dev/null
  openssl x509 -req -in "$folder/server.csr" -CA "$folder/authority.pem" -CAkey "$folder/authority.key" \
    -CAcreateserial -days 30 -extfile <(echo subjectAltName=DNS:localhost) -out "$folder/server.pem" 2>/dev/null
}

# start NAME PORT SETTING…
start() {
  local name=$1 port=$2 place=$folder/$1
  shift 2
  as_postgres mkdir -p "$place/socket"
  as_postgres "$bin/initdb" -D "$place/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$place.init"
  echo "$port" >"$place/port"
  printf '%s\n' "port = $port" "unix_socket_directories = '$place/socket'" \
    "listen_addresses = 'localhost'" "ssl = on" "ssl_cert_file = '$folder/server.pem'" \
    "ssl_key_file = '$folder/server.key'" "fsync = off" "max_connections = 100" "shared_buffers = 32MB" \
    "password_encryption = 'scram-sha-256'" "log_lock_waits = on" "$@" >>"$place/data/postgresql.conf"
  printf '%s\n' 'local all postgres trust' 'local all all scram-sha-256' 'hostssl all proof_plain localhost password' \
    'hostssl all all localhost scram-sha-256' >"$place/data/pg_hba.conf"
  as_postgres "$bin/pg_ctl" -D "$place/data" -l "$place/log" -w -t 60 start >/dev/null
  as_postgres "$bin/psql" -q -X -h "$place/socket" -p "$port" -U postgres -v ON_ERROR_STOP=1 \
    -d postgres >/dev/null <<'SQL'
SET synchronous_commit = local;
CREATE ROLE proof_migrator LOGIN PASSWORD 'migrator-secret';
CREATE ROLE proof_service LOGIN PASSWORD 'service-secret';
CREATE ROLE proof_gate LOGIN PASSWORD 'gate-secret';
CREATE ROLE proof_plain LOGIN PASSWORD 'plain-secret';
SQL
}

chmod 755 "$folder"
authority authority
authority other
certificate
if [[ $(id -u) -eq 0 ]]; then
  chown -R postgres:postgres "$folder"
fi
# The process that holds the ports ends when this script does: its input is a pipe from here.
coproc PORTS { exec /usr/bin/python3 -B "$tests/Support/Runner/ports.py" 2; }
read -r main_port alone_port <&"${PORTS[0]}"
start main "$main_port"
start alone "$alone_port" "synchronous_standby_names = 'absent'"

PROOF_POSTGRES=$folder "$@"
