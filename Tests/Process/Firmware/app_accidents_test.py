# SPDX-License-Identifier: Apache-2.0

"""Accidents of docs/results/accidents.md on the firmware, with the SDK's sample app, the service, the backend and the
operator's tool as processes. No network is there outside of `online`; an app that needs one says so first.
"""

import json
import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
import time
import unittest

import phones
from demonstration import BIN
from moved_clock import MovedClock
from phones import Relay, World
from proofspec import frame, sealed
from proofspec.message import Type, Verdict

# As many power cuts as the long suite makes.
IS_LONG = int(os.environ["FIRMWARE_CUTS"]) >= 200
DAY = 86_400
UNLIMITED = 65_535
TOKEN_HANDLE, COMMAND_HANDLE, ANSWER_HANDLE = 3, 8, 10
WRITE_COMMAND, NOTIFICATION = 0x52, 0x1B


def is_command(is_apps, pdu):
    return is_apps and pdu[:2] == bytes([WRITE_COMMAND, COMMAND_HANDLE])


def is_token(is_apps, pdu):
    return is_apps and pdu[:2] == bytes([WRITE_COMMAND, TOKEN_HANDLE])


def is_answer(is_apps, pdu):
    return not is_apps and pdu[:2] == bytes([NOTIFICATION, ANSWER_HANDLE])


def begins(type, pdu):
    """Whether a packet begins a message of a type."""
    return pdu[3] & frame.FIRST and pdu[3] & frame.TYPE_MASK == type


def is_sealed_command(is_apps, pdu):
    # Behind the packet's four bytes the message begins with its kind of proof.
    return is_command(is_apps, pdu) and begins(Type.COMMAND, pdu) and pdu[7] == sealed.INTEGRITY


def is_sealed_answer(is_apps, pdu):
    return is_answer(is_apps, pdu) and begins(Type.SEALED_DOWN, pdu)


def is_channel_command(is_apps, pdu):
    return is_command(is_apps, pdu) and begins(Type.SEALED_UP, pdu)


def channel_answer():
    """A moment: the first sealed answer behind a channel's command."""
    asked = []

    def is_here(*pdu):
        if is_channel_command(*pdu):
            asked.append(pdu)
        return bool(asked) and is_sealed_answer(*pdu)

    return is_here


