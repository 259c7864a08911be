#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Skips the instructions of the verdict path one by one, and expects that no refused command is done for it.

    run.py                    each instruction, at -O2, of commands, of a third of the sealed ones, of some in channels
                              and about grants, and of one forged token; and the planted faults
    run.py --long             each instruction and each adjacent pair, at -O2 and at -Os, of every sealed command,
                              channel, grant and token as well
    run.py --every            in every call of hash, cipher and curve arithmetic, not in the first alone
    run.py --scenario NAME    one message only, nothing planted; may stand several times
    run.py --log FILE         also writes each survivor there: level, mode, message, result, address, step, place

A survivor is an attempt after which the device did the command, or the app believes that it did. Without the core's
second look, or without its first, there are survivors: the walk must find some, and gdb, which plays one of them again
(replay.py), must see the same. The last line counts walks (one message, one level, one mode) and planted faults.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from planting import planted  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CORE = ROOT / "CSources" / "ProofCore"
TESTS = HERE.parents[1] / "Unit" / "ProofCoreTests"
OUT = ROOT / ".build" / "faults"
CC = os.environ.get("CC", "cc")
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
TARGET = [HERE / name for name in ("target.c", "sealed_target.c", "grant_target.c", "channel_target.c", "device.c",
                                   "gadget.S")]
WORLD = [TESTS / name for name in ("world.c", "flash.c", "forge.c", "harness.c")]
# The messages of the quick form: all commands in the clear; of the tokens and of the sealed commands, which take up to
# a million steps each, these. The token of suite 1 is refused by its header, and a sealed replay before its box.
QUICK = ("token-stranger", "token-suite-1", "sealed-changed-app", "sealed-altered", "sealed-replay-later",
         "sealed-key-replaced", "sealed-class-device", "sealed-demanded", "sealed-copied", "sealed-right-then-replayed",
         "grant-altered", "grant-wider", "grant-serial", "grant-takes-back", "lent-spent", "lent-owner-revoked",
         "channel-class-integrity", "channel-altered", "channel-replay", "channel-not-permitted", "channel-no-uses",
         "channel-right-then-replayed")
# The instruction's bytes are not shown, so that each line is one instruction.
LINE = re.compile(r"^ +([0-9a-f]+):\t(.*)$")
SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
ARITHMETIC = re.compile(r"SHA(256|512)_Transform|sha256_compress|25519|ladder|blake2b|poly1305|salsa|mainloop|"
                        r"slide_vartime|crypto_core", re.IGNORECASE)
COUNTS = ("attempts", "refused", "otherwise", "crashed", "endless", "opened", "told")

# Defence taken out, the message that must come through then, and how, if not by being done.
PLANTED = [
    ("the second look", "changed-app", "verifier_judgement.c",
     "review = pfc_review_command(verifier, session, index, judged, message, size, verdict SEAL_ARGUMENT(seal));",
     "review = PFC_REVIEW_PASSED;\n    (void)message, (void)size, (void)seal;"),
    ("the second look at a token", "token-development", "verifier_admission.c",
     "uint32_t review = pfc_review_token(verifier, index, message, size, &token);",
     "uint32_t review = PFC_REVIEW_PASSED;"),
    ("the first look at the device proof", "stranger", "verifier_judgement.c",
     "if (check_proof(command->device_proof, slot->secrets.device_key, answered, slot->secrets.device) != PFC_OK) {",
     "if (0) {"),
    ("the second look at a sealed command", "sealed-changed-app", "verifier_judgement.c",
     "review = pfc_review_command(verifier, session, index, judged, message, size, verdict SEAL_ARGUMENT(seal));",
     "review = PFC_REVIEW_PASSED;\n    (void)message, (void)size, (void)seal;"),
    ("the first look at what must be sealed", "sealed-demanded", "verifier_judgement.c",
     "if (is_too_open(slot, command)) return PFC_VERDICT_NOT_PERMITTED;", ""),
    ("the second look at a grant", "grant-altered", "verifier_grant.c",
     "  review = pfc_review_grant(verifier, met->owner, met->member, message, size);\n",
     "  (void)message, (void)size;\n  review = PFC_REVIEW_PASSED;\n"),
    ("the look at what *done* tells", "grant-takes-back", "verifier_grant.c",
     "  if (verdict == PFC_VERDICT_DONE && !is_done(verifier, &met)) verdict = PFC_VERDICT_FAULT;\n",
     "  (void)is_done;\n", "told"),
    ("the first look at a loan", "lent-over", "verifier_grant.c",
     "  if (!verifier->grants.on || !is_own(verifier, index)) return 0;\n  if (is_over(verifier, row)) return 0;\n",
     "  if (!verifier->grants.on || !is_own(verifier, index)) return 0;\n"),
    ("the second look at a command of a channel", "channel-class-integrity", "verifier_judgement.c",
     "      review = pfc_review_channel(verifier, index, message, size, verdict, seal);\n",
     "      review = PFC_REVIEW_PASSED;\n"),
    ("the first look at a channel", "channel-not-permitted", "verifier_channel_up.c",
     "slot->state != PFC_SLOT_HELD || (slot->policy & PFC_POLICY_CHANNEL) == 0", "slot->state != PFC_SLOT_HELD"),
    ("the look whether the channel was taken", "channel-recalled", "verifier_channel_up.c",
     "  if (session->channel.next != 0) {\n    pfc_channel_end(session);\n    return PFC_VERDICT_FAULT;\n  }\n", ""),
    ("the second look at a sealed answer", "channel-class-integrity", "verifier_sealed.c",
     "if (answer_difference(&answer, outcome->verdict, next, outcome->reply, down) != 0) {",
     "if (0 * answer_difference(&answer, outcome->verdict, next, outcome->reply, down) != 0) {", "told"),
]
OPENED = 42  # fault.h


