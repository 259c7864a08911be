# SPDX-License-Identifier: Apache-2.0

"""A place to work in: an account's store, a running service, the operator's tool, an installed app. All of them real
processes that end with the test."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

BIN = pathlib.Path(os.environ["PROOF_BIN"])
PASSPHRASE = "four words of test"


# Verbs that change nothing: they are asked in both forms, for people and as JSON.
READING = {"secret get", "customkey get", "sealing get", "devkey get", "secret list", "customkey list", "sealing list",
           "messagekey list", "stringkey list", "saltkey list", "management list", "api list", "registration list",
           "registration digest", "policy show", "device list", "pin list", "config show", "keyset list", "keyset get",
           "keyset jwks", "string list", "metrics show", "sdk list", "sdk config-string", "hardware list",
           "gate list", "gate show", "event list", "issuer show", "token check", "proof compute",
           "measurement-token inspect", "diagnose"}


class PageLines:
    """Runs lines of a page, for test cases that have a `place`."""

    def run_line(self, line, refused=None):
        """A line, by a shell in the operator's folder. Refused: the words of the refusal."""
        environment = self.place.environment | {
            "PATH": f"{BIN}:{os.environ['PATH']}", "PROOF_STORE": str(self.place.store)}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=self.place.folder, env=environment,
                              capture_output=True, text=True, timeout=120, check=False)
        if refused is None:
            self.assertEqual(done.returncode, 0, (line, done.stderr))
        else:
            self.assertEqual(done.returncode, 1, (line, done.stdout))
            self.assertRegex(done.stderr, refused, line)
        return done.stdout


class Place:
    """Records commands by verb, flag and where: `proofctl.py` checks that nothing was left out."""

    done = set()

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proofkit-"))
        # Tests/Process/Scale plays these tests on databases: its program makes one, and prints its address.
        maker = os.environ.get("PROOF_STORE_MAKER")
        self.store = subprocess.check_output([maker], text=True).strip() if maker else self.folder / "store.db"
        self.processes = []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PROOF")}
        self.environment["PROOF_PASSPHRASE"] = PASSPHRASE

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(timeout=60)
        if hasattr(self, "log"):
            self.log.join(timeout=60)
        for process in self.processes:
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(self.folder)

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, data, mode=0o600):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)
        return str(path)

    def run(self, *arguments, given="", where=None):
        """Runs the tool: exit code, standard output, standard error."""
        where = ["--store", str(self.store)] if where is None else where
        run = subprocess.run([BIN / "proofctl", *map(str, arguments), *where], input=given, capture_output=True,
                             text=True, timeout=120, env=self.environment)
        if run.returncode == 0:
            words = [str(argument) for argument in arguments]
            verb = " ".join(words[:1 if words[0] in ("init", "diagnose", "explain") else 2])
            side = "service" if "--service" in where + words else "store" if where else "neither"
            self.done |= {(verb, word, side) for word in words + where if word.startswith("--")}
        return run.returncode, run.stdout, run.stderr

    def ask(self, *arguments, given="", where=None):
        """Runs the tool, which must do it: its answer in JSON."""
        code, output, words = self.run(*arguments, "--json", given=given, where=where)
        assert code == 0, f"{arguments}: {code} {output} {words}"
        assert output.count("\n") == 1, f"{arguments}: JSON is one line: {output}"
        if " ".join(map(str, arguments[:2])) in READING or arguments[0] in READING:
            code, text, words = self.run(*arguments, given=given, where=where)
            assert code == 0 and text.strip() and not words, f"{arguments}: {code} {text} {words}"
        return json.loads(output)

    def make_account(self):
        self.ask("init", "acme", "--url", "http://127.0.0.1:1", "--management-token", self.path("management"))

    def start_service(self, *options):
        """Starts the service on a port of the system's choice, and tells apps where it is."""
        process = subprocess.Popen(
            [BIN / "proof-service", "--store", self.store, "--listen", "127.0.0.1:0", "--plain", "--log", "json",
             *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.processes.append(process)
        self.url = f"http://127.0.0.1:{self.port(process)}"
        # Reads the log: a full pipe would stop the service.
        self.log = threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True)
        self.log.start()
        self.ask("config", "url", self.url)
        self.remote = ["--service", self.url, "--token-file", self.path("management")]
        return self.url

    def start_tls(self, certificate, key):
        """Another process of the service for the same store, behind TLS: its port."""
        process = subprocess.Popen(
            [BIN / "proof-service", "--store", self.store, "--listen", "127.0.0.1:0", "--certificate", certificate,
             "--private-key", key, "--log", "json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.processes.append(process)
        return self.port(process)

    @staticmethod
    def port(process):
        for line in process.stdout:
            found = re.search(r'"port":\s*(\d+)', line)
            if found:
                return int(found[1])
        raise AssertionError("the service did not start")

    def start(self, *arguments, errors=None):
        """Starts a program; `errors` takes its standard error."""
        process = subprocess.Popen([str(argument) for argument in arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=errors, text=True, env=self.environment)
        self.processes.append(process)
        return process


class App:
    """An installed app, running."""

    def __init__(self, place, name="app", *, key=(), storage=None):
        """`key`: what the app says its key with; `storage`: one that another app left."""
        self.place = place
        self.bundle = place.folder / name
        self.storage = storage or place.folder / f"{name}-storage"
        self.bundle.mkdir()
        self.storage.mkdir(mode=0o700, exist_ok=True)
        (self.bundle / "rules").write_text(f"{name}: doors stay shut\n")
        (self.bundle / "views").mkdir()
        (self.bundle / "views" / "main").write_text("view\n")
        self.start(*key)

    def start(self, *key):
        self.process = self.place.start(BIN / "app-peer", self.bundle, self.storage, *key)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert answer, "the app died"
        return answer

    def fetch(self, domain):
        status, token, config, reason = self.ask("fetch", domain).split("|")
        return status, token, config, reason
