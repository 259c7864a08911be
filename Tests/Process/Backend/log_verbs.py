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


def as_table(rows):
    """Rows for people: the number of an entry and its counter stand at the right of their columns."""
    rows = [["entry", "event", "what", "instance", "not before", "counter"], *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) if column in (0, 5) else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells) + "\n")
    return "".join(lines)


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

    def test_each_kind_of_entry_is_told_in_words(self):
        lock, _ = self.make_lock()
        when, shown_time = 1_700_000_000, "2023-11-14T22:13:20Z"
        for content in (
                log.Content(log.NOTE, flags=log.STARTED, who=bytes((1, 2, 3, 255)), epoch=when, counter=4),
                log.Content(log.COMMAND, verdict=1, cls=15, kind=1, who=WHO, epoch=when, counter=4_294_967_295),
                log.Content(log.NOTE, undone=1), log.Content(log.TOKEN, verdict=3, cls=1, kind=2, who=WHO, epoch=when),
                log.Content(log.ORDER, verdict=4, kind=2, who=WHO), log.Content(log.GRANT, verdict=1, kind=1, who=WHO),
                log.Content(log.GRANT, verdict=1, kind=2, who=bytes(3) + b"\1"),
                log.Content(log.COMMAND, verdict=250, cls=0, kind=2), log.Content(log.NOTE)):
            lock.write(content)
        lock.refused, lock.started = bytes((0, 1, 0, 2)), 0
        shown, text = self.judged(0, lock, self.keep(lock.part(0, 9)))
        self.assertEqual((shown["next"], shown["oldest"], shown["read"]), (9, 0, 9))
        self.assertNotIn("fresh", shown)
        nothing = {"started": False, "undone": 0, "refusedCommands": 0, "refusedTokens": 0, "refusedMessages": 0,
                   "refusedBusy": 0}
        self.assertEqual(shown["sinceThen"], nothing | {"refusedTokens": 1, "refusedBusy": 2})

        def entry(number, event, **more):
            return {"number": number, "event": event, "notBefore": 0, "counter": 0} | more

        def judged(number, event, verdict, name, who=WHO.hex(), **more):
            return entry(number, event, verdict=verdict, verdictName=name, instanceBegins=who, **more)

        self.assertEqual(shown["entries"], [
            entry(0, "note", notBefore=when, counter=4, note={
                "started": True, "undone": 0, "refusedCommands": 1, "refusedTokens": 2, "refusedMessages": 3,
                "refusedBusy": 255}),
            judged(1, "command", 1, "accepted", notBefore=when, counter=4_294_967_295, kind=1, happened=False,
                   **{"class": 15}),
            entry(2, "note", note=nothing | {"undone": 1}),
            judged(3, "token", 3, "held", notBefore=when), judged(4, "order", 4, "order done", type=2),
            judged(5, "grant", 1, "accepted", takesBack=False),
            judged(6, "grant", 1, "accepted", "00000001", takesBack=True),
            {name: value for name, value in judged(7, "command", 250, None, "00000000", kind=2,
                                                   **{"class": 0}).items() if value is not None},
            entry(8, "note", note=nothing)])
        self.assertEqual(text, as_table([
            ["0", "note", "started; refused 1 commands, 2 tokens or orders, 3 messages, 255 or more messages over the"
             " limit", "", shown_time, "4"],
            ["1", "command", "did not happen: class 15, kind 1: accepted", WHO.hex(), shown_time, "4294967295"],
            ["2", "note", "entries before that did not happen: 1", "", "", "0"],
            ["3", "token", "held", WHO.hex(), shown_time, "0"],
            ["4", "order", "type 2: order done", WHO.hex(), "", "0"],
            ["5", "grant", "lends: accepted", WHO.hex(), "", "0"],
            ["6", "grant", "takes back: accepted", "00000001", "", "0"],
            ["7", "command", "class 0, kind 2: verdict 250", "", "", "0"],
            ["8", "note", "", "", "", "0"]])
            + "entry 1: did not happen: the power was cut before they were carried out\n"
            "since the last entry: refused 1 tokens or orders, 2 messages over the limit\n"
            "whole: 9 entries read, and the log ended before entry 9\n")

    def test_a_log_of_one_entry_and_one_of_none(self):
        lock, _ = self.make_lock()
        shown, text = self.judged(0, lock, self.keep(lock.part(0, 0)))
        self.assertEqual((shown["entries"], shown["read"], shown["next"]), ([], 0, 0))
        self.assertEqual(text, "no entry\nwhole: 0 entries read, and the log ended before entry 0\n")
        lock.command(7)
        files = self.keep(lock.part(0, 1))
        _, text = self.judged(0, lock, files, "--nonce", NONCE.hex())
        self.assertTrue(text.endswith("\nwhole: 1 entry read, and the log ended before entry 1\n"), text)
        self.judged(0, lock, files, "--steps", "1")
        # As many steps as the first entry's number lead to it.
        lock.command(8)
        shown, _ = self.judged(0, lock, self.keep(lock.part(1, 1)), "--from", "1", "--steps", "1")
        self.assertEqual(([entry["number"] for entry in shown["entries"]], shown["next"]), ([1], 2))
        self.refused(2, "--from 2 takes more than 1 key steps; raise --steps", "log", "show", *files, "--hardware",
                     lock.identity.hex(), "--from", "2", "--steps", "1")

    def test_the_part_that_answers_the_nonce_tells_what_came_since(self):
        lock, _ = self.make_lock()
        lock.command(1)
        lock.refused = bytes((1, 0, 0, 0))
        first = lock.part(0, 1, NONCE)
        lock.refused = bytes((2, 0, 0, 0))
        files = self.keep(first, lock.part(0, 1, OWN))
        for order in (files, files[::-1]):
            for nonce, count in ((NONCE, 1), (OWN, 2)):
                shown, text = self.judged(0, lock, order, "--nonce", nonce.hex())
                self.assertEqual((shown["fresh"], shown["sinceThen"]["refusedCommands"]), (True, count))
                self.assertIn(f"since the last entry: refused {count} commands\n", text)

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
