# SPDX-License-Identifier: Apache-2.0

"""The README's picture can be read on a light and on a dark page, whatever the reader's system prefers."""

import re
import unittest

from place import ROOT

PAGES = {"light": "#ffffff", "dark": "#0d1117"}


def luminance(colour):
    """Relative luminance by WCAG 2.1."""
    parts = [int(colour[index:index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


class Picture(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "docs" / "images" / "flow.svg").read_text()

    def test_every_colour_stands_out_from_both_pages(self):
        colours = set(re.findall(r"#[0-9a-fA-F]{6}\b", self.text))
        self.assertTrue(colours)
        for colour in colours:
            for page, background in PAGES.items():
                with self.subTest(colour=colour, page=page):
                    self.assertGreaterEqual(contrast(colour, background), 4)

    def test_nothing_depends_on_a_background_of_its_own_or_on_the_reader_s_system(self):
        self.assertNotIn("prefers-color-scheme", self.text)
        self.assertEqual(set(re.findall(r"fill: (?!none)(\S+?)[;\s]", self.text)), {"#717a84", "#218a3f"})
