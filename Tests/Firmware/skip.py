#!/usr/bin/env python3
"""Skips the instructions of the firmware's own binary one by one while it judges, and counts what came through.

    skip.py             each instruction, each adjacent pair, of the shipped image; and one without the second look
    skip.py --single    single instructions alone

From the last packet of a command that is to be refused until the firmware waits again, each instruction is left out
once, those of hash arithmetic where they come by for the first time. An attempt that came through is one after which
the device has done the command, or its answer says so with a right receipt. The last line counts walks.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PORT = ROOT / "CSources" / "ports" / "cortex-m3"
BUILD = ROOT / ".build" / "firmware"
sys.path[:0] = [str(HERE), str(ROOT / "Tests" / "Attacker"), str(ROOT / "Tests" / "Vectors"), str(PORT)]
os.environ["PROOF_HARDWARE"] = str(PORT / "proof-firmware")

import stage  # noqa: E402
from emulated import ENDLESS, Emulated, Image, tool  # noqa: E402
from line import Line  # noqa: E402
from proofspec.frame import COMPLETE, Receiver  # noqa: E402
from proofspec.message import NO_RECEIPT, Type, Verdict, parse_answer  # noqa: E402
from proofspec.proof import receipt  # noqa: E402
from stage import App, Backend  # noqa: E402

stage.BUILD = BUILD / "tests"
ACCEPTED = (Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY)

# What is taken out to see that the walk finds it.
PLANTED = ("CSources/ProofCore/verifier_judgement.c",
           "review = pfc_review_command(verifier, session, index, message, size);",
           "review = PFC_REVIEW_PASSED;\n    (void)message, (void)size;")


def offset_of_done():
    """Where the unit counts the commands done: unit.device.done."""
    text = ("#include <stddef.h>\n#include \"ProofDevice.h\"\n"
            "const unsigned at = offsetof(struct pfd_unit, device.done);\n")
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        (at / "at.c").write_text(text, encoding="ascii")
        include = [f"-I{ROOT / 'CSources' / name}" for name in ("ProofCore/include", "ProofDevice/include",
                                                                 "ports/profiles")]
        foreign = ["-isystem", BUILD / "include", "-isystem",
                   ROOT / ".build/foreign/libsodium/source/src/libsodium/include"]
        tool("gcc", "-mcpu=cortex-m3", "-mthumb", "-DPFC_PROFILE=\"full.h\"", *include, *foreign, "-c", at / "at.c",
             "-o", at / "at.o")
        tool("objcopy", "-O", "binary", "-j", ".rodata", at / "at.o", at / "at.bin")
        return int.from_bytes((at / "at.bin").read_bytes()[:4], "little")


def planted_image():
    folder = BUILD / "planted"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("ProofCore", "ProofDevice", "ports"):
        shutil.copytree(ROOT / "CSources" / name, folder / "CSources" / name)
    path, old, new = PLANTED
    text = (folder / path).read_text(encoding="utf-8")
    if text.count(old) != 1:
        sys.exit(f"skip: {path} does not contain once: {old}")
    (folder / path).write_text(text.replace(old, new), encoding="utf-8")
    image = folder / "build" / "cortex-m3" / "full.elf"
    subprocess.run(["make", "-s", "-C", folder / "CSources/ports/cortex-m3", f"BUILD={folder / 'build'}",
                    f"SODIUM={ROOT / '.build/foreign/libsodium/source'}", image], check=True)
    return image


class Stage:
    """The firmware with a token held and a challenge asked, before the last packet of a command."""

    def __init__(self, image, scenario):
        self.image = Image(image)
        self.done_at = self.image.symbols["unit"] + offset_of_done()
        backend, self.owner = Backend(7), App(40)
        self.hardware = stage.Hardware("skip", [backend.public])
        self.board = Emulated(self.image, self.hardware.flash.read_bytes()[:1 << 16])
        self.link = Line(self.board)
        token = self.owner.token(backend, self.hardware, uses=1000, attempts=5)
        if self.owner.present(self.link, self.hardware, token) != Verdict.HELD:
            sys.exit("skip: the token was not taken")
        message = scenario(self)
        packets = self.link.packets(Type.COMMAND, message)
        for packet in packets[:-1]:
            self.link.command(8, packet)
            self.board.wake()
        self.board.send(bytes([82, 8, 0]) + packets[-1])
        self.board.sent.clear()
        self.before = self.done()

    def done(self):
        return int.from_bytes(self.board.uc.mem_read(self.done_at, 4), "little")

    def secrets(self, **changes):
        return dataclasses.replace(self.owner.shared(self.hardware), **changes)

    def make(self, **options):
        command, self.occasion = self.owner.make(self.hardware, self.owner.ask(self.link), **options)
        return command.encoded()

    def told(self):
        """What the app believes: an answer that accepts, with a receipt that is right."""
        receiver = Receiver()
        try:
            for pdu in self.board.receive() or []:
                if pdu[:1] == b"\x1b" and receiver.receive(pdu[3:]) == COMPLETE:
                    answer = parse_answer(receiver.message)
                    if answer.verdict in ACCEPTED and answer.receipt != NO_RECEIPT:
                        key = self.owner.shared(self.hardware).device_key
                        return answer.receipt == receipt(key, self.occasion.nonce(), answer.verdict, answer.detail,
                                                         answer.counter)
        except Exception:  # what a glitched board says need not be a message at all
            return False
        return False


def changed_app(stage_):
    right = stage_.owner.shared(stage_.hardware)
    return stage_.make(secrets=stage_.secrets(im=bytes([right.im[0] ^ 1]) + right.im[1:]))


def stranger(stage_):
    return stage_.make(secrets=App(90).shared(stage_.hardware))


def replay(stage_):
    message = stage_.make()
    stage_.owner.send(stage_.link, message)
    return message


def not_permitted(stage_):
    return stage_.make(what=(9, b"open"))


SCENARIOS = {"changed-app": changed_app, "stranger": stranger, "replay": replay, "not-permitted": not_permitted}


def walk(name, image, width):
    """Attempts, and how many of them came through: (attempts, refused, crashed, opened, told)."""
    stage_ = Stage(image, SCENARIOS[name])
    board, length = stage_.board, stage_.image.length
    board.pc += 2  # behind the wait
    seen, attempts, crashed, opened, told = set(), 0, 0, 0, 0
    places = []
    while board.pc != stage_.image.idle:
        at = board.pc
        if not (stage_.image.is_arithmetic(at) and at in seen):
            seen.add(at)
            now = board.save()
            for _ in range(width):
                board.pc += length.get(board.pc, 2)
            attempts += 1
            finished = board.run(ENDLESS)
            crashed += not finished
            if 0 < stage_.done() - stage_.before < 8:
                opened += 1
                places.append(f"{at:x} {stage_.image.function.get(at)}")
            elif finished and stage_.told():
                told += 1
                places.append(f"{at:x} {stage_.image.function.get(at)} (told)")
            board.restore(now)
        board.step()
    return attempts, crashed, opened, told, places


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS))
    options = parser.parse_args()
    passed = failed = 0
    shipped = BUILD / "cortex-m3" / "full.elf"
    for width in (1,) if options.single else (1, 2):
        for name in options.scenario or SCENARIOS:
            attempts, crashed, opened, told, places = walk(name, shipped, width)
            counts = f"attempts {attempts}, crashed {crashed}, opened {opened}, told {told}"
            print(f"skip {width} {name}: {counts}", flush=True)
            for place in places:
                print(f"  {place}")
            passed, failed = passed + (opened + told == 0), failed + (opened + told != 0)
    attempts, crashed, opened, told, places = walk("changed-app", planted_image(), 1)
    print(f"planted, without the second look: attempts {attempts}, opened {opened}, told {told}")
    passed, failed = passed + (opened > 0), failed + (opened == 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
