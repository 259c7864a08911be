# SPDX-License-Identifier: Apache-2.0

"""One version number: version.h has it, and everything else reads it there or says the same."""

import re
import unittest

from place import ROOT, run


class Version(unittest.TestCase):
    def setUp(self):
        header = (ROOT / "CSources" / "ProofCore" / "include" / "version.h").read_text()
        self.version = re.search(r'PROOFKIT_VERSION "(.+)"', header)[1]

    def test_the_changelog_s_newest_section_is_of_this_version(self):
        newest = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
        self.assertRegex(newest, rf"^{re.escape(self.version)}(, \d{{4}}-\d\d-\d\d| \(unreleased\))$")

    def test_a_tag_of_this_commit_names_this_version(self):
        tags = run("git", "tag", "--points-at", "HEAD").stdout.split()
        self.assertEqual([tag for tag in tags if re.match(r"v\d", tag) and tag != f"v{self.version}"], [])

    def test_no_other_file_has_the_number(self):
        """Documents tell it as text; code reads version.h."""
        found = run("git", "grep", "-lF", f'"{self.version}"', "--", "Sources", "CSources", "Benchmarks",
                    "Package.swift", "Makefile").stdout.split()
        self.assertEqual(found, ["CSources/ProofCore/include/version.h"])
