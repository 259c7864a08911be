# SPDX-License-Identifier: Apache-2.0

"""proof-unlock's bounds: sizes of its files, its port, and connections of one proxy."""

import contextlib
import hashlib
import http.client
import json
import pathlib
import re
import subprocess
import sys
import unittest

from place import BIN, Place

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from ports import free_port  # noqa: E402

MEBIBYTE = 2**20


class UnlockBounds(unittest.TestCase):
    def setUp(self):
        place = self.place = Place()
        self.addCleanup(place.close)
        place.make_account()
        place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])
        key = {"kty": "oct", "alg": "dir", "k": "A" * 43}
        self.options = {"--keys": place.write("sealing.jwk", json.dumps(key)), "--issuer-key": place.path("issuer.key"),
                        "--store": str(place.store), "--ledger": place.path("ledger"), "--classes": "0",
                        "--users": place.write("users", f"ada {hashlib.sha256(b'a').hexdigest()} *\n")}

    def words(self, **changed):
        options = self.options | {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
        return [word for pair in options.items() for word in pair]

    def start(self, **changed):
        """The port."""
        server = self.place.start(BIN / "proof-unlock", *self.words(**changed))
        return int(re.fullmatch(r"listening on port (\d+)\n", server.stdout.readline())[1])

    def refused(self, words, **changed):
        done = subprocess.run([BIN / "proof-unlock", *self.words(**changed)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, env=self.place.environment, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, f"^proof-unlock: .*{words}")

    def test_the_system_chooses_a_port_where_none_is_named(self):
        ports = [self.start(ledger=self.place.path(f"ledger{number}")) for number in range(2)]
        self.assertEqual(len(set(ports)), 2)
        # Those that a system chooses are no port of a known service.
        self.assertGreater(min(ports), 1023)

    def test_a_port_that_is_named_is_taken(self):
        port = free_port()
        self.assertEqual(self.start(port=str(port)), port)
        self.refused(f"port {port} of 127.0.0.1", port=str(port), ledger=self.place.path("other"))

    def test_a_proxy_may_have_any_number_of_connections(self):
        port = self.start()
        with contextlib.ExitStack() as held:
            all_of_them = []
            for _ in range(100):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                held.callback(connection.close)
                connection.connect()
                all_of_them.append(connection)
            for connection in all_of_them:
                connection.request("POST", "/", headers={"Content-Length": "0"})
                answer = connection.getresponse()
                self.assertEqual((answer.status, answer.read()), (404, b"there is no such path\n"))

    def test_a_file_of_users_has_at_most_a_mebibyte(self):
        line = pathlib.Path(self.options["--users"]).read_text(encoding="ascii")
        for size in (MEBIBYTE, MEBIBYTE + 1):
            users = self.place.write("many", "\n" * (size - len(line)) + line)
            if size == MEBIBYTE:
                port = self.start(users=users)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                with contextlib.closing(connection):
                    connection.request("POST", "/unlock-grant?hardware=x",
                                       headers={"Content-Length": "0", "User-Token": "a"})
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, answer.read()), (401, b"missing\n"), "the user is known")
            else:
                self.refused("File too large", users=users)

    def test_a_key_file_has_32_bytes(self):
        for name, empty in (("issuer_key", "has 0 bytes; it must have 32"),
                            ("factory_key", "The size of the factory key is “0 bytes”; allowed: 32")):
            self.refused("File too large", **{name: self.place.write("long.key", b"k" * 33)})
            self.refused("", **{name: self.place.write("short.key", b"k" * 31)})
            self.refused(empty, **{name: self.place.write("empty.key", b"")})
