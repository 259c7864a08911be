#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Failovers under load: `failovers.py [ROUNDS] [--seed N] [--members N] [--kinds A,B] [--report FILE]`.

Three etcd, Patroni with PostgreSQL (one synchronous standby), HAProxy, three nodes of proof-service. Devices attest and
an operator registers apps meanwhile. Each round takes the primary away at a random moment, in one of these ways:

  switchover  Patroni gives the role to the standby
  postgres    kill -9 of PostgreSQL
  machine     kill -9 of PostgreSQL and its Patroni
  hung        SIGSTOP of both, until another member is the primary
  cut         no packet from or to the machine, until another member is the primary

After each round

- each acknowledged attestation has its mark at the primary, and each acknowledged registration its row;
- reports of the round that are sent again get the same bytes, changed ones are refused: no challenge counts twice;
- the longest pause between two acknowledged attestations is noted. It is reported, and not asserted.
"""

import argparse
import collections
import json
import random
import sys
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
        self.accepted = self.replayed = self.lost = self.twice = self.others = 0
        self.pauses = collections.defaultdict(list)
        self.redemptions = site.events.redemptions() if site.events else None
        self.redeemed = 0

    def take_away(self, kind):
        """Takes the primary away; returns when another member is the primary and the machine is back."""
        database = self.site.database
        before = wait_until(database.primary, "a primary")
        others = [member for member in database.members if member is not before]
        if kind == "switchover":
            answer = before.asks("/switchover", "POST", {"leader": before.name})
            if answer is None or answer[0] != 200:
                raise RuntimeError(f"Patroni does not switch over: {answer}")
        else:
            {"postgres": before.kill_postgres, "machine": before.kill, "hung": before.stop, "cut": before.cut}[kind]()
        try:
            wait_until(lambda: any(member.is_primary for member in others), f"{kind}: another primary")
        finally:
            {"machine": before.start, "hung": before.go_on, "cut": before.heal}.get(kind, lambda: None)()

    def play(self, number, kind):
        attestations, begin = self.attestations, time.monotonic()
        wait_until(lambda: attestations.flows_since(begin), "reports are accepted")
        time.sleep(self.draw.uniform(0, 1))  # the moment of the fault is random
        fault = time.monotonic()
        self.take_away(kind)
        self.site.database.wait_until_whole()
        whole = time.monotonic()
        wait_until(lambda: attestations.flows_since(whole), "reports are accepted again")
        pause = attestations.pause(fault, whole)
        self.pauses[kind].append(pause)
        row = {"round": number, "kind": kind, "pause": round(pause, 2), "whole": round(whole - fault, 2),
               **self.judge(number, kind)}
        return row

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
        self.replayed += len(sample)
        self.lost += len(lost) + len(gone)
        self.twice += len(twice) + (len(sample) - outcomes.get("other askAgain", 0) if not errors else 0)
        self.others += len(sample) - same if not errors else 0
        self.checks.that(not lost, f"{name}: {len(lost)} of {len(fresh)} acknowledged uses are lost")
        self.checks.that(not twice, f"{name}: {len(twice)} challenges were accepted twice")
        self.checks.that(not gone, f"{name}: {len(gone)} of {registered} acknowledged registrations are lost")
        self.checks.that(outcomes == wanted and not errors, f"{name}: sent again: {outcomes} {errors}")
        redeemed = self.judge_events(name)
        return {"redeemed": redeemed, "accepted": len(fresh), "lost": len(lost) + len(gone), "twice": len(twice),
                "again": outcomes, "errors": errors}

    def judge_events(self, name):
        """Asks each redeemed token again: under another name it must be refused, under its own it is known."""
        if self.redemptions is None:
            return 0
        redeemed, twice, lost = self.redemptions.judge()
        self.redeemed += redeemed
        self.twice += len(twice)
        self.lost += len(lost)
        self.checks.that(not twice, f"{name}: {len(twice)} of {redeemed} events were redeemed twice")
        self.checks.that(not lost, f"{name}: {len(lost)} of {redeemed} redemptions are lost: {lost[:2]}")
        self.checks.that(not self.redemptions.refused, f"{name}: events refused: {self.redemptions.refused[:2]}")
        return redeemed

    def summary(self):
        lines = [f"{sum(map(len, self.pauses.values()))} failovers; {self.accepted} attestations, "
                 f"{len(self.registrations.acknowledged)} registrations and {self.redeemed} events "
                 f"acknowledged: {self.lost} lost; "
                 f"{self.replayed} reports sent again: {self.twice} accepted twice, {self.others} with another answer"]
        for kind in KINDS:
            if pauses := self.pauses[kind]:
                lines.append(f"{kind:10}  {len(pauses):3} times; longest pause between acknowledged attestations, s: "
                             f"median {quantile(pauses, 50):.1f}, p95 {quantile(pauses, 95):.1f}, "
                             f"max {max(pauses):.1f}")
        return "\n".join(lines)

    def close(self):
        self.attestations.close()
        self.registrations.close()
        if self.redemptions:
            self.redemptions.close()


def main():
    from redemptions import Events  # it needs packages from PyPI, which the demonstration does not have

    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--report")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    draw, kinds, checks = random.Random(seed), options.kinds.split(","), Checks()
    with Site(options.members, events=Events) as site:
        failovers = Failovers(site, checks, draw)
        try:
            for number in range(options.rounds):
                # Each kind as often as the others, in a random order.
                if number % len(kinds) == 0:
                    turn = draw.sample(kinds, len(kinds))
                row = failovers.play(number, turn[number % len(kinds)])
                print(json.dumps(row), flush=True)
                if options.report:
                    with open(options.report, "a", encoding="ascii") as file:
                        file.write(json.dumps(row) + "\n")
        finally:
            if checks.failed:
                print("\n".join(site.troubles()[-20:]))
            print(failovers.summary(), flush=True)
            failovers.close()
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
