#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Plays the service on several machines: `demo.py [--json]`, with the optimised programs of `make programs`.

Three nodes of proof-service behind HAProxy, a PostgreSQL primary and its synchronous standby under Patroni, three etcd.
Devices attest meanwhile. The primary gives its role away, dies, and every node is replaced. Every line tells a fact
that was just measured; a fact that should not be ends the demonstration with status 1.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[4]
os.environ.setdefault("PROOF_BUILT", str(ROOT / ".build" / "release"))
sys.path.insert(0, str(ROOT / "Tests" / "Process" / "Scale"))
from nodes import Site, Visits  # noqa: E402
from failovers import Failovers  # noqa: E402
from replicated import wait_until  # noqa: E402

from checks import Checks  # noqa: E402

LEAVE_SECONDS = 3
FAULTS = {"switchover": "the primary gives its role to the standby", "postgres": "kill -9 of the primary's PostgreSQL"}


class Told:
    """The lines of the demonstration."""

    def __init__(self, as_json):
        self.as_json = as_json
        self.begin = time.monotonic()

    def tell(self, line, words, /, **facts):
        if self.as_json:
            print(json.dumps({"line": line, **facts}), flush=True)
        else:
            print(f"{time.monotonic() - self.begin:5.1f} s  {words}", flush=True)


def replace_nodes(site, told, checks):
    visits = Visits(site)
    try:
        for number, node in enumerate(site.nodes):
            visits.more()
            status = node.stop()
            site.start_node(number)
            site.wait_until_all_serve()
            checks.that(status == 0, f"node {number + 1} ended with status {status}")
            told.tell("node", f"node {number + 1} said that it leaves, finished, and was replaced", node=number + 1)
        visits.more()
    finally:
        visits.close()
    checks.that(not visits.faults, f"requests failed: {visits.faults[:1]}")
    told.tell("upgrade", f"{40 * visits.turns} attestations meanwhile; {len(visits.faults)} loads had a failed request",
              attestations=40 * visits.turns, failed=len(visits.faults))


def play(told, checks):
    with Site(members=2, options=("--leave-seconds", LEAVE_SECONDS)) as site:
        state = site.database.state()
        told.tell("stands", "three etcd, two PostgreSQL under Patroni (" + ", ".join(
            f"{name}: {role.replace('_', ' ')}" for name, (role, _) in sorted(state.items()))
            + "), HAProxy, three nodes", nodes=len(site.nodes))
        failovers = Failovers(site, checks, random.Random(1))
        try:
            begin = time.monotonic()
            wait_until(lambda: len(failovers.attestations.moments()) >= 100, "100 attestations")
            count = len(failovers.attestations.moments())
            told.tell("load", f"{count} attestations over three nodes, {count / (time.monotonic() - begin):.0f} a "
                      "second (a light load: this machine plays every part)", attestations=count)
            replayed = others = 0
            for number, (kind, words) in enumerate(FAULTS.items()):
                row = failovers.play(number, kind)
                replayed, others = replayed + row["replayed"], others + row["others"]
                told.tell("failover", f"{words}: {row['pause']:.1f} s without an acknowledged attestation; of "
                          f"{row['accepted']} acknowledged {row['lost']} are lost, {row['twice']} counted twice",
                          kind=kind, pause=row["pause"], accepted=row["accepted"], lost=row["lost"],
                          twice=row["twice"])
        finally:
            failovers.close()
        told.tell("again", f"{replayed} of these reports sent again: {replayed - others} got the same bytes",
                  again=replayed, others=others)
        replace_nodes(site, told, checks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told, checks = Told(options.json), Checks()
    play(told, checks)
    told.tell("end", "done" if checks.failed == 0 else f"{checks.failed} facts are not as they should be",
              failed=checks.failed)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
