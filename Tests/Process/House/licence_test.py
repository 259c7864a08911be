# SPDX-License-Identifier: Apache-2.0

"""The check of form finds source files that do not name their licence, and no other file."""

import importlib.machinery
import importlib.util
import sys
import unittest

from place import FORM, ROOT

sys.path.insert(0, str(FORM))
import licence

SPDX = "SPDX-License-Identifier: Apache-2.0"


def format_script():
    loader = importlib.machinery.SourceFileLoader("format_script", str(FORM / "run.py"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Licence(unittest.TestCase):
    # Source files as they have to be. Each is planted without its line, and with another licence.
    SOURCES = {
        "a.swift": f"// {SPDX}\n\nimport ProofModel\n",
        "Package.swift": f"// swift-tools-version: 6.2\n// {SPDX}\n\nimport PackageDescription\n",
        "a.c": f"// {SPDX}\n\n#include <stdint.h>\n",
        "a.h": f"// {SPDX}\n\n#ifndef A_H\n#define A_H\n#endif\n",
        "a.js": f"// {SPDX}\n\nlet a = 1;\n",
        "A.java": f"// {SPDX}\n\nclass A {{}}\n",
        "a.py": f"# {SPDX}\n\nimport sys\n",
        "run.sh": f"#!/bin/sh\n# {SPDX}\n#\n# Runs.\ntrue\n",
        "parts.sh": f"# shellcheck shell=bash\n# {SPDX}\ntrue\n",
        "script": f"#!/usr/bin/env python3\n# {SPDX}\nimport sys\n",
        "Makefile": f"# {SPDX}\n\nall:\n",
        "a.mk": f"# {SPDX}\n\na := 1\n",
        "a.ld": f"/* {SPDX} */\n\nENTRY(start)\n",
        "a.pml": f"/* {SPDX} */\n\ninit {{ skip }}\n",
    }
    # Files that need no line.
    OTHERS = {
        "a.md": "# A page\n",
        "a.json": "{}\n",
        "a.txt": "vector\n",
        "corpus/0123": "bytes",
        "a.html": "<!doctype html>\n",
        "LICENSE": "Apache License\n",
        "__init__.py": "",
    }

    def test_a_source_file_that_names_its_licence_has_no_finding(self):
        for name, text in self.SOURCES.items():
            self.assertEqual(licence.findings(name, text), [], name)

    def test_a_source_file_that_does_not_name_it_has_one_finding(self):
        for name, text in self.SOURCES.items():
            bare = "".join(line + "\n" for line in text.splitlines() if SPDX not in line)
            found = licence.findings(name, bare)
            self.assertEqual(len(found), 1, name)
            self.assertTrue(found[0].startswith(f"{name}: ") and SPDX in found[0], found)

    def test_another_licence_or_a_line_further_down_does_not_count(self):
        for name, text in self.SOURCES.items():
            other = text.replace("Apache-2.0", "MIT")
            self.assertEqual(len(licence.findings(name, other)), 1, name)
            marks = text.splitlines()
            mark = next(line for line in marks if SPDX in line)
            head = [line for line in marks[:1] if line != mark]
            late = "\n".join([*head, "", "", "", mark, ""])
            self.assertEqual(len(licence.findings(name, late)), 1, name)

    def test_vectors_pages_and_data_need_no_line(self):
        for name, text in self.OTHERS.items():
            self.assertEqual(licence.findings(name, text), [], name)

    def test_format_asks_for_it(self):
        script = format_script()
        for name, kind in (("Makefile", "make"), ("a.c", "c"), ("a.js", "text")):
            bare = "".join(line + "\n" for line in self.SOURCES[name].splitlines() if SPDX not in line)
            self.assertEqual(sum(map(len, script.findings_of(name, bare, kind))), 1, name)
            self.assertEqual(sum(map(len, script.findings_of(name, self.SOURCES[name], kind))), 0, name)

    def test_the_licence_is_the_one_of_the_distribution(self):
        self.assertIn("Apache License", (ROOT / "LICENSE").read_text(encoding="utf-8"))
        self.assertEqual(licence.LICENCE, SPDX)
