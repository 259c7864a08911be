# SPDX-License-Identifier: Apache-2.0

"""The hardware as a process: what it takes to provision, start, serve and stop it. Over the real socket, and FIFOs."""

import contextlib
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import time
import unittest

from case import Attack
from central import (CAPABILITIES, CHALLENGE, CHALLENGE_CCCD, COMMAND, MTU_REQUEST, REPLY, SECONDS, STATUS, TOKEN,
                     VERDICT_CCCD, WRITE, AttError, Central, LinkEnded, u16)
from proofspec.basics import PRODUCTION
from proofspec.curves import hardware_public
from proofspec.frame import fragments
from proofspec.message import Type, Verdict, parse_answer
from proofspec.token import create_token, factory_secret, token_digest
from stage import PAGE, PROGRAM, ROOT, App, Backend, Hardware

HERE = pathlib.Path(__file__).resolve().parent
SECRET = bytes(range(1, 33))


def descriptors(hardware):
    """How many files and sockets its process has open."""
    return len(os.listdir(f"/proc/{hardware.process.pid}/fd"))


class Provision(unittest.TestCase):
    def setUp(self):
        self.backend = Backend(7)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1], [self.backend.public])
        self.addCleanup(self.hardware.scrap)
        self.file = self.hardware.folder / "provisioning"
        self.file.touch(0o600)

    def test_a_file_says_what_the_hardware_is_and_the_command_line_overrides_it(self):
        other = Backend(8)
        self.file.write_text("# lock 7\nmode = development\n\nid = " + "ab" * 16 + "\nsecret-key = " + SECRET.hex()
                             + f"\nissuer = {self.backend.public.hex()}\nissuer = {other.public.hex()}\n"
                             "allow-literal = yes\nchallenge-seconds = 9\nfloor = 5\ncounter = 77\n")
        self.hardware.provision(str(self.file))
        self.assertEqual(self.hardware.id, bytes([0xAB]) * 16)
        self.assertEqual(self.hardware.public, hardware_public(SECRET))
        self.hardware.provision(str(self.file), "--id", "cd" * 16)
        self.assertEqual(self.hardware.id, bytes([0xCD]) * 16)
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(link.read(STATUS)[1:18], bytes([2]) + bytes([0xCD]) * 16)
            self.assertEqual(int.from_bytes(link.read(CHALLENGE)[:8], "little"), 77)

    def flash_of(self, fields, *words):
        """The bytes of new flash that was provisioned with these fields of a file, and these words."""
        lines = "".join(f"{name} = {value}\n" for name, value in fields.items())
        self.file.write_text(lines)
        new = self.hardware.folder / "new-flash"
        new.unlink(missing_ok=True)
        done = subprocess.run([PROGRAM, "--flash", new, "--provision", self.file, *words], capture_output=True,
                              text=True, check=False, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return new.read_bytes()

    def test_each_field_is_kept_and_each_one_of_the_command_line_stands(self):
        base = {"mode": "development", "issuer": self.backend.public.hex(), "id": "ab" * 16,
                "secret-key": SECRET.hex(), "allow-literal": "no", "challenge-seconds": "9", "epoch": "1700000000",
                "floor": "5", "counter": "77"}
        other = {"mode": "production", "issuer": Backend(8).public.hex(), "id": "cd" * 16,
                 "secret-key": bytes(range(2, 34)).hex(), "allow-literal": "yes", "challenge-seconds": "10",
                 "epoch": "1700000001", "floor": "6", "counter": "78"}
        plain = self.flash_of(base)
        self.assertEqual(self.flash_of(base), plain)
        for name, value in other.items():
            with self.subTest(name):
                changed = self.flash_of({**base, name: value})
                self.assertNotEqual(changed, plain)
                if name != "secret-key":  # It stands in a file alone.
                    self.assertEqual(self.flash_of(base, f"--{name}", value), changed)

    def test_a_factory_secret_decides_which_tokens_are_taken_and_stays_with_its_id(self):
        drawn, app = bytes(range(3, 35)), App(40)
        self.file.write_text(f"factory-secret = {drawn.hex()}\n")
        self.hardware.provision(str(self.file), "--floor", "0")
        secret = factory_secret(drawn, self.hardware.id)
        self.assertIn(secret, self.hardware.flash.read_bytes())
        self.assertNotIn(drawn, self.hardware.flash.read_bytes())
        self.hardware.provision("--challenge-seconds", "20", "--floor", "0")  # It is kept.
        body = app.body(self.backend, self.hardware, version=2, base=1)
        sealed = create_token(self.hardware.public, SECRET, self.backend.seed, body, secret)
        plain = create_token(self.hardware.public, SECRET, self.backend.seed, body)
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            told = link.read(CAPABILITIES)
            self.assertEqual((told[:4], told[4:8], told[8:24]), (b"\1\10\0\0", b"\x63\0\0\0", self.hardware.id))
            for token in (plain, app.token(self.backend, self.hardware)):
                answer = parse_answer(link.say(Type.TOKEN, token)[1])
                self.assertEqual((answer.verdict, answer.detail), (Verdict.WRONG_MODE, 3))
            self.assertEqual(app.present(link, self.hardware, sealed), Verdict.HELD)
            self.assertEqual(app.do(link, self.hardware).verdict, Verdict.ACCEPTED)
        self.hardware.stop()
        done = self.hardware.run("--provision", "--id", "ab" * 16)
        self.assertEqual(done.returncode, 2)
        self.assertIn("belongs to the id before", done.stderr)
        self.file.write_text("factory-secret = none\n")
        self.hardware.provision(str(self.file), "--floor", "0")
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(link.read(CAPABILITIES)[4:8], b"\x43\0\0\0")
            self.assertEqual(app.present(link, self.hardware, plain), Verdict.HELD)
        self.hardware.stop()
        for wrong in ("00" * 32, "ab" * 31, "yes"):
            self.file.write_text(f"factory-secret = {wrong}\n")
            self.assertEqual(self.hardware.run("--provision", str(self.file)).returncode, 1)

    def test_what_is_not_said_again_stays_as_it_was(self):
        before = self.hardware.id, self.hardware.public
        self.hardware.provision("--mode", "development")
        self.assertEqual((self.hardware.id, self.hardware.public), before)
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(link.read(STATUS)[1], 2)

    def test_two_pieces_of_hardware_are_not_alike(self):
        other = Hardware(self.id().rsplit(".", 1)[1] + "-other", [self.backend.public])
        self.addCleanup(other.scrap)
        self.assertNotEqual((other.id, other.public), (self.hardware.id, self.hardware.public))

    def assert_refused(self, status, text, *words):
        done = self.hardware.run(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)

    def test_bad_provisioning_is_refused_with_its_line_and_writes_nothing(self):
        before = self.hardware.flash.read_bytes()
        for text, line in (("mode = both", 1), ("\nid = 12", 2), ("nothing", 1), ("colour = red", 1),
                           ("mode = production\nissuer = " + "zz" * 32, 2), ("floor = -1", 1), ("counter = 1x", 1)):
            self.file.write_text(text + "\n")
            self.assert_refused(1, f"provisioning:{line}:", "--provision", str(self.file))
        self.file.write_bytes(b"mode = production\0")
        self.assert_refused(1, "not a provisioning file", "--provision", str(self.file))
        self.assert_refused(1, "No such file", "--provision", str(self.file) + "-missing")
        pipe = self.hardware.folder / "pipe"
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", "/dev/null", self.hardware.folder):
            self.assert_refused(1, "not a regular file", "--provision", str(path))
        # A command line is public.
        self.assert_refused(2, "secret-key", "--provision", "--secret-key", SECRET.hex())
        self.assert_refused(2, "factory-secret", "--provision", "--factory-secret", SECRET.hex())
        for _ in range(4):
            self.assertEqual(self.hardware.flash.read_bytes(), before)

    def test_a_file_that_others_may_read_is_refused_unless_it_holds_no_secret_and_the_option_says_so(self):
        before = self.hardware.flash.read_bytes()
        for mode in (0o640, 0o604, 0o620):
            self.file.write_text("secret-key = " + SECRET.hex() + "\n")
            self.file.chmod(mode)
            self.assert_refused(1, "chmod 600", "--provision", str(self.file))
            self.assert_refused(1, "chmod 600", "--provision", str(self.file), "--open-provision")
            self.assertEqual(self.hardware.flash.read_bytes(), before)
            self.file.write_text("mode = development\n")
            self.assert_refused(1, "chmod 600", "--provision", str(self.file))
        self.hardware.provision(str(self.file), "--open-provision")
        self.assertNotEqual(self.hardware.flash.read_bytes(), before)

    def test_flash_that_others_may_read_or_that_is_missing_or_foreign_is_refused(self):
        self.hardware.flash.chmod(0o640)
        self.assert_refused(1, "chmod 600", "--socket", self.hardware.socket)
        self.hardware.flash.chmod(0o600)
        self.hardware.flash.write_bytes(bytes(100))
        self.assert_refused(1, "another size", "--socket", self.hardware.socket)
        self.hardware.flash.unlink()
        self.assert_refused(1, "--provision", "--socket", self.hardware.socket)
        self.assert_refused(2, "needs a mode and an issuer", "--provision")

    def test_flash_that_cannot_be_written_is_told(self):
        whole = self.hardware.flash.stat().st_size
        self.hardware.flash.unlink()
        trusted = ("--mode", "production", "--issuer", self.backend.public.hex())
        # The last page of new flash, and then the first page of old flash, is beyond what the process may write.
        for limit, told in ((whole - PAGE, "flash: File too large"), (0, "flash file: File too large")):
            done = subprocess.run([PROGRAM, "--flash", self.hardware.flash, "--provision", *trusted],
                                  capture_output=True, text=True, check=False, timeout=SECONDS, restore_signals=False,
                                  preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                                   (limit, limit)))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(told, done.stderr)
            self.hardware.flash.unlink()
            self.hardware.provision(*trusted)

    def test_help_and_version_are_told_and_nothing_is_served(self):
        for words, start in ((("--help",), "usage: proof-hardware "), (("--version",), "proof-hardware "),
                             (("--socket", "a", "--help"), "usage: proof-hardware ")):
            done = self.hardware.run(*words)
            self.assertEqual(done.returncode, 0)
            self.assertTrue((done.stdout + done.stderr).startswith(start), done.stderr)

    def test_a_wrong_command_line_is_told_what_is_wrong(self):
        for words in (("--socket",), ("--colour", "red"), ("nothing",), ("--socket", "a", "--fifo", "b", "c"), (),
                      ("--socket", "a", "--clock", "wall"), ("--socket", "a", "--log-level", "all"),
                      ("--socket", "a", "--mode", "production"),
                      # A cut is NUMBER or NUMBER:SEED.
                      *(("--socket", "a", "--cut", cut) for cut in (
                          "", "x", ":", ":1", "1:", "1:x", "1:2x", "1x", "-1", "1:-1", "1:2:3", "9" * 30,
                          "1:" + "9" * 30)),
                      *(("--socket", "a", "--worn", worn) for worn in ("", "x", "1x", "-1", "9" * 30)),
                      ("--socket", "a", "--seal", "maybe"), ("--socket", "a", "--channel", "maybe"),
                      # A command line can be read by all users of the machine.
                      ("--provision", "--secret-key", "00" * 32), ("--provision", "--factory-secret", "00" * 32),
                      ("--provision", "--socket", "a"), ("--provision", "--fifo", "a", "b"),
                      ("--socket", "a", "--name", "lock"), ("--fifo", "a")):
            self.assert_refused(2, "usage:", *words)


