#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""How many primaries so many devices need, simulated from measured costs: `sharding.py [--seed N]`.

Accounts are of unequal size (Zipf). An account lives on one primary; one that is too large for a primary is split by
device, because nothing but its configuration crosses devices. Attestations arrive at random (Poisson), more by day than
by night. The costs are those of docs/results/scale.md, measured on two processors.
"""

import argparse
import dataclasses
import hashlib
import math
import random


@dataclasses.dataclass(frozen=True)
class Costs:
    """Measured on one machine with two processors, a synchronous standby on the same machine."""

    # Attestations a second that one primary commits: batches of 16, and one by one.
    batched: float = 13_900
    single: float = 3_380
    # Bytes: a device with its index, a mark with its answer, write-ahead log of an attestation.
    device: int = 535
    mark: int = 1_073
    log_low: int = 1_350
    log_high: int = 6_070
    # Share of the capacity that a plan uses at the peak.
    share: float = 0.5
    # The busiest hour of a day beside the mean.
    peak: float = 2.5
    # Seconds that a mark lives: salt-lifetime, and 3 minutes until it is dropped.
    mark_seconds: int = 240


@dataclasses.dataclass(frozen=True)
class Need:
    """The rates, bytes and primaries that a number of devices needs."""

    rate: float
    peak_rate: float
    primaries: int
    disk: float
    marks: float
    log_low: float
    log_high: float


def need(devices, seconds, costs=Costs()):
    """The rates and bytes of so many devices, each of which attests once in so many seconds."""
    rate = devices / seconds
    peak = rate * costs.peak
    return Need(rate, peak, max(1, math.ceil(peak / (costs.batched * costs.share))), devices * costs.device,
                peak * costs.mark * costs.mark_seconds, rate * costs.log_low, rate * costs.log_high)


def sizes(accounts, devices, draw):
    """Devices of each account: the n-th has a share of 1/n, with some noise."""
    weights = [draw.uniform(0.7, 1.3) / (number + 1) for number in range(accounts)]
    whole = sum(weights)
    return [max(1, round(devices * weight / whole)) for weight in weights]


def home(name, shards):
    """The primary of a key: the highest of keyed hashes. Another primary takes only its own share of the keys."""
    return max(range(shards), key=lambda shard: hashlib.sha256(f"{name}/{shard}".encode()).digest())


def parts(account, rate, costs):
    """An account with its rate, or its parts by device if it is more than a quarter of a primary's plan."""
    count = max(1, math.ceil(4 * rate * costs.peak / (costs.batched * costs.share)))
    return [(f"account {account} part {part}", rate / count) for part in range(count)]


def by_hash(pieces, shards):
    """The attestations a second of each primary, if the hash of a name decides."""
    rates = [0.0] * shards
    for name, rate in pieces:
        rates[home(name, shards)] += rate
    return rates


def by_table(pieces, shards):
    """The same if a table decides: the largest first, each to the primary that has least."""
    rates = [0.0] * shards
    for _, rate in sorted(pieces, key=lambda piece: -piece[1]):
        rates[rates.index(min(rates))] += rate
    return rates


def poisson(mean, draw):
    """Arrivals of a second; the normal approximation above 50."""
    if mean > 50:
        return max(0, round(draw.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), draw.random(), 0
    while product > limit:
        product *= draw.random()
        count += 1
    return count


def day(rate, draw, costs=Costs(), step=60):
    """One primary for a day: the longest wait of an attestation in seconds, and the share of time above the plan.

    A queue without bound: each step has arrivals, and the primary commits up to its capacity.
    """
    waiting, longest, above = 0.0, 0.0, 0
    for moment in range(0, 86_400, step):
        # A sine with the peak of the costs at noon and the rest at midnight; its mean is 1.
        factor = 1 + (costs.peak - 1) * math.sin(2 * math.pi * (moment / 86_400 - 0.25))
        arrivals = poisson(max(0.0, rate * factor) * step, draw)
        waiting = max(0.0, waiting + arrivals - costs.batched * step)
        longest = max(longest, waiting / costs.batched)
        above += arrivals > costs.batched * costs.share * step
    return longest, above * step / 86_400


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    costs = Costs()
    print("| devices | each attests | a second, at the peak | log, MB/s | devices on disk | marks | primaries |")
    print("|---|---|---|---|---|---|---|")
    for devices in (1_000_000, 100_000_000):
        for seconds, often in ((86_400, "once a day"), (3_600, "once an hour"), (300, "every 5 minutes")):
            one = need(devices, seconds, costs)
            print(f"| {devices:,} | {often} | {one.rate:,.0f}, {one.peak_rate:,.0f} | {one.log_low / 1e6:.1f} to "
                  f"{one.log_high / 1e6:.1f} | {one.disk / 1e9:.1f} GB | {one.marks / 1e9:.1f} GB | {one.primaries} |")
    print()
    print("| accounts | devices | each attests | primaries | whole accounts, table | split, hash | split, table "
          "| longest wait: whole, split |")
    print("|---|---|---|---|---|---|---|---|")
    for accounts, devices, seconds in ((1_000, 100_000_000, 3_600), (10_000, 100_000_000, 3_600),
                                       (100, 100_000_000, 300)):
        draw = random.Random(options.seed)
        every = [(number, size / seconds) for number, size in enumerate(sizes(accounts, devices, draw))]
        shards = need(devices, seconds, costs).primaries
        split = [piece for account, rate in every for piece in parts(account, rate, costs)]
        ways = [by_table(every, shards), by_hash(split, shards), by_table(split, shards)]
        mean = sum(ways[0]) / shards
        waits = [day(max(way), draw, costs)[0] for way in (ways[0], ways[2])]
        print(f"| {accounts:,} | {devices:,} | every {seconds:,} s | {shards} | "
              f"{' | '.join(f'{max(way) / mean:.2f}' for way in ways)} | {waits[0]:,.0f} s, {waits[1]:,.0f} s |")


if __name__ == "__main__":
    main()