class Stage(unittest.TestCase):
    """A lock with power that was never opened, a phone with a token for it, and no network."""

    profile = "full"

    @classmethod
    def setUpClass(cls):
        cls.prepared = phones.prepare()
        cls.addClassCleanup(shutil.rmtree, cls.prepared[0])

    def setUp(self):
        self.world = World(self.prepared, self.profile)
        self.addCleanup(self.world.close)
        self.lock, self.phone = self.world.lock, self.world.phone
        self.lock.start()

    # Expectations

    def does(self, verb="open", outcome="accepted", phone=None):
        """The app does a verb at the lock: how many commands the lock has done since its start."""
        answer = (phone or self.phone).app(verb)
        self.assertEqual((answer["outcome"], answer["isDone"]), (outcome, True), answer["detail"])
        return answer["doneCount"]

    def refused(self, code, judged, verb="open", phone=None):
        """The app is refused with this code. `judged`: message, verdict and detail in the log of the lock. A group in
        the code stands for the same detail in both. Returns the detail.
        """
        answer = (phone or self.phone).app(verb)
        self.assertFalse(answer["isDone"], answer)
        self.assertRegex(answer["detail"], rf"\({code}\)")
        told = re.search(rf"\({code}\)", answer["detail"]).groups()
        self.lock.judges(*judged, *told)
        return int(told[0]) if told else judged[2]

    def needs_network(self, phone=None):
        """The app cannot heal itself as long as it has no network, and says so."""
        answer = (phone or self.phone).app("fetch")
        self.assertEqual((answer["outcome"], answer["isDone"]), ("not fetched: no network", False), answer["detail"])

    def fetches(self, phone=None, **backend):
        with self.world.online(**backend):
            answer = (phone or self.phone).app("fetch")
        self.assertEqual(answer["outcome"], "fetched", answer["detail"])

    # 7 and 11: updates

    @property
    def bundle(self):
        return self.phone.home / "app"

    def update_ahead(self):
        """The operator registers an update, and the app fetches the pair for it: its old files and the new ones."""
        world, program = self.world, BIN / "proof-demo"
        old, new, records = (world.folder / name for name in ("old", "new", "records"))
        for folder in (old, new):
            shutil.copytree(self.bundle, folder)
        (new / "version").write_text("2.0\n")
        (new / "views" / "main").write_text("a bigger button\n")
        with world.online():
            records.write_text(self.phone.app("records")["detail"] + "\n")
            digest = json.loads(phones.run(BIN / "proofctl", "registration", "digest", program, "--bundle", old,
                                           "--json"))["digest"]
            world.proofctl("registration", "add", program, "--bundle", new, "--upcoming", digest, "--records", records)
        self.fetches()
        return old, new

    def install(self, files):
        shutil.rmtree(self.bundle)
        shutil.copytree(files, self.bundle)

    # 1 and 15: the app, or the link, ends at an event of a visit

    def each(self, *moments):
        """Ends of a visit: these moments, and in the long suite each PDU, until a visit has fewer."""
        for moment in moments:
            self.has_ended = False
            yield lambda _, *pdu, at=moment: at(*pdu)
            self.assertTrue(self.has_ended, moment)
        number = 1
        while IS_LONG:
            self.has_ended = False
            yield lambda count, *_, at=number: count == at
            if not self.has_ended:
                self.assertGreater(number, 6)
                break
            number += 1

    def visit(self, ends, verb="open", kills=False, cuts=False, statuses=(0,)):
        """The app comes with a verb; its link ends once, at the first PDU for which `ends` says so. With `kills` the
        app is killed there, with `cuts` the lock's power is. Returns the app's words; it ends with one of `statuses`.
        """
        started, struck, answers = threading.Event(), [], []

        def passes(number, is_apps, pdu):
            if struck or not ends(number, is_apps, pdu):
                if is_answer(is_apps, pdu):
                    answers.append(number)
                return True
            struck.append(number)
            if kills:
                started.wait()
                process.kill()
                process.wait()
            if cuts:
                self.lock.cycle()
            return False

        with Relay(self.lock, passes) as relay:
            process = self.phone.start(verb, relay.path)
            started.set()
            said = phones.words(process)
        self.has_ended, self.was_answered = bool(struck), bool(answers)
        self.assertIn(process.returncode, (-signal.SIGKILL,) if kills and struck else statuses, said)
        return said


