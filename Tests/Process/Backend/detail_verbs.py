# SPDX-License-Identifier: Apache-2.0

"""The tool's answers in detail: texts for people, environment variables, limits of arguments, and servers that answer
in another way than they should."""

import base64
import datetime
import email.utils
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

from place import BIN, Place
from verbs import PIN

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from recorded_waits import RecordedWaits  # noqa: E402

ADDRESS = "https://a.example.com"
TIMES = {"added", "changed", "exp", "expiry", "firstSeen", "iat", "issued", "lastSeen", "nbf", "notAfter", "until"}


def plain(value):
    """A value for people."""
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def cell(name, value):
    """A value of a column or line: a time is a date."""
    if name in TIMES and isinstance(value, int):
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return plain(value)


def as_lines(value):
    """An object for people: a line for each member, names and values in two columns."""
    width = max(map(len, value))
    return "".join(f"{name:<{width}}  {cell(name, member)}\n" for name, member in sorted(value.items()))


class Server(http.server.ThreadingHTTPServer):
    """A server that answers each request as a test wants, and keeps what came."""

    daemon_threads = True

    def __init__(self, test):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.date, self.came = 200, b"{}", time.time(), []
        thread = threading.Thread(target=self.serve_forever, daemon=True)
        thread.start()
        test.addCleanup(thread.join, 60)
        test.addCleanup(self.server_close)
        test.addCleanup(self.shutdown)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.came.append((self.command, self.path, self.headers.get("Authorization"), body))
        self.send_response_only(self.server.status)
        if self.server.date is not None:
            self.send_header("Date", email.utils.formatdate(self.server.date, usegmt=True))
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST = respond

    def log_message(self, *_):
        """The tests read `came`."""


