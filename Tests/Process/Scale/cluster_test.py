#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A short round on a replicated database: two failovers, a primary that was cut off, a rolling upgrade.

failovers.py plays as many failovers as it is told, of every kind.
"""

import http.server
import json
import random
import signal
import sys
import threading
import time

from nodes import Site, Visits
from failovers import Failovers
from redemptions import Events
from replicated import PATIENCE, tell, wait_until

from checks import Checks
from service import Service

LEAVE_SECONDS = 3


def test_failovers(checks, site):
    failovers = Failovers(site, checks, random.Random(1))
    try:
        for number, kind in enumerate(("switchover", "postgres")):
            print(json.dumps(failovers.play(number, kind)), flush=True)
    finally:
        failovers.close()
    checks.that(failovers.accepted > 20, f"only {failovers.accepted} attestations: nothing was under load")
    checks.that(failovers.redeemed > 5, f"only {failovers.redeemed} events: nothing was under load")


def test_primary_cut_off(checks, site):
    """A node that still reaches a primary that was replaced refuses, because that primary can commit nothing.

    Patroni of the old primary hangs, so its PostgreSQL does not learn that it was replaced.
    """
    database = site.database
    before = database.primary()
    line = site.passwords.read_text().splitlines()[0].replace(f":{database.port}:", f":{before.listens}:")
    site.passwords.write_text(site.passwords.read_text() + line + "\n")
    store = [site.uri().replace(f":{database.port}/", f":{before.listens}/") if "://" in word else word
             for word in site.store]
    node = Service(*store, "--plain", "--quiet")
    site.place.processes.append(node.process)
    paths = ("/v1/config/acme", "/v1/jwks/acme", "/health")
    for path in paths:
        checks.that(site.ask("GET", path, port=node.port)[0] == 200, f"{path} before the cut")
    hung = [before.process.pid]
    tell(hung, signal.SIGSTOP)
    before.cut()
    try:
        others = [member for member in database.members if member is not before]
        wait_until(lambda: any(member.is_primary for member in others), "another primary")
        wait_until(lambda: site.ask("GET", "/health")[0] == 200, "the nodes serve")
        status, said = site.ask("POST", "/v1/manage/device/fail", json.dumps({"device": "00" * 15 + "01"}))
        checks.that(status == 200, f"a ban at the new primary: {status} {said}")
        for path in paths:
            status, said = site.ask("GET", path, port=node.port, timeout=PATIENCE)
            checks.that(status == 503, f"{path} by the old primary: {status} {said[:60]}")
        # It still answers: it is alive, and its readings are old.
        alive = database.sql("SELECT pg_is_in_recovery()", member=before)
        checks.that(alive == "f", f"the old primary takes itself for one: {alive}")
    finally:
        before.heal()
        tell(hung, signal.SIGCONT)
    database.wait_until_whole()
    node.__exit__()


def test_rolling_upgrade(checks, site):
    """Every node is replaced under load, and no request fails."""
    visits = Visits(site)
    try:
        for number, node in enumerate(site.nodes):
            visits.more()
            checks.that(node.stop() == 0, f"node {number + 1} leaves")
            events = [json.loads(line)["event"] for line in node.lines]
            checks.that(events[-3:] == ["leaving", "stopping", "stopped"], f"node {number + 1}: {events[-3:]}")
            site.start_node(number)
            # HAProxy must see it before the next one leaves.
            site.wait_until_all_serve()
        visits.more()
    finally:
        visits.close()
    checks.that(not visits.faults, f"{len(visits.faults)} of {visits.turns} loads had faults: {visits.faults[:3]}; "
                                   f"{site.troubles()[-30:]}")
    print(f"three nodes replaced under {40 * visits.turns} attestations", flush=True)


class Refusing(http.server.BaseHTTPRequestHandler):
    """A node that passes the check of the load balancer, and refuses each request."""

    refused = 0

    def do_GET(self):
        is_health = self.path == "/health"
        Refusing.refused += not is_health
        self.send_response(200 if is_health else 503)
        self.send_header("content-length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


def test_node_refuses(checks, site):
    """A request that one node refuses is answered by another one, but a change of the account is not repeated."""
    checks.that(site.nodes[2].stop() == 0, "a node leaves")
    with http.server.ThreadingHTTPServer(("127.0.0.1", site.ports[2]), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site.wait_until_all_serve()
        answers = [site.ask("GET", "/v1/config/acme")[0] for _ in range(30)]
        checks.that(answers == [200] * 30, f"requests beside a node that refuses: {answers}")
        checks.that(Refusing.refused > 5, f"the node that refuses got {Refusing.refused} requests")
        changes = [site.ask("POST", "/v1/manage/device/fail", json.dumps({"device": "00" * 15 + "02"}))[0]
                   for _ in range(30)]
        checks.that(set(changes) == {200, 503}, f"changes beside a node that refuses: {changes}")
        server.shutdown()
    site.start_node(2)
    site.wait_until_all_serve()


def main():
    checks = Checks()
    begin = time.monotonic()
    with Site(events=Events, options=("--leave-seconds", LEAVE_SECONDS)) as site:
        print(f"the database, three nodes and HAProxy stand after {time.monotonic() - begin:.0f} s", flush=True)
        test_rolling_upgrade(checks, site)
        test_node_refuses(checks, site)
        test_failovers(checks, site)
        test_primary_cut_off(checks, site)
    print(f"{time.monotonic() - begin:.0f} s", flush=True)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