class AppAccidents(Stage):
    def test_1_an_app_killed_during_a_visit_settles_its_command_when_it_comes_again(self):
        before, heard = self.does(), []
        for ends in self.each(is_command, is_answer):
            self.visit(ends, kills=True)
            known = self.was_answered
            answer = self.phone.app("open")
            heard.append(answer["outcome"])
            self.assertIn(heard[-1], ("accepted", "an earlier command"), answer)
            if heard[-1] == "an earlier command":
                # It was done once. The app knows that now, and its next command is a new one.
                self.lock.judges("recall", int(Verdict.ACCEPTED))
                known = True
            done = self.does()
            self.assertEqual(done - before, 1 + (heard[-1] == "accepted") + known, answer)
            before = done
        # Killed before the command went, and after it was done.
        self.assertEqual(heard[:2], ["accepted", "an earlier command"])

    def test_15_a_link_that_is_cut_is_taken_up_again(self):
        blank, storage = self.lock.image(), self.phone.back_up()
        for ends in self.each(is_token, is_answer, is_command):
            self.phone.restore(storage)
            self.lock.restore(blank)
            self.assertIn('"accepted"', self.visit(ends))
            self.assertEqual(self.does(), 2)
        # Later visits of an app that the lock knows.
        before = self.does()
        for ends in self.each(is_command, is_answer):
            self.assertIn('"accepted"', self.visit(ends))
            done = self.does()
            self.assertEqual(done - before, 2)
            before = done

    # 5, 6 and 14: an earlier state comes back

    def test_5_a_restored_folder_is_accepted_and_told(self):
        self.does()
        backup = self.phone.back_up()
        for _ in range(2):
            self.does()
        self.phone.restore(backup)
        self.does(outcome="accepted, copy seen")
        self.lock.judges("command", int(Verdict.ACCEPTED_COPY), UNLIMITED)
        self.does()

    def test_5_a_restored_folder_is_refused_where_the_ratchet_refuses_until_a_new_token_comes(self):
        self.fetches(ratchet="refuse")
        self.does("autolock 30")
        backup = self.phone.back_up()
        self.does("autolock 30")
        last = self.lock.judges("command", int(Verdict.ACCEPTED))
        self.phone.restore(backup)
        self.refused("LOCK-23", ("command", int(Verdict.COPIED), last & 0xFFFF), "autolock 30")
        self.needs_network()
        self.fetches(ratchet="refuse")
        self.does("autolock 30")

    def test_6_a_restored_flash_is_accepted_and_told(self):
        self.does()
        flash = self.lock.image()
        for _ in range(2):
            self.does()
        self.lock.restore(flash)
        self.does(outcome="accepted, copy seen")
        self.lock.judges("command", int(Verdict.ACCEPTED_COPY), UNLIMITED)
        self.does()

    def test_6_a_restored_flash_refuses_where_the_ratchet_refuses_until_a_new_token_comes(self):
        self.fetches(ratchet="refuse")
        self.does("autolock 30")
        last = self.lock.judges("command", int(Verdict.ACCEPTED))
        flash = self.lock.image()
        self.does("autolock 30")
        self.lock.restore(flash)
        self.refused("LOCK-23", ("command", int(Verdict.COPIED), last & 0xFFFF), "autolock 30")
        self.needs_network()
        self.fetches(ratchet="refuse")
        self.does("autolock 30")

    def test_6_a_flash_restored_under_an_open_command_needs_the_user_who_looks(self):
        self.does()
        flash = self.lock.image()
        # Each start uses a block of challenges.
        for _ in range(3):
            self.lock.cycle()
        self.visit(lambda _, *pdu: is_answer(*pdu), kills=True)
        self.assertTrue(self.has_ended)
        self.lock.restore(flash)
        self.refused("LOCK-48", ("recall", int(Verdict.MALFORMED), 0))
        self.assertEqual(self.phone.app("forget")["outcome"], "forgotten")
        self.assertEqual(self.does(), 1)

    def test_14_two_phones_with_one_folder_are_both_told_and_both_get_in(self):
        self.does()
        copy = self.phone.copy("copy")
        self.does(phone=copy)
        self.does(outcome="accepted, copy seen")
        self.lock.judges("command", int(Verdict.ACCEPTED_COPY), UNLIMITED)
        self.does()
        self.does(outcome="accepted, copy seen", phone=copy)
        # A new token of one of them ends that of the other, until it was online.
        self.fetches()
        self.does()
        self.refused(r"LOCK-35\.2", ("token", int(Verdict.SUPERSEDED), 2), phone=copy)
        self.needs_network(copy)
        self.fetches(copy)
        self.does(phone=copy)

    # 7, 9 and 11: the app's files change

    def test_7_and_11_a_half_written_update_fits_no_pair_until_it_is_whole(self):
        old, new = self.update_ahead()
        self.does()
        shutil.copy(new / "version", self.bundle / "version")
        left = self.refused(r"LOCK-16\.([0-9]+)", ("command", int(Verdict.INTEGRITY_DIFFERS)))
        # Written back, and then written whole: no pair was deleted early.
        self.install(old)
        self.does()
        self.install(new)
        self.does()
        self.lock.judges("token", int(Verdict.READY))
        self.install(old)
        # The old pair never returns, and both pairs have one budget of attempts.
        left_by_both = self.refused(r"LOCK-16\.([0-9]+)", ("command", int(Verdict.INTEGRITY_DIFFERS)))
        self.assertLess(left_by_both, left)
        self.install(new)
        self.lock.cycle()
        self.does()

    def test_9_a_moved_app_opens(self):
        self.does()
        home = self.world.folder / "other" / "place"
        home.parent.mkdir()
        self.phone.home = self.phone.home.rename(home)
        self.does()

    # 16, 17 and 20: the operator's accidents

    def heals_under_another_id(self, **fields):
        """The lock has another key under its id. The app needs the operator, who registers it under another one."""
        world = self.world
        told = self.lock.provision(secret_key=secrets.token_hex(32), **fields)
        self.assertEqual(told["id"], world.id)
        self.refused("LOCK-32", ("token", int(Verdict.NOT_FOR_ME), 0))
        self.needs_network()
        # Online by itself is not enough: the backend seals to the key that is registered.
        self.fetches()
        self.refused("LOCK-32", ("token", int(Verdict.NOT_FOR_ME), 0))
        said = world.proofctl("hardware", "add", world.id, told["public-key"], "--development", status=1)
        self.assertIn("already", said)
        world.proofctl("hardware", "revoke", world.id)
        key, drawn = world.folder / "new.key", world.folder / "new.secret"
        new = world.proofctl("hardware", "new", "--output", key, "--factory-secret", drawn, "--development",
                             "--features", "token-2,ratchet,upcoming")
        self.lock.erase()
        self.lock.provision(mode="development", id=new["id"], secret_key=key.read_bytes().hex(),
                            factory_secret=drawn.read_bytes().hex(), issuer=world.issuer)
        (self.phone.home / "paired" / "hardware").write_text(new["id"])
        self.fetches()
        self.does()

    def test_16_a_lock_replaced_under_its_id_needs_another_one(self):
        self.does()
        self.lock.erase()
        self.heals_under_another_id(mode="development", id=self.world.id, factory_secret=secrets.token_hex(32),
                                    issuer=self.world.issuer)

    def test_20_a_lock_with_a_key_of_its_own_rotated_needs_another_id(self):
        self.does()
        self.heals_under_another_id()

    def test_17_a_poisoned_epoch_needs_another_issuer(self):
        self.does()
        world = self.world
        with tempfile.TemporaryDirectory() as folder:
            clock = MovedClock(folder)
            clock.move(300 * DAY)
            poison = world.sign_epoch("--trust-clock", environment=clock.environment)
        self.assertEqual(self.phone.app(f"carry {poison}")["outcome"], "order done")
        self.refused("LOCK-34", ("command", int(Verdict.EXPIRED), 0))
        self.needs_network()
        # Online by itself is not enough: each token that the backend issues has ended there.
        self.fetches()
        self.refused(r"LOCK-34\.(27[01])", ("token", int(Verdict.EXPIRED)))
        world.issuer_key = world.backend / "next.key"
        issuer = world.proofctl("issuer", "new", "--output", world.issuer_key)["publicKey"]
        self.lock.provision(issuer=issuer, epoch=int(time.time()))
        self.fetches()
        self.does()
        answer = self.phone.app(f"carry {poison}")
        self.assertIn("(LOCK-33)", answer["detail"])
        self.lock.judges("order", int(Verdict.NOT_SIGNED), 0)
        self.does()


