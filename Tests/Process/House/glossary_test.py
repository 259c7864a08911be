# SPDX-License-Identifier: Apache-2.0

"""docs/GLOSSARY.md has every coined word once, each of its terms is used, and pages link to it at the first use."""

import re
import unittest

from place import ROOT

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "GLOSSARY.md"

# {coined word, as a pattern: its anchor}. A word that the field has is none: say that one instead.
COINED = {
    r"escort nonce": "escort", r"floor": "floor", r"recall": "recall", r"barrier": "barrier", r"epoch": "epoch",
    r"leaf": "leaf", r"beacons?": "beacon", r"clearances?": "clearance", r"unanchored": "unanchored",
    r"own secrets?": "own-secret", r"slots?": "slot", r"gate tokens?": "gate-token", r"literal form": "diversified",
    r"DPK": "dpk", r"MPK": "mpk", r"ARC": "arc", r"open command": "open-command",
}
# Pages of facts in tables, and pages that define the words themselves.
UNLINKED = {"GLOSSARY.md", "SPEC.md", "GATE.md", "REQUESTS.md", "MANAGEMENT.md", "FIGURES.md", "MIGRATION.md"}


def prose(text):
    """The page with the same length, without its code, links, headings and tables."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    for pattern in (r"(?ms)^```.*?^```", r"(?m)^(?:    |#|\||<!--).*$", r"`[^`\n]*`", r"!?\[[^\]]*\]\([^)]*\)"):
        text = re.sub(pattern, blank, text)
    return text


def pages():
    return [page for page in sorted([*DOCS.glob("*.md"), *(DOCS / "tutorials").glob("*.md")])
            if page.name not in UNLINKED]


def unlinked(text):
    """The coined words that a page uses without a link to the glossary: (word, anchor)."""
    words = prose(text)
    return [(found[0], anchor) for pattern, anchor in COINED.items()
            if (found := re.search(rf"\b(?:{pattern})\b", words)) and f"GLOSSARY.md#{anchor})" not in text]


class Glossary(unittest.TestCase):
    def setUp(self):
        self.text = GLOSSARY.read_text(encoding="utf-8")
        self.terms = re.findall(r'^\| <a id="([\w-]+)"></a>([^|]+) \| ([^|]+) \|$', self.text, re.MULTILINE)

    def test_every_term_stands_once_in_one_or_two_sentences(self):
        self.assertEqual(len(self.terms), self.text.count("<a id="))
        for names in zip(*[(anchor, term) for anchor, term, _ in self.terms]):
            self.assertEqual(len(set(names)), len(names))
        for _, term, meaning in self.terms:
            with self.subTest(term=term):
                self.assertLessEqual(len(re.findall(r"[.:] [A-Z]", meaning)), 2)

    def test_every_coined_word_has_a_term(self):
        self.assertLessEqual(set(COINED.values()), {anchor for anchor, _, _ in self.terms})

    def test_every_term_is_used(self):
        used = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md") if path != GLOSSARY).lower()
        for _, term, _ in self.terms:
            for word in re.sub(r" \(\w+\)", "", term).split(", "):
                with self.subTest(term=word):
                    self.assertTrue(word.lower() in used, word)

    def test_pages_link_to_the_terms_that_they_use(self):
        for page in pages():
            with self.subTest(page=page.name):
                self.assertEqual(unlinked(page.read_text(encoding="utf-8")), [])

    def test_every_link_to_the_glossary_leads_to_a_term(self):
        anchors = {anchor for anchor, _, _ in self.terms}
        for page in DOCS.rglob("*.md"):
            for anchor in re.findall(r"GLOSSARY\.md#([\w-]+)", page.read_text(encoding="utf-8")):
                self.assertTrue(anchor in anchors, f"{page.name}: {anchor}")

    def test_a_coined_word_without_a_link_is_found_and_one_in_code_is_not(self):
        self.assertEqual(unlinked("The floor rises.\n"), [("floor", "floor")])
        self.assertEqual(unlinked("The [floor](GLOSSARY.md#floor) rises. Later the floor is stored.\n"), [])
        self.assertEqual(unlinked("Call `floor()`.\n\n```c\nfloor();\n```\n| floor | 1 |\n"), [])
