#!/usr/bin/env python3
"""proof-gate beside proxies of other people: what passes, what is refused, and what happens when a part is gone."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from parties import HOST, PATIENCE, Api, Client, Prover, block, free_port
from place import PageLines, Place
import certificates
import gates

AMBIGUOUS = ("/orders%2f7", "/orders/../health", "/orders/%2e%2e/health", "//health", "/orders//7", "/orders\\7",
             "/health%00", "/health?", "/health#x", "/%68ealth", f"https://{HOST}/orders", "/orders/..;a/health")


class Site(Place):
    """An account with a gate, its files, and an app that is admitted."""

    def __init__(self):
        super().__init__()
        self.make_account()
        self.start_service()
        key = os.urandom(16)
        self.ask("sdk", "add", "--key", self.write("mpk", key), "--mode", "development")
        self.ask("policy", "set", "rejection=none", "device-rate=0", "address-rate=0", "first-fetch-rate=0")
        code, public, words = self.run("gate", "keys", "new", self.path("gate.key"), where=[])
        assert code == 0, words
        self.write("gate.public", public)
        self.ask("gate", "add", "front", "--public", self.path("gate.public"), "--development")
        self.ask("api", "add", HOST, "--gate", "front")
        self.configure()
        self.environment["FINGERPRINT"] = self.ask("config", "show")["initial"].rsplit("#", 1)[-1]
        self.write("routes", block("Rules", "text"))
        self.prover = Prover(gates.App(self.url, key).admit(HOST))
        certificates.make_authority(str(self.folder), "authority")
        certificates.make_leaf(str(self.folder), "leaf", "authority", f"DNS:{HOST}", 2)

    def configure(self):
        pathlib.Path(self.path("front.jws")).unlink(missing_ok=True)
        self.ask("gate", "configuration", "front", "--output", self.path("front.jws"))


class GateProcess:
    """proof-gate with a line of the page. Its log is read as it comes."""

    def __init__(self, site, line, ports, *options):
        text = line.replace("127.0.0.1:9080", f"127.0.0.1:{ports[0]}").replace("127.0.0.1:9081", "127.0.0.1:0")
        environment = site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {text.strip()} {' '.join(options)}"], cwd=site.folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        started = self.wait(lambda line: line["event"] == "listening")
        self.port, self.status = started["port"], started["status"]

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(json.loads(line) if line.startswith("{") else {"event": line})
                self.news.notify_all()
        with self.news:
            self.lines.append({"event": "ended"})
            self.news.notify_all()

    def wait(self, wanted, after=0):
        def found():
            return next((line for line in self.lines[after:] if line["event"] == "ended" or wanted(line)), None)
        with self.news:
            assert self.news.wait_for(found, PATIENCE), self.lines
            line = found()
        assert line["event"] != "ended" or wanted(line), self.lines
        return line

    def hang_up(self):
        """Sends SIGHUP; the line that tells how it ended."""
        after = len(self.lines)
        self.process.send_signal(signal.SIGHUP)
        return self.wait(lambda line: "files" in line["event"], after)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.process.stdout.close()
        return status

    def get(self, path, port=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port or self.status}{path}", timeout=PATIENCE) as answer:
            return answer.read().decode()


class Proxied:
    """The properties that hold behind each proxy. A subclass starts and stops its proxy."""

    gone = 500

    @classmethod
    def setUpClass(cls):
        cls.site = cls.place = Site()
        cls.addClassCleanup(cls.site.close)
        lines = re.split(r"(?<!\\)\n", block("Start").strip())
        for line in lines[:2]:
            cls.run_line(cls(), line)
        keys = [line.split() for line in (cls.site.folder / "verdict.keys").read_text().splitlines()]
        cls.line, cls.gate_port, cls.port = lines[2], free_port(), free_port()
        cls.start_gate()
        cls.addClassCleanup(lambda: cls.gate.process.poll() is None and cls.gate.end())
        cls.api = Api({int(number): bytes.fromhex(key) for number, key in keys})
        cls.addClassCleanup(cls.api.close)
        cls.start_proxy(cls.api.server_address[1])
        cls.addClassCleanup(cls.stop_proxy)
        cls.client = Client(cls.port, cls.site.path("authority.pem"))
        cls.prover = cls.site.prover

    @classmethod
    def start_gate(cls):
        cls.gate = GateProcess(cls.site, cls.line, [cls.gate_port], *cls.options)

    @classmethod
    def page(cls, kind, api):
        """The proxy's lines of the page, with the addresses of this test."""
        text = block(cls.heading, kind)
        for was, now in {"443": f"127.0.0.1:{cls.port}", "127.0.0.1:9080": f"127.0.0.1:{cls.gate_port}",
                         "127.0.0.1:8080": f"127.0.0.1:{api}", "/etc/ssl/api.pem": cls.site.path("leaf.pem"),
                         "/etc/ssl/private/api.key": cls.site.path("leaf.key")}.items():
            assert was in text or was == "443", was
            text = text.replace(was, now)
        return text

    def sent(self, *arguments, **more):
        """Status, fields and JSON of an answer, and how many requests the API saw meanwhile."""
        before = len(self.api.seen)
        return *self.client.send(*arguments, **more), len(self.api.seen) - before

    def refused(self, status, kind, *arguments, **more):
        found, fields, _, seen = self.sent(*arguments, **more)
        self.assertEqual((found, fields["Proof-Refusal"], seen), (status, kind, 0), arguments)
        self.assertIsNone(fields["Proof-Verdict"])
        return fields

    def passes(self, *arguments, **more):
        status, fields, answer, _ = self.sent(*arguments, **more)
        self.assertEqual(status, 200, (arguments, answer, dict(fields)))
        self.assertIsNone(fields["Proof-Verdict"], "a verdict is for the API alone")
        return answer["said"]

    def test_an_app_that_proves_passes_and_its_verdict_names_it(self):
        body = b'{"cents":1200}'
        fields = [("Content-Type", "application/json"), ("Authorization", "Bearer abc")]
        target = "/orders/7?to=%C3%BC"
        said = self.passes("POST", target, self.prover.prove("POST", target, body, fields), body)
        self.assertEqual((said["rule"], said["pass"], said["app"]["handle"]), ("orders", True, self.prover.handle))
        self.assertFalse(said["app"]["failed"])
        said = self.passes("GET", "/orders/7", self.prover.prove("GET", "/orders/7", with_token=False))
        self.assertIn("body", said, "the API learns that a GET has no body")
        line = self.gate.wait(lambda line: line.get("reference") == said["id"])
        self.assertEqual((line["result"], line["handle"]), ("passed", self.prover.handle))

    def test_without_a_proof_nothing_passes_but_what_the_rules_leave_open(self):
        fields = self.refused(401, "proof", "POST", "/orders", [], b"x")
        self.assertTrue(fields["Proof-Time"])
        line = self.gate.wait(lambda line: line.get("reference") == fields["Proof-Reference"])
        self.assertEqual((line["route"], line["result"], line["status"]), ("orders", "request-1", 401))
        self.assertNotIn("app", self.passes("GET", "/health"))
        self.assertIn("why", self.passes("GET", "/prices"), "watched")
        self.refused(401, "proof", "POST", "/health", [], b"")

    def test_a_request_counts_once(self):
        fields = self.prover.prove("POST", "/orders", b"x")
        self.passes("POST", "/orders", fields, b"x")
        self.refused(401, "proof", "POST", "/orders", fields, b"x")

    def test_a_changed_request_does_not_reach_the_apis_code(self):
        def fields():
            return self.prover.prove("POST", "/orders?n=1", b"one", [("Authorization", "Bearer abc")])
        self.refused(401, "proof", "POST", "/orders?n=2", fields(), b"one")
        self.refused(401, "proof", "PUT", "/orders?n=1", fields(), b"one")
        other = [(name, "Bearer xyz" if name == "Authorization" else value) for name, value in fields()]
        self.refused(401, "proof", "POST", "/orders?n=1", other, b"one")
        status, _, answer, _ = self.sent("POST", "/orders?n=1", fields(), b"two")
        self.assertEqual((status, answer), (418, {"refused": "body"}), "the verdict tells the API")
        # Where the proxy tells the length, the gate refuses; elsewhere the API, by the digest of an empty body.
        status, _, _, _ = self.sent("GET", "/orders", self.prover.prove("GET", "/orders"), b"two")
        self.assertEqual(status, 401 if self.tells_length else 418)

    def test_a_client_speaks_neither_for_the_gate_nor_for_the_proxy(self):
        self.passes("GET", "/health")
        for name in ("Proof-Verdict", "Proof-Reference", "Proof-Anything"):
            self.refused(403, "refused", "GET", "/health", [(name, "x")])
        for said in (("X-Original-URI", "/health"), ("X_Original_URI", "/health"), ("X-Original-Method", "GET"),
                     ("X-Forwarded-Uri", "/health"), ("X-Forwarded-Method", "GET"), ("Proof-Route", "health"),
                     ("X-Original-Host", "other.example.com"), ("Proof_Verdict", "x"), ("X-Forwarded-Proto", "http")):
            status, _, _, seen = self.sent("POST", "/orders", [said], b"")
            self.assertIn(status, (401, 403), said)
            self.assertEqual(seen, 0, said)
        status, _, _, seen = self.sent("GET", "/proof-gate")
        self.assertEqual((status, seen), (self.hidden, 0), "the question's own address is no client's")
        self.assertEqual(self.sent("GET", "/health", host="other.example.com")[3], 0)

    def test_a_target_with_two_readings_reaches_nothing(self):
        for target in AMBIGUOUS:
            status, _, _, seen = self.sent("GET", target)
            self.assertIn(status, (400, 401, 403), target)
            self.assertEqual(seen, 0, target)

    def test_a_rule_may_ask_for_the_gates_word_on_the_time(self):
        fields = self.refused(401, "clock", "GET", "/account", self.prover.prove("GET", "/account"))
        nonce = fields["Proof-Nonce"] + ".once"
        # By the gate's word a clock that is wrong by a day does no harm.
        proof = self.prover.prove("GET", "/account", created=1_000_000_000, nonce=nonce)
        self.assertTrue(self.passes("GET", "/account", proof)["app"]["anchored"])
        self.refused(401, "proof", "GET", "/account", proof)

    def test_with_the_gate_down_the_proxy_is_closed_and_nothing_counts_twice_afterwards(self):
        fields = self.prover.prove("POST", "/orders", b"x")
        self.passes("POST", "/orders", fields, b"x")
        self.gate.end(signal.SIGKILL)
        for request in (("POST", "/orders", self.prover.prove("POST", "/orders", b"x"), b"x"), ("GET", "/health")):
            status, _, _, seen = self.sent(*request)
            self.assertEqual((status, seen), (self.gone, 0))
        self.start_gate()
        self.refused(401, "proof", "POST", "/orders", fields, b"x")
        self.passes("POST", "/orders", self.prover.prove("POST", "/orders", b"x"), b"x")

    def test_sighup_takes_good_files_and_keeps_the_old_ones_for_bad_ones(self):
        good = block("Rules", "text")
        self.addCleanup(self.gate.hang_up)
        self.addCleanup(self.site.write, "routes", good)
        self.site.write("routes", good.replace("need none", "need nothing", 1))
        line = self.gate.hang_up()
        self.assertEqual(line["event"], "files not taken")
        self.assertIn("routes, line 4: need is nothing; it takes none or proof", line["reason"])
        self.passes("GET", "/health")
        self.assertIn("proof_gate_files_refused_total 1\n", self.gate.get("/metrics"))
        self.site.write("routes", good.replace("need none", "need proof", 1))
        self.assertEqual(self.gate.hang_up()["event"], "has read its files again")
        self.refused(401, "proof", "GET", "/health")
        # The gate still knows the app: keys and issuers are the same.
        self.passes("GET", "/orders", self.prover.prove("GET", "/orders", with_token=False))

    def curl(self, target, fields):
        """Status of a GET over HTTP/2."""
        done = subprocess.run(
            ["curl", "--silent", "--http2", "--cacert", self.site.path("authority.pem"), "--path-as-is",
             "--resolve", f"{HOST}:{self.port}:127.0.0.1", "--output", os.devnull, "--noproxy", "*",
             "--write-out", "%{http_version} %{http_code}", f"https://{HOST}:{self.port}{target}",
             *(word for name, value in [("Host", HOST), *fields] for word in ("--header", f"{name}: {value}"))],
            capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout

    def test_over_http_2_a_request_is_judged_alike(self):
        fields = self.prover.prove("GET", "/orders/2?a=b")
        self.assertEqual(self.curl("/orders/2?a=b", []), "2 401")
        self.assertEqual(self.curl("/orders/2?a=c", fields), "2 401")
        self.assertEqual(self.curl("/orders/2?a=b", fields), "2 200")
        self.assertEqual(self.curl("/orders/2?a=b", fields), "2 401")
        self.assertEqual(self.curl("/health", [("Proof-Verdict", "x")]), "2 403")

    def test_the_api_refuses_what_comes_past_the_proxy(self):
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.gate.get("/orders", self.api.server_address[1])
        self.assertEqual(raised.exception.code, 418)
        raised.exception.close()

    def test_state_is_told_beside_the_proxy(self):
        self.passes("GET", "/health")
        self.assertEqual(self.gate.get("/health"), "ok\n")
        measures = self.gate.get("/metrics")
        self.assertRegex(measures, r'proof_gate_judgements_total\{route="health",result="unjudged",watched="no"\} \d')
        self.assertRegex(measures, r"proof_gate_configuration_age_seconds \d")
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.gate.get("/metrics", self.gate.port)
        self.assertEqual(raised.exception.code, 404, "not where the proxy asks")
        raised.exception.close()


class Nginx(Proxied, PageLines, unittest.TestCase):
    heading = "nginx"
    tells_length = True
    hidden = 404
    options = ()

    @classmethod
    def start_proxy(cls, api):
        user = "user root;" if os.getuid() == 0 else ""
        folders = "".join(f"{name}_temp_path {cls.site.path('temporary')};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        cls.site.write("nginx.conf", f"{user} worker_processes 2; pid {cls.site.path('nginx.pid')};"
                       f" error_log {cls.site.path('nginx.log')}; events {{}}\n"
                       f"http {{ access_log off; {folders}\n{cls.page('nginx', api)} }}\n")
        # The command returns when the sockets listen.
        subprocess.run(["/usr/sbin/nginx", "-p", cls.site.folder, "-c", cls.site.path("nginx.conf")], check=True,
                       timeout=PATIENCE)

    @classmethod
    def stop_proxy(cls):
        subprocess.run(["/usr/sbin/nginx", "-p", cls.site.folder, "-c", cls.site.path("nginx.conf"), "-s", "stop"],
                       check=True, timeout=PATIENCE)

    def test_a_dry_run_tells_the_rule_and_uses_nothing_up(self):
        line = block("A dry run").strip()
        fields = self.prover.prove("GET", "/orders/9")

        def write(fields):
            self.site.write("request.txt", "\r\n".join(
                ["GET /orders/9 HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in fields), "", ""]))
        write(fields)
        for _ in range(2):
            self.assertIn(f"route: orders\nstatus: 200\nreason: passed\napp: {self.prover.handle}\n",
                          self.run_line(line))
        self.passes("GET", "/orders/9", fields)
        write([])
        environment = self.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", line], cwd=self.site.folder, env=environment, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[:2]), (1, ["route: orders", "status: 401"]))

    def test_another_address_may_not_ask(self):
        gate = GateProcess(self.site, self.line.replace("state/replay", "memory"), [0], "--trusted-proxy 192.0.2.1")
        self.addCleanup(gate.end)
        with self.assertRaises(urllib.error.HTTPError) as raised:
            gate.get("/judge", gate.port)
        self.assertEqual(raised.exception.code, 403)
        raised.exception.close()

    def test_mode_watch_refuses_nothing_and_says_what_it_would_have_refused(self):
        gate = GateProcess(self.site, self.line.replace("state/replay", "memory"), [0], "--mode watch")
        self.addCleanup(lambda: self.assertEqual(gate.end(), 0, "SIGTERM ends it in order"))
        question = urllib.request.Request(f"http://127.0.0.1:{gate.port}/judge", headers={
            "X-Original-Method": "POST", "X-Original-URI": "/orders", "X-Original-Host": HOST,
            "X-Original-Scheme": "https"})
        with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
            self.assertEqual(answer.status, 200)
            self.assertIsNotNone(answer.headers["Proof-Verdict"])
        line = gate.wait(lambda line: line["event"] == "judged")
        self.assertEqual((line["watched"], line["result"]), ("yes", "request-1"))


class Caddy(Proxied, PageLines, unittest.TestCase):
    heading = "Caddy"
    tells_length = False
    hidden = 401
    options = ("--proxy x-forwarded",)
    gone = 502

    @classmethod
    def start_proxy(cls, api):
        site = cls.page("caddy", api).replace(f"{HOST}:127.0.0.1:{cls.port}", f"{HOST}:{cls.port}")
        cls.admin = f"127.0.0.1:{free_port()}"
        cls.site.write("Caddyfile", f"{{\n admin {cls.admin}\n auto_https disable_redirects\n}}\n{site}")
        # The command returns when the sockets listen.
        subprocess.run(["caddy", "start", "--config", cls.site.path("Caddyfile"), "--adapter", "caddyfile"], check=True,
                       timeout=PATIENCE, env=cls.home(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def home(cls):
        return os.environ | {"HOME": str(cls.site.folder), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}

    @classmethod
    def stop_proxy(cls):
        subprocess.run(["caddy", "stop", "--address", cls.admin], check=True, timeout=PATIENCE, env=cls.home(),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class HAProxy(Proxied, PageLines, unittest.TestCase):
    heading = "HAProxy"
    options = ()
    gone = 503
    tells_length = True
    hidden = 401

    @classmethod
    def start_proxy(cls, api):
        names = {":443": f"127.0.0.1:{cls.port}", "127.0.0.1:9080": f"127.0.0.1:{cls.gate_port}",
                 "127.0.0.1:8080": f"127.0.0.1:{api}", "/etc/haproxy/api.pem": cls.site.path("both.pem"),
                 "/etc/haproxy/proof-gate.lua": cls.site.path("gate.lua")}
        for kind, name in (("lua", "gate.lua"), ("haproxy", "haproxy.cfg")):
            text = block(cls.heading, kind)
            for was, now in names.items():
                text = text.replace(was, now)
            cls.site.write(name, text)
        cls.site.write("both.pem", "".join((cls.site.folder / name).read_text() for name in ("leaf.pem", "leaf.key")))
        # The command returns when the sockets listen.
        subprocess.run(["/usr/sbin/haproxy", "-D", "-f", cls.site.path("haproxy.cfg"), "-p", cls.site.path("pid")],
                       check=True, timeout=PATIENCE)

    @classmethod
    def stop_proxy(cls):
        for number in (cls.site.folder / "pid").read_text().split():
            os.kill(int(number), signal.SIGTERM)