class SealedAccidents(Stage):
    """On the profile `large`: the lock seals, and the app's token permits channels."""

    profile = "large"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        world = World(cls.prepared, cls.profile)
        try:
            world.proofctl("hardware", "change", world.id, "--features", "sealed,channels")
            world.lock.start()
            with world.online(channel=True):
                answer = world.phone.app("fetch")
            assert answer["outcome"] == "fetched", answer
        except BaseException:
            world.close()
            raise
        world.keep()

    def settles(self, moment, told, verb, cuts=False):
        """The app's visit ends at this moment, its recall is told this verdict, and all of its commands are done."""
        self.lock.turn_page()
        said = self.visit(lambda _, *pdu: moment(*pdu), verb, cuts=cuts)
        self.assertTrue(self.has_ended)
        self.lock.judges("recall", int(told))
        self.assertIn('"accepted, accepted"' if verb.endswith("twice") else '"accepted"', said)

    def test_15_a_link_cut_at_a_sealed_command_or_its_answer_is_taken_up_again(self):
        blank, storage = self.lock.image(), self.phone.back_up()
        for ends in self.each(is_token, is_answer, is_sealed_command, is_sealed_answer):
            self.phone.restore(storage)
            self.lock.restore(blank)
            self.assertIn('"accepted"', self.visit(ends, "open sealed"))
            self.assertEqual(self.does("open sealed"), 2)
        # Later visits of an app that the lock knows.
        before = self.does("open sealed")
        for moment, told in ((is_sealed_command, Verdict.NOT_EXECUTED), (is_sealed_answer, Verdict.ACCEPTED)):
            self.settles(moment, told, "open sealed")
            done = self.does("open sealed")
            self.assertEqual(done - before, 2)
            before = done
        for ends in self.each():
            self.assertIn('"accepted"', self.visit(ends, "open sealed"))
            done = self.does("open sealed")
            self.assertEqual(done - before, 2)
            before = done

    def test_15_a_link_cut_at_a_channel_s_command_or_its_answer_is_taken_up_again(self):
        before = self.does("open sealed twice", "accepted, accepted")
        self.lock.judges("channel command", int(Verdict.ACCEPTED))
        for moment, told in ((is_channel_command, Verdict.NOT_EXECUTED), (channel_answer(), Verdict.ACCEPTED)):
            self.settles(moment, told, "open sealed twice")
            done = self.does("open sealed")
            self.assertEqual(done - before, 3)
            before = done
        for ends in self.each():
            self.assertIn('"accepted, accepted"', self.visit(ends, "open sealed twice"))
            done = self.does("open sealed")
            self.assertEqual(done - before, 3)
            before = done

    def test_2_and_3_a_lock_without_power_at_a_sealed_command_or_its_answer_tells_the_outcome(self):
        self.does("open sealed")
        for verb, moment, told in (
                ("open sealed", is_sealed_command, Verdict.NOT_EXECUTED),
                ("open sealed", is_sealed_answer, Verdict.ACCEPTED),
                ("open sealed twice", is_channel_command, Verdict.NOT_EXECUTED),
                ("open sealed twice", channel_answer(), Verdict.ACCEPTED)):
            self.settles(moment, told, verb, cuts=True)
            # The lock counts since its start: a command that was done before is not done again.
            self.assertEqual(self.does("open sealed"), 2 if told == Verdict.NOT_EXECUTED else 1)


