# SPDX-License-Identifier: Apache-2.0

"""A site to play runbooks at: an account, its service behind TLS, a backend, a lock and two phones. All real processes,
in one folder, under the names that the pages use."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "Tests" / "Support" / "Runner"))
from ports import free_port  # noqa: E402

BIN = pathlib.Path(os.environ.get("PROOF_BIN", ROOT / ".build" / "debug"))
SECONDS = 300
API = "door.example.com"
PAGE_PORT = "8443"


def blocks(page, heading):
    """The shell blocks below a heading, up to the next of the same or a higher level."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    level = heading.split(" ")[0]
    start = text.index(f"\n{heading}\n") + 1
    end = re.search(rf"^#{{1,{len(level)}}} ", text[start + len(heading):], re.MULTILINE)
    section = text[start:start + len(heading) + (end.start() if end else len(text))]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


class Shell:
    """The operator's shell: one session, that ends at the first command that fails."""

    def __init__(self, site, **variables):
        self.process = subprocess.Popen(["bash", "--norc"], cwd=site.folder, env=site.environment | variables,
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.process.stdin.write("set -eu\n")

    def play(self, block):
        """Runs a block as it stands; what it printed."""
        self.process.stdin.write(f"{block}\necho '<<done>>'\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line == "<<done>>\n":
                return "".join(said)
            said.append(line)
        raise AssertionError(f"failed:\n{block}\n{''.join(said)}")

    def value(self, name):
        return self.play(f'echo "${name}"').strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=SECONDS)
        self.process.stdout.close()


class Site:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proofkit-"))
        self.port, self.backend_port = free_port(), free_port()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PROOF")}
        self.environment = inherited | {"PATH": f"{BIN}:{inherited['PATH']}", "PROOF_STORE": "account.store",
                                        "PROOF_LEDGER": "ledger", "HOME": str(self.folder),
                                        "PROOF_PASSPHRASE": "local development"}
        self.processes = {}

    def close(self):
        for name in list(self.processes):
            self.stop(name)
        shutil.rmtree(self.folder)

    def shell(self, **variables):
        return Shell(self, **variables)

    def page(self, block):
        """A block of the page; its port may be another's here, so it is replaced."""
        return block.replace(f"localhost:{PAGE_PORT}", f"localhost:{self.port}").replace(
            f"127.0.0.1:{PAGE_PORT}", f"127.0.0.1:{self.port}")

    # Processes --------------------------------------------------------------------------------------------------------

    def start(self, name, command, ready):
        """Starts a process and returns when a line of it has `ready`; its output goes on into a file."""
        path = self.folder / f"{name}.out"
        with open(path, "a", encoding="utf-8") as output:
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=output, text=True)
        self.processes[name] = process
        self.await_line(name, process, path, ready)

    def await_line(self, name, process, path, ready):
        if name == "lock":
            # Its log is standard error.
            with open(path, encoding="utf-8") as log:
                text = ""
                while ready not in text:
                    text += log.readline()
                    assert process.poll() is None or ready in text + log.read(), f"{name} ended:\n{text}"
            return
        said = ""
        for line in process.stdout:
            said += line
            if ready in line:
                return
        raise AssertionError(f"{name} did not start:\n{said}{path.read_text()}")

    def stop(self, name):
        process = self.processes.pop(name)
        process.stdin.close()
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        process.wait(timeout=SECONDS)

    # The parties -------------------------------------------------------------------------------------------------

    def make(self):
        """The account and its service, by the quick start."""
        (with_tls,), (account,) = blocks("QUICKSTART.md", "## 2. Make a certificate"), blocks(
            "QUICKSTART.md", "## 3. Make an account")
        (serving,) = blocks("QUICKSTART.md", "## 4. Start the attestation service")
        serving = serving.removeprefix(". ~/door/env\n")
        self.serving = self.page(serving)
        shell = self.shell()
        shell.play(with_tls)
        shell.play(self.page(account))
        shell.close()

    def ctl(self, *arguments):
        done = subprocess.run([BIN / "proofctl", *arguments, "--json"], cwd=self.folder, text=True,
                              env=self.environment, capture_output=True, timeout=SECONDS)
        assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"
        return json.loads(done.stdout)

    def start_service(self):
        self.start("service", ["bash", "-c", f"exec {self.serving}"], "listening")

    def start_backend(self, *options):
        self.start("backend", [
            "proof-unlock", "--port", str(self.backend_port), "--keys", "sealing.jwk", "--issuer-key", "issuer.key",
            "--store", "account.store", "--ledger", "ledger", "--classes", "0,1", "--audience", API, "--anyone",
            *options], "listening")

    def start_lock(self, name="lock"):
        self.start("lock", ["proof-hardware", "--flash", f"{name}.flash", "--socket", f"{name}.sock"], "listening")

    def make_backend(self):
        """The key that opens the account's tokens, and the key that signs for locks."""
        secret = self.ctl("sealing", "get", "--base64url")["secret"]
        self.write("sealing.jwk", json.dumps({"kty": "oct", "alg": "dir", "k": secret}))
        self.issuer = self.ctl("issuer", "new", "--output", "issuer.key")["publicKey"]

    def make_lock(self, name="lock"):
        """A lock with an identity that the account knows; its id."""
        lock = self.ctl("hardware", "new", "--output", f"{name}.key", "--development")["id"]
        self.write("provisioning", f"mode = development\nid = {lock}\nissuer = {self.issuer}\nsecret-key = "
                   f"{(self.folder / f'{name}.key').read_bytes().hex()}\n")
        subprocess.run([BIN / "proof-hardware", "--flash", f"{name}.flash", "--provision", "provisioning"], check=True,
                       cwd=self.folder, capture_output=True, timeout=SECONDS)
        for secret in ("provisioning", f"{name}.key"):
            (self.folder / secret).unlink()
        return lock

    def make_phone(self, name, lock, link="lock.sock"):
        """A phone with the sample app, registered, enrolled, and paired with a lock; its installation's id."""
        home = self.folder / name
        bundle = home / "app"
        (home / "paired").mkdir(parents=True)
        (home / "storage").mkdir(mode=0o700)
        bundle.mkdir()
        for file, text in (("account", self.ctl("config", "show")["signed"]), ("api", API),
                           ("backend", f"http://127.0.0.1:{self.backend_port}"),
                           ("authority.pem", (self.folder / "authority.pem").read_text()),
                           ("rules", "doors stay shut at night\n")):
            (bundle / file).write_text(text)
        self.pair(name, lock, link)
        known = {entry["digest"] for entry in self.ctl("registration", "list")}
        digest = self.ctl("registration", "digest", str(BIN / "proof-demo"), "--bundle", str(bundle))["digest"]
        if digest not in known:
            self.ctl("registration", "add", str(BIN / "proof-demo"), "--bundle", str(bundle))
        enrolled = self.app(name, "enrol")
        assert enrolled["outcome"] == "enrolled", enrolled
        return enrolled["instance"]

    def pair(self, name, lock, link):
        (self.folder / name / "paired" / "hardware").write_text(lock)
        (self.folder / name / "paired" / "link").write_text(str(self.folder / link))

    def app(self, name, *words):
        """The answer of a phone's app, which is started for this."""
        done = subprocess.run([BIN / "proof-demo", "app", "--json", "--home", name, *words], cwd=self.folder, text=True,
                              env=self.environment, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout.splitlines()[-1])

    def write(self, name, text):
        path = self.folder / name
        path.touch(0o600)
        path.write_text(text)
