# SPDX-License-Identifier: Apache-2.0

"""One line on two logarithmic axes, as SVG, without any library."""

import math
from typing import Optional

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
GREY, INK, BLUE, LIGHT = "#d0d0d0", "#303030", "#1f5fa8", "#9dbfe3"


class Axis:
    """A range of powers of ten, laid over a range of pixels."""

    def __init__(self, values: list[float], begin: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.begin, self.end = begin, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def label(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}"{extra}>{words}</text>'


def line(points: list[tuple[float, float]], colour: str, extra: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{extra}/>'


def write(
    path: str, title: str, across: tuple[str, list[float]], up: tuple[str, list[float], Optional[list[float]]],
    ceiling: Optional[float] = None,
) -> None:
    """The least value as a line of points, the median as a paler one, and a straight line through the last point: where
    cost grows in proportion, the points lie on it."""
    x_name, xs = across
    y_name, least, median = up
    least = [max(value, 1e-3) for value in least]
    everything = least + (median or []) + ([ceiling] if ceiling else [])
    x, y = Axis(xs, LEFT, WIDTH - RIGHT), Axis(everything, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(WIDTH / 2, 22, title, extra=' font-size="14"'),
    ]
    for mark in x.marks():
        parts.append(line([(x.at(mark), TOP), (x.at(mark), HEIGHT - BOTTOM)], GREY))
        parts.append(text(x.at(mark), HEIGHT - BOTTOM + 18, label(mark)))
    for mark in y.marks():
        parts.append(line([(LEFT, y.at(mark)), (WIDTH - RIGHT, y.at(mark))], GREY))
        parts.append(text(LEFT - 6, y.at(mark) + 4, label(mark), "end"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_name))
    parts.append(text(18, HEIGHT / 2, y_name, extra=f' transform="rotate(-90 18 {HEIGHT / 2:.0f})"'))
    if ceiling is not None:
        parts.append(line([(LEFT, y.at(ceiling)), (WIDTH - RIGHT, y.at(ceiling))], INK, ' stroke-dasharray="6 4"'))
        parts.append(text(WIDTH - RIGHT - 4, y.at(ceiling) - 6, f"{label(ceiling)} {y_name}", "end"))
    else:
        ratio = least[-1] / xs[-1]
        straight = [(x.at(value), y.at(value * ratio)) for value in xs if value * ratio >= 10.0**y.low]
        parts.append(line(straight, INK, ' stroke-dasharray="2 4"'))
        parts.append(text(LEFT + 8, TOP + 16, "dotted: in proportion", "start"))
    if median is not None:
        parts.append(line([(x.at(a), y.at(b)) for a, b in zip(xs, median)], LIGHT))
        parts.append(text(LEFT + 8, TOP + 32, "pale: median, dark: least", "start"))
    points = [(x.at(a), y.at(b)) for a, b in zip(xs, least)]
    parts.append(line(points, BLUE))
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{BLUE}"/>' for a, b in points]
    parts.append("</svg>")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(parts) + "\n")