class RareVariants(Stage):
    def test_5_a_folder_from_before_a_renewal_is_refused_until_a_new_token_comes(self):
        self.does()
        backup = self.phone.back_up()
        self.fetches()
        self.does()
        self.phone.restore(backup)
        self.refused(r"LOCK-35\.2", ("token", int(Verdict.SUPERSEDED), 2))
        self.needs_network()
        self.fetches()
        self.does()

    def test_6_a_flash_from_before_a_renewal_and_a_link_that_is_cut_need_no_network(self):
        self.fetches(ratchet=None)
        self.does()
        flash = self.lock.image()
        self.fetches(ratchet=None)
        self.does()
        storage = self.phone.back_up()
        for ends in self.each(is_token, is_command, is_answer):
            self.phone.restore(storage)
            self.lock.restore(flash)
            self.assertIn('"accepted"', self.visit(ends))
            self.assertEqual(self.does(), 2)

    def test_14_one_phone_that_dies_with_a_token_taken_and_is_updated_gets_in(self):
        _, new = self.update_ahead()
        self.does()
        self.fetches()
        # The lock takes the token, and the app dies before its first command.
        self.visit(lambda _, *pdu: is_answer(*pdu), kills=True)
        self.assertTrue(self.has_ended)
        self.install(new)
        # A known limit: the lock may tell of a copy that does not exist.
        answer = self.phone.app("open")
        self.assertIn(answer["outcome"], ("accepted", "accepted, copy seen"), answer["detail"])
        self.does()

    def test_15_a_link_cut_after_a_renewal_and_an_update_needs_a_network_at_most(self):
        _, new = self.update_ahead()
        self.does()
        self.fetches()
        self.install(new)
        flash, storage, outcomes = self.lock.image(), self.phone.back_up(), []
        for ends in self.each(is_token, is_command, is_answer):
            self.phone.restore(storage)
            self.lock.restore(flash)
            said = self.visit(ends, statuses=(0, 1))
            if '"accepted"' not in said:
                # The lock still holds the pair of before the renewal, which the app has no more.
                self.assertIn("(LOCK-17)", said)
                self.needs_network()
                self.fetches()
            outcomes.append('"accepted"' in said)
            done = self.does()
            self.assertEqual(done, 2 if outcomes[-1] else 1, said)
        self.assertGreater(outcomes.count(True), outcomes.count(False))


if not IS_LONG:
    del RareVariants
