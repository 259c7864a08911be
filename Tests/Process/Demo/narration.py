# SPDX-License-Identifier: Apache-2.0

"""The words of the demonstration: its acts, the details of a line, and the table at its end."""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import unittest

from demonstration import BIN, PATIENCE, ROOT, Stage

sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from recorded_waits import RecordedWaits  # noqa: E402

LOCK_ACTS = ["Online, once", "Offline: service and backend are stopped", "The owner lends, offline",
             "Attacks on the link", "Attacks on the app", "Stolen goods", "A bad radio", "An update of the app",
             "An update that was registered ahead", "Sealed commands", "A copy that measures the same",
             "What the lock wrote down"]
SHOP_ACTS = ["A shop, and an app that proves each request",
             "Attacks on requests, by a thief who has all that the shop received",
             "Attacks on events, by the same thief", "A proxy that the phone trusts, and a restart",
             "An app that is not the one that was published"]
PROLOGUES = ["A lock opens for one app on one phone, without any network.",
             "A shop's API serves only requests that the shop's app proves,"]

# The port is one that was free, and none of a known service.
ADDRESS = r"127\.0\.0\.1:[1-9]\d{3,4}"
COUNTED = "the lock is (open|shut), {} done since its start"
# A piece of the line, and all of its detail.
DETAILS = [
    ("service and backend start", rf"https://{ADDRESS}, SQLite; http://{ADDRESS}"),
    ("it is measured", r"configuration of \d+ bytes, token of \d+, generation 1"),
    ("kept on the phone", r"instance [0-9a-f]{32}, generation 1, 1 token"),
    ("for the first time", COUNTED.format(1)),
    ("started again", COUNTED.format(2)),
    ("power fails", COUNTED.format(1)),
    ("guest's phone tries to open", "the app is told: .+"),
    ("lends it two openings", r"[1-9]\d* characters, as a QR code"),
    ("opens twice", "2 uses are left"),
    ("carries the order", r"[1-9]\d* bytes"),
    ("over a bad radio",
     r"[1-9]\d* links, packets \d+ lost, \d+ twice, \d+ late, \d+ damaged, \d+ cut short"),
    ("service and shop start", rf"https://{ADDRESS}; https://{ADDRESS}, its gate's key is its own"),
    ("asks for the prices", "the app is told 200: ring 90000, tea 300"),
    ("the app buys tea", "the app is told 200: done"),
    ("redeems a voucher", "the app is told 200: done"),
    ("the same once more", "the thief is told: 401 .+"),
    ("he changes the body", "the thief is told: 401 .+"),
]

# The shares of a step's time, as its line and as the table name them.
SHARES = {"measuring": "measure", "cryptography": "crypto", "link": "link", "network": "net"}


def acts(lines):
    """The acts in their order."""
    return list(dict.fromkeys(line["act"] for line in lines))


def check_details(case, lines):
    rest = iter(lines)
    for piece, detail in DETAILS:
        line = next((line for line in rest if piece in line["what"]), None)
        case.assertIsNotNone(line, piece)
        case.assertRegex(line["detail"], f"^{detail}$", line["what"])


def check_decimals(case, output):
    """Each time in JSON has three decimals."""
    numbers = re.findall(r'^ +"(?:total|measuring|cryptography|link|network)": ([^,\n]+),?$', output, re.M)
    case.assertGreater(len(numbers), 100)
    for number in numbers:
        case.assertRegex(number, r"^\d+\.\d{3}$")


def check_colours(case, text):
    """The table's header is bold, and of a row the first cell has the colour of its outcome."""
    lines = text.splitlines()
    head = next(index for index, line in enumerate(lines) if "what was done" in line)
    cells = re.findall("\x1b\\[1m([^\x1b]*)\x1b\\[0m", lines[head])
    case.assertEqual([cell.strip() for cell in cells],
                     ["", "what was done", "what happened", "ms", *SHARES.values()])
    rows = lines[head + 1:lines.index("", head)]
    for row in rows:
        case.assertRegex(row, "^\x1b\\[(32mok    |31mFAILED)\x1b\\[0m  [^\x1b]+$")
    case.assertEqual({row[5:11] for row in rows}, {"ok    ", "FAILED"})


def notes(text):
    """Mark, line, and the time's note of each line that was told before the table."""
    found = []
    for line in re.split(r"\n\n +what was done", text)[0].splitlines():
        if re.match("(ok    |FAILED) ", line):
            found.append([line[:6].strip(), line[7:], None])
        elif (timed := re.fullmatch(r" {7}(\d+) ms: (.*)", line)) and found:
            shares = [share.split(" ", 1) for share in timed[2].split(", ") if share]
            found[-1][2] = (timed[1], dict(shares))
    return found