class Target:
    """The program at one level of optimisation, and the table of its instructions."""

    def __init__(self, level, core=CORE, name=None):
        self.level, folder = level, OUT / (name or level)
        folder.mkdir(parents=True, exist_ok=True)
        self.walker, self.program, self.table = folder / "walk", folder / "target", folder / "table"
        subprocess.run([CC, *WARNINGS, "-O2", "-D_GNU_SOURCE", "-o", self.walker, HERE / "walk.c"], check=True)
        # Static and at fixed addresses: libsodium and the C library are walked through as well.
        subprocess.run([CC, *WARNINGS, f"-{level}", "-g", "-static", "-no-pie", f"-I{core / 'include'}",
                        f"-I{TESTS}", "-o", self.program, *TARGET, *WORLD,
                        *sorted(core.glob("*.c")), "-lsodium"], check=True)
        self._disassemble()

    def _disassemble(self):
        text = self._output("objdump", "-d", "--no-show-raw-insn", self.program)
        addresses, name, self.symbols = [], "", {}
        for line in text.splitlines():
            if found := SYMBOL.match(line):
                name = found[2]
                self.symbols[name] = found[1]
            elif found := LINE.match(line):
                addresses.append((int(found[1], 16), 1 if ARITHMETIC.search(name) else 0))
        addresses.sort()
        with open(self.table, "w", encoding="ascii") as file:
            for (address, flags), (after, _) in zip(addresses, addresses[1:] + [(addresses[-1][0] + 1, 0)]):
                file.write(f"{address:x} {min(after - address, 15):x} {flags:x}\n")

    @staticmethod
    def _output(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def scenarios(self, options):
        return [name for name in self._output(self.program, "--list").split()
                if (name in options.scenario if options.scenario else
                    options.long or name in QUICK or
                    not name.startswith(("token-", "sealed-", "grant-", "lent-", "channel-")))]

    def walk(self, mode, depth, scenario):
        """The counts, and (address, result, step) of each survivor."""
        marks = [self.symbols[name] for name in ("walk_begin", "walk_end", "fault_gadget")]
        done = subprocess.run([self.walker, self.table, *marks, mode, depth, self.program, scenario],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"faults: {scenario}: {done.stderr.strip()}")
        counts = dict(zip(COUNTS, map(int, re.findall(r" (\d+)", done.stdout.splitlines()[-1]))))
        return counts, re.findall(r"^reached ([0-9a-f]+) (\w+) (\d+)$", done.stdout, re.MULTILINE)

    def place(self, address):
        function, line = self._output("addr2line", "-s", "-f", "-e", self.program, address).splitlines()[:2]
        return f"{function} {line.split(' ')[0]}"

    def replay(self, mode, scenario, step):
        """The exit status that gdb sees."""
        environment = {**os.environ, "FAULT_STEP": step, "FAULT_SKIP": "2" if mode == "pair" else "1"}
        command = ["gdb", "-q", "-nx", "-batch", "-x", HERE / "replay.py", "--args", self.program, scenario]
        text = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
        found = re.search(r"^exit status (\d+)$", text, re.MULTILINE)
        return int(found[1]) if found else -1


def words(counts):
    return " ".join(f"{name} {counts[name]}" for name in COUNTS)


def walk_all(target, mode, depth, scenarios, log):
    """How many messages came through nowhere, and how many did somewhere."""
    total, passed, failed = dict.fromkeys(COUNTS, 0), 0, 0
    for scenario in scenarios:
        counts, reached = target.walk(mode, depth, scenario)
        for name in COUNTS:
            total[name] += counts[name]
        print(f"{target.level} {mode:6} {scenario:26} {words(counts)}", flush=True)
        for address, result, step in reached:
            line = f"{target.level} {mode} {scenario} {result} {address} {step} {target.place(address)}"
            print(line if log else f"  {line}", file=log or sys.stdout, flush=True)
        passed, failed = passed + (not reached), failed + bool(reached)
    print(f"{target.level} {mode:6} {'all':26} {words(total)}", flush=True)
    return passed, failed


def plant(what, scenario, file, old, new, how="opened"):
    """Whether the walk, and gdb after it, find a way through a core without this."""
    core = OUT / "planted" / "ProofCore"
    shutil.rmtree(core, ignore_errors=True)
    shutil.copytree(CORE, core)
    (core / file).write_text(planted((core / file).read_text(encoding="utf-8"), old, new, file), encoding="utf-8")
    target = Target("O2", core, "planted")
    counts, reached = target.walk("single", "once", scenario)
    through = [(address, step) for address, result, step in reached if result == how]
    # The last one: the earlier ones lie where both programs are the same.
    seen = target.replay("single", scenario, through[-1][1]) if through and how == "opened" else -1
    print(f"planted: without {what}, {scenario}: {words(counts)}")
    if how == "told":
        # One place alone, behind half a million steps, of which gdb counts some more or fewer: it cannot find it again.
        return bool(through)
    if through:
        print(f"planted: gdb ends with {seen} after skipping {target.place(through[-1][0])}")
    return seen == OPENED


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--log")
    options = parser.parse_args()
    if platform.machine() != "x86_64":
        sys.exit("faults: walk.c steps through x86-64 instructions and no others")
    passed = failed = 0
    log = open(options.log, "w", encoding="ascii") if options.log else None
    for level in ("O2", "Os") if options.long else ("O2",):
        target = Target(level)
        for mode in ("single", "pair") if options.long else ("single",):
            good, bad = walk_all(target, mode, "every" if options.every else "once", target.scenarios(options), log)
            passed, failed = passed + good, failed + bad
    for fault in [] if options.scenario else PLANTED:
        found = plant(*fault)
        passed, failed = passed + found, failed + (not found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