class DetailVerbs:
    """Joins `Verbs`, which has `ask` and `refused`."""

    def text(self, *arguments):
        code, text, words = self.place.run(*arguments, where=self.where)
        self.assertEqual((code, words), (0, ""), arguments)
        return text

    def test_texts_for_people(self):
        name = f"texts.{type(self).__name__.lower()}"
        self.assertEqual(self.text("keyset", "list"), "none\n")
        self.assertEqual(self.text("api", "add", name), "done\n")
        self.assertEqual(self.text("api", "list"), f"host{' ' * (len(name) - 4)}  kind\n{name}  token\n")
        self.ask("api", "add", "b." + name, "--no-token", "--pin", PIN)
        # A row without a column has none of its value; columns stand in one order, whatever the order of the members.
        width = len(name) + 2
        self.assertEqual(self.text("api", "list").splitlines(),
                         [f"{'host':<{width}}  kind", f"{'b.' + name:<{width}}  none", f"{name:<{width}}  token"])
        self.ask("keyset", "add", "dir", "--kid", "t1")
        rows = self.text("keyset", "list").splitlines()
        self.assertRegex(rows[0], r"^kid  +alg")
        self.assertRegex(rows[1], r"^t1  +dir")
        self.ask("api", "add", "c." + name, "--jwe", "--keyset", "t1")
        self.assertRegex(self.text("api", "list").splitlines()[0], r"^host +kid +kind$")
        for verb in (("config", "show"), ("policy", "show"), ("metrics", "show"), ("keyset", "get", "t1")):
            self.assertEqual(self.text(*verb), as_lines(self.ask(*verb)), verb)
        key = self.place.path(name + ".hw")
        made = self.ask("hardware", "new", "--output", key, "--name", "door", "--features", "token-2,log")
        rows = self.text("hardware", "list").splitlines()
        self.assertRegex(rows[0], r"^id +name +mode")
        row, = [row for row in rows if row.startswith(made["id"])]
        self.assertRegex(row, r"^\w{32} +door +production .*\btoken-2, log\b.*\bfalse\b")
        self.assertRegex(self.text("management", "list"), r"(?m)^name +role.*\nowner +all")
        for host in (name, "b." + name, "c." + name):
            self.ask("api", "remove", host)
        self.ask("keyset", "remove", "t1", "--at-once")

    def test_pins_of_an_api(self):
        other = base64.b64encode(bytes(range(1, 33))).decode()
        self.assertEqual(self.ask("api", "add", "pinned.example.com", "--pin", f"{PIN},{other}"), {})
        listed = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual(listed["pinned.example.com"], [PIN, other])
        self.ask("pin", "set", "pinned.example.com", other, PIN)
        listed = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual(listed["pinned.example.com"], [other, PIN])
        self.ask("pin", "service", other, PIN)
        self.assertEqual(self.ask("config", "show")["servicePins"], [other, PIN])
        self.ask("pin", "service", "none")
        self.assertEqual(self.ask("config", "show")["servicePins"], [])
        self.ask("api", "add", "named.example.com", "--audience", "on")
        self.assertIs([api for api in self.ask("api", "list") if api["host"] == "named.example.com"][0]["audience"],
                      True)
        for host in ("pinned.example.com", "named.example.com"):
            self.ask("api", "remove", host)

    def test_times_have_a_number_and_a_unit(self):
        name = f"{type(self).__name__}.times"
        for index, (text, seconds) in enumerate((("1s", 1), ("90s", 90), ("15m", 900), ("1h", 3600), ("30d", 2592000))):
            file = self.place.write(name, f"1 5 {f'kernel{index}'.encode().hex()} {'cd' * 32}\n")
            added = self.ask("registration", "environment", "add", file, "--expire-after", text)
            self.assertEqual((added["expiry"] - added["added"], added["name"]), (seconds, "environment"), text)
            self.ask("registration", "remove", added["digest"])
        for text in ("0s", "-1s", "1000000000s", "1w", "s", "", "1.5h", "10"):
            self.refused(2, "is no time; write 90s, 15m, 1h or 30d", "registration", "environment", "add",
                         self.place.path(name), "--expire-after", text)

    def test_each_setting_of_a_gate(self):
        name, identity = f"all.{type(self).__name__.lower()}", os.urandom(16).hex()
        settings = {"--life": ("life", 600), "--freshness": ("freshness", 5), "--floor": ("floor", 7),
                    "--form": ("form", "compact"), "--proof-header": ("proofHeader", "x-proof"),
                    "--token-header": ("tokenHeader", "x-token"), "--digest-header": ("digestHeader", "x-digest")}
        made = self.ask("gate", "add", name, "--public", self.gate_key("x9"), "--id", identity)
        self.assertEqual((made["id"], made["mode"], made["name"], made["life"]), (identity, "production", name, 3600))
        for flag, (member, value) in settings.items():
            changed = self.ask("gate", "change", name, flag, value)
            self.assertEqual(changed[member], value, flag)
            self.assertEqual(changed, made | {member: value})
            made = changed
        for flag in ("--life", "--freshness", "--floor"):
            self.refused(2, f"{flag} takes a number, and not .many.", "gate", "change", name, flag, "many")
        self.refused(2, "--public is missing", "gate", "add", "other")
        for path, words in ((self.place.write(name + ".31", bytes(31)), "holds 31 bytes; such a key has 32"),
                            (self.place.path(name + ".none"), "No such file")):
            self.refused(1, words, "gate", "keys", "show", path, where=[])
        self.ask("gate", "remove", name)

    def test_events_say_which_value_is_no_number(self):
        for flag in ("--life", "--measured"):
            self.refused(2, f"{flag} takes a number, and not .x.", "event", "add", "1", "--gate", "g", "--audience",
                         "a", flag, "x")
        for flag in ("--level", "--life"):
            self.refused(2, f"{flag} takes a number, and not .x.", "challenge", "add", "c", "--kind", "work", flag, "x")
        self.refused(2, "--gate is missing", "event", "add", "1", "--audience", "a")
        for flag in ("--when", "--level", "--reason"):
            rule = [word for other in ("--when", "--level", "--reason") if other != flag for word in (other, "low")]
            self.refused(2, f"{flag} is missing", "risk", "add", "r", *rule)

    def test_a_key_of_the_sdk_has_16_bytes(self):
        name = f"{type(self).__name__}.sixteen"
        added = self.ask("sdk", "add", "--key", self.place.write(name, os.urandom(16)))
        self.assertEqual(added["mode"], "production")
        self.ask("sdk", "revoke", added["id"])
        self.refused(1, "is .15 bytes.; allowed: 16", "sdk", "add", "--key", self.place.write(name, os.urandom(15)))
        self.refused(1, "File too large", "sdk", "add", "--key", self.place.write(name, os.urandom(17)))
        self.refused(1, "is .0 bytes.; allowed: 16", "sdk", "add", "--key", self.place.write(name, b""))
        self.refused(2, "--key FILE, or take --development", "sdk", "add", "--development", "--key",
                     self.place.path(name))

    def test_claims_are_the_same_with_an_account_and_with_a_key(self):
        self.ask("api", "add", "claims.example.com")
        token = self.ask("token", "example", "claims.example.com", "--data-hash", "x y")["token"]
        key = self.ask("secret", "keys")["keys"][0]
        file = self.place.write(f"{type(self).__name__}.claims", json.dumps(key))
        checked = self.ask("token", "check", token)
        self.assertNotIn("bound", checked)
        local = ["token", "check", token, "--key", file, "--audience", "claims.example.com"]
        shown = self.place.ask(*local, where=[])
        self.assertEqual((shown["claims"], shown["valid"]),
                         (checked["claims"] | {"aud": ["claims.example.com"]}, True))
        self.assertEqual(self.place.ask(*local, "--data-hash", "x y", where=[]), shown)
        code, output, _ = self.place.run(*local, "--data-hash", "x z", "--json", where=[])
        self.assertEqual((code, json.loads(output)["valid"]), (1, False))
        code, output, _ = self.place.run("token", "check", token, "--data-hash", "x z", "--json", where=self.where)
        self.assertEqual((code, json.loads(output)["bound"], json.loads(output)["valid"]), (1, False, True))
        # A token in a file, and from standard input.
        for form, given in (("@" + self.place.write(f"{type(self).__name__}.text", token + "\n"), ""), ("-", token)):
            self.assertEqual(self.ask("token", "check", form, given=given), checked)
        # A key that stands in the second of two files.
        other = self.place.write(f"{type(self).__name__}.other", json.dumps(key | {"k": "A" * 86, "kid": "z"}))
        both = self.place.ask(*local[:3], "--key", f"{other},{file}", *local[5:], where=[])
        self.assertEqual(both, shown)
        self.assertEqual(self.text("token", "example", "claims.example.com").count("."), 2)
        self.ask("api", "remove", "claims.example.com")

    def test_measured_claims_are_shown_without_their_values(self):
        self.ask("api", "add", "sealed.example.com", "--jwe")
        token = self.ask("token", "example", "sealed.example.com", "--measurement")["token"]
        checked = self.ask("token", "check", token)["claims"]
        key = self.ask("sealing", "keys")["keys"][0]
        file = self.place.write(f"{type(self).__name__}.sealing", json.dumps(key))
        shown = self.place.ask("token", "check", token, "--key", file, "--audience", "sealed.example.com",
                               where=[])["claims"]
        self.assertEqual(shown, checked | {"aud": ["sealed.example.com"]})
        secret = {name for name, value in shown.items() if value == "(secret)"}
        self.assertLessEqual({"imh", "dmh", "mpk"}, secret)
        self.ask("api", "remove", "sealed.example.com")

    def test_an_environment_stands_for_flags(self):
        account = {"PROOF_STORE": str(self.place.store)} if self.where is None else {
            "PROOF_SERVICE": self.place.url + "/",
            "PROOF_MANAGEMENT_TOKEN": pathlib.Path(self.place.path("management")).read_text()}
        before = self.place.environment
        self.addCleanup(setattr, self.place, "environment", before)
        self.place.environment = before | account
        self.assertEqual(self.place.ask("policy", "show", where=[]), self.ask("policy", "show"))
        self.assertEqual({one["state"] for one in self.place.ask("diagnose", where=[])}, {"well"})
        # A flag counts more than a variable; an empty variable is none.
        name = next(iter(account))
        self.place.environment = before | account | {name: "/none" if self.where is None else "http://127.0.0.1:1"}
        self.assertEqual(self.ask("policy", "show"), self.place.ask("policy", "show", where=self.where))
        self.place.environment = before | account | {name: ""}
        self.refused(2, "name the account", "policy", "show", where=[])

    def test_apis_that_answer_are_told_with_their_pins(self):
        self.ask("api", "add", "localhost:1")
        self.ask("api", "add", "localhost:2", "--pin", PIN)
        code, output, _ = self.place.run("api", "check", "--json", where=self.where)
        found = json.loads(output)
        self.assertEqual((code, [(one["host"], one["pins"], one["state"]) for one in found]),
                         (1, [("localhost:1", 0, "failed"), ("localhost:2", 1, "failed")]))
        self.assertTrue(all(one["detail"] for one in found))
        code, output, _ = self.place.run("api", "check", "localhost:2", "--json", where=self.where)
        self.assertEqual((code, [one["host"] for one in json.loads(output)]), (1, ["localhost:2"]))
        for host in ("localhost:1", "localhost:2"):
            self.ask("api", "remove", host)


