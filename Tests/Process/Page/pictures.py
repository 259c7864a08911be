# SPDX-License-Identifier: Apache-2.0

"""The attacker who reads pictures: finds the gap of a slider from the two PNG files, with the standard library."""

import base64
import struct
import zlib

SIDE = 44


def pixels(data):
    """Width, height, grey values, and whether each pixel is clear."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        name, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour, rest) == (8, 3, [0, 0, 0])
    raw = zlib.decompress(chunks[b"IDAT"])
    assert len(raw) == height * (width + 1)
    palette, clear = chunks[b"PLTE"], chunks.get(b"tRNS", b"")
    grey = [sum(palette[3 * i:3 * i + 3]) // 3 for i in range(256)]
    indices = b"".join(raw[y * (width + 1) + 1:(y + 1) * (width + 1)] for y in range(height))
    return width, height, [grey[i] for i in indices], [i < len(clear) and clear[i] == 0 for i in indices]


def solve(picture, piece):
    """The place whose pixels are dark where the piece is, and light along its edge."""
    width, _, grey, _ = pixels(base64.b64decode(picture))
    side, height, _, clear = pixels(base64.b64decode(piece))
    inside = [(x, y) for y in range(height) for x in range(side) if not clear[y * side + x]]
    held = set(inside)
    edge = [(x, y) for x, y in inside
            if any(near not in held for near in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)))]
    core = sorted(held - set(edge))[::3]

    def score(place):
        light = sum(grey[y * width + x + place] for x, y in edge) / len(edge)
        return light - sum(grey[y * width + x + place] for x, y in core) / len(core)
    return max(range(width - side + 1), key=score)
