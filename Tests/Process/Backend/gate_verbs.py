# SPDX-License-Identifier: Apache-2.0

"""The verbs about gates and events, wherever the account is."""

import os
import pathlib
import stat


class GateVerbs:
    """Joins `Verbs`, which has `ask` and `refused`."""

    def gate_key(self, name):
        path = self.place.path(f"{type(self).__name__}.{name}")
        public = self.place.ask("gate", "keys", "new", path, where=[])["publicKey"]
        self.assertEqual((stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_size), (0o600, 32))
        self.assertEqual(self.place.ask("gate", "keys", "show", path, where=[]), {"publicKey": public})
        self.refused(1, "File exists", "gate", "keys", "new", path, where=[])
        return self.place.write(f"{type(self).__name__}.{name}.public", public + "\n", 0o644)

    def test_gates(self):
        name, public = f"gate.{type(self).__name__.lower()}", self.gate_key("x1")
        self.refused(2, "new or show", "gate", "keys", "party", "x", where=[])
        settings = ["--life", "600", "--form", "compact", "--freshness", "5", "--proof-header", "X-Proof",
                    "--token-header", "X-Token", "--digest-header", "X-Digest", "--floor", "7"]
        made = self.ask("gate", "add", name, "--public", public, "--id", "0a" * 8 + os.urandom(8).hex(), *settings)
        self.assertEqual((made["life"], made["form"], made["freshness"], made["floor"]), (600, "compact", 5, 7))
        self.assertEqual((made["proofHeader"], made["digestHeader"]), ("x-proof", "x-digest"))
        self.assertEqual([key["public"] for key in made["keys"]], [pathlib.Path(public).read_text().strip()])
        self.assertEqual(self.ask("gate", "show", name), made)
        self.assertIn(name, [gate["name"] for gate in self.ask("gate", "list")])
        self.assertEqual(self.ask("gate", "change", name, *settings[:2], *settings[2:])["life"], 600)
        bench = self.ask("gate", "add", name + ".bench", "--public", self.gate_key("x0"), "--development")
        self.assertEqual((bench["mode"], made["mode"]), ("development", "production"))
        self.refused(1, "exists already", "gate", "add", name, "--public", public)
        self.refused(1, "64 hexadecimal", "gate", "add", "other", "--public", self.place.write("bad.public", "xyz"))
        self.refused(1, "is not there", "gate", "add", "other", "--public", self.place.path("none"))
        self.refused(1, "60 to 86400", "gate", "change", name, "--life", "1")
        self.refused(1, "each|different names", "gate", "change", name, "--proof-header", "x-token")
        self.refused(2, "say what to change", "gate", "change", name)
        self.refused(2, "takes a number", "gate", "change", name, "--life", "long")
        self.refused(1, "no gate .none", "gate", "show", "none")

        host = f"{name}.example.com"
        self.ask("api", "add", host, "--gate", name)
        self.assertEqual([(api["kind"], api["gate"]) for api in self.ask("api", "list") if api["host"] == host],
                         [("proof", name)])
        self.refused(2, "exclude each other", "api", "add", "x.example.com", "--gate", name, "--jwe")
        self.refused(1, "no gate .none", "api", "add", "x.example.com", "--gate", "none")
        self.refused(1, f"still used by {host}", "gate", "remove", name)
        self.refused(1, "no admission|never", "gate", "revoke", name, "07" * 16)
        self.refused(1, "no device|no admission", "gate", "revoke", name, "latest")

        for what, given in (("key", ["--public", self.gate_key("x2")]), ("account", []), ("issuer", [])):
            with self.subTest(what):
                self.refused(1, "no next key", "gate", "rotate", name, what, "promote")
                self.assertEqual(self.ask("gate", "rotate", name, what, "next", *given)["state"], "next")
                self.ask("gate", "rotate", name, what, "drop")
                self.ask("gate", "rotate", name, what, "next", *given)
                if what != "key":
                    self.refused(1, "never handed out", "gate", "rotate", name, what, "promote")
                path = self.place.path(f"{type(self).__name__}.jws")
                self.assertEqual(self.ask("gate", "configuration", name, "--output", path),
                                 {"configuration": f"in {path}"})
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
                self.assertEqual(pathlib.Path(path).read_text().count("."), 2)
                self.ask("gate", "rotate", name, what, "promote", "--at-once")
                self.refused(1, r"end in \d+ seconds", "gate", "rotate", name, what, "retire")
                self.ask("gate", "rotate", name, what, "retire", "--at-once")
        self.assertEqual(self.ask("gate", "configuration", name)["configuration"].count("."), 2)
        self.refused(1, "key, account, issuer", "gate", "rotate", name, "party", "next")
        self.refused(1, "next, promote, retire, drop", "gate", "rotate", name, "key", "party")
        self.refused(1, "with the gate's own key", "gate", "rotate", name, "issuer", "next", "--public", public)
        path = self.place.path(f"{type(self).__name__}.credential")
        self.assertEqual(self.ask("gate", "credential", name, "--output", path),
                         {"name": f"gate.{name}", "token": f"in {path}"})
        self.assertEqual((stat.S_IMODE(os.stat(path).st_mode), len(pathlib.Path(path).read_text())), (0o600, 43))
        self.refused(1, "exists already", "gate", "credential", name)
        self.assertEqual(self.ask("gate", "credential", name, "--as", f"{name}.2")["name"], f"{name}.2")
        self.refused(1, "no gate .none", "gate", "credential", "none")
        listed = {token["name"]: token.get("gate") for token in self.ask("management", "list")}
        self.assertEqual((listed[f"gate.{name}"], listed[f"{name}.2"], listed["owner"]), (name, name, None))
        self.ask("api", "remove", host)
        self.ask("gate", "remove", name)
        self.assertNotIn(f"{name}.2", [token["name"] for token in self.ask("management", "list")])
        self.ask("gate", "remove", name + ".bench")

    def test_events(self):
        name = f"events.{type(self).__name__.lower()}"
        self.ask("gate", "add", name, "--public", self.gate_key("x3"))
        rules = ["--gate", name, "--audience", "shop", "--life", "90", "--account", "--data", "--unanchored",
                 "--measured", "20"]
        added = self.ask("event", "add", *rules)
        self.assertEqual(added, {"numbers": "3300-3400", "gate": name, "audience": "shop", "life": 90, "account": True,
                                 "data": True, "unanchored": True, "measured": 20})
        plain = self.ask("event", "add", "65535", "--gate", name, "--audience", "bank")
        self.assertEqual((plain["life"], plain["account"], plain["unanchored"]), (60, False, False))
        self.assertEqual(self.ask("event", "list"), [added, plain])
        shown = [self.ask("gate", "configuration", name, *more)["configuration"]
                 for more in ([], ["--audience", "shop"], ["--audience", "bank"])]
        self.assertEqual(len(set(shown)), 3)
        self.refused(1, "no audience", "gate", "configuration", name, "--audience", "pub")
        self.refused(1, "exists already", "event", "add", "3400-3500", "--gate", name, "--audience", "bank")
        self.refused(1, "FIRST-LAST", "event", "add", "9-1", "--gate", name, "--audience", "bank")
        self.refused(1, "FIRST-LAST", "event", "add", "65536", "--gate", name, "--audience", "bank")
        self.refused(1, "no gate", "event", "add", "1", "--gate", "none", "--audience", "bank")
        self.refused(2, "--audience is missing", "event", "add", "1", "--gate", name)
        self.refused(2, "takes a number", "event", "add", "1", "--gate", name, "--audience", "a", "--life", "x")
        self.refused(1, "still used by event 3300-3400", "gate", "remove", name)
        self.refused(1, "no event", "event", "remove", "1-2")
        for numbers in ("3300-3400", "65535"):
            self.ask("event", "remove", numbers)
        self.ask("gate", "remove", name)

    def test_challenges(self):
        name = f"challenges.{type(self).__name__.lower()}"
        self.ask("gate", "add", name, "--public", self.gate_key("x4"))
        work = self.ask("challenge", "add", "work-1", "--kind", "work", "--level", "24", "--life", "3600", "--gate",
                        name)
        self.assertEqual(work, {"name": "work-1", "kind": "work", "level": 24, "life": 3600, "gate": name})
        kinds = [("token", 60), ("proof", 60), ("person", 600)]
        for kind, life in kinds:
            self.assertEqual(self.ask("challenge", "add", f"a-{kind}", "--kind", kind),
                             {"name": f"a-{kind}", "kind": kind, "level": 0, "life": life})
        memory = self.ask("challenge", "add", "b", "--kind", "memory", "--level", "7")
        self.assertEqual(memory["life"], 120)
        self.assertEqual([one["name"] for one in self.ask("challenge", "list")],
                         ["a-person", "a-proof", "a-token", "b", "work-1"])
        self.refused(1, "exists already", "challenge", "add", "b", "--kind", "person")
        self.refused(1, "1 to 24", "challenge", "add", "c", "--kind", "work")
        self.refused(1, "1 to 7", "challenge", "add", "c", "--kind", "memory", "--level", "8")
        self.refused(1, "has no work", "challenge", "add", "c", "--kind", "person", "--level", "1")
        self.refused(1, "10 to 3600", "challenge", "add", "c", "--kind", "person", "--life", "9")
        self.refused(1, "token, proof, work, memory, person", "challenge", "add", "c", "--kind", "captcha")
        self.refused(1, "1 to 32 lower-case", "challenge", "add", "a/b", "--kind", "person")
        self.refused(1, "no gate .none", "challenge", "add", "c", "--kind", "person", "--gate", "none")
        self.refused(2, "--kind is missing", "challenge", "add", "c")
        self.refused(2, "takes a number", "challenge", "add", "c", "--kind", "work", "--level", "high")
        self.refused(1, "no challenge .c", "challenge", "remove", "c")
        self.refused(1, "still used by challenge work-1", "gate", "remove", name)
        self.assertEqual(len(self.ask("challenge", "list")), 5)
        for one in self.ask("challenge", "list"):
            self.ask("challenge", "remove", one["name"])
        self.assertEqual(self.ask("challenge", "list"), [])
        self.ask("gate", "remove", name)

    def test_the_kill_switch(self):
        names = [f"watch{number}.{type(self).__name__.lower()}" for number in (1, 2)]
        for number, name in enumerate(names):
            self.assertIs(self.ask("gate", "add", name, "--public", self.gate_key(f"x{5 + number}"))["watch"], False)

        def watched():
            return [self.ask("gate", "show", name)["watch"] for name in names]

        self.assertEqual(self.ask("gate", "watch", names[0], "on"), {"watch": True, "gates": names[:1]})
        self.assertEqual(watched(), [True, False])
        self.assertEqual(self.ask("gate", "watch", "--all", "on")["gates"],
                         [gate["name"] for gate in self.ask("gate", "list")])
        self.assertEqual(watched(), [True, True])
        self.ask("gate", "watch", "off", "--all")
        self.assertEqual(watched(), [False, False])
        self.refused(1, "no gate .none", "gate", "watch", "none", "on")
        self.refused(2, "on or off", "gate", "watch", names[0], "maybe")
        self.refused(2, "name one gate, or write --all", "gate", "watch", "on")
        self.refused(2, "name one gate, or write --all", "gate", "watch", names[0], "on", "--all")
        for name in names:
            self.ask("gate", "remove", name)

    def test_risks(self):
        rule = ["--when", "accounts-of-device/hour > 3", "--level", "high", "--reason", "many accounts"]
        many = self.ask("risk", "add", "many", *rule, "--event", "3300-3400")
        self.assertEqual(many, {"name": "many", "numbers": "3300-3400", "when": rule[1], "level": "high",
                                "reason": "many accounts"})
        bad = self.ask("risk", "add", "bad", "--when", "failed", "--level", "low", "--reason", "x")
        self.assertEqual(bad["numbers"], "0-65535")
        self.assertEqual([risk["name"] for risk in self.ask("risk", "list")], ["bad", "many"])
        self.refused(1, "exists already", "risk", "add", "many", *rule)
        self.refused(1, "accounts-of-device", "risk", "add", "a", "--when", "often", *rule[2:])
        self.refused(1, "low, medium, high", "risk", "add", "a", "--when", "failed", "--level", "none", *rule[4:])
        self.refused(1, "80 bytes", "risk", "add", "a", *rule[:5], "")
        self.refused(1, "FIRST-LAST", "risk", "add", "a", *rule, "--event", "9-1")
        self.refused(2, "--when is missing", "risk", "add", "a")
        self.refused(1, "no risk rule .a", "risk", "remove", "a")
        for name in ("many", "bad"):
            self.ask("risk", "remove", name)
