# SPDX-License-Identifier: Apache-2.0

"""The program proof-shop and the shop's app from outside: what is served, refused and told."""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import stat
import subprocess
import tempfile
import unittest

from demonstration import BIN, MOMENT

# Users: the secret they sign in with, and their money in cents.
USERS = {"ada": 900, "eve": 29_700, "rich": 90_000, "bob": 0}


class Till:
    """An account, its attestation service, a shop whose gate it lists, and phones with the shop's app."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="s"))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8",
                            "TMPDIR": str(self.folder)}
        self.processes, self.read = [], 0
        for name in ("service", "shop"):
            self.make_certificate(name)
        self.write("store.key", "ab" * 32)
        self.account = ["--store", self.path("store"), "--key-file", self.path("store.key")]
        self.operate("init", "demo", "--url", "https://127.0.0.1:1", "--management-token", self.path("management"))
        self.operate("sdk", "add", "--development")
        self.serve_attestation()
        keys = self.operate("gate", "keys", "new", self.path("gate.key"))
        self.write("gate.public", keys["publicKey"] + "\n")
        self.operate("gate", "add", "shop", "--public", self.path("gate.public"), "--development", "--freshness", "5")
        self.configure()
        self.write("users", "".join(f"{name} {hashlib.sha256(f'secret-of-{name}'.encode()).hexdigest()} {cents}\n"
                                    for name, cents in USERS.items()))
        self.run(BIN / "proof-shop", "prepare", self.path("state"))

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(text)
        return str(path)

    def run(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=MOMENT,
                              env=self.environment, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def operate(self, *words):
        return json.loads(self.run(BIN / "proofctl", *words, "--json", *self.account))

    def make_certificate(self, name):
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                 "2", "-subj", f"/CN=test {name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out",
                 self.path(f"{name}.pem"), "-keyout", self.path(f"{name}.pem.key"))
        os.chmod(self.path(f"{name}.pem.key"), 0o600)

    def configure(self):
        self.operate("gate", "configuration", "shop", "--output", self.path("gate.jws"))

    def serve_attestation(self):
        service = self.start(BIN / "proof-service", *self.account, "--listen", "127.0.0.1:0", "--certificate",
                             self.path("service.pem"), "--private-key", self.path("service.pem.key"), "--log", "json",
                             "--quiet")
        port = json.loads(service.stdout.readline())["port"]
        self.operate("config", "url", f"https://127.0.0.1:{port}")

    def start(self, *words, errors=subprocess.DEVNULL):
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=errors, text=True, env=self.environment)
        self.processes.append(process)
        return process

    def options(self, **changed):
        """The shop's options. A name's underscore stands for a hyphen; None leaves an option out."""
        shown = self.operate("config", "show")
        options = {"listen": "127.0.0.1:0", "certificate": self.path("shop.pem"),
                   "private_key": self.path("shop.pem.key"), "folder": self.path("state"),
                   "configuration": self.path("gate.jws"), "fingerprint": shown["initial"].split("#")[-1],
                   "gate_key": self.path("gate.key"), "audience": "till", "users": self.path("users"), **changed}
        return [word for name, value in options.items() if value is not None
                for word in ("--" + name.replace("_", "-"), value)]

    def open_shop(self, **changed):
        with open(self.path("log"), "ab") as log:
            self.shop = self.start(BIN / "proof-shop", *self.options(**changed), errors=log)
        told = re.fullmatch(r"listening on port (\d+)\n", self.shop.stdout.readline())
        self.port = int(told[1])
        self.host = f"127.0.0.1:{self.port}"

    def close_shop(self):
        """The shop ends with its standard input: its exit status."""
        self.shop.stdin.close()
        return self.shop.wait(timeout=MOMENT)

    def log(self):
        """The shop's lines since the last call."""
        text = pathlib.Path(self.path("log")).read_text()
        new, self.read = text[self.read:], len(text)
        return new

    def list(self):
        self.operate("api", "add", self.host, "--gate", "shop")
        self.operate("event", "add", "3300", "--gate", "shop", "--audience", "till", "--account", "--data")
        self.configure()

    def send(self, method, target, body=None, **fields):
        """Status, header fields and text of an answer to a request without any proof; less the text's line end."""
        context = ssl.create_default_context(cafile=self.path("shop.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=MOMENT, context=context)
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        text = answer.read().decode().removesuffix("\n")
        connection.close()
        return answer.status, answer.headers, text

    def install(self, name, secret=None, host=None):
        """A phone with the shop's app, for one user."""
        home = f"phone-{name}"
        self.write(f"{home}/app/account", self.operate("config", "show")["signed"])
        self.write(f"{home}/app/api", host or self.host)
        certificates = [pathlib.Path(self.path(f"{one}.pem")).read_text() for one in ("service", "shop")]
        self.write(f"{home}/app/authority.pem", "".join(certificates))
        self.write(f"{home}/app/version", "1.0\n")
        (self.folder / home / "storage").mkdir(mode=0o700)
        self.write(f"{home}/paired/user", f"{name} {secret or f'secret-of-{name}'}\n")
        return str(self.folder / home)

    def app(self, home, *lines):
        """The app's answers, one for each line, and its status."""
        run = subprocess.run([BIN / "proof-demo", "app", "--shop", "--json", "--home", home], text=True,
                             input="".join(line + "\n" for line in lines), capture_output=True, timeout=MOMENT,
                             env=self.environment, check=False)
        assert run.stdout.startswith("ready\n"), run.stderr
        return [json.loads(line) for line in run.stdout.splitlines()[1:]], run.returncode

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(timeout=MOMENT)
            process.stdin.close()
            process.stdout.close()
        shutil.rmtree(self.folder)


class AShop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        till = cls.till = Till()
        cls.addClassCleanup(till.close)
        till.open_shop(record=till.path("record"))
        cls.unlisted = [till.send("GET", "/prices")[::2],
                        till.send("POST", "/vouchers", b"x", authorization="Bearer secret-of-ada")[::2],
                        till.send("POST", "/vouchers", b"x")[::2]]
        till.list()
        # The shop reads the new configuration before the next request.
        till.run(BIN / "proofctl", "registration", "add", BIN / "proof-demo", "--bundle",
                 pathlib.Path(till.install("ada")) / "app", *till.account)
        cls.homes = {"ada": till.path("phone-ada")} | {name: till.install(name) for name in ("eve", "rich", "bob")}

    def said(self, name, *lines):
        """The app's outcomes and details, and the shop's lines about requests that it understood."""
        self.till.log()
        answers, status = self.till.app(self.homes[name], "enrol", *lines)
        self.assertEqual((answers[0]["outcome"], answers[0]["detail"]), ("admitted", f"to {self.till.host}"))
        self.assertEqual(status, 0 if answers[-1]["isDone"] else 1)
        # A shop that does not know the app yet asks for the gate token first.
        told = [line for line in self.till.log().splitlines() if "refused" not in line]
        handles = {found[1] for line in told if (found := re.search(r" \((\w+)\)$", line))}
        self.assertLessEqual(len(handles), 1)
        return ([(answer["outcome"], answer["detail"]) for answer in answers[1:]],
                [re.sub(r" \(\w+\)$", " (app)", line) for line in told], answers[1:])

    def test_before_the_account_lists_it_nothing_is_judged(self):
        self.assertEqual(self.unlisted, [(503, "the account does not list this host yet"),
                                         (503, "the account lists no events of this shop yet"),
                                         (403, "sign in first")])

    def test_prices_are_served_to_an_app_that_proves(self):
        said, told, answers = self.said("bob", "prices", "nonsense", "prices x", "buy tea", "redeem")
        self.assertEqual(said[0], ("served", "200: ring 90000, tea 300"))
        self.assertEqual(told, ["GET /prices: served (app)"])
        self.assertTrue(answers[0]["isDone"])
        self.assertRegex(answers[0]["told"], "^200 [a-z -]*content-type[a-z -]* ring 90000\ntea 300$")
        for outcome, detail in said[1:]:
            self.assertEqual(outcome, "failed")
            self.assertRegex(detail, "^not understood; these are:\nenrol  ")
        for answer in answers:
            time = answer["time"]
            self.assertEqual(time["link"], 0)
            self.assertAlmostEqual(sum(time.values()) - time["total"], time["total"], delta=0.01)
        self.assertGreater(answers[0]["time"]["network"], 0)

    def test_a_purse_pays_as_long_as_it_has_the_whole_price(self):
        said, told, answers = self.said("ada", "buy tea 2", "buy tea 2", "buy tea 1", "buy tea 1", "buy ring 1")
        done, declined = ("served", "200: done"), ("declined", "402: your bank declines")
        self.assertEqual(said, [done, declined, done, declined, declined])
        self.assertEqual([answer["isDone"] for answer in answers], [True, False, True, False, False])
        paid, empty = "POST /orders: done (app)", "POST /orders: declined: the purse is empty (app)"
        self.assertEqual(told, [paid, empty, paid, empty, empty])
        self.assertEqual(self.said("rich", "buy ring 1", "buy tea 1")[0], [done, declined])

    def test_an_order_names_an_item_and_1_to_99_of_it(self):
        wrong = ("refused with 400", "400: name an item, and how many")
        said, told, _ = self.said("eve", "buy tea 0", "buy tea 100", "buy tea -1", "buy tea x", "buy milk 1",
                                  "buy tea 99")
        self.assertEqual(said, [wrong] * 5 + [("served", "200: done")])
        self.assertEqual(told, ["POST /orders: done (app)"])

    def test_a_voucher_is_redeemed_by_an_event_of_a_user(self):
        # A request before has made the app known to the shop.
        said, told, _ = self.said("ada", "prices", "redeem spring", "redeem summer")
        self.assertEqual(said[1:], [("served", "200: done")] * 2)
        self.assertEqual(told[1:], ["POST /vouchers: done (app)"] * 2)
        for fields in ({}, {"proof_event": "x"}):
            status, _, text = self.till.send("POST", "/vouchers", b"x", authorization="Bearer secret-of-ada", **fields)
            self.assertEqual((status, text), (401, "this voucher does not count"))
            self.assertRegex(self.till.log(), "^POST /vouchers: refused: [^\n]+\n$")

    def test_users_sign_in_with_their_secret(self):
        for authorization in ("", "secret-of-ada", "bearer secret-of-ada", "Bearer secret-of-adam", "Bearer "):
            status, _, text = self.till.send("POST", "/vouchers", b"x", authorization=authorization)
            self.assertEqual((status, text), (403, "sign in first"), authorization)
        self.homes["stranger"] = self.till.install("stranger")
        wrong = ("refused with 403", "403: sign in first")
        self.assertEqual(self.said("stranger", "buy tea 1", "redeem spring")[0], [wrong] * 2)

    def test_a_request_without_a_proof_is_refused_with_the_reason(self):
        for method, target in (("GET", "/prices"), ("POST", "/orders?item=tea"), ("GET", "/vouchers"),
                               ("PUT", "/vouchers"), ("GET", "/else")):
            self.till.log()
            status, fields, text = self.till.send(method, target, authorization="Bearer secret-of-ada")
            self.assertEqual((status, text), (401, ""), target)
            self.assertTrue(fields["Proof-Refusal"], target)
            path = target.split("?")[0]
            self.assertRegex(self.till.log(), f"^{method} {path}: refused: [^\n]+\n$")

    def test_a_header_that_is_malformed_is_refused_before_any_proof(self):
        status, fields, text = self.till.send("GET", "/prices", **{"x@a": "b"})
        self.assertEqual((status, text, fields["Proof-Refusal"]), (400, "the header is malformed", None))

    def test_files_are_read_again_and_those_of_before_stay(self):
        good = pathlib.Path(self.till.path("gate.jws")).read_text()
        self.till.write("gate.jws", "x" + good)
        self.till.log()
        self.assertEqual(self.said("bob", "prices")[0][0][0], "served")
        self.till.write("gate.jws", "y" + good)
        for count in (1, 0):
            self.till.log()
            self.assertEqual(self.till.send("GET", "/prices")[0], 401)
            told = [line for line in self.till.log().splitlines() if line.startswith("proof-shop: ")]
            self.assertEqual(len(told), count)
            self.assertTrue(all(line.endswith(" The previous files stay in use.") for line in told), told)
        self.till.write("gate.jws", good)
        self.assertEqual(self.said("bob", "prices")[0][0][0], "served")

    def test_a_record_has_all_that_came_and_is_for_its_owner_alone(self):
        path = pathlib.Path(self.till.path("record"))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        before = len(path.read_text().splitlines())
        self.till.send("PUT", "/a?b=c", b"\x00\xff", x_mark="here")
        line = json.loads(path.read_text().splitlines()[before])
        self.assertEqual((line["method"], line["target"], line["body"]), ("PUT", "/a?b=c", "00ff"))
        self.assertIn(["x-mark", "here"], [[name.lower(), value] for name, value in line["fields"]])
        self.assertEqual(len(path.read_text().splitlines()), before + 1)

    def test_an_app_names_the_reason_why_it_sends_nothing(self):
        self.homes["lost"] = self.till.install("lost", host="127.0.0.1:1")
        answers, status = self.till.app(self.homes["lost"], "prices")
        self.assertEqual((answers[0]["outcome"], answers[0]["isDone"], status),
                         ("nothing sent: not the account's host", False, 1))
        self.assertIsNone(answers[0].get("told"))


class AShopThatStarts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.till = Till()
        cls.addClassCleanup(cls.till.close)

    def refused(self, *words):
        done = subprocess.run([BIN / "proof-shop", *words], capture_output=True, text=True, timeout=MOMENT,
                              env=self.till.environment, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_its_folder_is_prepared_once_for_its_owner_alone(self):
        state = self.till.folder / "state"
        self.assertEqual(stat.S_IMODE(os.stat(state).st_mode), 0o700)
        files = {name: stat.S_IMODE(os.stat(state / name).st_mode) for name in ("own.key", "requests", "events")}
        self.assertEqual(files, dict.fromkeys(files, 0o600))
        key = (state / "own.key").read_bytes()
        self.assertEqual(len(key), 32)
        self.assertEqual(self.refused("prepare", str(state))[0], 1)
        self.assertEqual((state / "own.key").read_bytes(), key)
        self.till.run(BIN / "proof-shop", "prepare", self.till.path("other"))
        self.assertNotEqual((self.till.folder / "other" / "own.key").read_bytes(), key)
        for words in ([], ["a", "b"]):
            self.assertEqual(self.refused("prepare", *words),
                             (2, "proof-shop prepare: name one folder; --help tells more\n"))

    def test_each_option_is_needed(self):
        for name in ("certificate", "private_key", "folder", "configuration", "fingerprint", "gate_key", "audience",
                     "users"):
            option = "--" + name.replace("_", "-")
            self.assertEqual(self.refused(*self.till.options(**{name: None})),
                             (2, f"proof-shop: {option} is missing; --help tells more\n"))
        for text in ("x", "QUJD", "=" * 44):
            self.assertEqual(self.refused(*self.till.options(fingerprint=text)),
                             (2, "proof-shop: --fingerprint takes 44 characters of base64; --help tells more\n"))
        self.assertEqual(self.refused(*self.till.options(listen="here"))[0], 2)

    def test_a_file_that_cannot_be_used_is_named(self):
        for name in ("folder", "configuration", "gate_key", "users", "certificate"):
            status, errors = self.refused(*self.till.options(**{name: self.till.path("none")}))
            self.assertEqual(status, 1, name)
            self.assertRegex(errors, f"^proof-shop: .*{re.escape(self.till.path('none'))}", name)
        digest = "ab" * 32
        for second in ("bob", f"bob {digest}", f"bob {digest} 1 2", f"bob {digest[2:]} 1", f"bob {digest} x",
                       f"bob {digest} -1"):
            path = self.till.write("wrong", f"ada {'cd' * 32} 0\n{second}\n")
            self.assertEqual(self.refused(*self.till.options(users=path)),
                             (1, f"proof-shop: {path}, user 2: write NAME SHA256 CENTS\n"), second)
        status, errors = self.refused(*self.till.options(record=self.till.path("none/record")))
        self.assertEqual((status, errors), (1, f"proof-shop: {self.till.path('none/record')} cannot be made\n"))

    def test_it_ends_with_its_standard_input_and_goes_on_with_its_record(self):
        record = self.till.write("record", "before\n")
        self.till.open_shop(record=record)
        self.assertEqual(self.till.send("GET", "/prices")[0], 503)
        self.till.shop.stdin.write("a line\n")
        self.till.shop.stdin.flush()
        self.assertEqual(self.till.send("GET", "/prices")[0], 503)
        self.assertEqual(self.till.close_shop(), 0)
        lines = pathlib.Path(record).read_text().splitlines()
        self.assertEqual((lines[0], len(lines)), ("before", 3))

    def test_a_host_may_be_named(self):
        self.till.operate("api", "add", "shop.example.com", "--gate", "shop")
        self.till.configure()
        for host, status in (("shop.example.com", 401), ("shop.example.org", 503), (None, 503)):
            self.till.open_shop(host=host)
            self.assertEqual(self.till.send("GET", "/prices")[0], status, host)
            self.assertEqual(self.till.close_shop(), 0)
