# SPDX-License-Identifier: Apache-2.0

"""One proof-service process for a test: its store, its certificate, its log."""

import json
import os
import pathlib
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
# A build with a sanitizer, say, can be put in place of the usual one.
BUILT = pathlib.Path(os.environ.get("PROOF_BUILT", ROOT / ".build" / "debug"))
PATIENCE = 300


def make_store(folder):
    """A store in a folder, and the options that open it."""
    key = folder / "key"
    key.write_bytes(b"\7" * 32)
    key.chmod(0o600)
    made = subprocess.run([BUILT / "service-store", "make", folder], check=True, capture_output=True, text=True)
    (folder / "management-token").write_text(made.stdout.strip())
    (folder / "management-token").chmod(0o600)
    return ["--store", str(folder / "store"), "--key-file", str(folder / "key")]


def let_unregistered_apps_pass(store):
    """The app of the load generator is registered nowhere, and shows nothing else that is rejected."""
    rejected = "rejection=debug,preload,injected,patched,hooked,emulator,root"
    done = subprocess.run([BUILT / "proofctl", "policy", "set", rejected, *store], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"proofctl: {done.stdout}{done.stderr}")


def make_certificate(folder, name, *, days=30):
    """A self-signed certificate for 127.0.0.1, and its key: the two files."""
    chain, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", str(days), "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out", chain,
         "-keyout", key],
        check=True, capture_output=True)
    key.chmod(0o600)
    return chain, key


class Service:
    """A running proof-service. Its log is read as it is written, so that it never fills a pipe."""

    def __init__(self, *options, port=0, environment=None, built=BUILT):
        self.lines = []
        self.process = subprocess.Popen(
            [built / "proof-service", "--listen", f"127.0.0.1:{port}", "--log", "json", *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        first = self.process.stdout.readline()
        if not first:
            raise RuntimeError(f"proof-service did not start: {self.process.stderr.read()}")
        self.port = json.loads(first)["port"]
        self.lines.append(first)
        self.events = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.events:
                self.lines.append(line)
                self.events.notify_all()

    def wait_for(self, event):
        """The log's first line with this event, from now or before."""
        def found():
            return next((one for one in map(json.loads, self.lines) if one["event"] == event), None)
        with self.events:
            if not self.events.wait_for(found, timeout=PATIENCE):
                raise TimeoutError(f"no event {event}: {self.lines[-5:]}")
            return found()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """The exit status after SIGTERM."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        status = self.process.wait(timeout=PATIENCE)
        self.reader.join()
        return status

    def resident(self):
        """Resident memory in KiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise RuntimeError("no VmRSS")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


def refusal(*options, environment=None):
    """Exit status and words of a proof-service that does not start."""
    done = subprocess.run([BUILT / "proof-service", *map(str, options)], capture_output=True, text=True,
                          timeout=PATIENCE, env={**os.environ, **(environment or {})})
    return done.returncode, done.stderr