def check_table(case, text):
    """The table has each line once more, with the same time and the same shares of it."""
    told = notes(text)
    table = text.splitlines()
    head = next(index for index, line in enumerate(table) if line.lstrip().startswith("what was done"))
    header = table[head]
    case.assertEqual(header.split("  ")[-1].strip(), "net")
    ends = {name: header.index(f" {name}") + len(name) + 1 for name in ("ms", *SHARES.values())}
    rows = table[head + 1:head + 1 + len(told)]
    case.assertEqual(table[head + 1 + len(told)], "")
    for row, (mark, line, time) in zip(rows, told):
        case.assertEqual(row.split()[0], mark)
        milliseconds, shares = time or (None, {})
        words = row[:ends["ms"]]
        if time:
            case.assertRegex(words, f"  {milliseconds}$")
            words = words.removesuffix(milliseconds)
        case.assertEqual(": ".join(re.split(" {2,}", words.strip())[1:]), line)
        begin = ends["ms"]
        for name, column in SHARES.items():
            case.assertEqual(row[begin:ends[column]].strip(), shares.get(name, ""), row)
            begin = ends[column]
        if milliseconds not in (None, "0"):
            numbers = [float(share.removesuffix(" %")) for share in shares.values()]
            case.assertAlmostEqual(sum(numbers), 100, delta=3, msg=row)
        for share in shares.values():
            case.assertRegex(share, r"^(0\.\d|1\.0|[1-9]\d*) %$")


