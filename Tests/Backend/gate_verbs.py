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
        self.ask("api", "remove", host)
        self.ask("gate", "remove", name)
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
