#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Attestations a second on PostgreSQL beside SQLite: `cluster.sh figures.py [--rounds N] [--seconds N]`.

The load generator, the services and the server share one machine. Rounds alternate between a node on SQLite, a node on
PostgreSQL, the same behind pgbouncer in session mode, and two nodes with half of the connections each. The server
flushes its log at each commit, as SQLite does; it has no standby. Figures are reported, and not asserted; an
attestation that fails is.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading

os.environ.setdefault("PROOF_BUILT", str(pathlib.Path(__file__).resolve().parents[3] / ".build" / "release"))
from service_test import PORT, SERVERS, control, make_account, sql  # noqa: E402

from checks import Checks  # noqa: E402
from load import DEVICES, run  # noqa: E402
from pooler import Pooler  # noqa: E402
from replicated import children_of  # noqa: E402
from service import Service, let_unregistered_apps_pass, make_store  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def server_seconds():
    """Processor time of PostgreSQL: of its first process, those that live and those that ended."""
    first = int((SERVERS / "main" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    ticks = 0
    for pid in children_of([first]):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:13] if pid != first else fields[11:15]))
    return ticks / TICKS


def measure(services, connections, seconds):
    """Attestations a second over some nodes, processor microseconds of the nodes and of PostgreSQL for each."""
    before = server_seconds()
    results = []

    def one(service):
        options = ["--connections", connections // len(services), "--devices", DEVICES, "--seconds", seconds]
        results.append(run(service, *options))

    threads = [threading.Thread(target=one, args=(service,)) for service in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = sum(figures["answered"] for figures, _ in results)
    faults = [(figures["outcomes"], figures["errors"]) for figures, _ in results
              if set(figures["outcomes"]) != {"done"} or figures["errors"]]
    longest = max(figures["seconds"] for figures, _ in results)
    return (count / longest, 1e6 * sum(processor for _, processor in results) / count,
            1e6 * (server_seconds() - before) / count), faults


def database(folder):
    sql("ALTER SYSTEM SET fsync = on", "postgres")
    control("restart")
    return make_account(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args()
    checks, folder, ends = Checks(), pathlib.Path(tempfile.mkdtemp()), contextlib.ExitStack()
    folder.chmod(0o755)
    try:
        stores = {"SQLite": make_store(folder)}
        stores["PostgreSQL"] = database(folder)
        for store in stores.values():
            let_unregistered_apps_pass(store)
        shared = ["--quiet", "--trusted-proxy", "127.0.0.1", "--threads", 32, "--plain"]
        pooler = ends.enter_context(Pooler(SERVERS, PORT, folder))
        stores["pgbouncer"] = ["--store", pooler.uri, *stores["PostgreSQL"][2:]]
        ways = [("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("pgbouncer", 1)]
        seen = {way: [] for way in ways}
        for number in range(options.rounds):
            for name, count in ways:
                with contextlib.ExitStack() as nodes:
                    services = [nodes.enter_context(Service(*stores[name], *shared)) for _ in range(count)]
                    figures, faults = measure(services, options.connections, options.seconds)
                checks.that(not faults, f"round {number}, {count} on {name}: {faults}")
                seen[name, count].append(figures)
        print("| nodes | attestations a second | processor time of the nodes, each | of PostgreSQL, each |")
        print("|---|---|---|---|")
        middle = {way: [statistics.median(column) for column in zip(*rows)] for way, rows in seen.items()}
        for (name, count), (rate, nodes, server) in middle.items():
            print(f"| {count} on {name} | {rate:.0f} | {nodes:.0f} us | {server if name != 'SQLite' else 0:.0f} us |")
        sqlite, one, two, _ = (middle[way] for way in ways)
        print(f"PostgreSQL beside SQLite: {one[0] / sqlite[0]:.2f} of the attestations a second; processor time of two "
              f"nodes on PostgreSQL beside one on SQLite: {two[1] / sqlite[1]:.2f}; "
              f"{options.rounds} rounds of {options.seconds} s, load {os.getloadavg()[0]:.1f}")
    finally:
        ends.close()
        shutil.rmtree(folder)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