class Narration(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def test_the_seed_is_5_if_missing_and_any_number_of_64_bits(self):
        path = self.stage.environment["PATH"]
        self.stage.environment["PATH"] = self.stage.folder
        for words, seed in (([], "5"), (["--seed", "0"], "0"), (["--seed", str(2**64 - 1)], str(2**64 - 1))):
            status, output, errors = self.stage.play("--json", *words)
            told = json.loads(output)
            self.assertEqual((status, list(told)), (1, ["ok", "seed", "failure", "lines"]))
            self.assertEqual((told["ok"], told["seed"], told["lines"]), (False, seed, []))
            self.assertEqual(errors, f"proof-demo: {told['failure']}\n")
        for seed in ("-1", str(2**64), "x"):
            self.assertEqual(self.stage.play("--seed", seed), (
                2, "", f"proof-demo: --seed is {seed}; it takes a whole number from 0; --help tells more\n"))
        self.stage.environment["PATH"] = path
        self.assertEqual(self.stage.left_behind(), [])

    def test_help_names_the_options_of_each_program(self):
        for words, options in (
                ([], ("--json", "--seed N", "--slow", "--act N", "--hardware PROGRAM", "--prepare FOLDER")),
                (["app"], ("--home FOLDER", "--socket PATH", "--shop", "--json")),
                (["attack"], ("--socket PATH", "--listen PATH", "--replace COMMAND", "--in-channel", "--sign"))):
            status, text, errors = self.stage.play(*words, "--help")
            self.assertEqual((status, errors), (0, ""))
            for option in options:
                self.assertRegex(text, rf"(?m)^  {option}  ")
            self.assertRegex(self.stage.play(*words, "--version")[1], r"^proof-demo \d+\.\d+\.\d+\n$")
            self.assertEqual(self.stage.play(*words, "--none"), (
                2, "", f"{' '.join(['proof-demo', *words])}: unknown argument: --none; --help tells more\n"))

    def test_a_line_that_fails_is_told_with_what_it_must_be_and_ends_the_story(self):
        lock = pathlib.Path(self.stage.folder) / "program"
        lock.write_text(
            "#!/bin/sh\n"
            "for word; do case $word in */provisioning) sed -i 's/^issuer = .*/issuer = "
            f"{'ab' * 32}/' \"$word\" ;; esac; done\n"
            f"exec '{BIN}/proof-hardware' \"$@\"\n")
        lock.chmod(0o755)
        self.addCleanup(lock.unlink)
        status, text, errors = self.stage.play("--hardware", str(lock))
        ends = "the rest of the story builds on this; it ends here"
        self.assertEqual((status, errors), (1, f"proof-demo: {ends}\n"))
        self.assertTrue(text.startswith(PROLOGUES[0]), text)
        told = notes(text)
        failed = [line for mark, line, _ in told if mark == "FAILED"]
        first = "the app opens the lock, for the first time: ask the backend: not signed"
        self.assertIn(f"{first}, and it must be: accepted", failed)
        self.assertIn(f"\n{len(failed)} of {len(told)} lines did not end as they must (seed 5)\n", text)
        headings = [line for line in text.splitlines() if line in LOCK_ACTS + SHOP_ACTS]
        self.assertEqual(headings, LOCK_ACTS[:2])
        check_table(self, text)

    def test_a_slow_story_pauses_for_2_seconds_before_each_line(self):
        lock = pathlib.Path(self.stage.folder) / "program"
        lock.write_text(f"#!/bin/sh\ncase $* in *--provision*) exec '{BIN}/proof-hardware' \"$@\" ;; esac\nexit 7\n")
        lock.chmod(0o755)
        self.addCleanup(lock.unlink)
        folder = tempfile.mkdtemp(prefix="w")
        self.addCleanup(shutil.rmtree, folder)
        before = dict(self.stage.environment)
        self.addCleanup(setattr, self.stage, "environment", before)
        for words, seconds in ((["--slow"], [2.0, 2.0]), ([], [])):
            waits = RecordedWaits(folder, sleeps=1000)
            waits.file.unlink(missing_ok=True)
            self.stage.environment = before | waits.environment
            told = json.loads(self.stage.play("--json", "--hardware", str(lock), *words)[1])
            # Threads that spin ask for sleeps of less than a millisecond.
            pauses = [pause for pause in waits.sleeps() if pause > 0.5]
            self.assertEqual((len(told["lines"]), pauses), (2, seconds))

    def test_a_step_that_cannot_be_played_is_a_line_with_the_reason(self):
        lock = pathlib.Path(self.stage.folder) / "program"
        lock.write_text(f"#!/bin/sh\ncase $* in *--provision*) exec '{BIN}/proof-hardware' \"$@\" ;; esac\n"
                        "echo no power >&2; exit 7\n")
        lock.chmod(0o755)
        self.addCleanup(lock.unlink)
        status, output, errors = self.stage.play("--json", "--hardware", str(lock))
        told = json.loads(output)
        line = told["lines"][-1]
        self.assertEqual((status, told["ok"], len(told["lines"])), (1, False, 2))
        self.assertEqual(list(line), ["act", "what", "expected", "happened", "ok", "detail", "milliseconds"])
        self.assertEqual((line["act"], line["happened"], line["expected"], line["ok"], line["milliseconds"]),
                         ("Online, once", "could not be played", "listening", False, None))
        # The output may end before the process has.
        state = "(is running|ended with status 7)"
        self.assertRegex(line["detail"],
                         rf'^proof-hardware did not say "listening"; it {state}\. It said:\n  no power$')
        self.assertEqual((told["failure"], errors), (line["detail"], f"proof-demo: {line['detail']}\n"))

    def test_a_program_that_fails_is_told_with_its_last_words(self):
        lock = pathlib.Path(self.stage.folder) / "program"
        lock.write_text("#!/bin/sh\nfor word in 1 2 3 4 5 6 7 8 9; do echo line $word >&2; done\nexit 7\n")
        lock.chmod(0o755)
        self.addCleanup(lock.unlink)
        status, output, errors = self.stage.play("--json", "--hardware", str(lock))
        said = "".join(f"\n  line {number}" for number in (6, 7, 8, 9))
        self.assertEqual(status, 1)
        command = rf"{re.escape(str(lock))} --flash \S+/lock/flash"
        self.assertRegex(errors, rf"^proof-demo: {command} ended with status 7{said}\n$")
        self.assertEqual(json.loads(output)["lines"], [])
        # A process of the story that ends is told with its last six lines.
        lock.write_text(f"#!/bin/sh\ncase $* in *--provision*) exec '{BIN}/proof-hardware' \"$@\" ;; esac\n"
                        "for word in 1 2 3 4 5 6 7 8 9; do echo line $word >&2; done\nexit 7\n")
        told = json.loads(self.stage.play("--json", "--hardware", str(lock))[1])
        said = "".join(f"\n  line {number}" for number in range(4, 10))
        self.assertTrue(told["failure"].endswith(f" It said:{said}"), told["failure"])

    def test_a_hang_up_of_the_terminal_ends_it(self):
        process = self.stage.start("--act", "2")
        for line in process.stdout:
            if "shop start" in line:
                break
        process.send_signal(signal.SIGHUP)
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP)
        self.assertNotIn("FAILED", output)
        self.assertEqual(self.stage.left_behind(), [])
        self.assertEqual(os.listdir(self.stage.folder), [])
