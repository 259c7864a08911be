#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A short round on a replicated database: two failovers, a primary that was cut off, a rolling upgrade.

failovers.py plays as many failovers as it is told, of every kind.
"""

import contextlib
import http.client
import http.server
import json
import random
import signal
import sys
import threading
import time

from nodes import DEVICE, Site, Visits
from failovers import Failovers
from redemptions import Events
from replicated import PATIENCE, tell, wait_until

from checks import Checks
from kill import exchanges_of
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
            status, said = site.ask("GET", path, port=node.port)
            checks.that(status == 503, f"{path} by the old primary: {status} {said[:60]}")
        # It still answers: it is alive, and its readings are old.
        alive = database.sql("SELECT pg_is_in_recovery()", member=before)
        checks.that(alive == "f", f"the old primary takes itself for one: {alive}")
    finally:
        before.heal()
        tell(hung, signal.SIGCONT)
    database.wait_until_whole()
    node.__exit__()


def test_packets(checks, site):
    """Packets between the nodes and the primary are late, come twice, are cut, or end their connections: reports are
    late or refused, and none is lost or counts twice."""
    failovers, database = Failovers(site, checks, random.Random(2)), site.database
    try:
        for number, state in enumerate(("slow", "twice", "reset", "cut")):
            begin = time.monotonic()
            wait_until(lambda: failovers.attestations.flows_since(begin), "reports are accepted")
            line = [wait_until(database.primary, "a primary").postgres]
            fault = time.monotonic()
            database.packets.tell(line, state, seconds=0.1)
            if state == "slow":
                wait_until(lambda: failovers.attestations.flows_since(fault + 0.4), "reports are accepted late")
            elif state != "reset":
                wait_until(lambda: site.ask("GET", "/health", port=site.nodes[0].port)[0] == 503,
                           f"{state}: a node refuses")
            database.packets.tell(line, "open")
            healed = time.monotonic()
            wait_until(lambda: failovers.attestations.flows_since(healed), "reports are accepted again")
            database.wait_until_whole()
            print(json.dumps({"packets": state, **failovers.judge(number, state)}), flush=True)
    finally:
        failovers.close()
    checks.that(failovers.accepted > 20, f"only {failovers.accepted} attestations: nothing was under load")


def test_replica_behind(checks, site):
    """Lists of devices are read at a replica and say how old they are; whatever decides is read at the primary."""
    database = site.database
    state = wait_until(database.state, "the state of the cluster")
    replica = next(member for member in database.members if state[member.name][0] == "replica")
    password = site.passwords.read_text().splitlines()[0].split(":", 2)[2]
    site.passwords.write_text(site.passwords.read_text() + f"localhost:{replica.listens}:{password}\n")
    store = [f"{word}&readers=localhost:{replica.listens}" if "://" in word else word for word in site.store]
    node = Service(*store, "--plain", "--quiet")
    site.place.processes.append(node.process)

    def devices():
        status, said = site.ask("POST", "/v1/manage/device/list", json.dumps({"count": 10_000}), port=node.port)
        checks.that(status == 200, f"a list: {status} {said[:200]}")
        return {row["device"]: row["age"] for row in json.loads(said)}

    def attest(name, count):
        file = site.place.folder / name
        out, problem = site.load("--devices", count, "--records", 3, "--pairs", 20, "--accepted", file,
                                 port=node.port).communicate(timeout=PATIENCE)
        checks.that(out and json.loads(out)["outcomes"] == {"done": 20}, f"attestations: {out} {problem}")
        return exchanges_of(file)

    first = {report[DEVICE].hex() for report, _ in attest("before", 5)}
    wait_until(lambda: first <= set(devices()), "the replica has the devices")
    # Patroni resumes a replica that it sees paused, and takes a delay out of its configuration: it hangs.
    hung = [replica.process.pid]
    tell(hung, signal.SIGSTOP)
    try:
        database.sql("SELECT pg_wal_replay_pause()", member=replica)
        wait_until(lambda: database.sql("SELECT pg_get_wal_replay_pause_state()", member=replica) == "paused",
                   "the replica replays nothing")
        seen, begin = set(devices()), time.monotonic()
        # Earlier loads had up to ten devices.
        exchanges = attest("behind", 20)
        fresh = {report[DEVICE].hex() for report, _ in exchanges} - seen
        checks.that(len(fresh) > 5, f"{len(fresh)} devices are new")
        # A bound of the age that the test knows; it must not be told as less.
        least = time.monotonic() - begin
        listed = devices()
        checks.that(not fresh & set(listed), "the replica has what it did not replay")
        checks.that(min(listed.values()) >= least, f"{least:.1f} s behind, told as {min(listed.values())}")
        said = dict(line.split(" ") for line in site.ask("GET", "/metrics", port=node.port)[1].decode().splitlines()
                    if line and not line.startswith("#"))
        age, count = (int(said[f"proof_service_devices{end}"]) for end in ("_age_seconds", ""))
        checks.that(age >= least and count == len(listed), f"/metrics tells {count} devices, {age} s old")
        outcomes, errors = site.replay(exchanges, port=node.port)
        checks.that(outcomes == {"same": 20, "other askAgain": 20} and not errors,
                    f"reports again, and changed, beside a replica that lags: {outcomes} {errors}")
        status, said = site.ask("POST", "/v1/manage/device/fail", json.dumps({"device": "latest"}), port=node.port)
        latest = database.sql("SELECT encode(device, 'hex') FROM pf2.latest_devices(1, 1)")
        checks.that(status == 200 and json.loads(said)["device"] == latest, f"the latest is {latest}, banned {said}")
    finally:
        database.sql("SELECT pg_wal_replay_resume()", member=replica)
        tell(hung, signal.SIGCONT)
    wait_until(lambda: fresh <= set(devices()), "the replica has the devices that it lacked")
    database.wait_until_whole()
    checks.that(node.stop() == 0, "the node stops")


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
                                   f"{site.troubles()}")
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


def ask_in_parts(site):
    """The status of a request whose body comes after HAProxy has read the head. It is no report: 400."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)) as line:
        line.putrequest("POST", "/v1/report")
        line.putheader("content-length", "3")
        line.endheaders()
        # Meanwhile HAProxy has served others.
        for _ in range(5):
            site.ask("GET", "/v1/config/acme")
        line.send(b"abc")
        return line.getresponse().status


def test_node_refuses(checks, site):
    """A request that one node refuses is answered by another one, but a change of the account is not repeated."""
    checks.that(site.nodes[2].stop() == 0, "a node leaves")
    with http.server.ThreadingHTTPServer(("127.0.0.1", site.ports[2]), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site.wait_until_all_serve()
        answers = [site.ask("GET", "/v1/config/acme")[0] for _ in range(30)]
        checks.that(answers == [200] * 30, f"requests beside a node that refuses: {answers}")
        checks.that(Refusing.refused > 5, f"the node that refuses got {Refusing.refused} requests")
        answers = [ask_in_parts(site) for _ in range(30)]
        checks.that(answers == [400] * 30, f"requests in parts beside a node that refuses: {answers}")
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
        test_replica_behind(checks, site)
        test_packets(checks, site)
        test_failovers(checks, site)
        test_primary_cut_off(checks, site)
    print(f"{time.monotonic() - begin:.0f} s", flush=True)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
