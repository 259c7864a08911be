# SPDX-License-Identifier: Apache-2.0

"""The sample app and the thief's programs by hand, at a lock that `proof-demo --prepare` made."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from bounds import LockByHand, message
from demonstration import BIN, MOMENT, Stage

# Lines that are no verb of the app.
NO_VERBS = [
    "nonsense", "enrol x", "fetch x", "show 1", "diagnose all", "records x", "name x", "forget x", "log proved",
    "log unproved x", "lend", "lend {name}", "lend {name} 65536", "lend {name} -1", "lend zz 2", "lend {name}00 2",
    "lend {name} 2 3", "back", "back zz", "back {name} 1", "bring", "bring zz", "bring", "carry", "carry zz",
    "carry 00", "open door", "status now", "close 1", "autolock", "autolock 1 2", "device", "sealed",
    "sealed twice", "open twice", "open sealed device", "open sealed sealed", "opens", "autolock " + "9" * 300,
]


class AtALock(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage()
        cls.addClassCleanup(cls.stage.close)
        # Short: a socket's path has room for 107 bytes.
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="h"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.door = cls.place / "door"
        status, cls.told, errors = cls.stage.play("--prepare", str(cls.door))
        assert (status, errors) == (0, ""), errors + cls.told
        cls.socket = str(cls.door / "lock" / "socket")
        cls.account = ["--store", str(cls.door / "service" / "store"), "--key-file",
                       str(cls.door / "service" / "store.key")]
        cls.hardware, = cls.operate("hardware", "list")
        cls.instance = cls.ask("show")[0]["instance"]

    @classmethod
    def operate(cls, *words):
        run = subprocess.run([BIN / "proofctl", *words, "--json", *cls.account], capture_output=True, text=True,
                             timeout=MOMENT, env=cls.stage.environment, check=True)
        return json.loads(run.stdout)

    def power_on(self):
        """The lock: its log is what it wrote when it is switched off."""
        lock = subprocess.Popen(
            [BIN / "proof-hardware", "--flash", self.door / "lock" / "flash", "--socket", self.socket, "--seal", "yes",
             "--channel", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env=self.stage.environment)
        self.addCleanup(self.power_off, lock)
        while "listening" not in lock.stderr.readline():
            self.assertIsNone(lock.poll(), "the lock does not start")
        return lock

    def power_off(self, lock):
        if lock.stderr.closed:
            return ""
        if lock.poll() is None:
            lock.send_signal(signal.SIGTERM)
        return lock.communicate(timeout=MOMENT)[1]

    @classmethod
    def app(cls, *words, given="", home=None, **options):
        """The app's status and outputs."""
        run = subprocess.run([BIN / "proof-demo", "app", *(["--home", home or cls.door / "phone"]), *words],
                             input=given, capture_output=True, text=True, timeout=MOMENT, env=cls.stage.environment,
                             check=False, **options)
        return run.returncode, run.stdout, run.stderr

    @classmethod
    def ask(cls, *lines, home=None):
        """The app's answers in JSON, one for each line."""
        _, output, errors = cls.app("--json", given="".join(line + "\n" for line in lines), home=home)
        assert errors == "" and output.startswith("ready\n"), errors + output
        answers = [json.loads(line) for line in output.splitlines()[1:]]
        assert len(answers) == len(lines), output
        return answers

    def said(self, *lines, home=None):
        return [(answer["outcome"], answer["detail"], answer["isDone"]) for answer in self.ask(*lines, home=home)]

    def attack(self, *words):
        run = subprocess.run([BIN / "proof-demo", "attack", *words], capture_output=True, text=True, timeout=MOMENT,
                             env=self.stage.environment, stdin=subprocess.DEVNULL, check=False)
        return run.returncode, run.stdout, run.stderr

    # MARK: Preparing

    def test_preparing_tells_its_steps_and_the_two_commands(self):
        programs = BIN.resolve()
        steps, rest = self.told.split("\n\n", 1)
        told = steps.strip().splitlines()
        self.assertEqual(told[0], "Online, once")
        marked = [line for line in told if line.startswith("ok     ")]
        self.assertEqual(len(marked), 8, self.told)
        self.assertTrue(all(line.startswith(("ok     ", "       ")) for line in told[1:]), self.told)
        lock = f"{programs}/proof-hardware --flash {self.door}/lock/flash --socket {self.socket}"
        self.assertEqual(rest, f"Service and backend are stopped. Two terminals go on without them:\n\n"
                               f"  {lock} --seal yes --channel yes\n"
                               f"  {programs}/proof-demo app --home {self.door}/phone\n")

    def test_what_is_prepared_is_for_its_owner_alone(self):
        def mode(name):
            return stat.S_IMODE(os.stat(self.door / name).st_mode)

        for name in (".", "service", "backend", "lock", "phone/app", "phone/app/views", "phone/storage",
                     "phone/paired", "other-phone/storage", "guest-phone/storage"):
            self.assertEqual(mode(name), 0o700, name)
        for name in ("service/store.key", "service/service.key", "service/management", "backend/issuer.key",
                     "backend/factory.key", "backend/sealing.jwk", "phone/app/account", "phone/app/backend",
                     "phone/paired/link", "phone/paired/hardware", "phone/storage/measurement/measurement"):
            self.assertEqual(mode(name), 0o600, name)
        # The service was told which app it is.
        self.assertEqual({seen["said"]["app"] for seen in self.operate("device", "list")}, {"sample-app"})
        # Only the lock has its key.
        # The lock makes its socket and its state when it is switched on.
        self.assertEqual(set(os.listdir(self.door / "lock")) - {"socket", "flash.state"}, {"flash"})
        self.assertRegex((self.door / "service" / "store.key").read_text(), "^[0-9a-f]{64}$")

    def test_the_bundle_of_an_app_has_its_files(self):
        bundle = self.door / "phone" / "app"
        files = {str(path.relative_to(bundle)): path for path in bundle.rglob("*") if path.is_file()}
        self.assertEqual(set(files), {"account", "api", "authority.pem", "backend", "rules", "version", "views/main"})
        for name, text in (("rules", "doors stay shut at night\n"), ("version", "1.0\n"),
                           ("views/main", "a big round button\n")):
            self.assertEqual(files[name].read_text(), text)
        self.assertRegex(files["backend"].read_text(), r"^http://127\.0\.0\.1:[1-9]\d{3,4}$")
        self.assertRegex(files["authority.pem"].read_text(), "^-----BEGIN CERTIFICATE-----\n")
        self.assertEqual((self.door / "phone" / "paired" / "link").read_text(), self.socket)
        self.assertEqual((self.door / "phone" / "paired" / "hardware").read_text(), self.hardware["id"])

    def test_a_folder_that_is_there_is_not_prepared(self):
        status, output, errors = self.stage.play("--prepare", str(self.door))
        self.assertEqual((status, output, errors), (
            2, "", f"proof-demo: {self.door} is there already: name a folder that is to be made\n"))

    # MARK: The app

    def test_verbs_that_need_no_lock(self):
        name = self.ask("name")[0]["outcome"]
        self.assertRegex(name, "^([0-9a-f]{2})+$")
        answers = self.ask("show", "enrol", "records", "diagnose", "fetch", "name", "forget", "nonsense")
        shown, enrolled, records, diagnosis, fetched, named, forgotten, unknown = answers
        self.assertRegex(self.instance, "^[0-9a-f]{32}$")
        self.assertEqual((shown["outcome"], shown["instance"]), ("stored", self.instance))
        self.assertEqual(shown["detail"], f"instance {self.instance}, generation 1, 1 token")
        self.assertEqual((enrolled["outcome"], enrolled["detail"], enrolled["instance"]),
                         ("enrolled", f"this installation is {self.instance}", self.instance))
        lines = records["detail"].splitlines()
        self.assertEqual(records["outcome"], f"{len(lines)} records")
        self.assertGreater(len(lines), 1)
        self.assertIn("nothing differs", diagnosis["outcome"])
        self.assertEqual(fetched["outcome"], "not fetched: no network")
        self.assertEqual((named["outcome"], named["detail"]), (name, ""))
        self.assertEqual((forgotten["outcome"], forgotten["detail"]), ("forgotten", ""))
        self.assertEqual(unknown["outcome"], "failed")
        self.assertRegex(unknown["detail"], "^not understood; these are:\nenrol  ")
        self.assertEqual([answer["isDone"] for answer in answers], [True] * 4 + [False, True, True, False])
        self.assertEqual([answer.get("instance") for answer in answers],
                         [self.instance, self.instance] + [None] * 6)
        for answer in answers:
            self.shares(answer["time"], False)
        self.assertGreater(diagnosis["time"]["measurement"], 0)
        self.assertGreater(records["time"]["measurement"], 0)
        self.assertGreater(fetched["time"]["network"], 0)

    def shares(self, time, has_link):
        """The parts are those of the whole; a step without a link has none of its time."""
        self.assertEqual(set(time), {"total", "measurement", "cryptography", "link", "network"})
        self.assertGreater(time["total"], 0)
        self.assertAlmostEqual(sum(time.values()) - time["total"], time["total"], delta=0.01)
        self.assertTrue(all(part >= 0 for part in time.values()), time)
        self.assertEqual(time["link"] > 0, has_link, time)

    def test_words_that_are_no_verb_are_told_the_verbs(self):
        name = self.ask("name")[0]["outcome"]
        lines = [line.format(name=name) for line in NO_VERBS]
        for line, answer in zip(lines, self.ask(*lines)):
            self.assertEqual((answer["outcome"], answer["isDone"]), ("failed", False), line)
            self.assertTrue(answer["detail"].startswith("not understood"), line)
            self.assertEqual(answer["time"]["link"], 0, line)

    def test_commands_have_their_class_and_the_lock_counts_them(self):
        lock = self.power_on()
        lines = ["open", "close", "status", "autolock 30", "open sealed", "open sealed twice", "status device",
                 "close device", "status device sealed", "autolock 7"]
        answers = self.ask(*lines)
        shut = "the lock is shut, "
        self.assertEqual([(answer["outcome"], answer["isDone"]) for answer in answers], [
            ("accepted", True), ("accepted", True), ("accepted", True), ("accepted", True), ("accepted", True),
            ("accepted, accepted", True), ("accepted, device only", True),
            ("ask the backend: not permitted", False), ("accepted, device only", True), ("accepted", True)])
        self.assertEqual([answer.get("doneCount") for answer in answers], [1, 2, 3, 4, 5, 7, 8, None, 9, 10])
        self.assertEqual([answer["detail"].split(",")[0] for answer in answers[:3]],
                         ["the lock is open", "the lock is shut", "the lock is shut"])
        self.assertEqual(answers[1]["detail"], shut + "2 done since its start")
        for answer in answers:
            self.shares(answer["time"], True)
            self.assertGreater(answer["time"]["measurement"] + answer["time"]["cryptography"], 0)
        done = re.findall(r"command of class (\d+): done", self.power_off(lock))
        self.assertEqual(done, ["1", "1", "0", "2", "1", "1", "1", "0", "0", "2"])

    def test_a_line_for_people_has_its_detail_below_and_the_last_one_decides(self):
        lock = self.power_on()
        done = "accepted\n  the lock is open, {} done since its start\n"
        self.assertEqual(self.app(given="nonsense\n\n  open  \n"),
                         (0, self.app("nonsense")[1] + done.format(1), ""))
        status, output, errors = self.app(given="open\nopen device\n")
        self.assertEqual((status, errors), (1, ""))
        self.assertTrue(output.startswith(done.format(2) + "ask the backend: not permitted\n  "), output)
        self.assertEqual(self.app("open"), (0, done.format(3), ""))
        self.assertEqual(self.app("open", "device")[0], 1)
        self.assertEqual(self.app("--socket", self.socket, "open"), (0, done.format(4), ""))
        name = self.app("name")
        self.assertEqual((name[0], name[1].count("\n")), (0, 1))
        self.assertEqual(self.app(), (0, "", ""))
        self.assertEqual(self.app("--json"), (0, "ready\n", ""))
        # A verb of the command line is answered alone.
        self.assertTrue(self.app("--json", "show")[1].startswith("{"))
        self.power_off(lock)
        self.assertEqual(self.app("open")[1].splitlines()[0], "no lock at this address")
        self.assertEqual(self.app("--socket", self.socket + "2", "open")[1].splitlines()[0], "no lock at this address")

    def test_the_home_is_the_present_folder_if_none_is_named(self):
        run = subprocess.run([BIN / "proof-demo", "app", "show"], cwd=self.door / "phone", capture_output=True,
                             text=True, timeout=MOMENT, env=self.stage.environment, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (0, f"stored\n  instance {self.instance}, generation 1, 1 token\n", ""))

    def test_a_file_that_is_missing_is_named_with_the_way_to_make_it(self):
        home = self.place / "copy"
        shutil.copytree(self.door / "phone", home)
        self.addCleanup(shutil.rmtree, home)
        for name in ("app/account", "paired/link", "paired/hardware", "app/backend", "app/api"):
            file = home / name
            text = file.read_text()
            file.unlink()
            status, output, errors = self.app("fetch", home=home)
            says = f"{file} cannot be read: `proof-demo --prepare FOLDER` makes a home for the app"
            self.assertEqual(status, 1, name)
            if name in ("app/account", "paired/link"):
                self.assertEqual((output, errors), ("", f"proof-demo app: {says}\n"))
            else:
                self.assertEqual((output, errors), (f"failed\n  {says}\n", ""))
            file.write_text(text)
        shop = ["--shop", "prices"]
        self.assertRegex(self.app(*shop, home=home)[2], "^proof-demo app: .*/paired/user cannot be read: ")
        for text in ("", "ada", "ada secret more"):
            (home / "paired" / "user").write_text(text)
            self.assertEqual(self.app(*shop, home=home),
                             (1, "", "proof-demo app: paired/user does not have a name and a secret\n"))
        (home / "paired" / "user").write_text(" ada secret \n")
        status, output, _ = self.app(*shop, home=home)
        self.assertEqual((status, output.splitlines()[0]), (1, "no answer"))

    def test_nothing_is_stored_before_the_first_fetch(self):
        home = self.place / "fresh"
        shutil.copytree(self.door / "phone", home)
        self.addCleanup(shutil.rmtree, home)
        shutil.rmtree(home / "storage" / "measurement")
        self.assertEqual(self.app("show", home=home), (0, "nothing is stored\n", ""))

    def test_three_differences_are_told_and_further_ones_are_counted(self):
        home = self.place / "changed"
        shutil.copytree(self.door / "phone", home)
        self.addCleanup(shutil.rmtree, home)
        for count, more in ((1, ""), (2, ""), (3, ""), (4, "; and 1 more"), (5, "; and 2 more")):
            (home / "app" / f"new{count}").write_text("x")
            outcome, detail, _ = self.said("diagnose", home=home)[0]
            self.assertEqual(outcome, "bundle")
            parts = detail.removesuffix(more).split("; ")
            self.assertEqual(len(set(parts)), min(count, 3), detail)
            for part in parts:
                self.assertRegex(part, "^bundle: new[1-5]: added$")

    def test_an_owner_lends_and_takes_back_and_a_guest_has_what_was_lent(self):
        self.power_on()
        guest = self.door / "guest-phone"
        name = self.ask("name", home=guest)[0]["outcome"]
        self.assertEqual(self.said("open")[0][0], "accepted")
        # The guest's own token, which opens nothing, makes the guest known to the lock.
        self.assertEqual(self.said("open", home=guest)[0][::2], ("ask the backend: not permitted", False))
        loan, = self.ask(f"lend {name} 2")
        self.assertEqual((loan["outcome"], loan["isDone"]), ("lent", True))
        # The owner may bring it, too; the receipt is the guest's.
        self.assertEqual(self.said(f"bring {loan['detail']}"),
                         [("taken", "its receipt is for another app", True)])
        said = self.said(f"bring {loan['detail']}", "open", "open", "open", home=guest)
        self.assertEqual(said[0], ("taken", "2 uses are left", True))
        self.assertEqual([(outcome, done) for outcome, _, done in said[1:3]], [("accepted", True)] * 2)
        self.assertFalse(said[3][2])
        again, = self.ask(f"lend {name} 300")
        self.assertEqual(self.said(f"bring {again['detail']}", home=guest), [("taken", "300 uses are left", True)])
        back, = self.ask(f"back {name}")
        self.assertEqual((back["outcome"], back["isDone"]), ("to be taken back", True))
        self.assertEqual(self.said(f"bring {back['detail']}"), [("taken", "0 uses are left", True)])
        self.assertFalse(self.said("open", home=guest)[0][2])

    def test_an_order_is_carried_and_ends_the_rights_of_another_phone(self):
        self.power_on()
        other = self.door / "other-phone"
        instance = self.ask("show", home=other)[0]["instance"]
        self.assertNotEqual(instance, self.instance)
        self.assertEqual(self.said("open", home=other)[0][0], "accepted")
        backend = self.door / "backend"
        order = self.operate("order", "sign", "revoke", self.hardware["id"], "--instance", instance, "--issuer-key",
                             str(backend / "issuer.key"), "--ledger", str(backend / "ledger"))["order"]
        self.assertEqual(self.said(f"carry {order}"), [("order done", f"{len(order) // 2} bytes", True)])
        self.assertEqual([part for part in self.said("open", home=other)[0][::2]], ["ask the backend: revoked", False])
        # The owner's rights are as before.
        self.assertEqual(self.said("open")[0][0], "accepted")

    def test_the_log_is_stored_in_parts_and_handed_out_after_a_proof_alone(self):
        self.power_on()
        folder = self.door / "phone" / "log"
        shutil.rmtree(folder, ignore_errors=True)
        self.assertEqual(self.said("log unproved")[0][::2], ("not handed out", False))
        self.assertFalse(folder.exists())
        outcome, detail, done = self.said("log")[0]
        self.assertEqual((outcome, done), ("carried", True))
        entries, parts = map(int, re.fullmatch(
            r"(\d+) entries in (\d+) parts, which the phone cannot read", detail).groups())
        files = list(folder.iterdir())
        self.assertEqual(len(files), parts)
        report = self.operate("log", "show", "--hardware", self.hardware["id"], *map(str, files))
        self.assertEqual((report["outcome"], len(report["entries"])), ("whole", entries))

    # MARK: The thief

    def test_an_attack_is_named_with_what_it_needs(self):
        for words, says in (
                ([], "name one attack"), (["tap", "read"], "name one attack"), (["dig"], "unknown attack: dig"),
                (["tap", "--socket", "x"], "--listen is missing"), (["tap", "--listen", "x"], "--socket is missing"),
                (["replay"], "--command is missing"), (["replay", "--command", "zz"], "--command is not hexadecimal"),
                (["read", "--command", "00"], "--text is missing"),
                (["read", "--command", "00", "--text", "x"], "--instance is missing"),
                (["forge"], "--hardware is missing"), (["forge", "--hardware", "01" * 16], "--key is missing"),
                (["spend"], "--hardware is missing"), (["request"], "--url is missing"),
                (["request", "--url", "https://127.0.0.1:1"], "--authority is missing"),
                (["solve"], "--challenge is missing")):
            self.assertEqual(self.attack(*words), (2, "", f"proof-demo attack: {says}; --help tells more\n"), words)
        self.assertEqual(self.attack("--help")[0], 0)
        status, output, errors = self.attack("replay", "--command", "00" * 98, "--socket", "/none/x")
        self.assertEqual((status, output, errors), (1, "", "proof-demo attack: /none/x: No such file or directory\n"))

    def test_reading_says_which_parts_stand_in_a_recording(self):
        command, own = b"open".hex(), "ab" * 16
        for recorded, says in ((command + own, "the command, and whose it is"), ("00" + command, "the command"),
                               (own, "whose it is"), (own[:-2], "neither"), ("", "neither")):
            words = ["read", "--command", recorded, "--text", "open", "--instance", own]
            self.assertEqual(self.attack(*words), (0, says + "\n", ""))

    def tap(self, *options):
        path = str(self.place / "tap")
        tap = self.stage.start("attack", "tap", "--listen", path, "--socket", self.socket, *options)

        def end():
            tap.kill()
            tap.communicate(timeout=MOMENT)
            os.unlink(path)
        self.addCleanup(end)
        self.assertEqual(tap.stdout.readline(), "ready\n")
        return tap, path

    def test_a_tap_records_each_command_of_each_app_and_a_recording_is_stale(self):
        self.power_on()
        tap, path = self.tap()
        recorded = []
        for _ in range(2):
            self.assertEqual(self.app("--socket", path, "open")[1].splitlines()[0], "accepted")
            recorded.append(re.fullmatch(r"command ([0-9a-f]+)\n", tap.stdout.readline())[1])
        self.assertNotEqual(*recorded)
        at = ["--socket", self.socket]
        for command in recorded:
            self.assertEqual(self.attack("replay", "--command", command, *at), (0, "stale\n", ""))
            self.assertEqual(self.attack("read", "--command", command, "--text", "open", "--instance", self.instance),
                             (0, "the command, and whose it is\n", ""))
            # As a command of a channel it has another type.
            self.assertNotEqual(self.attack("replay", "--in-channel", "--command", command, *at)[1], "")

    def test_a_tap_replaces_the_first_command_and_no_other(self):
        self.power_on()
        self.assertEqual(self.app("close")[0], 0)
        tap, path = self.tap("--replace", "open")
        for _ in range(2):
            status, output, _ = self.app("--socket", path, "status")
            self.assertEqual((status, output.splitlines()[0]), (0, "accepted"))
            self.assertIn("the lock is shut", output)
        tap.kill()
        lines = tap.stdout.read().splitlines()
        kinds = [line.split()[0] for line in lines]
        self.assertEqual([line for line in lines if line.startswith("verdict")], ["verdict device differs"])
        # The app may send its next command before the tap has told the verdict that it passed on.
        self.assertIn(kinds, (["command", "verdict", "command", "command"],
                              ["command", "command", "verdict", "command"]), lines)
        for line in lines:
            if line.startswith("command"):
                self.assertIn(b"status".hex(), line)

    def test_a_thief_who_forges_or_spends_a_token_gets_no_right(self):
        self.power_on()
        self.assertEqual(self.app("open")[0], 0)
        at = ["--socket", self.socket]
        own = ["--hardware", self.hardware["id"]]
        self.assertEqual(self.attack("forge", *own, "--key", self.hardware["publicKey"], "--instance", self.instance,
                                     *at), (0, "not for me\n", ""))
        store = str(self.door / "phone" / "storage" / "measurement")
        self.assertEqual(self.attack("spend", *own, "--store", store, *at), (0, "held, then device differs\n", ""))
        other = "ab" * (len(self.hardware["id"]) // 2)
        self.assertEqual(self.attack("spend", "--hardware", other, "--store", store, *at),
                         (1, "", f"proof-demo attack: there is no token for {other} in the copied store\n"))
        self.assertEqual(self.app("open")[0], 0)

    def test_a_stolen_token_is_sent_as_it_is_and_a_command_to_open_follows(self):
        path = str(self.place / "thief")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.settimeout(MOMENT)
            listener.bind(path)
            listener.listen()
            store = str(self.door / "phone" / "storage" / "measurement")
            attack = self.stage.start("attack", "spend", "--hardware", self.hardware["id"], "--store", store,
                                      "--socket", path)
            link, _ = listener.accept()
            with link:
                link.settimeout(MOMENT)
                lock = LockByHand(link)
                lock.take(0x03, 3)
                lock.challenge((7).to_bytes(8, "little") + bytes(range(1, 33)))
                lock.take(0x08, 17)
                output, errors = attack.communicate(timeout=MOMENT)
        os.unlink(path)
        self.assertEqual((attack.returncode, output, errors), (0, "held, then device differs\n", ""))
        token, command = lock.messages
        self.assertEqual((token[:2], token[4:8].hex()), (b"PT", self.hardware["id"][:8]))
        said = message.parse_command(command)
        self.assertEqual((said.kind, said.cls, said.instance_id.hex(), said.counter, said.command),
                         (1, 1, self.instance, 7, b"open"))

    def test_a_lock_that_hangs_up_is_told(self):
        path = str(self.place / "gone")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as lock:
            lock.settimeout(MOMENT)
            lock.bind(path)
            lock.listen()
            attack = self.stage.start("attack", "replay", "--command", "00" * 98, "--socket", path)
            accepted, _ = lock.accept()
            self.assertEqual(accepted.recv(100), bytes([0x12, 0x0B, 0, 1, 0]))
            # An error of the attribute protocol: its last byte is the reason.
            accepted.send(bytes([0x01, 0x12, 0x0B, 0, 0x03]))
            errors = attack.communicate(timeout=MOMENT)[1]
            self.assertEqual((attack.returncode, errors),
                             (1, "proof-demo attack: the hardware answers error 3\n"))
            attack = self.stage.start("attack", "replay", "--command", "00" * 98, "--socket", path)
            lock.accept()[0].close()
            self.assertIn("the hardware closed the link", attack.communicate(timeout=MOMENT)[1])
            self.assertEqual(attack.returncode, 1)
        accepted.close()
        os.unlink(path)
