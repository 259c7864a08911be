# SPDX-License-Identifier: Apache-2.0

"""A page's shell blocks, played in terminals as a reader plays them.

A block is played if the comment before its fence is
`<!-- not run: Tests/Process/Tutorials plays it, in terminal N -->`.
A comment that ends with `, and expects the refusal` marks a block whose last command must fail.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "Tests" / "Support" / "Runner"))
from ports import free_port  # noqa: E402

BLOCK = re.compile(r"^<!-- not run: Tests/Process/Tutorials plays it, in terminal (\d)"
                   r"(, and expects the refusal)? -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Ports that pages name. Each has another number here, because other programs may use these.
PORTS = ("8443", "8080", "8444", "9080", "9081")
# A terminal lives no longer. A page has two builds from nothing in it.
SECONDS = 3600


class Block:
    def __init__(self, page, found):
        self.terminal, self.text = int(found[1]), found[3]
        self.is_refused = found[2] is not None
        self.section = re.findall(r"^## (.*)$", page[:found.start()], re.MULTILINE)[-1]


def blocks(name):
    """The page's blocks, in their order."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    found = [Block(page, match) for match in BLOCK.finditer(page)]
    told = page.count("Tests/Process/Tutorials plays it")
    assert len(found) == told, f"{name}: a comment is not before a fence of sh"
    return found


class Terminal:
    """A shell in one terminal; all that it prints."""

    def __init__(self, folder, scripts, environment):
        self.scripts, self.count = scripts, 0
        self.process = subprocess.Popen(["bash", "--norc"], cwd=folder, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        # Ends every wait for a line of this terminal.
        self.timer = threading.Timer(SECONDS, self.kill)
        self.timer.daemon = True
        self.timer.start()

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)

    def write(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def until(self, wanted):
        """Returns its output before a line that has `wanted`; raises where it ends first."""
        said = []
        for line in self.process.stdout:
            if wanted in line:
                return "".join(said)
            said.append(line)
        raise AssertionError(f"ended before {wanted!r}:\n{''.join(said)}")

    def source(self, text, options=""):
        """Runs text as if it was typed, but from a file: a program that reads its input gets none of the text."""
        self.count += 1
        path = self.scripts / f"{id(self)}-{self.count}"
        path.write_text(text, encoding="utf-8")
        self.write(f". {path}{options}\n")

    def play(self, block):
        """Runs a block to its end: (what it printed, its last command's status). An earlier failure ends the shell."""
        head, _, last = block.text.rstrip("\n").rpartition("\n")
        body = f"{head}\nset +e\n{last}\n" if block.is_refused else block.text
        # SwiftPM leaves its last line open.
        self.source(f"set -e\n{body}printf '\\n<<done %d>>\\n' $?\n", " </dev/null")
        said = []
        for line in self.process.stdout:
            if found := re.match(r"<<done (\d+)>>$", line):
                return "".join(said).removesuffix("\n"), int(found[1])
            said.append(line)
        raise AssertionError(f"a command failed:\n{block.text}\n{''.join(said)}")

    def interrupt(self):
        """Ctrl-C: ends the program in front."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGTERM)

    def close(self):
        self.timer.cancel()
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Desk:
    """A reader's desk: a home folder, the checkout, and as many terminals as the page wants."""

    def __init__(self):
        self.home, self.scripts = (pathlib.Path(tempfile.mkdtemp(prefix="proofkit-")) for _ in range(2))
        self.ports = {port: str(free_port()) for port in PORTS}
        # A person's shell has no variables of the make that started this.
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("PROOF", "MAKE", "MFLAGS", "CC"))}
        self.environment["HOME"] = str(self.home)
        self.terminals = {}

    def close(self):
        for terminal in self.terminals.values():
            terminal.close()
        shutil.rmtree(self.home)
        shutil.rmtree(self.scripts)

    def terminal(self, number):
        if number not in self.terminals:
            self.terminals[number] = Terminal(ROOT, self.scripts, self.environment)
        return self.terminals[number]

    def adapted(self, block):
        for port, own in self.ports.items():
            block.text = re.sub(rf"\b{port}\b", own, block.text)
        return block
