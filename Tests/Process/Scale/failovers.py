#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Failovers under load: `failovers.py [ROUNDS] [--clusters N] [--seed N] [--members N] [--kinds A,B] [--report FILE]`.

Three etcd, Patroni with PostgreSQL (one synchronous standby), HAProxy, three nodes of proof-service. Devices attest and
an operator registers apps meanwhile. Each round takes the primary away at a random moment, in one of these ways:

  switchover  Patroni gives the role to the standby
  postgres    kill -9 of PostgreSQL; Patroni may start the same one again where the standby is behind
  machine     kill -9 of PostgreSQL and its Patroni
  hung        SIGSTOP of both, until another member is the primary
  cut         no packet from or to the machine, until another member is the primary

After each round

- each acknowledged attestation has its mark at the primary, and each acknowledged registration its row;
- reports of the round that are sent again get the same bytes, changed ones are refused: no challenge counts twice;
- the longest pause between two acknowledged attestations is noted. It is reported, and not asserted.

With several clusters the rounds are shared among them. Most of a round is waiting, so they hardly slow each other down.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

from nodes import Attestations, Registrations, Site, digest_of, quantile
from replicated import wait_until

from checks import Checks

KINDS = ("switchover", "postgres", "machine", "hung", "cut")
# Reports of a round that are sent again: those next to the pause, and some of the others.
REPLAYED_MAX = 120


class Failovers:
    def __init__(self, site, checks, draw):
        self.site, self.checks, self.draw = site, checks, draw
        self.attestations, self.registrations = Attestations(site), Registrations(site)
        self.redemptions = site.events.redemptions() if site.events else None
        self.accepted = self.redeemed = self.registered = 0

    def take_away(self, kind):
        """Takes the primary away, and brings the machine back when another member is the primary: the time of that."""
        database = self.site.database
        before = wait_until(database.primary, "a primary")
        killed = before.postmaster
        others = [member for member in database.members if member is not before]
        if kind == "switchover":
            answer = before.asks("/switchover", "POST", {"leader": before.name})
            if answer is None or answer[0] != 200:
                raise RuntimeError(f"Patroni does not switch over: {answer}")
        else:
            {"postgres": before.kill_postgres, "machine": before.kill, "hung": before.stop, "cut": before.cut}[kind]()

        def has_primary():
            if any(member.is_primary for member in others):
                return True
            return kind == "postgres" and before.postmaster not in (None, killed) and before.is_primary

        try:
            wait_until(has_primary, f"{kind}: another primary")
            return time.monotonic()
        finally:
            {"machine": before.start, "hung": before.go_on, "cut": before.heal}.get(kind, lambda: None)()

    def play(self, number, kind):
        attestations, begin = self.attestations, time.monotonic()
        wait_until(lambda: attestations.flows_since(begin), "reports are accepted")
        time.sleep(self.draw.uniform(0, 1))  # the moment of the fault is random
        fault = time.monotonic()
        replaced = self.take_away(kind)
        self.site.database.wait_until_whole()
        whole = time.monotonic()
        wait_until(lambda: attestations.flows_since(whole), "reports are accepted again")
        pause = attestations.pause(fault, whole)
        return {"round": number, "kind": kind, "pause": round(pause, 2), "replaced": round(replaced - fault, 2),
                "whole": round(whole - fault, 2),
                **self.judge(number, kind)}

    def judge(self, number, kind):
        """Compares what was acknowledged with what the new primary has."""
        name = f"round {number}, {kind}"
        fresh, twice = self.attestations.news()
        marks = self.site.marks()
        lost = [report for report, _ in fresh if digest_of(report) not in marks]
        registered, gone = self.registrations.lost()
        sample = fresh if len(fresh) <= REPLAYED_MAX else self.draw.sample(fresh, REPLAYED_MAX)
        outcomes, errors = self.site.replay(sample)
        wanted = {"same": len(sample), "other askAgain": len(sample)}
        same = outcomes.get("same", 0)
        self.accepted += len(fresh)
        before, self.registered = self.registered, registered
        self.checks.that(not lost, f"{name}: {len(lost)} of {len(fresh)} acknowledged uses are lost")
        self.checks.that(not twice, f"{name}: {len(twice)} challenges were accepted twice")
        self.checks.that(not gone, f"{name}: {len(gone)} of {registered} acknowledged registrations are lost")
        self.checks.that(outcomes == wanted and not errors, f"{name}: sent again: {outcomes} {errors}")
        redeemed, events_lost, events_twice = self.judge_events(name)
        self.redeemed += redeemed
        counted_again = len(sample) - outcomes.get("other askAgain", 0) if not errors else 0
        return {"accepted": len(fresh), "registered": registered - before, "redeemed": redeemed,
                "lost": len(lost) + len(gone) + events_lost, "twice": len(twice) + counted_again + events_twice,
                "replayed": len(sample), "others": len(sample) - same if not errors else 0, "errors": errors}

    def judge_events(self, name):
        """Asks each redeemed token again: under another name it must be refused, under its own it is known.

        The numbers of those redeemed, lost, and redeemed twice.
        """
        if self.redemptions is None:
            return 0, 0, 0
        redeemed, twice, lost = self.redemptions.judge()
        self.checks.that(not twice, f"{name}: {len(twice)} of {redeemed} events were redeemed twice")
        self.checks.that(not lost, f"{name}: {len(lost)} of {redeemed} redemptions are lost: {lost[:2]}")
        self.checks.that(not self.redemptions.refused, f"{name}: events refused: {self.redemptions.refused[:2]}")
        return redeemed, len(lost), len(twice)

    def close(self):
        self.attestations.close()
        self.registrations.close()
        if self.redemptions:
            self.redemptions.close()


