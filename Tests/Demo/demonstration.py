"""The demonstration's programs, what its story must tell, and a place to play it in."""

import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("PROOF_BIN", ROOT / ".build" / "release"))
PATIENCE = 300

# What issue and README promise: a piece of the line, and how it must end.
STORY = [
    ("app enrols", "enrolled"),
    ("it is measured", "fetched"),
    ("kept on the phone", "0600"),
    ("asks for another measurement", "not fetched: no network"),
    ("for the first time", "accepted"),
    ("started again", "accepted"),
    ("power fails", "accepted"),
    ("plays the recording", "stale"),
    ("after a power cut", "stale"),
    ("on its way", "device differs"),
    ("forges a token", "not signed"),
    ("debugger", "integrity differs, for debugger"),
    ("preloaded", "integrity differs, for preloading"),
    ("bundle is changed", "integrity differs, for bundle"),
    ("is copied to", "device differs"),
    ("token alone is stolen", "held, then device differs"),
    ("carries the order", "order done"),
    ("lost phone", "revoked"),
    ("bad radio", "accepted, accepted, accepted, accepted"),
    ("each was done", "once"),
    ("version 2 is installed", "integrity differs"),
    ("asks for the status", "accepted, device only"),
    ("that proof", "ask the backend: not permitted"),
    ("what changed", "bundle"),
    ("version 2 is registered", "fetched"),
    ("it opens the lock, offline", "accepted"),
]


def faults(lines):
    """What is wrong with a story that was told: lines that did not end as they must, and promises without a line."""
    rest = iter(lines)
    wrong = [line for line in lines if not line["ok"] or line["happened"] != line["expected"]]
    return wrong + [promise for promise in STORY
                    if not any(promise[0] in line["what"] and line["happened"] == promise[1] for line in rest)]


class Stage:
    """A place of its own for everything temporary, so that what stays behind shows."""

    def __init__(self):
        # Short: a socket's path has room for 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="d")
        self.environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.environment["TMPDIR"] = self.folder

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "text": True, **options}
        return subprocess.Popen([BIN / "proof-demo", *arguments], env=self.environment, **options)

    def play(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, output, errors

    def left_behind(self):
        """Processes with the folder in their command line, and files in it."""
        left = os.listdir(self.folder)
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if self.folder.encode() in entry.read_bytes():
                    left.append(entry.parent.name)
            except OSError:
                continue
        return left

    def close(self):
        shutil.rmtree(self.folder)
