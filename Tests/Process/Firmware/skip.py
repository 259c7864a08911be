#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Skips the instructions of the firmware's own binary one by one while it judges, and counts what came through.

    skip.py                     each instruction, each adjacent pair, of the shipped image; and planted faults
    skip.py --short             single instructions of a choice of messages; of tokens and orders, all of what judges
                                and a share of the rest
    skip.py --scenario NAME     these alone, nothing planted; may stand several times
    skip.py --width N           1: single instructions, 2: adjacent pairs
    skip.py --seed N            what is drawn where a share is walked (1)
    skip.py --profile NAME      the image of another profile: of `symmetric`, commands and recalls; of `large`, all of
                                `full`, sealed commands and channels; with --short channels, and the sealed commands
                                whose box stays closed
    skip.py --image FILE        another image of this profile

From the last packet of a message that is to be refused until the firmware waits again, each instruction is left out
once; those of loops over bytes and of arithmetic where they come by for the first time. Tokens, orders and the sealed
commands whose box is opened take millions of instructions: of the arithmetic of curves, hashes and ciphers, which ends
in a wrong point or a wrong tag, it is one in SHARE of them, but for single instructions of one token and one order; and
of what neither judges nor is arithmetic, and is the same for all of them, it is one in SHARE but for these two and
single instructions of sealed commands.

