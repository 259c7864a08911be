#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Three nodes of an earlier program become nodes of this one, and back, under load and without a failed request.

PROOF_BUILT has the programs of the earlier one, PROOF_NEW those of this one. upgrade.sh builds both.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

from nodes import BUILT, Site, Visits
from replicated import PATIENCE

from checks import Checks
from kill import exchanges_of

NEW = pathlib.Path(os.environ["PROOF_NEW"])
LEAVE_SECONDS = 3


def migrate(site, *options):
    """This program's tool changes the schema: the versions before and after."""
    done = subprocess.run([NEW / "proofctl", "store", "migrate", "--store", site.uri("proof_migrator"), "--json",
                           *map(str, options)], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"proofctl store migrate: {done.stdout} {done.stderr}")
    said = json.loads(done.stdout)
    return said["from"], said["to"]


def attest(checks, site, number, name):
    """Reports that a node accepted, with its answers."""
    file = site.place.folder / name
    out, problem = site.load("--connections", 2, "--devices", 10, "--records", 3, "--pairs", 40, "--accepted", file,
                             port=site.nodes[number].port).communicate(timeout=PATIENCE)
    checks.that(out and json.loads(out)["outcomes"] == {"done": 40}, f"{name}: {out} {problem}")
    return exchanges_of(file)


def replace(checks, site, visits, built, name):
    """Each node in turn. Beside the first and the second one, earlier and later programs serve the same apps."""
    for number, node in enumerate(site.nodes):
        other = (number + 1) % len(site.nodes)
        exchanges = attest(checks, site, other, f"{name}: before node {number + 1}")
        checks.that(node.stop() == 0, f"{name}: node {number + 1} leaves")
        site.start_node(number, built=built)
        site.wait_until_all_serve()
        visits.more()
        outcomes, errors = site.replay(exchanges, port=site.nodes[number].port)
        checks.that(outcomes == {"same": 40, "other askAgain": 40} and not errors,
                    f"{name}: reports of node {other + 1}, sent again to node {number + 1}: {outcomes} {errors}")


def main():
    checks = Checks()
    with Site(options=("--leave-seconds", LEAVE_SECONDS)) as site, contextlib.ExitStack() as ends:
        old = int(site.database.sql("SELECT version FROM pf.schema"))
        visits = Visits(site)
        ends.callback(visits.close)
        visits.more()
        before, after = migrate(site)
        checks.that((before, after > old) == (old, True), f"the schema goes from {before} to {after}")
        visits.more()
        replace(checks, site, visits, NEW, "forward")
        replace(checks, site, visits, BUILT, "back")
        checks.that(migrate(site, "--to", old) == (after, old), "the schema goes back")
        visits.more()
        ends.close()
        checks.that(not visits.faults, f"{len(visits.faults)} of {visits.turns} loads had faults: {visits.faults[:3]}; "
                                       f"{site.troubles()}")
        print(f"schema {old} to {after} and back, six nodes replaced under {40 * visits.turns} attestations",
              flush=True)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
