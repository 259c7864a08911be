# SPDX-License-Identifier: Apache-2.0

"""The verbs that read the hardware's log, wherever the account is. The second implementation writes the log."""

import json
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "Vectors")]
from proofspec import log  # noqa: E402

NONCE, OWN = bytes(range(1, 17)), bytes(range(17, 33))
WHO = bytes.fromhex("27753024")


class Lock:
    """A log as hardware keeps it."""

    def __init__(self, identity, drawn):
        self.identity, self.key, self.entries = identity, log.first_key(drawn, identity), []
        self.started, self.refused, self.undone = 0, bytes(4), 0

    def write(self, content):
        number = len(self.entries)
        self.entries.append(log.seal(log.steps(self.key, number), number, self.identity, content))

    def command(self, counter, verdict=1):
        self.write(log.Content(log.COMMAND, verdict=verdict, cls=2, kind=1, who=WHO, epoch=1_700_000_000,
                               counter=counter))

    def part(self, first, count, nonce=NONCE, oldest=0):
        message = log.Log(first, oldest, len(self.entries), self.refused, self.started, self.undone,
                          tuple(self.entries[first:first + count]))
        return nonce + message.encoded(log.steps(self.key, len(self.entries)), nonce)


class LogVerbs:
    """Joins `Verbs`, which has `ask` and `refused`."""

    def make_lock(self):
        name = self.place.path(f"{type(self).__name__}.{os.urandom(4).hex()}")
        made = self.ask("hardware", "new", "--output", name + ".key", "--factory-secret", name)
        return Lock(bytes.fromhex(made["id"]), pathlib.Path(name).read_bytes()), name

    def keep(self, *parts):
        """Files as phones sent them."""
        return [self.place.write(f"{os.urandom(8).hex()}.part", part) for part in parts]

    def judged(self, status, lock, files, *flags):
        """Answers of `log show`, in JSON and for people; `log verify` ends with the same status."""
        where = ["--hardware", lock.identity.hex(), *flags]
        where += ["--store", str(self.place.store)] if self.where is None else self.where
        code, output, errors = self.place.run("log", "show", *files, "--json", where=where)
        self.assertEqual(code, status, errors)
        code, text, errors = self.place.run("log", "show", *files, where=where)
        self.assertEqual((code, errors), (status, ""))
        shown = json.loads(output)
        code, output, errors = self.place.run("log", "verify", *files, "--json", where=where)
        verified = json.loads(output)
        self.assertEqual((code, verified), (status, {k: v for k, v in shown.items() if k != "entries"}))
        self.assertEqual(self.place.run("log", "verify", *files, where=where)[0], status)
        return shown, text

    def test_a_log_that_is_whole(self):
        lock, name = self.make_lock()
        lock.write(log.Content(log.NOTE, flags=log.STARTED, who=bytes((3, 0, 0, 255)), epoch=1_700_000_000))
        lock.write(log.Content(log.TOKEN, verdict=3, who=WHO, epoch=1_700_000_000))
        for counter in range(10):
            lock.command(counter)
        lock.write(log.Content(log.ORDER, verdict=4, kind=2, who=WHO))
        files = self.keep(lock.part(9, 4), lock.part(0, 9), lock.part(0, 9), lock.part(3, 9))
        shown, text = self.judged(0, lock, files)
        self.assertEqual((shown["outcome"], shown["next"], shown["findings"], shown["refused"]), ("whole", 13, [], []))
        self.assertEqual([entry["number"] for entry in shown["entries"]], list(range(13)))
        self.assertEqual(shown["entries"][0]["note"]["refusedCommands"], 3)
        self.assertEqual({**shown["entries"][3]}, {
            "number": 3, "event": "command", "notBefore": 1_700_000_000, "counter": 1, "verdict": 1,
            "verdictName": "accepted", "instanceBegins": WHO.hex(), "class": 2, "kind": 1})
        self.assertEqual((shown["entries"][12]["event"], shown["entries"][12]["type"]), ("order", 2))
        for words in ("started; refused 3 commands, 255 or more messages over the limit", "class 2, kind 1: accepted",
                      "27753024", "2023-11-14T22:13:20Z", "type 2: order done", "whole: 13 entries read"):
            self.assertIn(words, text)
        # The secret itself opens it without an account, and a backend's key file opens the sealed one.
        for flags in (["--factory-secret", name], ["--nonce", NONCE.hex()], ["--from", "0", "--steps", "5000"]):
            self.assertEqual(self.judged(0, lock, files, *flags)[0]["entries"], shown["entries"])
        self.ask("hardware", "factory-key", "--output", name + ".opener")
        self.judged(0, lock, files, "--factory-key", name + ".opener")
        self.assertEqual(self.place.run("log", "show", *files, "--hardware", lock.identity.hex(), "--factory-secret",
                                        name, where=[])[0], 0)
        later = self.judged(0, lock, self.keep(lock.part(9, 4)), "--from", "9")[0]
        self.assertEqual([entry["number"] for entry in later["entries"]], [9, 10, 11, 12])

    def test_entries_that_no_phone_brought(self):
        lock, _ = self.make_lock()
        for counter in range(40):
            lock.command(counter)
        files = self.keep(lock.part(20, 9, oldest=10), lock.part(33, 2, oldest=10))
        shown, text = self.judged(3, lock, files)
        self.assertEqual(shown["findings"], [
            {"kind": "overwritten", "first": 0, "count": 10}, {"kind": "missing", "first": 10, "count": 10},
            {"kind": "missing", "first": 29, "count": 4}, {"kind": "missing", "first": 35, "count": 5}])
        self.assertIn("entries 35 to 39: missing", text)
        # Parts of an earlier fetch: their log ended earlier, and that is no alarm.
        old = Lock(lock.identity, bytes(32))
        old.key, old.entries = lock.key, lock.entries[:20]
        files += self.keep(old.part(11, 9), old.part(10, 9))
        shown, _ = self.judged(3, lock, files)
        self.assertEqual([finding["first"] for finding in shown["findings"]], [0, 29, 35])

    def test_what_only_the_hardware_can_tell(self):
        lock, _ = self.make_lock()
        for counter in range(3):
            lock.command(counter)
        lock.entries.append(os.urandom(32))
        lock.undone, lock.started = 2, 1
        shown, text = self.judged(0, lock, self.keep(lock.part(0, 4)))
        self.assertEqual([(one["kind"], one["first"]) for one in shown["findings"]], [("undone", 2), ("torn", 3)])
        self.assertEqual([entry.get("happened", True) for entry in shown["entries"]], [True, True, False])
        self.assertIn("did not happen: class 2", text)
        self.assertIn("since the last entry: started", text)

    def test_a_log_that_was_altered(self):
        lock, _ = self.make_lock()
        for counter in range(3):
            lock.command(counter)
        before = Lock(lock.identity, bytes(32))
        before.key, before.entries = lock.key, list(lock.entries)
        changed = Lock(lock.identity, bytes(32))
        changed.key, changed.entries = lock.key, [lock.entries[0], bytes(32), lock.entries[2]]
        shown, text = self.judged(4, lock, self.keep(changed.part(0, 3)))
        self.assertEqual(shown["findings"], [{"kind": "changed", "first": 1, "count": 1}])
        self.assertIn("CHANGED", text)
        # Flash that was put back: two entries of one number, or an end before the one that was known.
        before.entries[2:] = []
        before.command(9)
        before.command(10)
        shown, text = self.judged(4, lock, self.keep(lock.part(0, 3), before.part(0, 4)))
        self.assertEqual(shown["findings"], [{"kind": "forked", "first": 2, "count": 1}])
        self.assertIn("FORKED", text)
        before.entries[2:] = []
        files = self.keep(lock.part(0, 3), before.part(0, 2, OWN))
        self.assertEqual(self.judged(0, lock, files)[0]["findings"], [])
        shown, text = self.judged(4, lock, files, "--nonce", OWN.hex())
        self.assertEqual((shown["findings"], shown["fresh"]), ([{"kind": "shorter", "first": 2, "count": 1}], True))
        self.assertIn("SHORTER", text)

    def test_files_that_say_nothing(self):
        lock, name = self.make_lock()
        lock.command(1)
        right, = self.keep(lock.part(0, 1))
        other = Lock(lock.identity, os.urandom(32))
        other.command(1)
        forged, cut = self.keep(other.part(0, 1), lock.part(0, 1)[:-1])
        shown, text = self.judged(0, lock, [forged, right, cut])
        self.assertEqual([(one["file"], one["code"]) for one in shown["refused"]], [(cut, "PROOF-19"),
                                                                                  (forged, "PROOF-26")])
        self.assertIn("Its head is wrong", text)
        shown, text = self.judged(3, lock, [right], "--nonce", OWN.hex())
        self.assertEqual((shown["fresh"], shown["outcome"]), (False, "incomplete"))
        self.assertIn("No part answers the nonce", text)
        # A part of a later version, or further away than the bound: the log may go on there.
        late = bytearray(lock.part(0, 1))
        late[16 + 31] = 1
        self.assertEqual(self.judged(3, lock, [right, *self.keep(bytes(late))])[0]["refused"][0]["code"], "PROOF-20")
        for counter in range(30):
            lock.command(counter)
        shown, _ = self.judged(3, lock, [right, *self.keep(lock.part(22, 9))], "--steps", "20")
        self.assertEqual(shown["refused"][0]["code"], "PROOF-33")
        show = ["log", "show", "--hardware", lock.identity.hex()]
        self.refused(1, "No file is a part of the log.*head is wrong", *show, forged)
        self.refused(1, "No such file", *show, self.place.path("nothing"))
        self.refused(2, "FILE is missing", *show)
        self.refused(2, "--hardware", "log", "show", right)
        self.refused(2, "32 hexadecimal", *show, right, "--nonce", "07")
        self.refused(2, "takes a number", *show, right, "--from", "some")
        self.refused(2, "raise --steps", *show, right, "--from", "2000000")
        self.refused(2, "comes from the account", *show, right, where=[])
        without = self.ask("hardware", "new", "--output", name + ".without")
        self.refused(1, "hardware change .* --factory-secret", "log", "verify", "--hardware", without["id"], right)