An attempt *opened* if the device has done a command, or anything has changed that a refusal leaves as it is
(refusals.py); it *told* if the answer says a thing that is not true, with a right receipt; it *spoilt* if the verifier
is damaged without a gain for an attacker; a slot is *lost* if it is free in RAM and not in flash. The last
line counts walks.
"""

import argparse
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PORT = ROOT / "CSources" / "ports" / "cortex-m3"
sys.path[:0] = [str(HERE), str(ROOT / "Tests" / "Adversary" / "Attacker"), str(ROOT / "Tests" / "Vectors"), str(PORT)]
os.environ["PROOF_HARDWARE"] = str(PORT / "proof-firmware")

from proofspec.message import Type  # noqa: E402
from refusals import ALL, REFUSALS, SEALED, Stage  # noqa: E402
from verifier_state import BUILD, LOST  # noqa: E402

CHEAP = (Type.COMMAND, Type.RECALL, Type.SEALED_UP)
# Sealed commands whose box the hardware opens: two X25519, with the key of the next one.
BOXES = ("sealed-changed-app", "sealed-box", "sealed-not-permitted")
# Walked whole, also where the message comes in and the answer leaves, and in all their arithmetic: what a wrong point
# does to a forged signature.
WHOLE = ("token-stranger", "order-forged-floor")
SHORT = [name for name, refusal in REFUSALS.items() if refusal.type in CHEAP] + [*WHOLE, "order-replayed-floor"]
SEALED_SHORT = [name for name in SEALED if name not in BOXES]
# Refusals by judgement in an image that opens no token; with room for one tenant, it has no other's recall. Its pages
# are written elsewhere, and set no limit for challenges.
SYMMETRIC = [name for name, refusal in REFUSALS.items()
             if refusal.type in CHEAP and not refusal.provision and name != "recall-of-another"]
# All messages, and the choice of --short.
NAMES = {"full": (list(REFUSALS), SHORT), "large": (list(ALL), SEALED_SHORT), "symmetric": (SYMMETRIC, SYMMETRIC)}
SHARE = 25
# An attempt that takes more instructions counts as endless: untouched they take a third at most, also those that come
# through.
ENDLESS = {Type.COMMAND: 400_000, Type.RECALL: 400_000, Type.TOKEN: 16_000_000, Type.ORDER: 9_000_000,
           Type.SEALED_UP: 600_000}
ENDLESS_BOX = 10_000_000


@dataclasses.dataclass(frozen=True)
class Subject:
    """Subject of the walk: an image, and its sources."""

    image: pathlib.Path
    profile: str = "full"
    sources: pathlib.Path = ROOT / "CSources"


@dataclasses.dataclass
class Counts:
    attempts: int = 0
    left: int = 0  # not tried: the share of arithmetic that was not drawn
    crashed: int = 0  # or endless
    opened: int = 0
    told: int = 0
    lost: int = 0  # a tenant is forgotten until power on
    spoilt: int = 0  # secrets or the verifier's base were overwritten: it serves no app until power on
    places: list = dataclasses.field(default_factory=list)

    def __str__(self):
        left = f" ({self.left} left out)" if self.left else ""
        return (f"attempts {self.attempts}{left}, crashed {self.crashed}, spoilt {self.spoilt}, lost {self.lost}, "
                f"opened {self.opened}, told {self.told}")

    def came_through(self):
        return self.opened + self.told


@dataclasses.dataclass
class Share:
    """One in how many is drawn, of arithmetic and of what neither judges nor is arithmetic."""

    sums: int = 1
    rest: int = 1
    seed: int = 1

    @staticmethod
    def of(name, width, is_short, seed):
        if name in BOXES:
            return Share(SHARE, 1 if width == 1 and not is_short else SHARE, seed)
        if ALL[name].type in CHEAP:
            return Share(seed=seed)
        is_whole = name in WHOLE and not is_short
        return Share(1 if is_whole and width == 1 else SHARE, 1 if is_whole else SHARE, seed)

    def draws(self, image, address, draw):
        if image.is_sum(address):
            return draw.randrange(self.sums) == 0
        return image.judges(address) or draw.randrange(self.rest) == 0


def candidates(image, path, share):
    """Numbers of steps on the path, and how many were left out."""
    draw = random.Random(share.seed)
    seen, chosen, left = set(), [], 0
    for number, address in enumerate(path):
        if image.is_repeated(address):
            if address in seen:
                continue
            seen.add(address)
        if share.draws(image, address, draw):
            chosen.append(number)
        else:
            left += 1
    return chosen, left


class Walk:
    """One message on one board, its path, and attempts along it."""

    def __init__(self, name, subject, seed=40):
        refusal = ALL[name]
        self.name = name
        self.on = Stage(subject.image, subject.sources, refusal, subject.profile, seed)
        self.board, self.image, self.stands = self.on.board, self.on.image, 0
        self.endless = ENDLESS_BOX if name in BOXES else ENDLESS[refusal.type]
        self.path, self.start = self.board.path(), self.board.save()
        self.board.run(self.endless)
        opened = self.on.opened()
        self.on.expect(self.on.answer().verdict, refusal.verdict)
        if opened or self.on.spoilt():
            sys.exit(f"skip: {name}: without a fault {opened} changes")
        self.board.restore(self.start)

    def attempt(self, number, width):
        """Goes on to that step, skips there, runs on: whether the firmware waits again. `back` must follow."""
        at, first = self.path[number], number
        block = self.image.condition.get(at)
        while block is not None and self.path[first] != block:
            first -= 1
        if first < self.stands:
            self.board.restore(self.start)
            self.stands = 0
        self.board.advance(first - self.stands)
        self.stands = first
        if self.board.pc != self.path[first]:
            sys.exit(f"skip: {self.name}: step {first} is at {self.board.pc:x}, and {self.path[first]:x} was expected")
        self.now = self.board.save()
        self.board.skip(at, width)
        return self.board.run(self.endless)

    def back(self):
        self.board.restore(self.now)

    def finish(self):
        """No attempt has left anything behind that the emulator should have forgotten."""
        self.board.run(self.endless)
        self.on.expect(self.on.answer().verdict, self.on.refusal.verdict)


class Twin:
    """The same message on hardware with other secrets: what a fault leaves equal on both can be foretold."""

    def __init__(self, *about):
        self.about, self.walk = about, None

    def spoils(self, path, number, width):
        if self.walk is None:
            self.walk = Walk(*self.about, seed=100)
        # The path of curve arithmetic is no secret's, and may differ.
        place, theirs = path[number], self.walk.path
        turn = path[:number].count(place)
        same = [other for other, address in enumerate(theirs) if address == place]
        if turn >= len(same):
            return None
        self.walk.attempt(same[turn], width)
        state = self.walk.on.spoilt()
        self.walk.back()
        return state


def walk(name, subject, width, share):
    went, counts = Walk(name, subject), Counts()
    on, twin = went.on, Twin(name, subject)
    chosen, counts.left = candidates(on.image, went.path, share)
    for number in chosen:
        finished = went.attempt(number, width)
        counts.attempts += 1
        counts.crashed += not finished
        opened, spoilt = on.opened(), on.spoilt()
        if spoilt and not opened:
            told = finished and on.told()
            known = on.foretold(spoilt, twin.spoils(went.path, number, width))
            if known and on.opens_with(known):
                opened = ["a command with secrets that can be foretold"]
            else:
                counts.spoilt += 1
        at = went.path[number]
        place = f"{at:x} {on.image.function.get(at)}"
        if opened == [LOST]:
            counts.lost += 1
            counts.places.append(f"{place}: {LOST}")
        elif opened:
            counts.opened += 1
            counts.places.append(f"{place}: {', '.join(opened)}")
        elif told if spoilt else finished and on.told():
            counts.told += 1
            counts.places.append(f"{place}: told")
        went.back()
    went.finish()
    return counts


# Defence taken out, of which file, and a message that must come through then.
SECOND_LOOK = (
    "ProofCore/verifier_judgement.c",
    "review = pfc_review_command(verifier, session, index, judged, message, size, verdict SEAL_ARGUMENT(seal));",
    "review = PFC_REVIEW_PASSED;\n    (void)message, (void)size;")
PLANTED = [
    ("the second look", "changed-app", *SECOND_LOOK),
    ("the second look", "sealed-changed-app", *SECOND_LOOK),
    ("the second look at a channel's command", "channel-old", "ProofCore/verifier_judgement.c",
     "review = pfc_review_channel(verifier, index, message, size, verdict, seal);", "review = PFC_REVIEW_PASSED;"),
    ("the clock's check of itself", "old-challenge", "ports/cortex-m3/clock.c",
     "  if (seconds * BOARD_HERTZ + ticks != UINT32_MAX - before) abort();\n", ""),
    ("the second look at a token", "token-development", "ProofCore/verifier_admission.c",
     "uint32_t review = pfc_review_token(verifier, index, message, size, &token);",
     "uint32_t review = PFC_REVIEW_PASSED;"),
    ("the second look at an order", "order-replayed-revoke", "ProofCore/verifier_admission.c",
     "review = pfc_review_order(verifier, message, size, &order);", "review = PFC_REVIEW_PASSED;"),
    ("the second look at a recall", "recall-forged", "ProofCore/verifier_judgement.c",
     "return pfc_review_recall(verifier, *index, message) == PFC_REVIEW_PASSED ? PFC_VERDICT_NONE : PFC_VERDICT_FAULT;",
     "return PFC_VERDICT_NONE;"),
]


def planted_image(path, old, new, profile):
    folder = BUILD / f"planted-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("ProofCore", "ProofDevice", "ports"):
        shutil.copytree(ROOT / "CSources" / name, folder / "CSources" / name)
    file = folder / "CSources" / path
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        sys.exit(f"skip: {path} does not contain once: {old}")
    file.write_text(text.replace(old, new), encoding="utf-8")
    image = folder / "build" / "cortex-m3" / f"{profile}.elf"
    subprocess.run(["make", "-s", "-C", folder / "CSources/ports/cortex-m3", f"BUILD={folder / 'build'}",
                    f"SODIUM={ROOT / '.build/foreign/libsodium/source'}", image], check=True)
    return Subject(image, profile, folder / "CSources")


def report(what, counts):
    print(f"{what}: {counts}", flush=True)
    for place in counts.places:
        print(f"  {place}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--width", type=int, choices=(1, 2))
    parser.add_argument("--scenario", action="append", choices=sorted(ALL))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", choices=("full", "large", "symmetric"), default="full")
    parser.add_argument("--image", type=pathlib.Path)
    options = parser.parse_args()
    subject = Subject(options.image or BUILD / "cortex-m3" / f"{options.profile}.elf", options.profile)
    names = options.scenario or NAMES[options.profile][options.short]
    print(f"seed {options.seed}; one in {SHARE} where a share is drawn")
    passed = failed = 0
    for width in (options.width,) if options.width else (1,) if options.short else (1, 2):
        for name in names:
            counts = walk(name, subject, width, Share.of(name, width, options.short, options.seed))
            report(f"skip {width} {name}", counts)
            passed, failed = passed + (not counts.came_through()), failed + (counts.came_through() != 0)
    for what, name, path, old, new in [] if options.scenario else PLANTED:
        if name not in names or options.short and ALL[name].type not in CHEAP:
            continue
        planted = planted_image(path, old, new, options.profile)
        counts = walk(name, planted, 1, Share.of(name, 1, True, options.seed))
        shutil.rmtree(planted.sources.parent)
        print(f"planted, without {what}, {name}: {counts}", flush=True)
        passed, failed = passed + (counts.opened > 0), failed + (counts.opened == 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
