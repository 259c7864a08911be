# SPDX-License-Identifier: Apache-2.0

"""The question that each verb sends to a service: its path and its whole body. A server of ours answers it."""

import base64
import hashlib
import json
import os
import pathlib
import stat
import unittest

from detail_verbs import Alone, Server
from place import BIN
from verbs import PIN

OTHER = base64.b64encode(bytes(range(1, 33))).decode()
ID, PUBLIC = "01" * 16, "02" * 32

# The words of a verb, its path (as the verb is written, if it is None), and the members that it sends.
SENT = [
    ("api add a.example.com", None, {"host": "a.example.com", "kind": "token"}),
    ("api add a.example.com --jwe --keyset k --signed-by s", None,
     {"host": "a.example.com", "kind": "measurement", "kid": "k", "signedBy": "s"}),
    ("api add a.example.com --no-token", None, {"host": "a.example.com", "kind": "none"}),
    ("api add a.example.com --gate front", None, {"host": "a.example.com", "kind": "proof", "gate": "front"}),
    ("api add a.example.com --audience on", None, {"host": "a.example.com", "kind": "token", "audience": True}),
    ("api add a.example.com --audience off", None, {"host": "a.example.com", "kind": "token", "audience": False}),
    (f"api add a.example.com --pin {PIN},{OTHER}", None,
     {"host": "a.example.com", "kind": "token", "pins": [PIN, OTHER]}),
    ("api change a.example.com --keyset k", None, {"host": "a.example.com", "kid": "k", "atOnce": False}),
    ("api change a.example.com --own-key", None, {"host": "a.example.com", "ownKey": True, "atOnce": False}),
    ("api change a.example.com --signed-by k --at-once", None,
     {"host": "a.example.com", "signedBy": "k", "atOnce": True}),
    ("api change a.example.com --unsigned", None, {"host": "a.example.com", "unsigned": True, "atOnce": False}),
    ("api change a.example.com --audience policy", None,
     {"host": "a.example.com", "audience": "policy", "atOnce": False}),
    ("api list", None, {}),
    ("api remove a.example.com", None, {"host": "a.example.com"}),
    ("registration list", None, {}),
    (f"registration remove {ID}", None, {"digest": ID}),
    ("policy show", None, {}),
    ("policy set a=b c= d=e=f", None, {"a": "b", "c": "", "d": "e=f"}),
    ("device list", None, {}),
    ("device list --count 7", None, {"count": 7}),
    ("device pass latest", None, {"device": "latest"}),
    ("device fail d", None, {"device": "d"}),
    ("device clear d", None, {"device": "d"}),
    ("device annotate d p", None, {"device": "d", "annotations": "p"}),
    ("pin list", None, {}),
    (f"pin set h {PIN} {OTHER}", None, {"host": "h", "pins": [PIN, OTHER]}),
    ("pin set h none", None, {"host": "h", "pins": []}),
    ("pin remove h", None, {"host": "h"}),
    (f"pin service {PIN} {OTHER}", None, {"pins": [PIN, OTHER]}),
    ("pin service none", None, {"pins": []}),
    ("config show", None, {}),
    ("config change-key", None, {}),
    ("config retire-keys YES", None, {"confirm": "YES"}),
    ("config url https://a.example", None, {"url": "https://a.example"}),
    ("config failover https://a.example", None, {"url": "https://a.example"}),
    ("config failover none", None, {}),
    ("config region eu https://a.example --failover https://b.example", None,
     {"region": "eu", "url": "https://a.example", "failover": "https://b.example"}),
    ("config region eu none", None, {"region": "eu"}),
    ("arc read c", None, {"code": "c"}),
    ("string list", None, {}),
    ("string set n v", None, {"name": "n", "value": "v"}),
    ("string remove n", None, {"name": "n"}),
    ("stringkey list", None, {}),
    ("stringkey rotate", None, {}),
    ("stringkey retire", None, {"atOnce": False}),
    ("stringkey retire --at-once", None, {"atOnce": True}),
    ("saltkey list", None, {}),
    ("saltkey rotate", None, {}),
    ("saltkey replace", None, {}),
    ("metrics show", None, {}),
    ("messagekey remove", None, {}),
    ("devkey get", None, {}),
    ("devkey change", None, {}),
    ("devkey remove", None, {}),
    ("management add n --role read", None, {"name": "n", "role": "read"}),
    ("management list", None, {}),
    ("management change", None, {}),
    ("management change n", None, {"name": "n"}),
    ("management remove n", None, {"name": "n"}),
    ("keyset add ES256", None, {"alg": "ES256"}),
    ("keyset add RS256 --kid k --bits 2048", None, {"alg": "RS256", "kid": "k", "bits": 2048}),
    ("keyset list", None, {}),
    ("keyset get k", None, {"kid": "k"}),
    ("keyset change a b", None, {"kid": "a", "to": "b", "atOnce": False}),
    ("keyset change a b --at-once", None, {"kid": "a", "to": "b", "atOnce": True}),
    ("keyset remove k", None, {"kid": "k", "atOnce": False}),
    ("keyset remove k --at-once", None, {"kid": "k", "atOnce": True}),
    ("keyset jwks", None, {}),
    ("gate change n --life 60 --freshness 5 --floor 7 --form body", None,
     {"name": "n", "life": 60, "freshness": 5, "floor": 7, "form": "body"}),
    ("gate change n --proof-header p --token-header t --digest-header d", None,
     {"name": "n", "proofHeader": "p", "tokenHeader": "t", "digestHeader": "d"}),
    ("gate list", None, {}),
    ("gate show n", None, {"name": "n"}),
    ("gate remove n", None, {"name": "n"}),
    ("gate rotate n key promote", None, {"name": "n", "what": "key", "step": "promote", "atOnce": False}),
    ("gate rotate n account retire --at-once", None,
     {"name": "n", "what": "account", "step": "retire", "atOnce": True}),
    ("gate revoke n d", None, {"name": "n", "device": "d"}),
    ("gate configuration n", None, {"name": "n"}),
    ("gate configuration n --audience a", None, {"name": "n", "audience": "a"}),
    ("gate credential n", None, {"name": "n"}),
    ("gate credential n --as w", None, {"name": "n", "as": "w"}),
    ("gate watch n on", None, {"name": "n", "watch": True, "all": False}),
    ("gate watch n off", None, {"name": "n", "watch": False, "all": False}),
    ("gate watch on --all", None, {"watch": True, "all": True}),
    ("event add --gate g --audience a", None, {"gate": "g", "audience": "a"}),
    ("event add 5-9 --gate g --audience a --life 7 --measured 0", None,
     {"gate": "g", "audience": "a", "numbers": "5-9", "life": 7, "measured": 0}),
    ("event add 5 --gate g --audience a --account", None,
     {"gate": "g", "audience": "a", "numbers": "5", "account": True}),
    ("event add 5 --gate g --audience a --data --unanchored", None,
     {"gate": "g", "audience": "a", "numbers": "5", "data": True, "unanchored": True}),
    ("event list", None, {}),
    ("event remove 5", None, {"numbers": "5"}),
    ("challenge add n --kind work", None, {"name": "n", "kind": "work"}),
    ("challenge add n --kind work --level 3 --life 60 --gate g", None,
     {"name": "n", "kind": "work", "level": 3, "life": 60, "gate": "g"}),
    ("challenge list", None, {}),
    ("challenge remove n", None, {"name": "n"}),
    ("risk add n --when failed --level high --reason r --event 5", None,
     {"name": "n", "when": "failed", "level": "high", "reason": "r", "numbers": "5"}),
    ("risk add n --when failed --level high --reason r", None,
     {"name": "n", "when": "failed", "level": "high", "reason": "r"}),
    ("risk list", None, {}),
    ("risk remove n", None, {"name": "n"}),
    ("token check t", None, {"token": "t"}),
    ("token example h", None, {"host": "h", "valid": True}),
    ("token example h --invalid --data-hash b --measurement", None,
     {"host": "h", "valid": False, "boundTo": "b", "measured": True}),
    ("sdk list", None, {}),
    ("sdk sources k 3/4", None, {"id": "k", "without": "3/4"}),
    ("sdk revoke k", None, {"id": "k"}),
    ("sdk config-string", None, {}),
    (f"hardware add {ID} {PUBLIC}", None,
     {"id": ID, "publicKey": PUBLIC, "mode": "production", "literal": False, "name": "", "features": []}),
    (f"hardware add {ID} {PUBLIC} --development --literal --name door --features token-2,log", None,
     {"id": ID, "publicKey": PUBLIC, "mode": "development", "literal": True, "name": "door",
      "features": ["token-2", "log"]}),
    (f"hardware change {ID} --features token-2", None, {"id": ID, "features": ["token-2"]}),
    (f"hardware change {ID}", None, {"id": ID, "features": []}),
    ("hardware list", None, {}),
    (f"hardware revoke {ID}", None, {"id": ID}),
]
OWN = ("secret", "customkey", "sealing", "messagekey")


