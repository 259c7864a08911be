#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""proof-gate without a proxy beside it: its options, its verbs, its page, its log and its measures."""

import http.client
import os
import pathlib
import re
import stat
import subprocess
import time
import unittest

from gate_site import GateProcess, Site
from parties import HOST, PATIENCE

RULES = """
route open
  path /open
  need none
route watched
  path /watched
  need proof
  mode watch
route person
  path /person
  need person
route rest
  path /*
  need proof
  young none
"""
TOLD = {"X-Original-Method": "GET", "X-Original-URI": "/open", "X-Original-Host": HOST, "X-Original-Scheme": "https"}
PAGE = "/.well-known/proofkit/"


class Alone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site()
        cls.addClassCleanup(cls.site.close)
        cls.line = cls.site.prepared()
        cls.site.write("routes", RULES)
        cls.environment = cls.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}

    def run_line(self, line):
        """Exit status, output and errors of a line in the folder of the site."""
        done = subprocess.run(["bash", "-c", f"exec {line}"], cwd=self.site.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def refused(self, status, words, line):
        code, output, errors = self.run_line(line)
        self.assertEqual((code, output), (status, ""), (line, errors))
        self.assertRegex(errors, words, line)

    def start(self, *options, line=None):
        gate = GateProcess(self.site, line or self.line.replace("state/replay", "memory"), [0], *options)
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        return gate

    def ask(self, gate, path="/judge", fields=(), method="GET", told=(), body=None, port=None):
        """Status, header fields and body of an answer of the gate."""
        connection = http.client.HTTPConnection("127.0.0.1", port or gate.port, timeout=PATIENCE)
        connection.request(method, path, body, TOLD | dict(told) | dict(fields))
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    # Options

    def test_options_that_cannot_hold_end_with_2(self):
        options = self.line.split("--listen")[0]
        for more, words in (
                ("--listen 0.0.0.0:0", "would show each request to the network"),
                ("--listen unix:", "name a file behind it"), ("--listen 127.0.0.1:x", "--listen"),
                ("--listen 127.0.0.1:65536", "--listen"),
                ("--socket-mode 600", "for a Unix socket"),
                *((f"--listen unix:none/s --socket-mode {mode}", "600 to 770") for mode in ("771", "1600", "8", "x")),
                ("--certificate a", "go together"), ("--private-key a", "go together"),
                ("--threads 0", "--threads"), ("--threads 257", "--threads"),
                ("--stale-after 1799", "--stale-after"), ("--stale-after 604801", "--stale-after"),
                ("--drain-seconds -1", "--drain-seconds"), ("--log html", "json.*text"),
                ("--mode off", "watch or rules"),
                ("--proxy x-other", "x-original.*x-forwarded"), ("--nonsense", "--nonsense"),
                ("--page-file a --page-url https://a.example/", "two pages"),
                ("--page-url http://a.example/", "begins with https://"),
                ("--page-origin http://a.example", "write it as browsers do"),
                ("--page-origin https://a.example,https://B.example", "write it as browsers do"),
                *((f"{name} 7", f"{name} is for a gate with --service")
                  for name in ("--credential", "--service-ca", "--poll-seconds")),
                *((f"--service {url} --credential c", "plain http for 127.0.0.1")
                  for url in ("http://a.example", "ftp://a.example", "a.example", "http://127.0.0.1.example",
                              "http://[::2]")),
                ("--service https://a.example", "--credential is missing"),
                *((f"--service https://a.example --credential c --poll-seconds {seconds}", "--poll-seconds")
                  for seconds in (0, 86401)),
                *((f"{name} 7", f"{name} goes with --events")
                  for name in ("--event-credentials", "--event-replay", "--event-audience", "--event-rate")),
                ("--events 127.0.0.1:0", "--event-credentials is missing"),
                ("--events 127.0.0.1:0 --event-credentials c", "--event-replay is missing"),
                ("--events 127.0.0.1:0 --event-credentials c --event-replay database", "for proof-service"),
                ("--events 0.0.0.0:0 --event-credentials c --event-replay memory", "show credentials"),
                *((f"--events 127.0.0.1:0 --event-credentials c --event-replay memory --event-rate {rate}",
                   "--event-rate") for rate in (0, 1_000_001))):
            with self.subTest(more):
                self.refused(2, words, f"{options} {more}")

    def test_options_at_their_bounds_are_taken(self):
        # The file of rules is missing: that ends with 1, after the options were read.
        options = self.line.split("--listen")[0].replace("--routes routes", "--routes missing").replace(
            "state/replay", "memory")
        for more in ("--threads 1", "--threads 256", "--stale-after 1800", "--stale-after 604800", "--drain-seconds 0",
                     "--log text", "--mode watch", "--proxy x-forwarded", "--page-url https://a.example/p?q",
                     "--page-origin https://a.example,https://b.example:8443", "--listen 0.0.0.0:0 --insecure",
                     "--listen '[::1]:0'", "--listen unix:s --socket-mode 600", "--listen unix:s --socket-mode 770",
                     "--trusted-proxy 192.0.2.1", "--route-names", "--request-ids", "--quiet"):
            with self.subTest(more):
                self.refused(1, "there is no file missing: write the rules into it", f"{options} {more}")

    def test_each_needed_option_is_named(self):
        for name in ("--configuration", "--fingerprint", "--gate-key", "--own-secret", "--routes", "--replay"):
            with self.subTest(name):
                self.refused(2, f"{name} is missing", re.sub(rf" {name} \S+", "", self.line))
        for was, now, words in ((r'"\$FINGERPRINT"', "AAAA", "44 characters of base64"),
                                (r"1:state/own.key", "state/own.key", "takes a number and a file"),
                                (r"1:state/own.key", "256:state/own.key", "takes a number and a file")):
            self.refused(2, words, re.sub(was, now, self.line))

    def test_files_that_cannot_be_used_are_named(self):
        line = self.line.replace("state/replay", "memory")
        for was, now, words in (
                ("front.jws", "none.jws", "none.jws"), ("gate.key", "none.key", "none.key"),
                ("--routes routes", "--routes " + self.site.write("bad", "route a\n"),
                 "bad, line 1: route a does not say"),
                ("1:state/own.key", "1:none.key", "none.key"),
                ("1:state/own.key", f"1:{self.site.write('empty', b'')}", "own secret has 0 bytes; it must have 32"),
                ("gate.key", self.site.path("empty"), "The gate secret key has 0 bytes; it must have 32"),
                ("--replay memory", "--replay memory --page-file none.html", "no file none.html: write your page"),
                ("--replay memory", "--replay memory --bypass-file none.txt", "none.txt"),
                ("--replay memory", f"--replay memory --bypass-file {self.site.write('b.txt', 'x')}",
                 "b.txt, line 1: write")):
            with self.subTest(words):
                self.assertIn(was, line)
                self.refused(1, f"proof-gate: .*{words}", line.replace(was, now))

    # Verbs

    def test_prepare_makes_the_files_of_a_new_gate_once(self):
        self.assertEqual(self.run_line("proof-gate prepare new"), (0, "", ""))
        new = pathlib.Path(self.site.path("new"))
        self.assertEqual(stat.S_IMODE(new.stat().st_mode), 0o700)
        own = new / "own.key"
        self.assertEqual((stat.S_IMODE(own.stat().st_mode), own.stat().st_size), (0o600, 32))
        self.assertNotEqual(own.read_bytes(), pathlib.Path(self.site.path("state/own.key")).read_bytes())
        self.assertTrue((new / "replay").exists())
        self.assertEqual((new / "events").read_bytes()[:15], b"SQLite format 3")
        before = own.read_bytes()
        self.refused(1, "proof-gate prepare: .*exists", "proof-gate prepare new")
        self.assertEqual(own.read_bytes(), before)
        for operands in ("", "a b"):
            self.refused(2, "name one folder", f"proof-gate prepare {operands}")

    def test_verdict_keys_are_those_of_one_host_the_active_one_first(self):
        secret = self.site.write("second.key", os.urandom(32))
        handing = ('proof-gate verdict-key --configuration front.jws --fingerprint "$FINGERPRINT"'
                   f" --own-secret 2:{secret},1:state/own.key --output")
        self.assertEqual(self.run_line(f"{handing} two.keys {HOST}"), (0, "", ""))
        keys = pathlib.Path(self.site.path("two.keys"))
        self.assertEqual(stat.S_IMODE(keys.stat().st_mode), 0o600)
        lines = keys.read_text().splitlines()
        self.assertEqual([line.split(" ")[0] for line in lines], ["2", "1"])
        self.assertTrue(all(re.fullmatch(r"[12] [0-9a-f]{64}", line) for line in lines), lines)
        self.assertNotEqual(lines[0][2:], lines[1][2:])
        one = handing.replace(f"2:{secret},", "")
        self.assertEqual(self.run_line(f"{one} one.keys {HOST}")[0], 0)
        self.assertEqual(pathlib.Path(self.site.path("one.keys")).read_text(), lines[1] + "\n")
        self.refused(1, "exists", f"{one} one.keys {HOST}")
        self.refused(1, f"does not list the host other.example.com for this gate: it lists {HOST}",
                     f"{one} other.keys other.example.com")
        self.assertFalse(os.path.exists(self.site.path("other.keys")))
        self.refused(2, "name one host", f"{one} other.keys")
        self.refused(2, "--output is missing", f"{one.removesuffix(' --output')} {HOST}")

    def test_a_dry_run_judges_a_file(self):
        line = self.line.split("--replay")[0].replace("proof-gate ", "proof-gate check ") + " request"

        def check(text):
            self.site.write("request", text)
            return self.run_line(line)

        host = f"\nHost:\t {HOST}\n"
        self.assertEqual(check(f"GET /open HTTP/1.1{host}\nno: field, as the body begins"),
                         (0, "route: open\nstatus: 200\nreason: unjudged\n", ""))
        code, output, _ = check(f"GET /watched HTTP/1.1{host}")
        self.assertEqual((code, output.splitlines()[:2]), (1, ["route: watched", "status: 200 (only watched)"]))
        self.assertRegex(output.splitlines()[2], "^reason: ")
        code, output, _ = check(f"GET /x HTTP/1.1{host}")
        self.assertEqual((code, output.splitlines()[:2]), (1, ["route: rest", "status: 401"]))
        self.assertNotIn("app:", output)
        fields = "".join(f"{name}: {value}\r\n" for name, value in self.site.prover.prove("GET", "/x"))
        self.assertEqual(check(f"GET /x HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n"), (
            0, f"route: rest\nstatus: 200\nreason: passed\napp: {self.site.prover.handle}\n", ""))
        for text, words in (("", "line 1 of the request: write METHOD TARGET HTTP/1.1"),
                            ("GET /x", "line 1 of the request: write METHOD TARGET"),
                            ("GET  /x HTTP/1.1", "line 1 of the request"),
                            ("GET /x HTTP/1.1\nHost", "line 2 of the request: write NAME: VALUE"),
                            ("GET /x HTTP/1.1\nHost: a\n: b", "line 3 of the request: write NAME: VALUE")):
            code, output, errors = check(text)
            self.assertEqual((code, output), (1, ""))
            self.assertIn(f"proof-gate check: {words}", errors)
        self.refused(1, "there is no file nothing", line.replace(" request", " nothing"))
        self.refused(2, "name one file with a request", line.removesuffix(" request"))
        # nginx's configuration has options of its own.
        self.refused(2, "--allow is all; it takes no-question, ", "proof-gate check --nginx a --allow all")
        self.refused(1, "there is no such file", "proof-gate check --nginx none.conf")
        self.refused(1, "there is no file missing: write the rules", "proof-gate check --nginx routes --routes missing")

    def test_tokens_are_drawn_into_a_file(self):
        for verb, most in (("bypass", 604_800), ("event-credential", 31_622_400)):
            file = pathlib.Path(self.site.path(f"{verb}.txt"))
            tokens = []
            for name, seconds in (("on-call", 60), ("A.b_9", most)):
                before = int(time.time())
                code, token, errors = self.run_line(f"proof-gate {verb} --file {file} --seconds {seconds} {name}")
                self.assertEqual((code, errors), (0, ""))
                self.assertRegex(token, r"^[A-Za-z0-9_-]{43}\n$")
                tokens.append(token)
                line = file.read_text().splitlines()[-1].split(" ")
                self.assertEqual((line[0], len(line[1])), (name, 64))
                self.assertTrue(before + seconds <= int(line[2]) <= int(time.time()) + seconds, line)
            self.assertEqual((len(file.read_text().splitlines()), len(set(tokens))), (2, 2))
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            # A last line without its end stays one.
            file.write_text(file.read_text().rstrip("\n"))
            self.assertEqual(self.run_line(f"proof-gate {verb} --file {file} --seconds 60 third")[0], 0)
            self.assertEqual([line.split(" ")[0] for line in file.read_text().splitlines()],
                             ["on-call", "A.b_9", "third"])
            for seconds in (59, most + 1, "x"):
                self.refused(2, "--seconds", f"proof-gate {verb} --file {file} --seconds {seconds} a")
            self.refused(2, "--seconds is missing", f"proof-gate {verb} --file {file} a")
            self.refused(2, "--file is missing", f"proof-gate {verb} --seconds 60 a")
            for operands in ("", "a b", "a/b", "x" * 33, "ä"):
                self.refused(2, "1 to 32 letters", f"proof-gate {verb} --file {file} --seconds 60 {operands}")
            self.assertEqual(self.run_line(f"proof-gate {verb} --file {file} --seconds 60 {'x' * 32}")[0], 0)
            before = self.site.write(f"{verb}.bad", "x\n")
            self.refused(1, f"proof-gate {verb}: line 1: write NAME",
                         f"proof-gate {verb} --file {before} --seconds 60 a")
            self.assertEqual(pathlib.Path(before).read_text(), "x\n")
            os.chmod(file, 0o644)
            self.refused(1, "chmod 600", f"proof-gate {verb} --file {file} --seconds 60 a")

    # Serving

    def test_the_log_tells_what_the_gate_does(self):
        # A store that forgets would refuse proofs of its first second.
        gate = self.start(line=self.line)
        first, listening = gate.lines[:2]
        self.assertEqual((first["event"], first["gate"], first["hosts"], first["mode"]),
                         ("reads its files", "front", HOST, "rules"))
        self.assertGreater(first["serial"], 0)
        self.assertEqual((listening["event"], listening["address"]), ("listening", "127.0.0.1"))
        self.assertNotIn("events", listening)
        self.assertEqual(self.ask(gate)[0], 200)
        judged = gate.wait(lambda line: line["event"] == "judged")
        self.assertEqual((judged["route"], judged["status"], judged["result"], len(judged["reference"])),
                         ("open", 200, "unjudged", 22))
        self.assertFalse({"watched", "handle", "reason"} & set(judged))
        fields = self.site.prover.prove("GET", "/x")
        self.assertEqual(self.ask(gate, fields=fields, told={"X-Original-URI": "/x"})[0], 200)
        judged = gate.wait(lambda line: line.get("route") == "rest")
        self.assertEqual((judged["handle"], judged["result"]), (self.site.prover.handle, "passed"))
        self.assertEqual(self.ask(gate, told={"X-Original-URI": "/watched"})[0], 200)
        judged = gate.wait(lambda line: line.get("route") == "watched")
        self.assertEqual((judged["watched"], judged["status"], judged["result"]), ("yes", 200, "request-1"))
        self.assertTrue(judged["reason"])
        status, fields, _ = self.ask(gate, told={"X-Original-URI": "/x"})
        self.assertEqual((status, fields["Cache-Control"]), (401, "private, no-store"))
        self.assertEqual(gate.end(), 0)
        self.assertEqual([line["event"] for line in gate.lines[-3:]], ["stopping", "stopped", "ended"])
        self.assertEqual(gate.lines[-2]["unfinished"], "no")
        quiet = self.start("--quiet")
        self.assertEqual(self.ask(quiet)[0], 200)
        self.assertEqual(self.ask(quiet, told={"X-Original-URI": "/x"})[0], 401)
        quiet.wait(lambda line: line.get("route") == "rest")
        self.assertEqual([line["route"] for line in quiet.lines if line["event"] == "judged"], ["rest"])

    def test_measures_and_health(self):
        gate = self.start(line=self.line)

        def measures():
            return dict(line.rsplit(" ", 1) for line in gate.get("/metrics").splitlines() if not line.startswith("#"))

        found = measures()
        self.assertEqual((found["proof_gate_installations"], found["proof_gate_files_refused_total"]), ("0", "0"))
        self.assertLess(float(found["proof_gate_configuration_age_seconds"]), 600)
        self.assertEqual(int(found["proof_gate_configuration_serial"]), gate.lines[0]["serial"])
        self.assertFalse([name for name in found if name.startswith("proof_gate_pull")])
        for _ in range(2):
            self.ask(gate)
        self.ask(gate, told={"X-Original-URI": "/watched"})
        self.ask(gate, fields=self.site.prover.prove("GET", "/x"), told={"X-Original-URI": "/x"})
        found = measures()
        counts = {tuple(re.findall('="([^"]*)"', name)): count for name, count in found.items()
                  if name.startswith("proof_gate_judgements_total")}
        self.assertEqual(counts, {("open", "unjudged", "no"): "2", ("watched", "request-1", "yes"): "1",
                                  ("rest", "passed", "no"): "1"})
        self.assertEqual(list(counts), sorted(counts))
        self.assertEqual(found["proof_gate_installations"], "1")
        self.assertEqual((gate.get("/health"), gate.get("/health", gate.port)), ("ok\n", "ok\n"))
        for port, words in ((gate.status, b"there is no such page"), (gate.port, b"ask with GET /judge")):
            status, _, body = self.ask(gate, "/other", port=port)
            self.assertEqual((status, body.strip()), (404, words))
        # Files that cannot be used change nothing.
        self.site.write("routes", "route broken\n")
        self.addCleanup(self.site.write, "routes", RULES)
        line = gate.hang_up()
        self.assertEqual(line["event"], "files not taken")
        self.assertRegex(line["reason"], "line 1: route broken does not say.*previous files stay in use")
        self.assertEqual((self.ask(gate)[0], measures()["proof_gate_files_refused_total"]), (200, "1"))
        self.site.write("routes", RULES.replace("path /open", "path /opened"))
        line = gate.hang_up()
        self.assertEqual((line["event"], line["gate"]), ("has read its files again", "front"))
        self.assertEqual((self.ask(gate)[0], self.ask(gate, told={"X-Original-URI": "/opened"})[0]), (401, 200))
        self.assertEqual(measures()["proof_gate_installations"], "1", "an app that it knows stays known")

    def test_the_accounts_switch_has_a_gate_refuse_nothing(self):
        def switch(word):
            self.site.ask("gate", "watch", "front", word)
            self.site.configure()

        self.addCleanup(switch, "off")
        gate = self.start()
        self.assertEqual(self.ask(gate, told={"X-Original-URI": "/x"})[0], 401)
        switch("on")
        self.assertEqual(gate.hang_up()["mode"], "rules")
        self.assertEqual(self.ask(gate, told={"X-Original-URI": "/x"})[0], 200)
        self.assertEqual(gate.wait(lambda line: line.get("watched") == "yes")["route"], "rest")
        switch("off")
        gate.hang_up()
        self.assertEqual(self.ask(gate, told={"X-Original-URI": "/x"})[0], 401)

    def test_a_demand_is_an_apis_own(self):
        gate = self.start()
        self.assertEqual(self.ask(gate, "/demand")[0::2], (405, b"send a demand with POST\n"))
        self.assertEqual(self.ask(gate, "/demand", method="POST", body=b"x")[0::2],
                         (403, b"no API of this gate made this demand now\n"))
        self.assertEqual(gate.wait(lambda line: line["event"] == "demand refused")["reason"],
                         "no API of this gate made it now")

    def test_the_page_is_for_a_proxy_and_its_hosts(self):
        gate = self.start()
        status, fields, script = self.ask(gate, PAGE + "work.js")
        self.assertEqual((status, fields["Content-Type"]), (200, "text/javascript; charset=utf-8"))
        self.assertGreater(len(script), 100)
        head = self.ask(gate, PAGE + "work.js", method="HEAD")
        self.assertEqual((head[0], head[2]), (200, b""))
        for told in ({"X-Original-Host": "other.example.com"}, {"X-Original-Scheme": "http"}, {"X-Original-Host": ""}):
            status, _, body = self.ask(gate, PAGE + "work.js", told=told)
            self.assertEqual((status, body), (400, b"the proxy's lines for the page are missing: see docs/GATE.md\n"))
        self.assertIn("other.example.com", gate.wait(lambda line: line["event"] == "page refused")["reason"])
        self.assertEqual(self.ask(gate, PAGE + "none")[0], 404)
        line = gate.wait(lambda line: line["event"] == "page")
        self.assertEqual((line["status"], line["result"]), (404, "failed-1003"))
        status, fields, _ = self.ask(gate, told={"X-Original-URI": "/person"})
        self.assertEqual((status, fields["Proof-Status"]), (401, "428"))
        query = f"page?challenge={fields['Proof-Challenge']}&method=GET&target=%2Fperson"
        status, fields, body = self.ask(gate, PAGE + query)
        self.assertEqual((status, fields["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b"<!doctype html>", body.lower())
        found = gate.get("/metrics")
        for code in ("script", "page", "host", "scheme", "failed-1003"):
            self.assertIn(f'proof_gate_judgements_total{{route="page",result="{code}",watched="no"}}', found)
        # An operator's own page, at an address or in a file.
        for option, status, words in (("--page-url https://a.example/p", 302, ""),
                                      (f"--page-file {self.site.write('own.html', 'own {{nonce}} {{data}}')}", 200,
                                       'own ')):
            gate = self.start(option)
            challenge = self.ask(gate, told={"X-Original-URI": "/person"})[1]["Proof-Challenge"]
            query = f"page?challenge={challenge}&method=GET&target=%2Fperson"
            found, fields, body = self.ask(gate, PAGE + query)
            self.assertEqual((found, body.decode()[:4]), (status, words))
            if status == 302:
                self.assertTrue(fields["Location"].startswith(f"https://a.example/p?challenge={challenge}&"))
        gate = self.start("--page-origin https://a.example,https://b.example")
        challenge = self.ask(gate, told={"X-Original-URI": "/person"})[1]["Proof-Challenge"]
        fields = self.ask(gate, f"{PAGE}page?challenge={challenge}&method=GET&target=%2Fperson")[1]
        self.assertIn("frame-ancestors https://a.example https://b.example", fields["Content-Security-Policy"])

    def test_a_stranger_gets_no_answer(self):
        gate = self.start("--trusted-proxy 192.0.2.1")
        for path in ("/judge", "/refusal", PAGE + "page"):
            status, _, body = self.ask(gate, path)
            self.assertEqual((status, body), (403, b"this address may not ask: see --trusted-proxy\n"))
        self.assertEqual(gate.wait(lambda line: line["event"] == "refused")["reason"],
                         "the question is not from a trusted proxy")
        self.assertIn('{route="unmatched",result="stranger",watched="no"} 3', gate.get("/metrics"))

    def test_a_listener_for_events_needs_a_credential(self):
        self.assertEqual(self.site.run("event", "add", "3300", "--gate", "front", "--audience", "shop")[0], 0)
        self.site.configure()
        self.assertEqual(self.run_line("proof-gate event-credential --file backends --seconds 60 a")[0], 0)
        gate = self.start("--events 127.0.0.1:0 --event-credentials backends --event-replay state/events")
        status, _, _ = self.ask(gate, "/v1/event", method="POST", body=b"{}", port=gate.started["events"])
        self.assertEqual(status, 401)
        self.assertEqual(gate.end(), 0)


if __name__ == "__main__":
    unittest.main()
