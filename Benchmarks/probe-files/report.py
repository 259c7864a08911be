# SPDX-License-Identifier: Apache-2.0

"""Tables and plots of what the benchmark found."""

import glob
import json
import os

import plot
from machine import QUIET, quantile


def read(results: str, name: str) -> dict:
    with open(f"{results}/{name}.json", encoding="ascii") as file:
        return json.load(file)


def quiet_first(items: list[dict]) -> tuple[list[dict], str]:
    """The quiet ones if there are three, otherwise all; and which."""
    quiet = [item for item in items if item["foreign"] <= QUIET]
    if len(quiet) >= 3:
        return quiet, f"{len(quiet)} of {len(items)} rounds, those without others"
    return items, f"{len(items)} rounds, others on the machine"


def warm_lines(results: str, number: int) -> str:
    """Ratios are taken within one run, of medians: a round has one proof of each kind, cold ones every tenth."""
    found = read(results, f"warm-{number}")
    runs, which = quiet_first(found["runs"])
    lines = [f"{found['layout']}: {which}"]
    for kind in runs[0]["kinds"]:
        times = [time * 1e-9 for run in runs for time in run["kinds"][kind]["times"]]
        work = [time * 1e-9 for run in runs for time in run["kinds"][kind]["work"]]
        ratios = []
        for cold in ("full", "trusting, first"):
            pairs = [
                quantile(run["kinds"][cold]["times"], 0.5) / quantile(run["kinds"][kind]["times"], 0.5) for run in runs
            ]
            ratios.append(f"{quantile(pairs, 0.5):.1f}")
        cells = " | ".join(f"{1e3 * quantile(times, q):.3f}" for q in (0, 0.5, 0.99))
        lines.append(
            f"| {kind} | {cells} | {1e3 * quantile(work, 0.5):.3f} | {len(times)} | {' | '.join(ratios)} |"
        )
    return "\n".join(lines)


def curve_points(results: str, name: str) -> tuple[list[dict], str]:
    found = read(results, f"curve-{name}")
    rounds, which = quiet_first(found["rounds"])
    points = []
    for point in found["points"]:
        times = [one["found"][str(point["count"])][0] for one in rounds]
        points.append({**point, "least": quantile(times, 0), "median": quantile(times, 0.5)})
    return points, which


def curve_lines(results: str, name: str) -> str:
    points, which = curve_points(results, name)
    lines = [f"{name}: {which}"]
    for point in points:
        each = 1e9 * point["least"] / (point["bytes_read"] if name == "bytes" else point["count"])
        unit = "ns/byte" if name == "bytes" else "ns/file"
        lines.append(
            f"| {point['count']:,} | {point['bytes_read'] / (1 << 20):,.1f} | {1e3 * point['least']:.2f} "
            f"| {1e3 * point['median']:.2f} | {each:,.3f} {unit} | {point['peak_kib']:,} |"
        )
    return "\n".join(lines)


def everything(results: str) -> str:
    lines = []
    for path in sorted(glob.glob(f"{results}/*.json")):
        part, _, name = os.path.basename(path).removesuffix(".json").partition("-")
        if part == "warm":
            lines.append(warm_lines(results, int(name)))
        elif part == "curve":
            lines.append(curve_lines(results, name))
    return "\n\n".join(lines)


def plots(results: str, folder: str) -> None:
    sizes, _ = curve_points(results, "bytes")
    files, _ = curve_points(results, "files")
    plot.write(
        f"{folder}/probe-bytes.svg", "A bundle of 1 MiB files: time against size",
        ("MiB", [point["count"] for point in sizes]),
        ("milliseconds", [1e3 * point["least"] for point in sizes], [1e3 * point["median"] for point in sizes]),
    )
    plot.write(
        f"{folder}/probe-files.svg", "A bundle of 4 KiB files: time against their number",
        ("files", [point["count"] for point in files]),
        ("milliseconds", [1e3 * point["least"] for point in files], [1e3 * point["median"] for point in files]),
    )
    plot.write(
        f"{folder}/probe-memory.svg", "Peak of resident memory above the start, against the number of files",
        ("files", [point["count"] for point in files]),
        ("KiB", [point["peak_kib"] for point in files], None), ceiling=8192,
    )
