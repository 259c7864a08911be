# SPDX-License-Identifier: Apache-2.0

"""The reference site shows text at the address that `make docs` prints."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[3]
SITE = ROOT / ".build" / "docs" / "site"


class Served:
    """The site as docs/site/serve serves it."""

    def __init__(self, folder=SITE):
        self.process = subprocess.Popen([sys.executable, ROOT / "docs" / "site" / "serve", folder], text=True,
                                        stdout=subprocess.PIPE)
        self.address = re.search(r"http://\S+/", self.process.stdout.readline())[0]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.served = Served()
        cls.addClassCleanup(cls.served.close)

    def blank(self, paths, served=None):
        """Those of the paths that show no heading, or the heading of a page that is not there."""
        found = []
        for path in paths:
            self.browser.open((served or self.served).address + path)
            headings = self.browser.headings()
            if not headings or "can’t be found" in headings[0] or "can't be found" in self.browser.text():
                found.append(path)
        return found

    def test_the_start_page_says_what_it_is_and_leads_to_every_tutorial_and_library(self):
        self.browser.open(self.served.address)
        text = self.browser.text()
        self.assertIn("untampered app", text)
        libraries = re.findall(r'\.library\(name: "(\w+)", targets:', (ROOT / "Package.swift").read_text())
        for name in libraries:
            self.assertIn(name, text)
        prefix = f"{self.served.address}documentation/"
        links = {link.removeprefix(prefix).rstrip("/") for link in self.browser.links() if link.startswith(prefix)}
        self.assertLessEqual({name.lower() for name in libraries}, links)
        self.assertLessEqual({"proofkit/quickstart"} | {
            f"proofkit/{page.stem.lower()}tutorial" for page in (ROOT / "docs" / "tutorials").glob("*.md")}, links)
        self.assertEqual(self.blank(f"documentation/{link}/" for link in links), [])

    def test_one_page_of_each_library_shows_its_symbol(self):
        for folder in sorted((SITE / "data" / "documentation").iterdir()):
            if not folder.is_dir():
                continue
            page = min(path for path in folder.glob("*.json") if "tutorial" not in path.stem)
            with self.subTest(library=folder.name):
                self.assertEqual(self.blank([f"documentation/{folder.name}/{page.stem}/"]), [])

    def planted(self):
        """A copy of the site, to break."""
        room = tempfile.TemporaryDirectory(dir=SITE.parent)
        self.addCleanup(room.cleanup)
        folder = pathlib.Path(room.name) / "site"
        shutil.copytree(SITE, folder, copy_function=os.link)
        served = Served(folder)
        self.addCleanup(served.close)
        return folder, served

    def test_a_page_whose_scripts_do_not_come_is_found(self):
        folder, served = self.planted()
        page = "documentation/proofkit/"
        index = folder / page / "index.html"
        text = index.read_text()
        # As for a host at whose root the site does not stand.
        broken = re.sub(r'(src="?)(?=/)', r"\1/elsewhere", text)
        self.assertNotEqual(broken, text)
        index.unlink()
        index.write_text(broken)
        self.assertEqual(self.blank([page], served), [page])

    def test_a_page_without_data_is_found(self):
        folder, served = self.planted()
        (folder / "data" / "documentation" / "proofmodel.json").unlink()
        self.assertEqual(self.blank(["documentation/proofmodel/"], served), ["documentation/proofmodel/"])


if __name__ == "__main__":
    unittest.main()