class Process(Attack):
    def test_one_flash_is_one_hardware(self):
        done = self.hardware.run("--socket", self.hardware.socket + "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("another process is this hardware", done.stderr)

    def test_a_socket_of_the_dead_is_cleared_away_and_one_of_the_living_is_not(self):
        self.assertTrue(self.power_cycle())
        other = self.make("other", start=False)
        done = other.run("--socket", self.hardware.socket)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in use", done.stderr)
        self.assert_owner_gets_in()

    def test_a_socket_whose_queue_is_full_is_in_use_and_does_not_hold_the_start_up(self):
        self.hardware.stop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, contextlib.ExitStack() as callers:
            path = str(pathlib.Path(self.hardware.room.name) / "full")
            listener.bind(path)
            listener.listen(0)
            while True:
                caller = callers.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                caller.setblocking(False)
                try:
                    caller.connect(path)
                except BlockingIOError:
                    break
            done = self.hardware.run("--socket", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("in use", done.stderr)

    def test_a_file_at_the_socket_s_path_is_kept(self):
        self.hardware.stop()
        # A short path: a socket's has 108 bytes at most.
        room = pathlib.Path(self.hardware.room.name)
        for path, why in ((room / "other", "in use"), (room / ("long-" * 30), "too long")):
            path.write_text("kept")
            done = self.hardware.run("--socket", str(path))
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertEqual(path.read_text(), "kept")

    def test_it_stops_cleanly_when_asked_to(self):
        for stop in (signal.SIGTERM, signal.SIGINT):
            self.hardware.process.send_signal(stop)
            self.assertEqual(self.hardware.process.wait(timeout=60), 0)
            self.assertFalse(os.path.exists(self.hardware.socket))
            self.assertTrue(self.hardware.start())

    def test_the_log_tells_an_engineer_what_happened_and_no_secret(self):
        link = self.connect()
        command, occasion = self.owner.make(self.hardware, self.owner.ask(link))
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.ACCEPTED)
        self.owner.send(link, command.encoded())
        link.command(COMMAND, b"junk")
        link.settle()
        self.hardware.stop()
        log = "\n".join(self.hardware.log)
        for told in ("started: mode production", "token of anyone: held (3)", "command of 28282828: accepted (1)",
                     "command of class 1: done", "stale (18), detail 1,", "refused: opcode 0x52, error 0x80",
                     "stopped after"):
            self.assertIn(told, log)
        name = self.hardware.id[:4].hex()
        self.assertIn(f"detail 1000, ref={name}-t{token_digest(self.token)[:4].hex()}", log)
        self.assertEqual(log.count(f", ref={name}-{occasion.counter}"), 2, log)
        shared = self.owner.shared(self.hardware)
        for secret in (shared.key, shared.im, shared.device_key, shared.dm, occasion.nonce(), self.token[8:],
                       command.device_proof, command.integrity_proof):
            for at in range(0, len(secret) - 7):
                self.assertNotIn(secret[at:at + 8].hex(), log)

    def test_the_log_level_is_obeyed(self):
        for level, lines in (("error", 0), ("info", 1), ("debug", 2)):
            self.hardware.stop()
            self.hardware.log.clear()
            log = self.hardware.run("--fifo", "/dev/null", "/dev/null", "--log-level", level).stderr
            # Not a FIFO: told at every level; the start from info on, flash operations at debug.
            self.assertIn("not a FIFO", log)
            self.assertEqual(("started" in log) + ("flash operations\n" in log and "1 flash" in log), lines, log)

    def test_verdicts_are_told_at_info_and_challenges_are_not(self):
        self.hardware.stop()
        for level in ("debug", "info"):
            self.hardware.log.clear()
            self.assertTrue(self.hardware.start("--clock", self.clock, "--log-level", level))
            self.assertEqual(self.owner.do(self.connect(), self.hardware).verdict, Verdict.ACCEPTED)
            self.hardware.stop()
            log = "\n".join(self.hardware.log)
            self.assertEqual(log.count(": accepted (1)"), 1, log)
            self.assertEqual(": given (0)" in log, level == "debug", log)
            self.assertNotIn("ERROR", log)

    def test_a_central_that_has_gone_leaves_no_descriptor(self):
        held = set()
        self.link.close()
        for turn in range(12):
            if turn == 6:  # The socket of the dead process is cleared away.
                self.assertTrue(self.power_cycle())
            link = self.connect()
            link.settle()
            held.add(descriptors(self.hardware))
            link.close()
        self.assertEqual(len(held), 1, held)

    def test_it_takes_no_heap_while_it_serves(self):
        self.hardware.stop()
        witness = self.hardware.folder / "witness.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", witness, HERE / "heap_witness.c", "-ldl"], check=True)
        self.assertTrue(self.hardware.start(env={**os.environ, "LD_PRELOAD": str(witness)}))
        for mtu in (23, 185, 517):
            link = self.connect(mtu)
            token = self.owner.token(self.backend, self.hardware, generation=mtu, uses=50)
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
            self.assert_owner_gets_in(link)
            with self.assertRaises(AttError):
                link.write(COMMAND, bytes(5))
            link.close()
        self.assertEqual(self.hardware.stop(), 0)
        self.assertIn("witness: watching", self.hardware.log)

    def test_every_mtu_serves(self):
        for mtu in (23, 24, 41, 42, 64, 100, 185, 247, 300, 512, 517, 600):
            link = self.connect(mtu)
            self.assertEqual(link.mtu, min(mtu, 517))
            self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.HELD)
            self.assert_owner_gets_in(link)
            link.close()

    def test_the_packet_budget_of_the_page_holds(self):
        """docs/LINK.md section 7: 35 PDUs for a first contact at MTU 23, 8 for a repeat at MTU 185."""
        what = (1, b"autolock"[:8])
        for mtu, first, budget in ((23, True, 35), (185, False, 8)):
            link = self.connect(mtu, subscribed=False)
            link.write(VERDICT_CCCD, u16(1))
            if first:
                self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.HELD)
            self.assertEqual(self.owner.do(link, self.hardware, what).verdict, Verdict.ACCEPTED)
            self.assertEqual(link.sent + link.received, budget)

    def test_the_device_does_what_it_is_told_and_says_so_to_whoever_told_it(self):
        link, other = self.connect(), self.connect()
        for what, expected in (((0, b"status"), 1), ((1, b"open"), 1), ((1, b"jump"), 2), ((2, b"autolock 9999"), 3),
                               ((2, b"autolock 60"), 1), ((3, b"install 7"), 1), ((3, b"install 6"), 3)):
            answer = self.owner.do(link, self.hardware, what)
            self.assertEqual(answer.verdict, Verdict.ACCEPTED)
            reply = link.read(REPLY)
            self.assertEqual((int.from_bytes(reply[:8], "little"), reply[8]), (answer.counter, expected))
        self.assertEqual(reply[9:18].hex(), "01" + "3c00" + "0700" + "04000000")
        self.assertEqual(other.read(REPLY), bytes(18))

    def test_what_is_queued_is_lost_with_the_link_and_nothing_is_done_twice(self):
        command, occasion = self.owner.make(self.hardware, self.owner.ask(self.link))
        self.link.tell(Type.COMMAND, command.encoded())
        self.link.settle()
        self.link.close()
        # The verdict is lost; a recall brings it back, and the command was done once.
        link = self.connect()
        self.assertEqual(self.owner.recall(link, self.hardware, occasion), Verdict.ACCEPTED)
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
        self.owner.do(link, self.hardware, (0, b"status"))
        self.assertEqual(self.hardware.done(link)[2], 2)

    def test_several_centrals_are_served_in_turn(self):
        apps = [App(60 + 5 * n) for n in range(6)]
        links = [self.connect(23) for _ in apps]
        for app, link in zip(apps, links):
            link.tell(Type.TOKEN, app.token(self.backend, self.hardware))
        for link in reversed(links):
            self.assertEqual(parse_answer(link.hear()[1]).verdict, Verdict.HELD)
        challenges = [app.ask(link) for app, link in zip(apps, links)]
        for app, link, challenge in zip(apps, links, challenges):
            command, _ = app.make(self.hardware, challenge)
            self.assertEqual(app.send(link, command.encoded()).verdict, Verdict.ACCEPTED)


