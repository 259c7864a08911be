# SPDX-License-Identifier: Apache-2.0

"""The pictures of a slider, drawn a second time. Gates of two versions behind one proxy must draw the same one: a
person may get the picture of one gate, and send the answer to another."""

from __future__ import annotations

import struct
import zlib

WIDTH, HEIGHT, SIDE, RULER = 280, 120, 44, 16
SHADES, FAMILIES = 63, 4
WHITE, BLACK, CLEAR = 252, 253, 255
BLOCK = 65_535
GLYPHS = {
    "0": "### #.# #.# #.# ###", "1": ".#. ##. .#. .#. ###", "2": "### ..# ### #.. ###", "3": "### ..# ### ..# ###",
    "4": "#.# #.# ### ..# ..#", "5": "### #.. ### ..# ###", "6": "### #.. ### #.# ###", "7": "### ..# ..# ..# ..#",
    "8": "### #.# ### #.# ###", "9": "### #.# ### ..# ###",
}
MASK = (1 << 64) - 1


class Random:
    """SplitMix64."""

    def __init__(self, seed: bytes) -> None:
        self.state = int.from_bytes(seed, "big")

    def below(self, bound: int) -> int:
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        mixed = self.state
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
        return ((mixed ^ mixed >> 31) >> 33) % bound


