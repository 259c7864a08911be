"""The verbs about keys and management tokens, wherever the account is."""

import json
import os
import pathlib
import re
import stat

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "MANAGEMENT.md"


class KeyVerbs:
    """Joins `Verbs`, which has `ask` and `refused`."""

    def test_the_steps_of_a_rotation(self):
        for noun in ("secret", "sealing", "customkey", "messagekey"):
            with self.subTest(noun):
                if noun == "messagekey":
                    self.assertEqual(self.ask(noun, "list"), [])
                    self.ask(noun, "change")
                before = self.ask(noun, "list")
                self.assertEqual([key["state"] for key in before], ["active"])
                self.assertEqual(self.ask(noun, "get", "--base64url").get("kid", before[0]["kid"]), before[0]["kid"])
                drawn = self.ask(noun, "next", *(["--printable"] if noun == "secret" else []))
                self.ask(noun, "drop")
                self.refused(1, "no next key", noun, "drop")
                self.ask(noun, "next")
                path = self.place.path(f"{type(self).__name__}.{noun}.jwks")
                self.assertEqual(self.ask(noun, "keys", "--output", path), {"keys": f"in {path}"})
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
                shown = self.ask(noun, "keys")
                self.assertEqual(json.loads(pathlib.Path(path).read_text()), shown)
                self.assertEqual([key["kid"] for key in shown["keys"]][0], before[0]["kid"])
                self.assertNotIn(drawn["kid"], [key["kid"] for key in shown["keys"]], "one that was dropped is gone")
                self.ask(noun, "promote")
                self.refused(1, r"end in \d+ seconds", noun, "retire")
                self.ask(noun, "retire", "--at-once")
                self.ask(noun, "next")
                self.refused(1, "never handed out", noun, "promote")
                self.ask(noun, "promote", "--at-once")
                self.ask(noun, "retire", "--at-once")
                self.refused(1, "refuse every token.*next.*keys.*promote.*retire.*--at-once", noun, "change")
                self.ask(noun, "change", "--at-once")
                after = self.ask(noun, "list")
                self.assertEqual([key["state"] for key in after], ["active"])
                self.assertNotEqual(after[0]["kid"], before[0]["kid"])
                # For people a time is a date.
                text = self.place.run(noun, "list", where=self.where)[1]
                self.assertRegex(text, r"^kid +state +added\n[0-9a-f]{16} +active +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$")
        self.ask("messagekey", "remove")

    def test_an_api_moves_between_keys(self):
        self.ask("api", "add", "moves.example.com")
        for kid, algorithm in (("m1", "ES256"), ("m2", "HS256")):
            self.ask("keyset", "add", algorithm, "--kid", kid)
        self.refused(1, "more seconds", "api", "change", "moves.example.com", "--keyset", "m1")
        self.refused(2, "say what to change", "api", "change", "moves.example.com")
        self.refused(1, "one of the two", "api", "change", "moves.example.com", "--keyset", "m1", "--own-key")
        self.ask("api", "change", "moves.example.com", "--keyset", "m1", "--at-once", "--audience", "off")
        self.assertEqual(self.refused_words("api", "add", "moves.example.com"), "api change")
        self.refused(1, "never handed out", "keyset", "change", "m1", "m2")
        self.ask("keyset", "get", "m2")
        self.assertEqual(self.ask("keyset", "change", "m1", "m2"), {"apis": ["moves.example.com"]})
        self.assertEqual(self.ask("keyset", "change", "m2", "m1", "--at-once"), {"apis": ["moves.example.com"]})
        self.refused(1, "still used", "keyset", "remove", "m1", "--at-once")
        self.ask("api", "change", "moves.example.com", "--own-key", "--audience", "policy")
        api = [api for api in self.ask("api", "list") if api["host"] == "moves.example.com"]
        self.assertEqual(api, [{"host": "moves.example.com", "kind": "token"}])
        self.refused(1, r"end in \d+ seconds", "keyset", "remove", "m1")
        for kid in ("m1", "m2"):
            self.ask("keyset", "remove", kid, "--at-once")
        self.ask("api", "remove", "moves.example.com")

    def refused_words(self, *arguments):
        """The verb that a refusal names."""
        _, _, errors = self.place.run(*arguments, where=self.where)
        return re.search("“([^“]*)” changes it", errors)[1]

    def test_the_configuration_key(self):
        before = self.ask("config", "show")
        self.ask("config", "change-key")
        after = self.ask("config", "show")
        self.assertNotEqual(after["initial"], before["initial"])
        self.assertEqual((after["serial"], len(after["handovers"])), (before["serial"] + 1, 1))
        self.refused(1, "confirmed with YES", "config", "retire-keys", "yes")
        self.ask("config", "retire-keys", "YES")
        self.assertNotIn("handovers", self.ask("config", "show"))

    def test_the_page_says_how_tools_get_tokens_of_their_own(self):
        section = PAGE.read_text().split("## Roles of management tokens")[1].split("\n## ")[0]
        add, show, remove = [line.split()[1:] for line in section.splitlines() if line.startswith("proofctl ")]
        path = self.place.path(f"{type(self).__name__}.{add[-1]}")
        self.assertEqual(self.ask(*add[:-1], path), {"token": f"in {path}"})
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual({token["name"]: token["role"] for token in self.ask(*show)}, {"owner": "all", "ci": "enrol"})
        first = pathlib.Path(path).read_text()
        self.ask("management", "change", "ci", "--output", path)
        self.assertNotEqual(pathlib.Path(path).read_text(), first)
        if hasattr(self.place, "url"):
            where = ["--service", self.place.url, "--token-file", path]
            self.assertEqual(self.place.ask("registration", "list", where=where), self.ask("registration", "list"))
            self.refused(1, "role .enrol. of this token does not cover .secret/get.", "secret", "get", where=where)
        self.refused(1, "already", "management", "add", "ci", "--role", "read")
        self.refused(1, "all, read, hardware, enrol", "management", "add", "cj", "--role", "king")
        self.refused(2, "--role is missing", "management", "add", "cj")
        self.refused(1, "no token with the role", "management", "remove", "owner")
        self.ask(*remove)
        self.refused(1, "no management token", "management", "remove", "ci")
