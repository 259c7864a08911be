# SPDX-License-Identifier: Apache-2.0

"""Event tokens that are redeemed at nodes of proof-service while the primary is taken away.

Each node has an app of its own, because a process knows the installations that it has issued gate tokens to. A question
without an answer is asked again under its name, as a backend does.
"""

import itertools
import os
import sys
import threading

from nodes import ROOT, BUILT, run
from replicated import wait_until

os.environ.setdefault("PROOF_BIN", str(BUILT))
sys.path[:0] = [str(ROOT / "Tests" / part) for part in ("Process/Backend", "Process/Gate")]
import gates  # noqa: E402
from redeeming import Asker, Maker  # noqa: E402

HOST = "pay.example.com"
EVENT = 3300


class Events:
    """The gate of an account, and the files that nodes redeem its events with."""

    def __init__(self, site):
        self.site, folder = site, site.place.folder
        self.key = os.urandom(16)
        for name, data in (("event.key", self.key), ("gate.public", run("proofctl", "gate", "keys", "new", folder /
                                                                        "gate.key").encode())):
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        for line in (("sdk", "add", "--key", folder / "event.key", "--mode", "development"),
                     ("policy", "set", "rejection=none"),
                     ("gate", "add", "front", "--public", folder / "gate.public", "--development"),
                     ("api", "add", HOST, "--gate", "front"),
                     ("event", "add", f"{EVENT}-{EVENT + 10}", "--gate", "front", "--audience", "shop", "--account",
                      "--data")):
            run("proofctl", *line, *site.store)
        run("proof-gate", "prepare", folder / "state")
        credentials = folder / "event.credentials"
        self.credential = run("proof-gate", "event-credential", "--file", credentials, "--seconds", "31536000",
                              "shop").strip()
        self.own = (folder / "state" / "own.key").read_bytes()
        self.options = ("--events", "127.0.0.1:0", "--event-gate", "front", "--event-audience", "shop",
                        "--event-own-secret", f"1:{folder / 'state' / 'own.key'}", "--event-credentials", credentials,
                        "--event-replay", "database")

    def redemptions(self):
        return Redemptions(self)

    def backend(self, number):
        """An app of a node, and a backend that asks this node."""
        node = self.site.nodes[number]
        app = gates.App(f"http://127.0.0.1:{node.port}", self.key, f"app {number} {os.urandom(4).hex()}")
        return Maker(app.admit(HOST), self.own), Asker(node.events_port, self.credential)


class Redemptions:
    """One event after the other at each node; `news` gives those that were acknowledged since the last call."""

    def __init__(self, events, pause=0.2):
        self.pause, self.names = pause, itertools.count()
        self.acknowledged, self.read, self.refused = [], 0, []
        self.is_over = threading.Event()
        backends = [events.backend(number) for number in range(len(events.site.nodes))]
        # A place that is new takes no token from before a redeemer's first question.
        for maker, asker in backends:
            wait_until(lambda: self.redeems(maker, asker), "a node redeems")
        self.threads = [threading.Thread(target=self.run, args=backend, daemon=True) for backend in backends]
        for thread in self.threads:
            thread.start()

    def redeems(self, maker, asker):
        said = self.ask(asker, maker.make(), f"order {next(self.names)}")
        return said is not None and said["valid"]

    @staticmethod
    def ask(asker, token, name):
        """The judgement; None for no answer."""
        try:
            return asker.redeem(token, key=name)
        except (OSError, AssertionError, ValueError):
            return None

    def judged(self, asker, token, name):
        """The judgement, also from a node that is busy for a while."""
        return wait_until(lambda: self.ask(asker, token, name), "a judgement")

    def run(self, maker, asker):
        while not self.is_over.wait(self.pause):
            token, name = maker.make(), f"order {next(self.names)}"
            while (said := self.ask(asker, token, name)) is None and not self.is_over.wait(self.pause):
                pass
            if said is None:
                return
            if said["valid"]:
                self.acknowledged.append((asker, token, name))
            else:
                self.refused.append(said)

    def judge(self):
        """The number of new redemptions; those that count again under another name; those whose judgement is lost."""
        fresh = self.acknowledged[self.read:]
        self.read += len(fresh)
        twice, lost = [], []
        for asker, token, name in fresh:
            if self.judged(asker, token, f"{name} again")["valid"]:
                twice.append(name)
            said = self.judged(asker, token, name)
            if not (said["valid"] and said.get("repeated")):
                lost.append((name, said))
        return len(fresh), twice, lost

    def close(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
