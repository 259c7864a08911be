#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The demonstration of a gate from outside: its story, its counts, its exit status, what it leaves behind, its page.

  Tests/Process/Demo/gate/run.py [TEXT…]     the programs stand in .build/release, or where PROOF_BIN says
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "Support" / "Runner")]
import runner  # noqa: E402
from demonstration import BIN, PATIENCE, ROOT, Stage, faults  # noqa: E402

# Promises of the story: a piece of the line, and how it must end.
STORY = [
    ("attestation service starts", "listening"),
    ("account lists the gate", "listed"),
    ("gate fetches its configuration", "listening"),
    ("API starts", "listening"),
    ("nginx starts", "no mistake found, listening"),
    ("installed, measured", "admitted"),
    ("the SDK solves work once", "served, judged: 428, 200"),
    ("it asks again", "served, judged: 200"),
    ("it buys tea", "served, judged: 200"),
    ("asks for a search", "428 challenge, 0 reached the API"),
    ("asks for the prices", "401 proof, 0 reached the API"),
    ("user's token, which it stole", "401 proof, 0 reached the API"),
    ("sends the app's last order again", "401 proof, 0 reached the API"),
    ("page 1 of the search", "428, then 200"),
    ("page 2 of the search", "428, then 200"),
    ("page 3 of the search", "428, then 200"),
    ("a person is asked for", "428 work, then 428 person"),
    ("looks at the pictures", "10 tries, then 429"),
    ("moves the slider by mouse", "An article for people"),
    ("as a cookie", "HttpOnly, Secure, SameSite=Lax"),
    ("opens it again", "An article for people, not asked again"),
    ("limit address 3/hour", "200, 200, 200, 429, 429"),
    ("watch front on", "200 nothing, 0 refused"),
    ("watch front off", "401 proof, 0 reached the API"),
    ("gate is killed with -9", "refused with 500, 0 reached the API"),
    ("comes back by its ticket", "served, judged: 428, 200, by its ticket"),
    ("the order of before once more", "401 proof, 0 reached the API"),
    ("service is killed with -9", "served, judged: 200"),
]

# Requests that passed and that were refused, by party.
COUNTS = {"the app": (5, 3), "the scraper": (1, 6), "the bot with a solver": (3, 5), "a visitor's browser tab": (3, 2)}


class GateStage(Stage):
    """A place for the demonstration of the gate."""

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   **options}
        environment = {"PROOF_BIN": str(BIN)} | self.environment | {"PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(["/usr/bin/python3", HERE / "demo.py", *arguments], env=environment, **options)


class GateDemo(unittest.TestCase):
    def setUp(self):
        self.stage = GateStage()
        self.addCleanup(self.stage.close)

    def assertClean(self):
        self.assertEqual(self.stage.left_behind(), [])

    def test_the_story_ends_as_it_must_and_the_page_tells_it(self):
        status, output, errors = self.stage.play("--json")
        told = json.loads(output)
        self.assertEqual((status, told["ok"], told["failure"]), (0, True, None), errors + output)
        lines = told["lines"]
        self.assertEqual(faults(lines, STORY), [])
        self.assertEqual(len(lines), len(STORY))
        self.assertClean()
        parties = {party["name"]: party for party in told["parties"]}
        for name, counts in COUNTS.items():
            self.assertEqual((parties[name]["passed"], parties[name]["refused"]), counts, name)
        # 16 puzzles of 12 bits for each of four pages; a tenth of the mean is passed by with a chance below 1e-20.
        self.assertGreater(parties["the bot with a solver"]["hashes"], 4 * (16 << 12) // 10)
        judged = {(line["route"], line["result"], line["watched"]): line["count"] for line in told["judgements"]}
        self.assertEqual(judged["health", "limit-address", "no"], 2)
        self.assertEqual(judged["prices", "request-1", "yes"], 1)
        self.assertEqual((judged["search", "passed", "no"], judged["search", "challenge-person", "no"]), (3, 1))
        self.assertEqual(judged["page", "failed-1001", "no"], 1)

        page = (ROOT / "docs" / "DEMO.md").read_text().split("\n## A gate\n", 1)[1]
        shown = re.search(r"^```text\n(.*?)^```", page, re.M | re.S)[1]
        acts, ended = [], []
        for line in lines:
            if line["act"] not in acts:
                acts.append(line["act"])
                ended.append(line["act"])
            ended.append(f"ok     {line['what']}: {line['happened']}")
        self.assertEqual([line for line in shown.split("\n") if line], ended)

    def test_in_words_the_costs_come_last(self):
        status, text, errors = self.stage.play()
        self.assertEqual(status, 0, errors + text)
        self.assertNotIn("\x1b", text)
        self.assertRegex(text, r"(?m)^the scraper +7 +1 +6 +0 +\d+\.\d$")
        self.assertRegex(text, r"(?m)^  health +limit-address +no +2$")
        self.assertTrue(text.endswith(f"\nall {len(STORY)} lines ended as they must\n"), text)
        self.assertClean()

    def programs(self, name, text):
        """A folder of the programs, one of which is a script."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for program in ("proof-child", "proof-gate", "proof-demo", "proofctl", "proof-service"):
            path = pathlib.Path(folder.name) / program
            if program == name:
                path.write_text(text)
                path.chmod(0o755)
            else:
                path.symlink_to(BIN / program)
        self.stage.environment["PROOF_BIN"] = folder.name

    def test_a_gate_that_refuses_nothing_fails_the_lines_that_it_must_refuse(self):
        self.programs("proof-gate", f"""#!/bin/sh
case $1 in --configuration|--service) set -- "$@" --mode watch ;; esac
exec '{BIN}/proof-gate' "$@"
""")
        status, output, errors = self.stage.play("--json")
        told = json.loads(output)
        self.assertEqual((status, told["ok"]), (1, False), errors + output)
        wrong = [(line["what"].split(":")[0], line["happened"]) for line in told["lines"] if not line["ok"]]
        passed = "200 nothing, 1 reached the API"
        self.assertEqual(wrong, [
            ("it asks for the prices", "served, judged: 200"),
            ("it asks for a search", passed), ("it asks for the prices", passed),
            ("it asks with the user's token, which it stole", passed),
            ("it sends the app's last order again, as the API received it", passed),
            ("it asks for page 1 of the search, and solves the work", "could not be played"),
        ])
        self.assertIn("no challenge", errors)
        self.assertClean()

    def test_a_program_that_does_not_start_is_named(self):
        self.programs("proof-service", "#!/bin/sh\necho 'no room on the disk' >&2\nexit 1\n")
        status, output, errors = self.stage.play()
        self.assertEqual(status, 1)
        self.assertIn("FAILED the attestation service starts", output)
        self.assertIn("no room on the disk", errors)
        self.assertClean()

    def test_an_interrupted_story_leaves_nothing(self):
        for number, words in ((signal.SIGINT, "judged: 428, 200"), (signal.SIGTERM, "10 tries, then 429"),
                              (signal.SIGINT, "An article for people")):
            process = self.stage.start()
            self.addCleanup(process.kill)
            for line in process.stdout:
                if words in line:
                    break
            process.send_signal(number)
            rest, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, errors), (128 + number, ""), rest)
            self.assertNotIn("FAILED", rest)
            self.assertClean()


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(GateDemo), sys.argv[1:]))