class FifoCentral(Central):
    """The same central over two FIFOs: a length of two bytes before each PDU."""

    def __init__(self, to, back, mtu=23):
        # The reading end first, as the page says; neither open waits for the other side.
        self.back = os.fdopen(os.open(back, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        self.to = open(to, "wb", buffering=0)
        self.mtu, self.notified, self.sent, self.received = 23, [], 0, 0
        if mtu != 23:
            self.exchange(mtu)
        self.write(CHALLENGE_CCCD, u16(1))
        self.write(VERDICT_CCCD, u16(1))

    def send(self, pdu):
        try:
            self.to.write(u16(len(pdu)) + pdu)
        except BrokenPipeError:
            raise LinkEnded() from None
        self.sent += 1

    def receive(self):
        wanted, pdu = int.from_bytes(self.take(2), "little"), b""
        while len(pdu) < wanted:
            pdu += self.take(wanted - len(pdu))
        self.received += 1
        return pdu

    def take(self, size):
        # Waits until a writer comes; a hang must end as a failure.
        if not select.select([self.back], [], [], SECONDS)[0]:
            raise TimeoutError("the hardware says nothing")
        taken = self.back.read(size)
        if not taken:
            raise LinkEnded()
        return taken

    def close(self):
        """Goes, and waits until the hardware has noticed."""
        self.to.close()
        try:
            while True:
                self.take(1024)
        except LinkEnded:
            self.back.close()


class Fifo(unittest.TestCase):
    def setUp(self):
        self.backend, self.owner = Backend(7), App(40)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1], [self.backend.public], PRODUCTION)
        self.addCleanup(self.hardware.scrap)
        self.to, self.back = (os.path.join(self.hardware.room.name, name) for name in ("to", "back"))
        os.mkfifo(self.to)
        os.mkfifo(self.back)
        self.hardware.process = subprocess.Popen(
            [PROGRAM, "--flash", str(self.hardware.flash), "--fifo", self.to, self.back], stderr=subprocess.DEVNULL)

    def test_one_central_after_the_other_is_served_and_challenges_die_between(self):
        token = self.owner.token(self.backend, self.hardware)
        old = None
        for mtu in (23, 185):
            with FifoCentral(self.to, self.back, mtu) as link:
                self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
                if old:
                    self.assertEqual(self.owner.send(link, old).verdict, Verdict.STALE)
                self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
                old = self.owner.make(self.hardware, self.owner.ask(link))[0].encoded()

    def test_pdus_may_come_in_pieces_and_together(self):
        token = self.owner.token(self.backend, self.hardware)
        with FifoCentral(self.to, self.back) as link:
            stream = b""
            for packet in fragments(Type.TOKEN, token, 20):
                pdu = bytes([0x52]) + u16(TOKEN) + packet
                stream += u16(len(pdu)) + pdu
            for at in range(0, len(stream), 7):
                link.to.write(stream[at:at + 7])
            self.assertEqual(parse_answer(link.hear()[1]).verdict, Verdict.HELD)

    def test_the_shortest_and_the_longest_pdu_are_answered(self):
        token = self.owner.token(self.backend, self.hardware)
        with FifoCentral(self.to, self.back, mtu=517) as link:
            for pdu in (bytes([MTU_REQUEST]), bytes([WRITE]) + u16(TOKEN) + bytes(514)):
                with self.assertRaises(AttError):
                    link.request(pdu)
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)

    def test_a_length_out_of_range_ends_the_link_and_the_next_one_is_served(self):
        for length in (0, 518, 600, 0xFFFF):
            with FifoCentral(self.to, self.back) as link:
                old = self.owner.make(self.hardware, self.owner.ask(link))[0].encoded()
                link.to.write(u16(length) + bytes(1000))
                with self.assertRaises(LinkEnded):
                    link.receive()
            with FifoCentral(self.to, self.back) as link:
                self.assertEqual(self.owner.send(link, old).verdict, Verdict.STALE)

    def test_a_central_without_an_accepted_command_is_sent_away_and_the_next_one_is_served(self):
        with FifoCentral(self.to, self.back) as link, self.assertRaises(LinkEnded):
            link.receive()
        token = self.owner.token(self.backend, self.hardware)
        with FifoCentral(self.to, self.back) as link:
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_a_central_that_has_gone_leaves_no_descriptor(self):
        held = set()
        for _ in range(4):
            with FifoCentral(self.to, self.back) as link:
                self.owner.ask(link)
                held.add(descriptors(self.hardware))
        self.assertEqual(len(held), 1, held)

    def test_a_central_that_writes_nothing_leaves_no_descriptor(self):
        def open_now():
            return set(os.listdir(f"/proc/{self.hardware.process.pid}/fd"))

        held = []
        for _ in range(4):
            with FifoCentral(self.to, self.back) as link:
                self.owner.ask(link)
                held.append(descriptors(self.hardware))
            before = open_now()
            os.close(os.open(self.to, os.O_WRONLY))
            # The FIFO is opened again before it is closed, and so under another number.
            end = time.monotonic() + SECONDS
            while open_now() == before:
                self.assertLess(time.monotonic(), end, "the hardware did not notice a central that left")
        self.assertEqual(held, held[:1] * 4)

    def test_it_stops_cleanly(self):
        with FifoCentral(self.to, self.back):
            self.assertEqual(self.hardware.stop(), 0)


class Objects(unittest.TestCase):
    def test_the_portable_part_asks_for_the_core_and_for_memory_functions_alone(self):
        subprocess.run(["make", "-s", "-C", ROOT / "CSources", "device"], check=True)
        objects = sorted((ROOT / ".build" / "core" / "objects" / "CSources" / "ProofDevice").glob("*.o"))
        self.assertGreaterEqual(len(objects), 6)
        names = subprocess.run(["nm", "-f", "sysv", *objects], check=True, capture_output=True, text=True).stdout
        for line in names.splitlines():
            name, _, kind, _, _, _, section = ([field.strip() for field in line.split("|")] + 7 * [""])[:7]
            if kind == "U":
                self.assertRegex(name, r"^(pf[cd]_\w+|mem(cpy|move|set|cmp)|strlen|_GLOBAL_OFFSET_TABLE_"
                                       r"|__stack_chk_fail|__mem\w+_chk)$")
            # Sections that the loader relocates are read-only afterwards.
            if not section.startswith(".data.rel.ro"):
                self.assertNotIn(kind, tuple("BbCDdGgSs"), f"{name}: writable data in {section}")