class Alone(unittest.TestCase):
    """Verbs whose store or server is made for one test."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def run_in(self, environment, *arguments):
        done = subprocess.run([BIN / "proofctl", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False,
                              env={name: value for name, value in os.environ.items()
                                   if not name.startswith("PROOF")} | environment)
        return done.returncode, done.stdout, done.stderr

    def says(self, code, words, *arguments, **environment):
        got, _, errors = self.run_in(environment, *arguments)
        self.assertEqual(got, code, errors)
        self.assertRegex(errors, words)
        return errors

    def test_the_tool_tells_its_version_and_its_help(self):
        header = (ROOT / "CSources" / "ProofCore" / "include" / "version.h").read_text()
        version = re.search(r'PROOFKIT_VERSION "(.+)"', header)[1]
        self.assertEqual(self.run_in({}, "--version"), (0, f"proofctl {version}\n", ""))
        whole = self.run_in({}, "--help")
        self.assertEqual((whole[0], whole[2]), (0, ""))
        self.assertEqual(self.run_in({}, "help"), whole)
        self.assertEqual(self.run_in({}), (2, whole[1], ""))
        nouns = re.findall(r"^  ([a-z-]+)(?: ([a-z-]+))?  +\S", whole[1], re.M)
        for noun in {noun for noun, verb in nouns if verb}:
            code, text, errors = self.run_in({}, noun, "--help")
            self.assertEqual((code, errors), (0, ""))
            self.assertEqual(re.findall(r"^  proofctl ([a-z-]+) ([a-z-]+)", text, re.M),
                             [pair for pair in nouns if pair[0] == noun])
        self.assertTrue(self.run_in({}, "explain", "--help")[1].startswith("usage: proofctl explain CODE…\n"))
        self.assertIn("usage: proofctl diagnose [flags]\n", self.run_in({}, "diagnose", "--help")[1])
        self.assertIn("api check [DOMAIN]", self.run_in({}, "api", "check", "--help")[1])
        self.assertIn("usage: proofctl api list\n", self.run_in({}, "api", "list", "--help")[1])
        self.assertIn("token-lifetime", self.run_in({}, "policy", "set", "--help")[1])

    def test_an_error_is_one_object_of_json(self):
        code, output, errors = self.run_in({}, "api", "list", "x", "--json")
        self.assertEqual((code, json.loads(output)), (2, {"error": '"x" is one argument too many'}))
        self.assertEqual(errors, 'proofctl: "x" is one argument too many\ntry proofctl api list --help\n')
        self.says(2, "^proofctl: there is nothing called \"x\"\ntry proofctl --help\n$", "x")
        self.says(2, '"api" needs one of: add, change, list, remove, check\n', "api")
        self.says(2, '"api" has no "x"; it has: add, change, list, remove, check\n', "api", "x")
        self.says(2, "^proofctl: KID is missing\n", "keyset", "change")
        self.says(2, "^proofctl: NEW-KID is missing\n", "keyset", "change", "a")
        self.says(2, "^proofctl: CODE is missing\n", "explain")

    def test_a_store_and_its_lock_are_named_once(self):
        store, words = self.place.path("own.db"), self.place.write("words", "four words\n")
        key = self.place.write("own.key", bytes(range(32)))
        made = ["init", "own", "--url", ADDRESS]
        self.says(2, "--store is missing", *made, PROOF_PASSPHRASE="x")
        self.says(2, "--url is missing", "init", "own", "--store", store, PROOF_PASSPHRASE="x")
        self.says(2, "--key-file, --passphrase-file or PROOF_PASSPHRASE", *made, "--store", store)
        self.says(2, "not by both", *made, "--store", store, "--key-file", key, "--passphrase-file", words)
        self.assertFalse(os.path.exists(store))
        code, output, _ = self.run_in({"PROOF_STORE": store}, *made, "--passphrase-file", words, "--json")
        answer = json.loads(output)
        self.assertEqual((code, answer["account"], answer["store"], len(answer["managementToken"])),
                         (0, "own", store, 43))
        self.assertRegex(answer["config"], r"^#own@a\.example\.com#[A-Za-z0-9+/]{43}=$")
        self.assertEqual(self.run_in({"PROOF_PASSPHRASE": "four words"}, "api", "list", "--store", store)[1], "none\n")
        self.says(1, "passphrase", "api", "list", "--store", store, PROOF_PASSPHRASE="four")
        token = self.place.path("own.token")
        other = self.place.path("other.db")
        code, output, _ = self.run_in({}, *made, "--store", other, "--key-file", key, "--management-token", token,
                                      "--json")
        self.assertEqual((code, json.loads(output)["managementToken"]), (0, f"in {token}"))
        self.assertEqual(len(pathlib.Path(token).read_text()), 43)
        self.assertEqual(pathlib.Path(key).read_bytes(), bytes(range(32)), "a key file that is there is used")
        self.assertEqual(self.run_in({}, "diagnose", "--store", other, "--key-file", key)[0], 0)
        self.assertIn("locked by a key file", self.run_in({}, "diagnose", "--store", other, "--key-file", key)[1])
        long = self.place.write("long", "x" * 4097)
        self.says(1, "File too large", "api", "list", "--store", store, "--passphrase-file", long)

    def test_a_store_moves_to_an_empty_one(self):
        first, second, third = (self.place.path(f"{name}.db") for name in ("first", "second", "third"))
        lock = {"PROOF_PASSPHRASE": "four words"}
        self.assertEqual(self.run_in(lock, "init", "moved", "--url", ADDRESS, "--store", first)[0], 0)
        for host in ("a.example.com", "b.example.com"):
            self.assertEqual(self.run_in(lock, "api", "add", host, "--store", first, "--pin", PIN)[0], 0)
        self.assertEqual(self.run_in(lock, "string", "set", "s", "x", "--store", first)[0], 0)
        code, output, errors = self.run_in(lock, "store", "move", first, second, "--json")
        self.assertEqual(code, 0, errors)
        moved = json.loads(output)
        self.assertEqual((moved["account"], moved["moved"], moved["devices"], moved["gate-lines"]),
                         ("moved", True, 0, 0))
        self.assertEqual({name: moved["rows"][name] for name in ("api", "pin", "secureString", "gate", "hardware")},
                         {"api": 2, "pin": 2, "secureString": 1, "gate": 0, "hardware": 0})
        self.assertGreaterEqual(moved["counters"], 1)
        self.says(1, "was moved to", "api", "list", "--store", first, **lock)
        self.assertIn("a.example.com", self.run_in(lock, "api", "list", "--store", second)[1])
        # The same command again says that there was nothing to do.
        code, output, errors = self.run_in(lock, "store", "move", first, second, "--json")
        self.assertEqual((code, json.loads(output)), (0, {"account": "moved", "moved": False}), errors)
        self.says(1, "an account moves to a path without file", "store", "move", second, first, **lock)
        self.says(1, "its account is at .*second.db", "store", "move", first, second, "--undo", **lock)
        self.assertEqual(self.run_in(lock, "store", "move", second, third, "--json")[0], 0)
        self.says(2, "TO is missing", "store", "move", first, **lock)
        for verb in ("migrate", "after-restore"):
            self.says(2, "name the database: --store postgres://", "store", verb, **lock)
            self.says(2, "name the database: --store postgres://", "store", verb, "--store", third, **lock)
        self.says(2, "--to takes a number", "store", "migrate", "--store",
                  f"postgres://x@127.0.0.1:1/y?sslrootcert={self.place.write('ca', 'x')}", "--to", "x", **lock)

    def test_diagnose_reports_each_thing_that_is_ill(self):
        lock = {"PROOF_PASSPHRASE": "four words"}
        # The tool's clock stands: how long a command takes is no difference of clocks.
        now = int(time.time())
        stands = RecordedWaits(self.place.folder).environment | {"RECORDED_NOW": str(now)}

        def findings(*arguments):
            code, output, errors = self.run_in(lock | stands, "diagnose", "--json", *arguments)
            self.assertEqual(errors, "")
            return code, [(one["what"], one["state"]) for one in json.loads(output)], {
                one["what"]: one["detail"] for one in json.loads(output)}

        self.says(2, "--regions needs the account", "diagnose", "--regions")
        self.assertEqual(findings()[:2], (0, [("SDK key", "well")]))
        none = self.place.path("none.db")
        code, found, _ = findings("--store", none, "--regions")
        self.assertEqual((code, found), (1, [("SDK key", "well"), ("store", "failed"), ("account", "failed"),
                                             ("regions", "failed")]))
        store = self.place.path("own.db")
        self.assertEqual(self.run_in(lock, "init", "own", "--url", "http://127.0.0.1:1", "--store", store)[0], 0)
        code, found, details = findings("--store", store)
        self.assertEqual((code, found), (0, [("SDK key", "well"), ("store", "well"), ("account", "well")]))
        self.assertEqual(details["store"], "account own, locked by a passphrase")
        self.assertIn("apis 0, configurationSerial 1, devices 0", details["account"])

        server = Server(self)
        server.date = now
        where = ["--service", server.url, "--token-file", self.place.write("token", "t" * 43 + "\n")]
        server.body = b'well\nsecond line'
        code, found, details = findings(*where)
        self.assertEqual((code, found[1:]), (1, [("service", "well"), ("clock", "well"), ("management", "failed")]))
        self.assertEqual(details["service"], "well")
        self.assertEqual(details["clock"], "differs by 0 seconds")
        self.assertEqual(server.came[-1][:3], ("POST", "/v1/manage/metrics/show", f"Bearer {'t' * 43}"))
        self.assertEqual({one[:2] for one in server.came[:2]}, {("GET", "/health")})
        for shift, state in ((-40, "failed"), (40, "failed"), (-20, "well"), (20, "well")):
            server.date = now + shift
            _, found, details = findings(*where)
            self.assertIn(("clock", state), found)
            if state == "failed":
                self.assertEqual(details["clock"],
                                 f"this machine's clock differs by {-shift} seconds; set one of the two")
        server.date = None
        self.assertEqual(findings(*where)[2]["clock"], "the service does not tell its time")
        server.status = 500
        self.assertEqual(findings(*where)[2]["service"], "/health answers with status 500")
        # The address of an account.
        server.status = 200
        self.assertEqual(self.run_in(lock, "config", "url", server.url, "--store", store)[0], 0)
        code, found, details = findings("--store", store, "--regions")
        self.assertEqual((code, found[3:]), (0, [("region home", "well")]))
        self.assertEqual(details["region home"], f"{server.url} answers, not pinned")
        server.status = 503
        code, found, details = findings("--store", store, "--regions")
        self.assertEqual((code, details["region home"]), (1, f"{server.url}/health answers with status 503"))
        folder = self.place.path("empty")
        os.mkdir(folder, 0o700)
        self.assertEqual(findings("--app", folder)[1:],
                         ([("SDK key", "well"), ("stored measurement", "well")],
                          findings()[2] | {"stored measurement": "nothing is stored"}))

    def test_a_service_that_is_none_is_told_from_one_that_refuses(self):
        server = Server(self)
        token = self.place.write("token", "t" * 43)
        ask = ["policy", "show", "--token-file", token, "--service"]
        server.body = b'{"a":1}'
        self.assertEqual(self.run_in({}, *ask, server.url + "/")[:2], (0, "a  1\n"))
        self.assertEqual(server.came, [("POST", "/v1/manage/policy/show", f"Bearer {'t' * 43}", b"{}")])
        server.status, server.body = 403, b'{"error":"The role does not cover it."}'
        self.assertEqual(self.says(1, "role", *ask, server.url), "proofctl: The role does not cover it.\n")
        for status, body in ((200, b"x"), (404, b"{}"), (500, b"")):
            server.status, server.body = status, body
            self.says(1, f"answered with status {status}: is it the attestation service.", *ask, server.url)
        self.says(1, "cannot be reached", *ask, "http://127.0.0.1:1")
        self.says(2, "--token-file or PROOF_MANAGEMENT_TOKEN", "policy", "show", "--service", server.url)
        # A confirmation that a person typed, and none.
        server.status, server.body = 200, b"{}"
        self.says(0, "Type YES to go on:", "pin", "force", "--token-file", token, "--service", server.url)
        self.assertEqual(server.came[-1][1::2], ("/v1/manage/pin/force", b'{"confirm":""}'))

    def test_questions_to_a_gate_about_events(self):
        server = Server(self)
        credential, data = self.place.write("credential", "c" * 43 + "\n"), self.place.write("data", b"\0bytes\n")
        at = ["--events", server.url + "/", "--credential", credential]
        server.body = b'{"valid":true,"repeated":false}'
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"\0bytes\n").digest()).rstrip(b"=").decode()
        code, output, errors = self.run_in(
            {}, "event", "check", "3300", "token", *at, "--account", "a", "--data", "@" + data, "--address",
            "192.0.2.1", "--key", "k", "--json")
        self.assertEqual((code, json.loads(output)), (0, {"valid": True, "repeated": False}), errors)
        method, path, authorization, body = server.came[-1]
        self.assertEqual((method, path, authorization), ("POST", "/v1/event", f"Bearer {'c' * 43}"))
        self.assertEqual(json.loads(body), {"event": 3300, "token": "token", "account": "a", "data": digest,
                                            "address": "192.0.2.1", "key": "k"})
        self.assertEqual(self.run_in({}, "event", "check", "65535", "token", *at, "--data", "x")[0], 0)
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"x").digest()).rstrip(b"=").decode()
        self.assertEqual(json.loads(server.came[-1][3]), {"event": 65535, "token": "token", "data": digest})
        self.assertEqual(self.run_in({}, "event", "check", "0", "@" + self.place.write("t", "file\n"), *at)[0], 0)
        self.assertEqual(json.loads(server.came[-1][3]), {"event": 0, "token": "file"})
        for status in (200, 503):
            server.status, server.body = status, b'{"valid":false,"reason":"store"}'
            code, output, _ = self.run_in({}, "event", "check", "7", "token", *at, "--json")
            self.assertEqual((code, json.loads(output)), (1, {"valid": False, "reason": "store"}))
        for number in ("65536", "-1", "x"):
            self.says(2, "a number from 0 to 65535", "event", "check", number, "token", *at)
        server.status, server.body = 200, b'{"valid":1}'
        self.says(1, "the answer is no judgement", "event", "check", "7", "token", *at)
        server.status, server.body = 401, b'{"title":"The credential has ended."}'
        self.says(1, "^proofctl: The credential has ended.\n$", "event", "check", "7", "token", *at)
        for status, body in ((200, b"x"), (404, b"{}"), (500, b"[]")):
            server.status, server.body = status, body
            self.says(1, f"answered with status {status}: is it a gate's listener", "event", "check", "7", "token", *at)
        self.says(1, "name the file with the business data", "event", "check", "7", "token", *at, "--data", "@none")
        self.says(2, "--events is missing", "event", "check", "7", "token")
        self.says(2, "--credential is missing", "event", "check", "7", "token", *at[:2])
        self.says(1, "http://127.0.0.1:1: ", "event", "forget", "a", "--events", "http://127.0.0.1:1", *at[2:])
        server.status, server.body = 200, b'{"devices":2}'
        self.assertEqual(self.run_in({}, "event", "forget", "a", *at), (0, "devices  2\n", ""))
        self.assertEqual(server.came[-1], ("POST", "/v1/forget", f"Bearer {'c' * 43}", b'{"account":"a"}'))

    def test_a_secret_of_a_proof_has_its_length(self):
        key, nonce, measured = "01" * 16, "02" * 16, "03" * 32
        parts = {"--key": key, "--nonce": nonce, "--measurement": measured}

        def ask(**changed):
            words = [word for name, value in (parts | changed).items() for word in (name, value)]
            return self.run_in({}, "proof", "compute", *words)

        self.assertEqual(ask()[0], 0)
        for name, digits in (("--key", 32), ("--nonce", 32), ("--measurement", 64)):
            for value in (parts[name] + "01", parts[name][2:], "x" * digits):
                code, _, errors = ask(**{name: value})
                self.assertEqual(code, 2, (name, value))
                self.assertIn(f"{name} takes {digits} hexadecimal digits", errors)

    def test_names_of_files_are_completed(self):
        script = self.place.write("completion", self.run_in({}, "completion", "bash")[1])
        folder = pathlib.Path(self.place.path("files"))
        folder.mkdir()
        (folder / "one").touch()

        def complete(*words):
            line = (f'source {script}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _proofctl; '
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()

        for words in (["api", "list", "--store"], ["hardware", "new", "--output"], ["api", "list", "--token-file"],
                      ["registration", "digest"]):
            self.assertEqual(complete("proofctl", *words, f"{folder}/o"), [f"{folder}/one"], words)
        self.assertEqual(complete("proofctl", "--h"), ["--help"])
        self.assertEqual(complete("proofctl", "diagnose", "--reg"), ["--regions"])

    def test_a_key_pair_of_the_sdk_without_an_account(self):
        key, output = self.place.path("mpk"), self.place.path("mpk.c")
        new = ["sdk", "new", "--sources", ROOT, "--output", output]
        code, text, errors = self.run_in({}, *new, "--key", key)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(os.stat(key).st_size, 16)
        self.assertTrue(os.path.exists(output) and text.strip())
        code, again, _ = self.run_in({}, *new, "--key", key, "--json")
        self.assertEqual((code, list(json.loads(again))), (0, ["generated"]))
        self.says(1, "CSources/ProofKey/generate is not there: name the SDK's sources", "sdk", "new", "--sources",
                  self.place.path("nowhere"), "--key", key)
        self.says(1, "invalid choice: .both.", *new, "--mode", "both")
