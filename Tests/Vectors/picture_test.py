# SPDX-License-Identifier: Apache-2.0

"""The second implementation of the slider's pictures has the digests that `PictureTests.swift` expects."""

import hashlib
import re
import unittest
from pathlib import Path

from proofspec import picture

SWIFT = Path(__file__).resolve().parents[1] / "Unit" / "ProofGateTests" / "PictureTests.swift"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Pictures(unittest.TestCase):
    def setUp(self) -> None:
        self.text = SWIFT.read_text(encoding="utf-8")

    def test_the_drawings(self) -> None:
        rows = re.findall(r'\(\s*(\d+), (\d+), (\d+), (true|false),\s*\[\s*"(\w{64})",\s*"(\w{64})",\s*\]', self.text)
        self.assertEqual(len(rows), 9)
        for seed, x, y, has_ruler, *expected in rows:
            drawn = picture.pictures(hashlib.sha256(bytes([int(seed)])).digest(), int(x), int(y), has_ruler == "true")
            self.assertEqual([digest(file) for file in drawn], expected, seed)

    def test_the_outlines(self) -> None:
        bits = bytearray()
        for number in range(81):
            outline = picture.Outline.numbered(number)
            for one in (outline, outline.other(1), outline.other(2)):
                for y in range(-1, picture.SIDE + 1):
                    for x in range(-1, picture.SIDE + 1):
                        bits += bytes((one.has(x, y), one.has(x, y) and one.is_edge(x, y)))
        self.assertIn(f'"{digest(bits)}"', self.text)

    def test_files_of_several_blocks(self) -> None:
        palette = [(number, 255 - number, number // 2) for number in range(256)]
        for width, height, clear in ((254, 257, None), (255, 256, 0), (300, 300, 7)):
            pixels = bytes(at % 251 for at in range(width * height))
            self.assertIn(f'"{digest(picture.png(width, height, pixels, palette, clear))}"', self.text)


if __name__ == "__main__":
    unittest.main()