class Sent(unittest.TestCase):
    setUp, run_in = Alone.setUp, Alone.run_in

    def service(self):
        server = Server(self)
        token = self.place.write("token", "t" * 43)
        return server, ["--service", server.url, "--token-file", token]

    def sends(self, server, where, words, path, body):
        server.came.clear()
        words = words.split(" ") if isinstance(words, str) else words
        code, output, errors = self.run_in({}, *words, "--json", *where)
        self.assertEqual((code, errors), (0, ""), words)
        path = path or "/".join(words[:2])
        self.assertEqual([(method, asked, authorization, json.loads(sent))
                          for method, asked, authorization, sent in server.came],
                         [("POST", f"/v1/manage/{path}", f"Bearer {'t' * 43}", body)], words)
        return json.loads(output)

    def test_each_verb_sends_its_arguments_and_no_others(self):
        server, where = self.service()
        server.body = b'{"valid":true,"answer":7}'
        for words, path, body in SENT:
            answer = self.sends(server, where, words, path, body)
            self.assertEqual(answer, {"valid": True, "answer": 7}, words)

    def test_each_kind_of_own_key_has_the_same_steps(self):
        server, where = self.service()
        for noun in OWN:
            for words, body in (("list", {}), ("keys", {}), ("drop", {}), ("get", {"encoding": "base64"}),
                                ("get --base64url", {"encoding": "base64url"}), ("next", {}),
                                ("promote", {"atOnce": False}), ("promote --at-once", {"atOnce": True}),
                                ("retire", {"atOnce": False}), ("retire --at-once", {"atOnce": True}),
                                ("change", {"atOnce": False}), ("change --at-once", {"atOnce": True})):
                self.sends(server, where, f"{noun} {words}", None, body)
            for words, more in (("next", {}), ("change", {"atOnce": False})):
                if noun == "secret":
                    self.sends(server, where, f"{noun} {words} --printable", None, {"printable": True} | more)
                else:
                    self.assertEqual(self.run_in({}, noun, words, "--printable", *where)[0], 2, noun)

    def test_builds_and_what_is_to_come(self):
        server, where = self.service()
        code, output, _ = self.run_in({}, "registration", "digest", BIN / "app-peer", "--json")
        self.assertEqual(code, 0)
        digest = json.loads(output)["digest"]
        add = ["registration", "add", str(BIN / "app-peer")]
        self.sends(server, where, add, None, {"digest": digest, "development": False, "name": "app-peer"})
        self.sends(server, where, [*add, "--name", "n", "--development", "--without", "3/4/a", "--expire-after", "2m"],
                   None, {"digest": digest, "development": True, "name": "n", "without": "3/4/a", "expireAfter": 120})
        file = self.place.write("records", f"1 5 {b'kernel'.hex()} {'cd' * 32}\n")
        environment = ["registration", "environment", "add", file]
        server.came.clear()
        self.assertEqual(self.run_in({}, *environment, *where)[0], 0)
        method, path, _, sent = server.came[0]
        body = json.loads(sent)
        self.assertEqual((method, path, sorted(body), body["name"]),
                         ("POST", "/v1/manage/registration/environment-add", ["name", "records"], "environment"))
        records = body["records"]
        named = self.sends(server, where, [*environment, "--name", "n", "--expire-after", "1h"],
                           "registration/environment-add", {"name": "n", "expireAfter": 3600, "records": records})
        self.assertEqual(named, {})
        server.came.clear()
        self.assertEqual(self.run_in({}, *add, "--upcoming", "d", "--key-id", "k", "--records", file, *where)[0], 0)
        body = json.loads(server.came[0][3])
        self.assertEqual((body["upcoming"], body["keyID"], body["digest"]), ("d", "k", digest))

        def decoded(text):
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

        self.assertIn(b"kernel", decoded(body["records"]))
        self.assertGreater(len(decoded(body["records"])), len(decoded(records)))
        server.came.clear()
        self.assertEqual(self.run_in({}, *add, "--upcoming", "d", *where)[0], 0)
        body = json.loads(server.came[0][3])
        self.assertNotIn("keyID", body)
        self.assertNotIn(b"kernel", decoded(body["records"]))
        bad = self.place.write("bad", f"1 5 {b'kernel'.hex()} {'cd' * 32}\nx\n")
        for path, words in ((bad, f"{bad}, line 2: no record"), (self.place.path("none"), "none is not there"),
                            (self.place.write("bytes", b"\xff\n"), "bytes is no text")):
            code, _, errors = self.run_in({}, "registration", "environment", "add", path, *where)
            self.assertEqual(code, 2)
            self.assertIn(words, errors)
        self.assertIn('has no "remove"; it has: add',
                      self.run_in({}, "registration", "environment", "remove", file, *where)[2])

    def test_keys_in_files(self):
        server, where = self.service()
        key, secret = bytes(range(16)), bytes(range(32))
        path, drawn = self.place.write("mpk", key), self.place.write("drawn", secret)
        in_base64 = base64.b64encode(key).decode()
        self.sends(server, where, ["sdk", "add", "--key", path], None, {"mode": "production", "key": in_base64})
        self.sends(server, where, ["sdk", "add", "--key", path, "--mode", "development", "--name", "n", "--without",
                                   "3/4"], None,
                   {"mode": "development", "key": in_base64, "name": "n", "without": "3/4"})
        server.came.clear()
        self.assertEqual(self.run_in({}, "sdk", "add", "--development", "--mode", "production", *where)[0], 0)
        body = json.loads(server.came[0][3])
        self.assertEqual((body["mode"], len(base64.b64decode(body["key"]))), ("development", 16))
        self.sends(server, where, ["hardware", "add", ID, PUBLIC, "--factory-secret", drawn], None,
                   {"id": ID, "publicKey": PUBLIC, "mode": "production", "literal": False, "name": "", "features": [],
                    "factorySecret": base64.b64encode(secret).decode()})
        self.sends(server, where, ["hardware", "change", ID, "--factory-secret", drawn], None,
                   {"id": ID, "features": [], "factorySecret": base64.b64encode(secret).decode()})
        public = self.place.write("gate.public", f" {PUBLIC[:32]}\n{PUBLIC[32:]}\n", 0o644)
        self.sends(server, where, ["gate", "add", "n", "--public", public], None,
                   {"name": "n", "publicKey": PUBLIC, "mode": "production"})
        self.sends(server, where, ["gate", "add", "n", "--public", public, "--id", ID, "--development", "--life", "9"],
                   None, {"name": "n", "publicKey": PUBLIC, "mode": "development", "id": ID, "life": 9})
        self.sends(server, where, ["gate", "rotate", "n", "key", "next", "--public", public], None,
                   {"name": "n", "what": "key", "step": "next", "publicKey": PUBLIC, "atOnce": False})
        none = self.place.path("none")
        for words in (["gate", "add", "n"], ["gate", "rotate", "n", "key", "next"]):
            code, _, errors = self.run_in({}, *words, "--public", none, *where)
            self.assertEqual((code, errors), (
                1, f"proofctl: {none} is not there; name the file with the gate's public key\n"))

    def test_new_hardware_has_its_keys_in_files(self):
        server, where = self.service()
        server.body = b'{"id":"x"}'
        for more, body in (([], {"mode": "production", "literal": False, "name": "", "features": []}),
                           (["--development", "--literal", "--name", "n", "--features", "0x1"],
                            {"mode": "development", "literal": True, "name": "n"})):
            key, drawn = self.place.path(os.urandom(4).hex()), self.place.path(os.urandom(4).hex())
            server.came.clear()
            code, output, errors = self.run_in({}, "hardware", "new", "--output", key, "--factory-secret", drawn, *more,
                                               *where, "--json")
            self.assertEqual(code, 0, errors)
            self.assertEqual(json.loads(output),
                             {"id": "x", "secretKey": f"in {key}", "factorySecret": f"in {drawn}"})
            sent = json.loads(server.came[0][3])
            self.assertEqual(server.came[0][1], "/v1/manage/hardware/add")
            self.assertEqual({name: sent[name] for name in body}, body)
            self.assertEqual(base64.b64decode(sent["factorySecret"]), pathlib.Path(drawn).read_bytes())
            for path in (key, drawn):
                self.assertEqual((stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_size), (0o600, 32))
            self.assertNotEqual(pathlib.Path(key).read_bytes(), pathlib.Path(drawn).read_bytes())
            self.assertRegex(sent["id"], "^[0-9a-f]{32}$")
            self.assertRegex(sent["publicKey"], "^[0-9a-f]{64}$")
        # A refusal names the files that are registered nowhere.
        server.status, server.body = 403, b'{"error":"No."}'
        key, drawn = self.place.path("k"), self.place.path("d")
        code, _, errors = self.run_in({}, "hardware", "new", "--output", key, *where)
        self.assertEqual((code, errors), (
            1, f"proofctl: No. The key in {key} is registered nowhere: delete it, and try again.\n"))
        os.unlink(key)
        errors = self.run_in({}, "hardware", "new", "--output", key, "--factory-secret", drawn, *where)[2]
        self.assertIn(f"The key in {key} and {drawn} is registered nowhere", errors)
        os.unlink(key)
        errors = self.run_in({}, "hardware", "new", "--output", key, "--factory-secret", drawn, *where)[2]
        self.assertIn(f"The key in {key} is registered nowhere: delete it.", errors)
        server.status, server.body = 200, b"[]"
        errors = self.run_in({}, "hardware", "new", "--output", self.place.path("k2"), *where)[2]
        self.assertIn("the service answered with something else than hardware", errors)
        for text, words in (("0xzz", "takes a number such as 0x21, or words"),
                            ("0x80000000", "has features that this proofctl does not know. Update it."),
                            ("token-2,nonsense", "--features takes token-2, ")):
            code, _, errors = self.run_in({}, "hardware", "change", ID, "--features", text, *where)
            self.assertEqual(code, 2)
            self.assertIn(words, errors)

    def test_a_factory_key_is_replaced_first_and_written_for_its_owner(self):
        server, where = self.service()
        key = bytes(range(32))
        server.body = json.dumps({"key": base64.b64encode(key).decode()}).encode()
        output = pathlib.Path(self.place.path("opener"))
        for more, paths in (([], ["factory-key"]), (["--replace"], ["replace-factory-key", "factory-key"])):
            server.came.clear()
            code, answer, _ = self.run_in({}, "hardware", "factory-key", "--output", output, *more, *where, "--json")
            self.assertEqual((code, json.loads(answer)), (0, {"factoryKey": f"in {output}"}))
            self.assertEqual([(one[1], one[3]) for one in server.came],
                             [(f"/v1/manage/hardware/{path}", b"{}") for path in paths])
            self.assertEqual((output.read_bytes(), stat.S_IMODE(output.stat().st_mode)), (key, 0o600))
        for body in (b"{}", b"[]", json.dumps({"key": base64.b64encode(key[1:]).decode()}).encode()):
            server.body = body
            code, _, errors = self.run_in({}, "hardware", "factory-key", "--output", output, *where)
            self.assertEqual((code, errors), (
                1, "proofctl: the service answered with something else than a factory key\n"))
        self.assertEqual(output.read_bytes(), key)

    def test_secrets_go_into_files_instead_of_the_answer(self):
        server, where = self.service()
        output = pathlib.Path(self.place.path("out"))
        for words, member, body, written, shown in (
                ("management add n --role read", "token", {"token": "abc", "role": "read"}, "abc", {}),
                ("management change n", "token", {"token": "abc", "name": "n"}, "abc", {}),
                ("gate credential n", "token", {"token": "abc", "name": "w"}, "abc", {"name": "w"}),
                ("gate configuration n", "configuration", {"configuration": "abc", "x": 1}, "abc\n", {}),
                ("secret keys", "keys", {"keys": []}, '{"keys":[]}', {})):
            server.body = json.dumps(body, separators=(",", ":")).encode()
            output.unlink(missing_ok=True)
            answer = self.run_in({}, *words.split(), "--output", output, *where, "--json")
            self.assertEqual((answer[0], json.loads(answer[1])), (0, shown | {member: f"in {output}"}), words)
            self.assertEqual((output.read_text(), stat.S_IMODE(output.stat().st_mode)), (written, 0o600), words)
            self.assertEqual(json.loads(self.run_in({}, *words.split(), *where, "--json")[1]), body)
        server.body = b'{"configuration":"abc"}'
        self.assertEqual(self.run_in({}, "gate", "configuration", "n", *where)[1], "abc\n")
        server.body = b'{"token":"abc"}'
        nowhere = self.place.path("none/out")
        for words, says in (("management add n --role read", 'The token was drawn and is lost: "proofctl management'),
                            ("gate credential n", 'The credential was created and is lost: "proofctl management')):
            code, _, errors = self.run_in({}, *words.split(), "--output", nowhere, *where)
            self.assertEqual(code, 1)
            self.assertIn(f"{says} change\" ", errors)
        server.body = b'{"config":"#text"}'
        self.assertEqual(self.run_in({}, "sdk", "config-string", *where)[1], "#text\n")
        server.body = b'{"pem":"-----BEGIN\\nx\\n"}'
        self.assertEqual(self.run_in({}, "keyset", "get", "k", "--pem", *where)[1], "-----BEGIN\nx\n")
        self.assertEqual(json.loads(server.came[-1][3]), {"kid": "k", "pem": True})
        server.body = b"{}"
        self.assertEqual(self.run_in({}, "keyset", "get", "k", "--pem", *where)[::2],
                         (1, "proofctl: the service gave no PEM\n"))

    def test_a_public_key_of_a_backend_is_sent_and_a_private_one_is_not(self):
        server, where = self.service()
        private, shown = self.place.path("own.jwk"), self.place.path("own.public")
        code, output, errors = self.run_in({}, "keyset", "generate", "ECDH-ES+A256KW", "--output", private, "--kid",
                                           "k", "--json")
        self.assertEqual((code, errors), (0, ""))
        made = json.loads(output)
        self.assertEqual((made["kid"], "d" in made), ("k", False))
        self.assertEqual(json.loads(pathlib.Path(private).read_text()) | made,
                         json.loads(pathlib.Path(private).read_text()))
        self.assertEqual(stat.S_IMODE(os.stat(private).st_mode), 0o600)
        pathlib.Path(shown).write_text(output)
        self.sends(server, where, ["keyset", "add", "ECDH-ES+A256KW", "--public", shown], None,
                   {"alg": "ECDH-ES+A256KW", "public": output})
        server.came.clear()
        for words, code, says in (
                (["add", "ECDH-ES+A256KW", "--public", private], 1, "holds a private key; give its public part"),
                (["add", "RSA-OAEP-256", "--public", self.place.write("pem", "-----BEGIN PRIVATE KEY-----\n")], 1,
                 "holds a private key; give its public part"),
                (["add", "RSA-OAEP-256", "--public", shown, "--bits", "2048"], 2, "exclude each other"),
                (["add", "RSA-OAEP-256", "--public", self.place.path("none")], 1,
                 "is not there; name the file with the backend's public key"),
                (["add", "RS256", "--bits", "many"], 2, "--bits is 2048, 3072 or 4096")):
            got = self.run_in({}, "keyset", *words, *where)
            self.assertEqual((got[0], server.came), (code, []), words)
            self.assertIn(says, got[2])
        for words, code, says in ((["HS256", "--output", self.place.path("x")], 2, "keyset generate makes keys of"),
                                  (["nonsense", "--output", self.place.path("x")], 2, "keyset generate makes keys of"),
                                  (["RSA-OAEP-256"], 2, "--output is missing"),
                                  (["ECDH-ES+A256KW", "--output", private], 1, "exists")):
            got = self.run_in({}, "keyset", "generate", *words)
            self.assertEqual(got[0], code, words)
            self.assertIn(says, got[2])

    def test_a_token_is_good_as_the_service_says(self):
        server, where = self.service()
        digest = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
        for body, more, code, answer in (
                ({"valid": True}, [], 0, {"valid": True}), ({"valid": False}, [], 1, {"valid": False}),
                ({}, [], 1, {}),
                ({"valid": True, "claims": {"pay": digest}}, ["--data-hash", "x"], 0,
                 {"valid": True, "bound": True, "claims": {"pay": digest}}),
                ({"valid": False, "claims": {"pay": digest}}, ["--data-hash", "x"], 1,
                 {"valid": False, "bound": True, "claims": {"pay": digest}}),
                ({"valid": True, "claims": {}}, ["--data-hash", "x"], 1,
                 {"valid": True, "bound": False, "claims": {}}),
                ({"valid": True}, ["--data-hash", "x"], 0, {"valid": True})):
            server.body = json.dumps(body).encode()
            got = self.run_in({}, "token", "check", "t", *more, *where, "--json")
            self.assertEqual((got[0], json.loads(got[1])), (code, answer))
        errors = self.run_in({}, "token", "check", "t", "--audience", "a", *where)[2]
        self.assertIn("--audience goes with --key", errors)
        server.body = b'{"token":"abc"}'
        self.assertEqual(self.run_in({}, "token", "example", "h", *where)[1], "abc\n")

    def test_times_and_control_characters_are_shown_for_people(self):
        server, where = self.service()
        for body, text in (
                ({"added": 0, "until": 253_402_300_799}, "added  1970-01-01T00:00:00Z\nuntil  9999-12-31T23:59:59Z\n"),
                ({"added": -1, "until": 253_402_300_800}, "added  -1\nuntil  253402300800\n"),
                ({"count": 5, "on": True, "none": None, "list": ["a", 1]},
                 "count  5\nlist   a, 1\nnone   \non     true\n"),
                ({"a": "\x1b[1m\u200f\u2028é\x7f"}, "a  \\u{1b}[1m\\u{200f}\\u{2028}é\\u{7f}\n"),
                ({}, "done\n"), ([], "none\n"), (["a", 7], "a\n7\n"),
                ([{"z": 1, "did": 2, "b": 3, "name": "n", "host": "h"}, {"c": "x"}],
                 "host  name  b  c  z\nh     n     3     1\n               x\n")):
            server.body = json.dumps(body, sort_keys=True).encode()
            self.assertEqual(self.run_in({}, "policy", "show", *where), (0, text, ""), body)
