# SPDX-License-Identifier: Apache-2.0

"""TPMs for tests: swtpm, unmodified, with a certificate of its own local authority; and things that are no TPM."""

import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

PATIENCE = 300


class Authority:
    """swtpm's local authority, in a folder of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        (self.folder / "localca.conf").write_text("".join(
            f"{name} = {self.folder / value}\n" for name, value in (
                ("statedir", "."), ("signingkey", "signkey.pem"), ("issuercert", "issuer.pem"),
                ("certserial", "serial"))))
        (self.folder / "localca.options").write_text("--platform-manufacturer Test\n--platform-version 1\n"
                                                     "--platform-model test\n")
        (self.folder / "setup.conf").write_text(
            f"create_certs_tool = {shutil.which('swtpm_localca')}\n"
            f"create_certs_tool_config = {self.folder / 'localca.conf'}\n"
            f"create_certs_tool_options = {self.folder / 'localca.options'}\n")

    def make(self, state, *, certified=True):
        """The state of a new TPM."""
        pathlib.Path(state).mkdir()
        words = ["swtpm_setup", "--tpm2", "--tpmstate", state, "--config", self.folder / "setup.conf"]
        subprocess.run(words + (["--create-ek-cert"] if certified else []), check=True, capture_output=True,
                       timeout=PATIENCE)

    @property
    def certificates(self):
        """The file that an operator gives the service."""
        path = self.folder / "authorities.pem"
        parts = [self.folder / "issuer.pem", self.folder / "swtpm-localca-rootca-cert.pem"]
        path.write_bytes(b"".join(part.read_bytes() for part in parts))
        return path


class TPM:
    """A running swtpm. Its socket's path is short: a Unix socket has 107 bytes for it."""

    def __init__(self, authority, folder, name, *, certified=True):
        self.state = pathlib.Path(folder) / f"{name}-state"
        authority.make(self.state, certified=certified)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tpm-"))
        self.device = self.home / "s"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--server", f"type=unixio,path={self.device}", "--tpmstate",
             f"dir={self.state}", "--flags", "not-need-init,startup-clear"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.device.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"swtpm has ended: {self.process.returncode}")

    @property
    def transport(self):
        """For tpm2-tools, whose transport for swtpm knows no Unix sockets in Debian 12: this file carries the bytes."""
        return f"cmd:{sys.executable} {pathlib.Path(__file__).resolve()} {self.device}"

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait(timeout=PATIENCE)
            self.process = None
        self.device.unlink(missing_ok=True)

    def close(self):
        self.stop()
        shutil.rmtree(self.home)


class Mutator:
    """A socket before a TPM that changes some of its answers: bytes, lengths, ends. The seed decides."""

    def __init__(self, tpm, seed):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tpm-"))
        self.device = self.home / "s"
        self.tpm = tpm
        self.dice = random.Random(seed)
        self.changed = 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.device))
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def mutant(self, answer):
        """Half of the answers are changed, in one of five ways."""
        if self.dice.random() < 0.5:
            return answer
        self.changed += 1
        data = bytearray(answer)
        way = self.dice.randrange(5)
        if way == 0:
            data[self.dice.randrange(len(data))] ^= 1 << self.dice.randrange(8)
        elif way == 1:
            at = self.dice.randrange(len(data) - 1)
            data[at:at + 2] = self.dice.choice((b"\0\0", b"\xff\xff", b"\x7f\xff", b"\x10\0"))
        elif way == 2:
            data = data[:self.dice.randrange(10, len(data) + 1)]
            data[2:6] = struct.pack(">I", len(data))
        elif way == 3:
            data += self.dice.randbytes(self.dice.randrange(1, 300))
            data[2:6] = struct.pack(">I", len(data))
        else:
            data[10:] = self.dice.randbytes(len(data) - 10)
        return bytes(data)

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            # The connection to swtpm ends with the client's.
            with peer, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as inner:
                inner.connect(str(self.tpm.device))
                try:
                    while command := peer.recv(4096):
                        inner.sendall(command)
                        answer = b""
                        while len(answer) < 10 or len(answer) < struct.unpack(">I", answer[2:6])[0]:
                            answer += inner.recv(4096)
                        peer.sendall(self.mutant(answer))
                except OSError:
                    continue

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(timeout=PATIENCE)
        shutil.rmtree(self.home)


class NoTPM:
    """A socket in a TPM's place that answers each command with the same bytes, with none, or ends.

    `answer`: a response code, bytes, None to keep silent, or "end".
    """

    def __init__(self, answer, device=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tpm-"))
        self.device = pathlib.Path(device) if device else self.home / "s"
        self.answer = struct.pack(">HII", 0x8001, 10, answer) if isinstance(answer, int) else answer
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.device))
        self.listener.listen(8)
        self.peers = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            if self.answer == "end":
                peer.close()
                continue
            try:
                while self.answer is not None and peer.recv(4096):
                    peer.sendall(self.answer)
            except OSError:
                continue

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(timeout=PATIENCE)
        for peer in self.peers:
            peer.close()
        self.device.unlink(missing_ok=True)
        shutil.rmtree(self.home)


def carry(device):
    """Carries commands from standard input to a TPM, and its answers to standard output."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tpm:
        tpm.connect(device)
        while command := sys.stdin.buffer.read1(4096):
            tpm.sendall(command)
            sys.stdout.buffer.write(tpm.recv(4096))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    carry(sys.argv[1])
