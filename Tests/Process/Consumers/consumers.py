#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""An app and a firmware outside the package, each with what its developer has and nothing more, meet: the app fetches
from a running service, keeps what it got, and proves itself to the firmware.

    consumers.py            all
    consumers.py TEXT…      the tests whose name contains one of the texts
"""

import json
import pathlib
import re
import sys
import unittest

from builds import HERE, LANGUAGES, OUT, ROOT, STATIC, make_firmware, run, swift_build
from linkage import Dependency, Linkage

sys.path[:0] = [str(HERE.parents[1] / name) for name in ("Process/Backend", "Support/Runner")]

import runner  # noqa: E402
from place import BIN, Place  # noqa: E402


class Firmware:
    """The hardware, running, as the factory made it."""

    def __init__(self, place, program, identity, secret, issuer):
        self.process = place.start(program)
        self.done = []
        self.process.stdin.write(f"{identity['id']} {identity['publicKey']} {secret.hex()} {issuer}\n")

    def answer(self, message):
        self.process.stdin.write(message + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if not line.startswith("do "):
                return line
            self.done.append(line[3:].strip())
        raise AssertionError("the firmware died")

    def end(self):
        """Its exit status: no more messages come."""
        self.process.stdin.close()
        return self.process.wait(timeout=60)


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.apps, cls.static, cls.firmware = swift_build(), swift_build(*STATIC), make_firmware()
        place = cls.place = Place()
        cls.addClassCleanup(place.close)
        place.make_account()
        cls.url = place.start_service()
        place.ask("sdk", "add", "--development")
        place.ask("policy", "set", "rejection=app-not-registered")
        place.ask("api", "add", "door.example.com", "--jwe")
        cls.config = place.ask("config", "show")["signed"]
        cls.lock = place.ask("hardware", "new", "--output", place.path("lock.key"), "--development")
        cls.secret = pathlib.Path(place.path("lock.key")).read_bytes()
        cls.issuer = place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])["publicKey"]
        key = {"kty": "oct", "alg": "dir", "k": place.ask("sealing", "get", "--base64url")["secret"]}
        backend = place.start(
            BIN / "proof-unlock", "--keys", place.write("sealing.jwk", json.dumps(key)), "--issuer-key",
            place.path("issuer.key"), "--store", place.store, "--ledger", place.path("ledger"),
            "--classes", "0,1", "--audience", "door.example.com", "--anyone")
        cls.backend = f"http://127.0.0.1:{int(backend.stdout.readline().split()[-1])}"

    def install(self, apps=None):
        """A registered app, installed anew: its bundle and its storage."""
        name = self.id().rsplit(".", 1)[1]
        bundle, storage = self.place.folder / name, self.place.folder / f"{name}-storage"
        bundle.mkdir()
        storage.mkdir(mode=0o700)
        (bundle / "rules").write_text(f"{name}: doors stay shut\n")
        self.place.ask("registration", "add", (apps or self.apps) / "door", "--bundle", bundle, "--expire-after", "1h")
        return bundle, storage

    def made(self, language="C11"):
        return Firmware(self.place, self.firmware[language], self.lock, self.secret, self.issuer)

    def ran(self, hardware, bundle, storage, *online, apps=None):
        """Starts the app, carries its messages, and returns its last word."""
        app = self.place.start(
            (apps or self.apps) / "door", bundle, storage, self.lock["id"], self.config, *online)
        last = ""
        for line in app.stdout:
            last = line.strip()
            if last.startswith("send "):
                app.stdin.write(hardware.answer(last.removeprefix("send ")))
                app.stdin.flush()
        self.assertEqual(app.wait(timeout=60), 0, last)
        return last

    def test_an_app_fetches_persists_and_proves_and_proves_again_offline_after_a_restart(self):
        bundle, storage = self.install()
        for language in LANGUAGES:
            with self.subTest(firmware=language):
                hardware = self.made(language)
                self.assertEqual(self.ran(hardware, bundle, storage, self.backend), "verdict accepted")
                self.assertEqual(self.ran(hardware, bundle, storage), "verdict accepted")
                self.assertEqual(hardware.done, ["1 6f70656e"] * 2, "class 1, `open`, once for each proof")
                self.assertEqual(hardware.end(), 0)

    def test_a_changed_app_opens_nothing(self):
        bundle, storage = self.install()
        hardware = self.made()
        self.assertEqual(self.ran(hardware, bundle, storage, self.backend), "verdict accepted")
        (bundle / "rules").write_text("doors open\n")
        self.assertEqual(self.ran(hardware, bundle, storage), "verdict integrity differs")
        self.assertEqual(len(hardware.done), 1)

    def test_a_static_release_of_the_app_does_the_same(self):
        bundle, storage = self.install(self.static)
        hardware = self.made()
        for online in ([self.backend], []):
            self.assertEqual(self.ran(hardware, bundle, storage, *online, apps=self.static), "verdict accepted")

    def test_an_app_with_proofkit_alone_proves_what_another_stored(self):
        bundle, storage = self.install()
        self.ran(self.made(), bundle, storage, self.backend)
        nonce, another = "0123456789abcdef", "0123456789abcdeF"
        proof, static, other = (run(apps / "offline", storage, self.config, text).strip() for apps, text in (
            (self.apps, nonce), (self.static, nonce), (self.apps, another)))
        self.assertRegex(proof, r"^[0-9a-f]{64}$")
        self.assertEqual(proof, static, "the device is the same, however the app is linked")
        self.assertNotEqual(proof, other)

    def test_the_firmware_refuses_a_factory_line_that_does_not_fit(self):
        other = dict(self.lock, publicKey="01" * 32)
        self.assertEqual(Firmware(self.place, self.firmware["C++17"], other, self.secret, self.issuer).end(), 1)


class DebugBuild(unittest.TestCase):
    """An app's first builds are debug builds. Their first measurement must not take fifteen times as long."""

    MEASURING = ("ProofCore", "ProofKey", "ProofProbe")

    def test_the_c_that_measures_and_proves_is_optimised(self):
        swift_build()
        # SwiftPM's own list of commands; the last option of its kind counts.
        commands = (OUT / "app" / "debug.yaml").read_text()
        for target in self.MEASURING:
            built = rf'^  "[^"\n]*/{target}\.build/[^"\n]*\.c\.o":\n((?:    .*\n)+)'
            objects = re.findall(built, commands, re.MULTILINE)
            sources = list((ROOT / "CSources" / target).rglob("*.c"))
            self.assertGreater(len(objects), 0, target)
            self.assertGreaterEqual(len(sources), len(objects), target)
            for command in objects:
                self.assertEqual(re.findall(r'"(-O\w)"', command)[-1], "-O2", command)


def code_of(text):
    """Lines of code: no comments, no imports and includes, no empty lines; spaces at the ends do not count."""
    lines = (re.sub(r"\s*//.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("import ", "#include"))]


class Tutorials(unittest.TestCase):
    """The tutorials show what these programs do, in twelve lines."""

    def assert_shows(self, page, heading, path):
        text = (ROOT / "docs" / "tutorials" / page).read_text()
        shown = code_of(re.search(rf"## {heading}\n.*?```(?:swift|c)\n(.*?)```", text, re.DOTALL)[1])
        self.assertLessEqual(len(shown), 12)
        program = iter(code_of((HERE / path).read_text()))
        for line in shown:
            self.assertIn(line, program, "in this order")

    def test_the_app_is_what_the_page_shows_in_thirty_lines(self):
        self.assert_shows("APP.md", "Your own link layer", "app/door/main.swift")
        self.assertLessEqual(len((HERE / "app/door/main.swift").read_text().splitlines()), 30)

    def test_the_firmware_is_what_the_page_shows(self):
        self.assert_shows("FIRMWARE.md", "Verify messages", "firmware/firmware.c")


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Consumers, DebugBuild, Dependency, Linkage, Tutorials), sys.argv[1:]))
