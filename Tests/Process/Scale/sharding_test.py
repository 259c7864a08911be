#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The simulation of shards: its arithmetic against cases that are known."""

import dataclasses
import random
import sys

import sharding

from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from checks import Checks  # noqa: E402


def main():
    checks = Checks()
    costs = sharding.Costs()
    one = sharding.need(86_400_000, 86_400, costs)
    checks.that(one.rate == 1_000 and one.peak_rate == 2_500 and one.primaries == 1, f"1,000 a second: {one}")
    checks.that(one.disk == 86_400_000 * costs.device, f"the devices' bytes: {one.disk}")
    checks.that(one.log_low == 1_000 * costs.log_low, f"the log's bytes: {one.log_low}")
    full = costs.batched * costs.share / costs.peak
    checks.that(sharding.need(full * 100, 100, costs).primaries == 1, "a primary that is just full")
    checks.that(sharding.need(full * 101, 100, costs).primaries == 2, "a little more than one takes")

    # Splitting and placing lose nothing.
    pieces = [piece for number in range(9) for piece in sharding.parts(number, full * (number + 1) / 3, costs)]
    whole = sum(full * (number + 1) / 3 for number in range(9))
    quarter = full / 4
    checks.that(max(rate for _, rate in pieces) <= quarter * 1.000001, "a part is a quarter of a primary at most")
    checks.that(len({name for name, _ in pieces}) == len(pieces), "each part has a name of its own")
    for place in (sharding.by_hash, sharding.by_table):
        rates = place(pieces, 16)
        checks.that(abs(sum(rates) - whole) < 1e-6 * whole, f"{place.__name__}: {sum(rates)} of {whole}")
    rates = sharding.by_table(pieces, 16)
    checks.that(max(rates) - min(rates) <= quarter * 1.000001, "by a table they differ by a part at most")
    even = sharding.by_hash([(f"key {number}", 1) for number in range(16_000)], 16)
    checks.that(max(even) < 1_150 and min(even) > 850, f"a hash spreads many equal keys: {even}")
    moved = sum(sharding.home(f"key {number}", 16) != sharding.home(f"key {number}", 17) for number in range(4_000))
    checks.that(150 < moved < 330, f"one more primary moves a seventeenth of the keys: {moved} of 4,000")

    # The queue: none below the capacity, and more than a minute's above it.
    draw = random.Random(1)
    calm = dataclasses.replace(costs, peak=1)
    checks.that(sharding.day(costs.batched * 0.4, draw, calm) == (0, 0), "a primary with 40 % waits for nothing")
    longest, above = sharding.day(costs.batched * 1.1, draw, calm)
    checks.that(abs(longest - 8_640) < 100 and above == 1, f"10 % too much for a day: {longest} s, {above}")
    mean = sum(sharding.poisson(3, draw) for _ in range(20_000)) / 20_000
    checks.that(2.9 < mean < 3.1, f"the mean of arrivals: {mean}")
    draw = random.Random(1)
    sizes = sharding.sizes(100, 1_000_000, draw)
    checks.that(abs(sum(sizes) - 1_000_000) < 200 and sizes[0] > sizes[50], f"accounts of unequal size: {sizes[:3]}")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
