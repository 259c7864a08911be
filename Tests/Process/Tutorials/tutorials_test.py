# SPDX-License-Identifier: Apache-2.0

"""The tutorials of three roles, each from its page alone."""

import re
import subprocess
import unittest

from terminals import ROOT, Desk, blocks

QUICKSTART = "QUICKSTART.md"


class Tutorial(unittest.TestCase):
    def setUp(self):
        self.desk = Desk()
        self.addCleanup(self.desk.close)

    def play(self, block):
        text, status = self.desk.terminal(block.terminal).play(self.desk.adapted(block))
        self.assertEqual(status != 0, block.is_refused, text)
        return text

    def quickstart(self, *steps):
        """The quick start's steps of these numbers, its servers among them."""
        for block in blocks(QUICKSTART):
            if int(block.section.split(".")[0]) not in steps:
                continue
            if block.terminal == 1:
                self.play(block)
            else:
                terminal = self.desk.terminal(block.terminal)
                terminal.source(self.desk.adapted(block).text)
                terminal.until("listening")

    def last_of(self, command):
        """Returns the output of a command after the page's, in the same shell."""
        terminal = self.desk.terminal(1)
        terminal.source(f"set +e\n{command}\necho '<<end>>'\n", " </dev/null")
        return terminal.until("<<end>>")


class Backend(Tutorial):
    PAGE = "tutorials/BACKEND.md"

    def test_a_protected_api_issues_a_token_that_the_lock_takes_and_refuses_a_stranger(self):
        self.quickstart(1, 2, 3)
        for block in blocks(QUICKSTART):
            if block.terminal == 1 and block.section[0] in "56":
                self.play(block)
        for block in blocks(self.PAGE):
            said = self.play(block)
        self.assertTrue(said.endswith("Status: 200\n"), said)
        self.assertEqual(self.last_of("stat -c %s measurement-token"), "288\n")
        self.assertEqual(self.last_of(
            'REQUEST_METHOD=POST QUERY_STRING="hardware=$LOCK" HTTP_PROOF_TOKEN="$TOKEN" '
            "backend/.build/release/unlock-grant 2>/dev/null | sed -n '1p;$p'"), "Status: 401\nuser\n")
        self.assertIn("Status: 401", self.last_of(
            'REQUEST_METHOD=POST QUERY_STRING="hardware=$LOCK" HTTP_PROOF_TOKEN="${TOKEN%?????}AAAAA" '
            'HTTP_USER_TOKEN="correct horse" backend/.build/release/unlock-grant 2>/dev/null | head -n 1'))


class Firmware(Tutorial):
    PAGE = "tutorials/FIRMWARE.md"

    def test_a_verifier_in_c_on_the_installed_library_is_compiled_for_this_machine_and_for_a_cortex_m3(self):
        page = (ROOT / "docs" / self.PAGE).read_text(encoding="utf-8")
        lock, obj = ROOT / "lock.c", ROOT / "lock-cortex-m3.o"
        lock.write_text("".join(re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)), encoding="utf-8")
        for path in (lock, obj, ROOT / "lock.o"):
            self.addCleanup(path.unlink, missing_ok=True)
        for block in blocks(self.PAGE):
            self.play(block)
        told = subprocess.run(["readelf", "-hA", obj], capture_output=True, text=True, check=True).stdout
        self.assertRegex(told, r"Machine: +ARM\n(.*\n)*.*Tag_CPU_name: \"(Cortex-M3|7-M)\"")
        # The object needs nothing that the library and a board do not have.
        wanted = self.undefined(obj) - self.defined(ROOT / ".build" / "cortex-m3" / "libproofcore.a")
        self.assertEqual(wanted, {"trng_fill", "flash_read", "flash_write", "send_reply", "motor_open", "memset"})

    @staticmethod
    def names(option, path):
        told = subprocess.run(["nm", "-P", option, path], capture_output=True, text=True, check=True).stdout
        return {line.split()[0] for line in told.splitlines() if len(line.split()) > 1}

    def undefined(self, path):
        return self.names("--undefined-only", path)

    def defined(self, path):
        return self.names("--defined-only", path)


class Operator(Tutorial):
    PAGE = "tutorials/OPERATOR.md"

    def test_an_operator_looks_registers_measures_and_withdraws(self):
        self.quickstart(1, 2, 3, 4, 5, 6)
        said = [self.play(block) for block in blocks(self.PAGE)]
        self.assertEqual(len(said), 4)
        self.assertIn("door.example.com", said[0])
        self.assertIn("proof_service_", said[2])
        self.assertIn("revoked", self.last_of("proofctl hardware list"))


class Gate(Tutorial):
    PAGE = "tutorials/GATE.md"
    SERVERS = {3: "Serving HTTP", 4: "listening"}

    def setUp(self):
        super().setUp()
        # The page's last block ends nginx, and a test that fails before it does not come there.
        self.addCleanup(self.stop_nginx)

    def stop_nginx(self):
        folder = self.desk.home / "door"
        if (folder / "nginx.pid").exists():
            subprocess.run(["/usr/sbin/nginx", "-p", folder, "-c", "nginx.conf", "-s", "stop"], check=False)

    def judged(self, path, wanted):
        """The status that a program without a proof gets, and whether the answer has a text."""
        origin = f"https://localhost:{self.desk.ports['8444']}"
        text = self.last_of(f"curl --silent --include --cacert authority.pem {origin}{path}")
        return int(text.split(" ")[1]), wanted in text

    def test_an_app_passes_other_programs_pay_work_and_a_person_gets_a_page(self):
        self.quickstart(1, 2, 3, 4)
        said = {}
        for block in blocks(self.PAGE):
            if block.terminal in self.SERVERS:
                terminal = self.desk.terminal(block.terminal)
                terminal.source(self.desk.adapted(block).text)
                terminal.until(self.SERVERS[block.terminal])
                continue
            if block.text.endswith("rm -rf ~/door\n"):
                self.assertEqual(self.judged("/prices", "tea 3"), (401, False))
                self.assertEqual(self.judged("/search", "12 shops"), (428, False))
                self.assertEqual(self.judged("/article.html", "How tea"), (428, False))
                for number in (2, 3, 4):
                    terminal = self.desk.terminal(number)
                    terminal.interrupt()
                    terminal.source("echo '<<ended>>'\n")
                    terminal.until("<<ended>>")
            said.setdefault(block.section, []).append(self.play(block))
        self.assertIn("tea 3, coffee 4", said["The site that you have"][-1])
        self.assertIn("served\n  200: tea 3, coffee 4", said["An app passes"][0])
        self.assertIn("The requested URL returned error: 401", said["An app passes"][1])
        work, cleared, again = said["Everyone else pays work"]
        self.assertRegex(work, r"\d+ hashes in [0-9.]+ ms\n12 shops sell tea")
        self.assertIn("12 shops sell tea", cleared)
        self.assertIn("The requested URL returned error: 428", again)
        self.assertRegex(said["A person's page"][0], r"^HTTP/2 428[^<]*<title>Security check</title>\n$")
        self.assertIn('route="prices",result="passed",watched="no"} 1', said["See what the gate did"][0])
        self.assertFalse((self.desk.home / "door").exists())


class Pages(unittest.TestCase):
    def test_every_shell_block_of_a_tutorial_is_played(self):
        for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
            with self.subTest(page=page.name):
                name = f"tutorials/{page.name}"
                fences = re.findall(r"^```sh$", page.read_text(encoding="utf-8"), re.MULTILINE)
                self.assertEqual(len(fences), len(blocks(name)))


if __name__ == "__main__":
    unittest.main()
