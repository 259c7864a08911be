#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The demonstration from outside: its story, its exit status, what it leaves behind; the terminals of docs/DEMO.md.

  Tests/Process/Demo/run.py [TEXT…]     the programs stand in .build/release, or where PROOF_BIN says
"""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from bounds import ALinkByHand, ARelayByHand, AShopsBounds, TimeLimits
from by_hand import AtALock
from demonstration import BIN, PATIENCE, PROCESS, ROOT, SHOP, Stage, descendants, faults
from narration import (LOCK_ACTS, PROLOGUES, SHOP_ACTS, Narration, acts, check_colours, check_decimals, check_details,
                       check_table)
from relay import Relay
from thief import AThiefOfRequests
from till import AShop, AShopThatStarts

sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
import runner  # noqa: E402
from planting import planted  # noqa: E402


class Demo(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def program(self, text):
        path = pathlib.Path(self.stage.folder) / "program"
        path.write_text(text)
        path.chmod(0o755)
        self.addCleanup(path.unlink)
        return path

    def assertClean(self):
        self.assertEqual([name for name in self.stage.left_behind() if name != "program"], [])

    def test_the_story_ends_as_it_must_and_the_same_seed_tells_the_same(self):
        status, output, errors = self.stage.play("--json", "--seed", "7")
        told = json.loads(output)
        self.assertEqual((status, told["ok"], told["seed"]), (0, True, "7"), errors + output)
        lines = told["lines"]
        self.assertEqual(faults(lines), [])
        self.assertEqual(acts(lines), LOCK_ACTS + SHOP_ACTS)
        self.assertIsNone(told["failure"])
        check_details(self, lines)
        check_decimals(self, output)
        self.assertClean()
        self.times(lines)

        # The same in words, on no terminal.
        status, text, errors = self.stage.play("--seed", "7")
        self.assertEqual(status, 0, errors + text)
        self.assertNotIn("\x1b", text)
        self.assertIn(f"all {len(lines)} lines ended as they must (seed 7)", text)
        told = re.findall(r"^ok {5}(.*)$", text, re.M)
        self.assertEqual(told, [f"{line['what']}: {line['happened']}" for line in lines])
        self.assertEqual([line for line in text.splitlines() if line in LOCK_ACTS + SHOP_ACTS], LOCK_ACTS + SHOP_ACTS)
        self.assertTrue(text.startswith(PROLOGUES[0]))
        self.assertIn("\n" + PROLOGUES[1], text)
        check_table(self, text)
        self.assertClean()

    def test_where_the_kernel_allows_no_namespaces_the_copy_has_another_device_secret(self):
        shut = ["unshare", "--user", "--map-root-user", "sh", "-c",
                'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
        if subprocess.run([*shut, "true"], capture_output=True).returncode != 0:
            # Then the machine allows none itself, and the other test has played this.
            return
        played = subprocess.run([*shut, BIN / "proof-demo", "--json", "--act", "1"], env=self.stage.environment,
                                capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        told = json.loads(played.stdout)
        self.assertEqual((played.returncode, told["ok"]), (0, True), played.stdout + played.stderr)
        copied, = (line for line in told["lines"] if "is copied to" in line["what"])
        self.assertIn("a device secret of its own", copied["detail"])
        self.assertClean()

    def test_an_act_is_played_alone_and_no_act_is_a_part_of_the_other(self):
        counts = []
        for act, story, other in (("1", PROCESS, SHOP), ("2", SHOP, PROCESS)):
            status, output, errors = self.stage.play("--json", "--act", act)
            told = json.loads(output)
            self.assertEqual((status, told["ok"]), (0, True), errors + output)
            self.assertEqual(faults(told["lines"], story), [])
            self.assertEqual(len(faults(told["lines"], other)), len(other))
            counts.append(len(told["lines"]))
            self.assertClean()
        self.assertEqual(counts, [64, 24])
        for refused in (["--act", "3"], ["--act", "2", "--hardware", "/bin/true"], ["--act", "2", "--prepare", "x"]):
            status, output, errors = self.stage.play(*refused)
            self.assertEqual((status, output), (2, ""), refused)
            self.assertIn("--act", errors)

    def times(self, lines):
        """Each step of the app says where its time went, and the shares are parts of the whole."""
        timed = [line for line in lines if line["milliseconds"]]
        self.assertGreater(len(timed), 20)
        for line in timed:
            time = dict(line["milliseconds"])
            total = time.pop("total")
            self.assertAlmostEqual(sum(time.values()), total, delta=0.01, msg=line["what"])
        opened = next(line["milliseconds"] for line in lines if "for the first time" in line["what"])
        for share in ("measuring", "cryptography", "link"):
            self.assertGreater(opened[share], 0, share)

    def test_a_lock_that_trusts_another_backend_fails_the_story(self):
        lock = self.program(
            "#!/bin/sh\n"
            "for word; do case $word in */provisioning) sed -i 's/^issuer = .*/issuer = "
            f"{'ab' * 32}/' \"$word\" ;; esac; done\n"
            f"exec '{BIN}/proof-hardware' \"$@\"\n")
        status, output, errors = self.stage.play("--json", "--act", "1", "--hardware", str(lock))
        told = json.loads(output)
        self.assertEqual((status, told["ok"]), (1, False), errors)
        wrong = [line for line in told["lines"] if not line["ok"]]
        self.assertEqual(wrong[0]["happened"], "ask the backend: not signed", wrong)
        self.assertEqual(acts(told["lines"]), LOCK_ACTS[:2])
        self.assertClean()

    def test_a_lock_without_a_defence_fails_the_lines_that_show_it_and_no_others(self):
        """A lock that takes every integrity proof for a right one: its first look and its second."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="c"))
        self.addCleanup(shutil.rmtree, place)
        shutil.copytree(ROOT / "CSources", place / "CSources")
        for name, defence, nothing in (
                ("verifier_judgement.c", "nonce, slot->secrets.integrity) != PFC_OK)",
                 "nonce, slot->secrets.integrity) > PFC_OK)"),
                ("verifier_review.c", "proof_difference(command.integrity_proof,",
                 "0 & proof_difference(command.integrity_proof,")):
            file = place / "CSources" / "ProofCore" / name
            file.write_text(planted(file.read_text(), defence, nothing, name))
        subprocess.run(["make", "-s", "-C", place / "CSources", "hardware", f"BUILD={place}/build"], check=True,
                       capture_output=True)
        status, output, errors = self.stage.play("--json", "--act", "1", "--seed", "7", "--hardware",
                                                 f"{place}/build/proof-hardware")
        wrong = [(line["what"], line["happened"]) for line in json.loads(output)["lines"] if not line["ok"]]
        self.assertEqual(status, 1, errors)
        self.assertEqual(wrong, [
            ("the app runs in a debugger", "accepted, for debugger"),
            ("a library is preloaded", "accepted, for preloading"),
            ("one bit of its bundle is changed", "accepted, for bundle"),
            ("version 2 is installed; it tries to open", "accepted"),
            ("version 2 is put back; it tries to open", "accepted"),
        ])
        self.assertClean()

    def test_a_lock_that_does_not_start_fails_the_story_and_is_named(self):
        status, output, errors = self.stage.play("--hardware", "/bin/false")
        self.assertEqual(status, 1, output)
        self.assertIn("/bin/false", errors)
        self.assertClean()

    def test_a_story_that_cannot_begin_says_why_and_counts_no_line_for_good(self):
        self.stage.environment["PATH"] = self.stage.folder
        status, output, _ = self.stage.play("--json")
        told = json.loads(output)
        self.assertEqual((status, told["ok"], told["lines"]), (1, False, []))
        self.assertIn("openssl", told["failure"])
        status, output, errors = self.stage.play()
        self.assertEqual(status, 1)
        self.assertIn("the story was not told to its end: 0 lines", output)
        self.assertIn("openssl", errors)
        self.assertClean()

    def test_preparing_is_atomic(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="p"))
        self.addCleanup(shutil.rmtree, place)
        status, output, errors = self.stage.play("--json", "--prepare", str(place / "door"), "--hardware", "/bin/false")
        self.assertEqual((status, json.loads(output)["ok"]), (1, False), errors)
        self.assertEqual(os.listdir(place), [])
        status, output, errors = self.stage.play("--json", "--prepare", str(place / "door"))
        self.assertEqual((status, json.loads(output)["ok"]), (0, True), errors)
        self.assertTrue((place / "door" / "lock" / "flash").is_file())
        self.assertClean()

    def test_an_attack_on_a_lock_that_says_nothing_ends(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            silent.bind(f"{self.stage.folder}/silent")
            silent.listen()
            attack = self.stage.start("attack", "replay", "--command", "00" * 98, "--socket",
                                      f"{self.stage.folder}/silent")
            _, errors = attack.communicate(timeout=PATIENCE)
        os.unlink(f"{self.stage.folder}/silent")
        self.assertEqual(attack.returncode, 1)
        self.assertIn("sent nothing", errors)

    def test_colours_are_for_a_terminal(self):
        lock = self.program(
            "#!/bin/sh\n"
            f"case $* in *--provision*) exec '{BIN}/proof-hardware' \"$@\" ;; esac\n"
            "echo listening >&2; exit 1\n")

        def shown():
            reader, writer = pty.openpty()
            process = self.stage.start("--hardware", str(lock), stdout=writer)
            os.close(writer)
            text = b""
            while True:
                try:
                    piece = os.read(reader, 65536)
                except OSError:
                    break
                text += piece
                if not piece:
                    break
            os.close(reader)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 1)
            return text

        coloured = shown()
        check_colours(self, coloured.decode())

        self.stage.environment["NO_COLOR"] = "1"
        plain = shown()
        self.assertIn(b"FAILED", plain)
        self.assertNotIn(b"\x1b", plain)

    def test_an_interruption_at_any_time_leaves_nothing_behind(self):
        for act, words in (("1", "backend start"), ("1", "app enrols"), ("1", "first time"),
                           ("1", "plays the recording"), ("2", "shop start"), ("2", "changes the body"),
                           ("2", "shop is back")):
            for number in (signal.SIGINT, signal.SIGTERM):
                process = self.stage.start("--act", act)
                for line in process.stdout:
                    if words in line:
                        break
                process.send_signal(number)
                output, _ = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 128 + number, words)
                # Nothing failed: the user ended it.
                self.assertNotIn("FAILED", output)
                self.assertClean()

    def test_a_director_that_is_killed_takes_every_process_with_it(self):
        for act, words in (("1", "backend start"), ("1", "for the first time"), ("1", "debugger"),
                           ("1", "is copied to"), ("1", "bad radio"), ("2", "shop start"),
                           ("2", "takes the gate token"), ("2", "put right")):
            process = self.stage.start("--act", act)
            for line in process.stdout:
                if words in line:
                    break
            # A stopped director starts no further process that the list below would miss.
            process.send_signal(signal.SIGSTOP)
            cast = descendants(process.pid)
            self.assertTrue(cast, words)
            process.kill()
            process.communicate(timeout=PATIENCE)
            survivors = [child for child in cast if not child.ends(PATIENCE)]
            for child in survivors:
                child.kill()
            self.assertEqual([str(child) for child in survivors], [], words)
            # Every process that could remove the files is dead.
            for name in os.listdir(self.stage.folder):
                shutil.rmtree(pathlib.Path(self.stage.folder) / name)

    def test_two_terminals_as_the_page_says(self):
        page = (ROOT / "docs" / "DEMO.md").read_text()
        section = page.split("two terminals", 1)[1]
        first, second = re.findall(r"```sh\n(.*?)```", section, re.S)[:2]
        place = tempfile.mkdtemp(prefix="t")
        self.addCleanup(shutil.rmtree, place)
        # The pages' build folder leads to the tests' programs.
        link = pathlib.Path(place) / ".build" / "release"
        link.parent.mkdir()
        link.symlink_to(BIN)
        hardware = subprocess.Popen(["bash", "-euo", "pipefail", "-c", first], cwd=place, env=self.stage.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    text=True, start_new_session=True)
        try:
            self.assertTrue(any("listening" in line for line in hardware.stderr), "the lock does not listen")
            app = subprocess.run(["bash", "-euo", "pipefail", "-c", second], cwd=place, env=self.stage.environment,
                                 input="open\nclose\nstatus\ndiagnose\n", capture_output=True, text=True,
                                 timeout=PATIENCE)
        finally:
            os.killpg(hardware.pid, signal.SIGTERM)
            hardware.communicate(timeout=PATIENCE)
        self.assertEqual(app.returncode, 0, app.stderr)
        self.assertEqual(app.stdout.count("accepted\n"), 3, app.stdout)
        self.assertIn("nothing differs", app.stdout)
        # The service is stopped, and what could not be done is no success.
        fetched = subprocess.run([BIN / "proof-demo", "app", "--home", f"{place}/door/phone", "fetch"],
                                 env=self.stage.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((fetched.returncode, fetched.stdout.split("\n")[0]), (1, "not fetched: no network"))
        self.assertClean()


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(
        Relay, ARelayByHand, ALinkByHand, AThiefOfRequests, TimeLimits, AShopThatStarts, AShopsBounds, AShop, AtALock,
        Narration, Demo), sys.argv[1:]))
