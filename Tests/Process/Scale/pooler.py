# SPDX-License-Identifier: Apache-2.0

"""pgbouncer before a server of cluster.sh, in session mode: `with Pooler(folder) as pooler: pooler.uri`.

It listens on a Unix socket, and connects to the server with TLS.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
PATIENCE = 300


class Pooler:
    def __init__(self, servers, port, folder, database="service"):
        self.folder = pathlib.Path(folder) / "pooler"
        self.folder.mkdir(mode=0o755)
        users, passwords, file = (self.folder / name for name in ("users", "passwords", "pgbouncer.ini"))
        users.write_text('"proof_service" "service-secret"\n')
        passwords.write_text(f"{self.folder}:6432:*:proof_service:service-secret\n")
        file.write_text(f"""[databases]
{database} = host=localhost port={port} dbname={database}
[pgbouncer]
unix_socket_dir = {self.folder}
listen_addr =
listen_port = 6432
auth_type = scram-sha-256
auth_file = {users}
pool_mode = session
server_tls_sslmode = verify-full
server_tls_ca_file = {servers}/authority.pem
""")
        passwords.chmod(0o600)
        command = [PGBOUNCER, "-q", file]
        if os.geteuid() == 0:
            for path in (self.folder, users):
                shutil.chown(path, "postgres", "postgres")
            users.chmod(0o600)
            command = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--", *command]
        self.process = subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL)
        self.uri = f"postgres:///{database}?host={self.folder}&port=6432&user=proof_service&passfile={passwords}"

    def __enter__(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
                line.connect(str(self.folder / ".s.PGSQL.6432"))
                return self
        self.__exit__()
        raise RuntimeError("pgbouncer does not serve")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)
