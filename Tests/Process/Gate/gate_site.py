# SPDX-License-Identifier: Apache-2.0

"""An account with a gate, and processes of ours with their logs."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import urllib.request

from parties import HOST, PATIENCE, Prover, block
from place import Place
import certificates
import gates


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

    def prepared(self):
        """Prepares the gate as its page does, and gives the page's line that starts it."""
        prepare, *_, line = re.split(r"(?<!\\)\n", block("Start").strip())
        subprocess.run(["bash", "-c", f"{os.environ['PROOF_BIN']}/{prepare}"], cwd=self.folder, check=True,
                       timeout=PATIENCE)
        return line

    def configure(self):
        pathlib.Path(self.path("front.jws")).unlink(missing_ok=True)
        self.ask("gate", "configuration", "front", "--output", self.path("front.jws"))


class Logged:
    """A process whose log is read as it comes: an object of JSON a line."""

    def __init__(self, *command, **more):
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, **more)
        self.lines, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.started = self.wait(lambda line: line["event"] == "listening")

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

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.process.stdout.close()
        return status


class GateProcess(Logged):
    """proof-gate with a line of the page."""

    def __init__(self, site, line, ports, *options):
        text = line.replace("127.0.0.1:9080", f"127.0.0.1:{ports[0]}").replace("127.0.0.1:9081", "127.0.0.1:0")
        super().__init__(
            "bash", "-c", f"exec {text.strip()} {' '.join(options)}", cwd=site.folder,
            env=site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"})
        self.port, self.status = self.started["port"], self.started["status"]

    def hang_up(self):
        """Sends SIGHUP; the line that tells how it ended."""
        after = len(self.lines)
        self.process.send_signal(signal.SIGHUP)
        return self.wait(lambda line: "files" in line["event"], after)

    def get(self, path, port=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port or self.status}{path}", timeout=PATIENCE) as answer:
            return answer.read().decode()
