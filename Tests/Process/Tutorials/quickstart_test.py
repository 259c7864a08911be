# SPDX-License-Identifier: Apache-2.0

"""docs/QUICKSTART.md from its first block to its last, in four terminals."""

import re
import unittest

from terminals import ROOT, Desk, blocks

PAGE = "QUICKSTART.md"
SERVERS = {2: "listening", 3: "listening", 4: "listening"}


class Quickstart(unittest.TestCase):
    def test_the_page_leads_from_nothing_to_an_open_door(self):
        desk = Desk()
        self.addCleanup(desk.close)
        said = []
        for block in blocks(PAGE):
            terminal = desk.terminal(block.terminal)
            desk.adapted(block)
            if block.terminal in SERVERS:
                terminal.source(block.text)
                terminal.until(SERVERS[block.terminal])
                continue
            # The second `open` of step 9: the page says to end service and backend before.
            if block.text == "phone/door open\n":
                for number in (2, 3):
                    desk.terminal(number).interrupt()
            text, status = terminal.play(block)
            said.append(text)
            self.assertEqual(status != 0, block.is_refused, text)
        self.assertRegex(said[-3], r"fetched a token of 288 bytes\nthe door is open, after \d+\.\d+ seconds\n")
        self.assertRegex(said[-2], r"the door is open, after")
        self.assertRegex(said[-1], r"the lock refuses: .*authority\.pem")

    def test_the_page_plays_every_shell_block(self):
        page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r"^```sh$", page, re.MULTILINE)), len(blocks(PAGE)))


if __name__ == "__main__":
    unittest.main()
