# SPDX-License-Identifier: Apache-2.0

"""The check of form finds openers and words that hide who acts, in comments and pages, and in nothing else."""

import importlib.machinery
import importlib.util
import sys
import unittest

from place import FORM, ROOT

sys.path.insert(0, str(FORM))
import licence
import prose


def format_script():
    loader = importlib.machinery.SourceFileLoader("format_script", str(FORM / "run.py"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def lines_of(name, text, kind):
    """The lines that have a finding."""
    return [int(finding.split(":")[1]) for finding in prose.findings(name, text, kind)]


class Prose(unittest.TestCase):
    # Each text has its findings on the lines given, and on no other.
    TEXTS = {
        "a.c": ("c", [1, 2, 4, 7, 8], "\n".join((
            "/* What a gate is. */",
            "/// But it is durable.",
            "/// Durable, but late. Each one, whose key is known, and someones of an orphanage.",
            "/** | field | Of the page |",
            " * A fact.",
            " *",
            " * Neither holds. */",
            "int wait;  ///< Seconds that nobody counts",
            "const char *user = \"nobody // Who is it\";",
            "int nobody(void);"))),
        "a.swift": ("swift", [1, 3, 9], "\n".join((
            "/// Whatever the caller gave.",
            "let a = \"// What \\(names[\"nobody\"] ?? \"// Who\") is it\"",
            "let b = 1  // All the same for once",
            "let c = #\"\\// Of \"it\"#",
            "let d = \"\"\"",
            "  // Without nobody",
            "  \"\"\"",
            "@Test(\"whoever comes\") func nobody() {}",
            "// - There is none.",
            "/// The `nobody` account. What follows the first sentence of a line is not judged."))),
        "a.py": ("python", [1, 4, 6], "\n".join((
            "\"\"\"What it does.\"\"\"",
            "",
            "def nobody():",
            "    \"\"\"Says it to somebody.\"\"\"",
            "    text = '# Who is it'",
            "    return text  # Of course",
            "\"\"\"Whoever reads this reads a string.\"\"\""))),
        "a.sh": ("shell", [2, 3], "\n".join((
            "#!/bin/sh",
            "# What it needs.",
            "run  # Without a name",
            "echo \"$# nobody\" '#Who'"))),
        "Makefile": ("make", [1, 2], "\n".join((
            "target: ## What takes long",
            "# There are two.",
            "\tsu nobody"))),
        "b.md": ("text", [1, 3, 5, 6], "\n".join((
            "## Against whom",
            "",
            "### Which bit",
            "The key of one device, which holds; orders against it and others.",
            "For one who reads, and for no one else.",
            "| a | Nor b |"))),
        "a.md": ("text", [1, 3, 5, 7, 8, 10, 11, 12], "\n".join((
            "# What it costs",
            "",
            "Who reads it, of what use,",
            "of no use, but short.",
            "| a | Without b |",
            "",
            "- **But** it is",
            "1. Of ten",
            "`nobody` runs it.",
            "*Whoever* runs it.",
            "For once, [Nobody](page.md) runs it.",
            "> There is none.",
            "```sh",
            "# What nobody runs",
            "```"))),
    }

    def test_openers_and_words_are_found_in_prose_alone(self):
        for name, (kind, expected, text) in self.TEXTS.items():
            with self.subTest(name):
                self.assertEqual(sorted(set(lines_of(name, text, kind))), expected)

    def test_every_opener_and_word_is_found(self):
        for opener in ("What", "Whoever", "Whatever", "Who", "Whom", "Whose", "Which", "Of", "But", "And", "Or", "Nor",
                       "Nobody", "Neither", "Without", "Against", "There is", "There are"):
            self.assertTrue(lines_of("a.c", f"// {opener} it", "c"), opener)
            self.assertEqual(lines_of("a.c", f"// {opener}ish", "c"), [], opener)
        for word in ("whoever", "Nobody", "somebody", "anybody", "everybody", "someone", "no one", "one who",
                     "who does so", "all the same", "for once"):
            self.assertTrue(lines_of("a.c", f"// It is {word}.", "c"), word)

    def test_a_text_that_ends_too_early_is_read_to_its_end(self):
        for name, kind in (("a.swift", "swift"), ("a.c", "c"), ("a.py", "python"), ("a.md", "text")):
            for text in ("\"", "\"\\", "/*", "\"\"\"", "\"\\(", "'", "#\"", "```", "(\n"):
                self.assertEqual(lines_of(name, text, kind), [], text)

    def test_format_asks_for_it(self):
        script = format_script()
        for name, kind in (("Makefile", "make"), ("CSources/a.c", "c"), ("docs/a.md", "text")):
            sign = "#" if kind != "c" else "//"
            text = f"{sign} {licence.LICENCE}\n{sign} What nobody needs\n"
            self.assertEqual(sum(map(len, script.findings_of(name, text, kind))), 2, name)

    def test_folders_not_covered_yet_exist_and_are_left_out(self):
        for folder in prose.NOT_YET:
            self.assertTrue((ROOT / folder).is_dir(), folder)
            self.assertTrue(folder.endswith("/"), folder)
            self.assertFalse(prose.covers(folder + "a.swift", "swift"))
        self.assertFalse(prose.covers("Tests/Vectors/a.txt", "text"))