def summary(rows):
    """The rows of all rounds in a few lines."""
    total = {name: sum(row[name] for row in rows)
             for name in ("accepted", "registered", "redeemed", "lost", "twice", "replayed", "others")}
    lines = [f"{len(rows)} failovers; {total['accepted']} attestations, {total['registered']} registrations and "
             f"{total['redeemed']} events acknowledged: {total['lost']} lost; {total['replayed']} reports sent again: "
             f"{total['others']} with another answer; {total['twice']} accepted twice"]
    for kind in KINDS:
        if pauses := [row["pause"] for row in rows if row["kind"] == kind]:
            lines.append(f"{kind:10}  {len(pauses):3} times; longest pause between acknowledged attestations, s: "
                         f"median {quantile(pauses, 50):.1f}, p95 {quantile(pauses, 95):.1f}, max {max(pauses):.1f}")
    return "\n".join(lines)


def play_one(options, seed):
    """The rounds of one cluster: its rows, and its checks."""
    from redemptions import Events  # it needs packages from PyPI, which the demonstration does not have

    draw, kinds, checks, rows = random.Random(seed), options.kinds.split(","), Checks(), []
    with Site(options.members, events=Events) as site:
        failovers = Failovers(site, checks, draw)
        try:
            for number in range(options.rounds):
                # Each kind as often as the others, in a random order.
                if number % len(kinds) == 0:
                    turn = draw.sample(kinds, len(kinds))
                row = failovers.play(number, turn[number % len(kinds)])
                rows.append(row)
                print(json.dumps(row), flush=True)
                if options.report:
                    with open(options.report, "a", encoding="ascii") as file:
                        file.write(json.dumps(row) + "\n")
        finally:
            if checks.failed:
                print("\n".join(site.troubles()))
            failovers.close()
    return rows, checks


def play_several(options, seed):
    """A process for each cluster. Their rows, and the checks of all."""
    checks, rows, turn = Checks(), [], threading.Lock()

    def follow(number, process):
        ended = False
        for line in process.stdout:
            with turn:
                print(f"{number}: {line}", end="", flush=True)
                if closing := re.fullmatch(r"(\d+) passed, (\d+) failed\n", line):
                    checks.passed += int(closing[1])
                    checks.failed += int(closing[2])
                    ended = True
        status = process.wait()
        with turn:
            checks.that(ended and status in (0, 1), f"cluster {number} ended with {status}")

    with tempfile.TemporaryDirectory() as folder:
        threads, reports = [], []
        for number in range(options.clusters):
            rounds = options.rounds // options.clusters + (number < options.rounds % options.clusters)
            if rounds == 0:
                continue
            reports.append(pathlib.Path(folder) / f"rows.{number}")
            process = subprocess.Popen(
                [sys.executable, "-B", __file__, str(rounds), "--seed", str(seed + number), "--members",
                 str(options.members), "--kinds", options.kinds, "--report", reports[-1]],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            threads.append(threading.Thread(target=follow, args=(number, process)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        for report in reports:
            rows += [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    if options.report:
        pathlib.Path(options.report).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
    checks.that(len(rows) == options.rounds, f"{len(rows)} of {options.rounds} rounds were played")
    return rows, checks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--clusters", type=int, default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--report")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    rows, checks = (play_several if options.clusters > 1 else play_one)(options, seed)
    print(summary(rows), flush=True)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
