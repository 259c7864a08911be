#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A gate beside nginx: an honest app, a scraper, a bot with a solver, a program that reads pictures, and a person.

  make demo-gate [DEMO='--json --slow']     the programs stand in .build/release, or where PROOF_BIN says

Prints what each got and what it cost them. Ends with 1 if a line is not as it must be.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import time

from stage import Interrupted, Stage
from story import Story


class Line:
    """One line of the story."""

    def __init__(self, act, what, expected):
        self.act, self.what, self.expected = act, what, expected
        self.happened, self.detail = "could not be played", ""

    def happens(self, happened, detail=""):
        self.happened, self.detail = happened, detail

    @property
    def is_well(self):
        return self.happened == self.expected

    def as_json(self):
        return {"act": self.act, "what": self.what, "expected": self.expected, "happened": self.happened,
                "ok": self.is_well, "detail": self.detail}


class Narrator:
    def __init__(self, options):
        self.options, self.lines, self.act = options, [], ""
        self.is_coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def coloured(self, text, number):
        return f"\x1b[{number}m{text}\x1b[0m" if self.is_coloured else text

    def say(self, text):
        if not self.options.json:
            print(text, flush=True)

    def begin(self, act):
        self.act = act
        self.say(f"\n{self.coloured(act, 1)}")

    @contextlib.contextmanager
    def step(self, what, expected):
        if self.options.slow:
            # For an audience, which has to read; no step depends on it.
            time.sleep(2)
        line = Line(self.act, what, expected)
        self.lines.append(line)
        try:
            yield line
        except Interrupted:
            self.lines.pop()
            raise
        except Exception as error:
            line.detail = str(error)
            self.tell(line)
            raise
        self.tell(line)

    def tell(self, line):
        mark = self.coloured("ok    ", 32) if line.is_well else self.coloured("FAILED", 31)
        verdict = line.happened if line.is_well else f"{line.happened}, and it must be: {line.expected}"
        self.say(f"{mark} {line.what}: {self.coloured(verdict, 1 if line.is_well else 31)}")
        if line.detail:
            self.say("       " + self.coloured(line.detail, 2))

    def end(self, story, failure):
        parties = [{"name": party.name, "requests": party.sent, "passed": party.passed, "refused": party.refused,
                    "hashes": party.hashes, "note": party.note, "seconds": round(party.seconds, 3)}
                   for party in story.parties] if story else []
        judged = [{"route": route, "result": result, "watched": watched, "count": count}
                  for (route, result, watched), count in sorted(story.site.judged.items())] if story else []
        wrong = sum(not line.is_well for line in self.lines)
        is_well = bool(self.lines) and not wrong and not failure
        if self.options.json:
            print(json.dumps({"ok": is_well, "failure": failure, "lines": [line.as_json() for line in self.lines],
                              "parties": parties, "judgements": judged}))
            return is_well
        self.say(f"\n{'':34}{'requests':>9}{'passed':>8}{'refused':>9}{'hashes':>12}{'seconds':>9}")
        for party in parties:
            self.say(f"{party['name']:34}{party['requests']:9}{party['passed']:8}{party['refused']:9}"
                     f"{party['hashes']:12,}{party['seconds']:9.1f}{'  ' * bool(party['note'])}{party['note']}")
        self.say(f"\n{'judgements of the gate (/metrics)':34}{'result':24}{'watched':8}{'count':>6}")
        for line in judged:
            self.say(f"  {line['route']:32}{line['result']:24}{line['watched']:8}{line['count']:6}")
        if wrong:
            self.say(f"\n{wrong} of {len(self.lines)} lines did not end as they must")
        elif failure:
            self.say(f"\nthe story was not told to its end: {len(self.lines)} lines")
        else:
            self.say(f"\nall {len(self.lines)} lines ended as they must")
        return is_well


def interrupt(number, _):
    # A second signal must not stop the cleaning up.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    raise Interrupted(number)


def main():
    parser = argparse.ArgumentParser(prog="make demo-gate", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="prints everything as JSON, at the end")
    parser.add_argument("--slow", action="store_true", help="waits 2 s before each line, for an audience")
    options = parser.parse_args()
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, interrupt)
    narrator, story, failure, stage = Narrator(options), None, None, None
    try:
        stage = Stage()
        story = Story(stage, narrator)
        story.play()
    except Interrupted as interrupted:
        return 128 + interrupted.number
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    finally:
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        if story:
            with contextlib.suppress(Exception):
                # The driver may be gone already. Its session is killed below.
                story.person.close()
        if stage:
            stage.close()
    is_well = narrator.end(story, failure)
    if failure:
        print(f"demo-gate: {failure}", file=sys.stderr)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