def png(width: int, height: int, pixels: bytes, palette: list[tuple[int, int, int]], clear: int | None) -> bytes:
    """A PNG by palette whose data is stored."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[row * width:(row + 1) * width] for row in range(height))
    blocks = [rows[start:start + BLOCK] for start in range(0, len(rows), BLOCK)]
    stored = b"".join(struct.pack("<BHH", number == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
                      for number, block in enumerate(blocks))
    data = b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(rows))
    assert zlib.decompress(data) == rows
    seen = b"" if clear is None else chunk(b"tRNS", b"\xff" * clear + b"\0")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(bytes(colour) for colour in palette)) + seen + chunk(b"IDAT", data)
            + chunk(b"IEND", b""))


class Outline:
    """A core with a knob, a hollow or nothing on each side: left, above, right, below."""

    def __init__(self, sides: list[int]) -> None:
        self.sides = sides

    @classmethod
    def numbered(cls, number: int) -> Outline:
        return cls([number % 81 // 3 ** place % 3 - 1 for place in range(4)])

    def other(self, turn: int) -> Outline:
        """Nothing becomes a hollow, a hollow a knob and a knob nothing; an even turn does it the other way round."""
        around = {1: {0: -1, -1: 1, 1: 0}, 0: {0: 1, 1: -1, -1: 0}}[turn % 2]
        return Outline([around[side] for side in self.sides])

    def has(self, x: int, y: int) -> bool:
        if not (0 <= x < SIDE and 0 <= y < SIDE):
            return False
        inside = 9 <= x < SIDE - 9 and 9 <= y < SIDE - 9
        for side, (cx, cy) in zip(self.sides, ((9, 22), (22, 9), (34, 22), (22, 34))):
            if side and (x - cx) ** 2 + (y - cy) ** 2 <= 49:
                inside = side > 0
        return inside

    def is_edge(self, x: int, y: int) -> bool:
        return not all(self.has(x + dx, y + dy) for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)))

    def points(self) -> list[tuple[int, int]]:
        return [(x, y) for y in range(SIDE) for x in range(SIDE) if self.has(x, y)]


def clamped(value: int) -> int:
    return max(0, min(SHADES - 1, value))


class Canvas:
    """A landscape of noise and discs."""

    def __init__(self, seed: bytes) -> None:
        self.random = Random(seed[:8])
        self.outline = Outline.numbered(seed[8])
        self.shade, self.family = [0] * (WIDTH * HEIGHT), [0] * (WIDTH * HEIGHT)
        self.palette = self.colours()
        for grid, weight in ((56, 24), (28, 14), (14, 8)):
            self.hills(grid, weight)
        for _ in range(6):
            self.disc()
        for at, shade in enumerate(self.shade):
            self.shade[at] = clamped(shade + self.random.below(9) + 2)

    def colours(self) -> list[tuple[int, int, int]]:
        colours = []
        for _ in range(FAMILIES):
            tone = [self.random.below(150) for _ in range(3)]
            for step in range(SHADES):
                light = 40 + step * 190 // SHADES
                colours.append(tuple(min(255, light * 2 // 3 + part * light // 400) for part in tone))
        return [*colours, (255, 255, 255), (0, 0, 0), (0, 0, 0), (0, 0, 0)]

    def hills(self, grid: int, weight: int) -> None:
        columns = WIDTH // grid + 2
        knots = [self.random.below(256) for _ in range(columns * (HEIGHT // grid + 2))]
        for at in range(WIDTH * HEIGHT):
            (row, v), (column, u) = divmod(at // WIDTH, grid), divmod(at % WIDTH, grid)
            first = row * columns + column
            above = knots[first] * (grid - u) + knots[first + 1] * u
            below = knots[first + columns] * (grid - u) + knots[first + columns + 1] * u
            value = (above * (grid - v) + below * v) // grid ** 2
            self.shade[at] += value * weight // 256
            if grid == 56:
                self.family[at] = value * FAMILIES // 256

    def disc(self) -> None:
        x, y = self.random.below(WIDTH), self.random.below(HEIGHT)
        radius, colour = 8 + self.random.below(26), self.random.below(FAMILIES)
        change = self.random.below(24) - 12
        for at in range(WIDTH * HEIGHT):
            if (at % WIDTH - x) ** 2 + (at // WIDTH - y) ** 2 < radius ** 2:
                self.family[at] = colour
                self.shade[at] = clamped(self.shade[at] + change)

    def index(self, at: int) -> int:
        return self.family[at] * SHADES + self.shade[at]

    def cut(self, x: int, y: int) -> None:
        """Three dents of other outlines where they are free, then the gap."""
        dents = [(x, y)]
        for turn in (1, 2, 3):
            spot = (4 + self.random.below(WIDTH - SIDE - 8), 4 + self.random.below(HEIGHT - SIDE - 8))
            if all(abs(dent[0] - spot[0]) >= SIDE or abs(dent[1] - spot[1]) >= SIDE for dent in dents):
                dents.append(spot)
                self.dent(self.outline.other(turn), *spot)
        self.dent(self.outline, x, y)

    def dent(self, outline: Outline, x: int, y: int) -> None:
        for column, row in outline.points():
            at = (y + row) * WIDTH + x + column
            if outline.is_edge(column, row):
                self.shade[at] = clamped(58 + self.random.below(5))
            else:
                self.shade[at] = clamped(self.shade[at] // 5 + self.random.below(9))

    def picture(self, has_ruler: bool) -> bytes:
        pixels = bytes(self.index(at) for at in range(WIDTH * HEIGHT)) + (ruler() if has_ruler else b"")
        return png(WIDTH, HEIGHT + (RULER if has_ruler else 0), pixels, self.palette, None)

    def piece(self, x: int, y: int) -> bytes:
        pixels = bytearray([CLEAR] * (SIDE * HEIGHT))
        for column, row in self.outline.points():
            is_edge = self.outline.is_edge(column, row)
            pixels[(y + row) * SIDE + column] = WHITE if is_edge else self.index((y + row) * WIDTH + x + column)
        return png(SIDE, HEIGHT, bytes(pixels), self.palette, CLEAR)


def ruler() -> bytes:
    """A mark for each second value of two pixels, a longer one for each tenth, and its number below it."""
    pixels = bytearray([WHITE] * (WIDTH * RULER))
    for value in range(0, WIDTH // 2 + 1, 2):
        for row in range(6 if value % 10 == 0 else 3):
            pixels[row * WIDTH + min(WIDTH - 1, value * 2)] = BLACK
        if value % 10 == 0 and 0 < value < WIDTH // 2:
            for place, digit in enumerate(str(value)):
                left = value * 2 - len(str(value)) * 2 + place * 4
                for row, line in enumerate(GLYPHS[digit].split()):
                    for column, mark in enumerate(line):
                        if mark == "#":
                            pixels[(row + 9) * WIDTH + left + column] = BLACK
    return bytes(pixels)


def pictures(seed: bytes, x: int, y: int, has_ruler: bool) -> tuple[bytes, bytes]:
    """The picture with the gap, and the piece."""
    canvas = Canvas(seed)
    piece = canvas.piece(x, y)
    canvas.cut(x, y)
    return canvas.picture(has_ruler), piece
