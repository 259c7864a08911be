# SPDX-License-Identifier: Apache-2.0

"""The Swift side of the interoperation tests: a process that answers one JSON object for each line it gets."""

import json
import os
import subprocess


class Refused(Exception):
    """The Swift side said no; the words are its own."""


class Peer:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["JOSE_PEER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0, "the Swift side died"
        self.process.stdout.close()

    def ask(self, what, **values):
        self.process.stdin.write(json.dumps({"do": what, **values}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the Swift side died"
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return next(iter(answer.values()))
