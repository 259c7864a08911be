# SPDX-License-Identifier: Apache-2.0

"""`.ci/suite` adds up what targets count, and believes none that does not count."""

import os
import select
import signal
import subprocess
import unittest

from place import CI, fresh, run, script


class Suite(unittest.TestCase):
    def suite(self, *options, limit="60", **targets):
        """Runs the suite with a make that plays each target as a line of shell."""
        folder = fresh(self.id().rsplit(".", 1)[1])
        cases = "\n".join(f'{name}) {line} ;;' for name, line in targets.items())
        make = script(folder / "make", f'shift\ncase $1 in\n{cases}\nesac\n')
        # Names of no real target, so that the parts' logs of a real run stay what they are.
        return run(CI / "suite", *options, *targets, MAKE=str(make), PART_LIMIT=limit)

    def test_the_last_line_is_the_sum(self):
        result = self.suite(house_a="echo 3 passed, 0 failed", house_b="echo chatter; echo 4 passed, 0 failed")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.splitlines()[-1], "7 passed, 0 failed")

    def test_a_failure_stops_it_and_is_named(self):
        result = self.suite(house_a="echo 3 passed, 1 failed", house_b="echo 4 passed, 0 failed")
        self.assertEqual(result.returncode, 1)
        self.assertIn("stopped at house_a", result.stdout)
        self.assertEqual(result.stdout.splitlines()[-1], "3 passed, 1 failed")

    def test_what_failed_is_repeated_at_the_end(self):
        # A reader sees the last lines of an output of many thousand.
        swift, c = "✘ Test opens() recorded an issue", "FAILED the door: shut"
        python = ("FAIL: test_a (x.T)\n-----\nTraceback\n  File a/lib/x.py\n  File a/Tests/x.py\n    self.x()\n"
                  "AssertionError: 1 != 2\n=====\nokay")
        folder = fresh("repeated")
        for name, text in (("swift", swift), ("c", c), ("python", python), ("riddle", "Segmentation fault")):
            (folder / name).write_text(f"chatter\n{text}\nmore chatter\n0 passed, 1 failed\n")
            with self.subTest(name=name):
                said = self.suite(house_a=f"cat {folder / name}").stdout
                end = said[said.index("\nin house_a:\n"):]
                whole, names = ([line[3:] for line in part.splitlines() if line.startswith("!! ")]
                                for part in end.split("\nfailed:\n"))
                lines = python.splitlines()
                wanted = {"swift": [swift], "c": [c], "python": [lines[0], lines[2], lines[4], lines[6]],
                          "riddle": ["its output names nothing: see .build/parts/house_a.log"]}[name]
                self.assertEqual(whole, wanted)
                self.assertEqual(names, [] if name == "riddle" else wanted[:1])
        # A table of another part is not taken for what a suite inside has found.
        (folder / "inner").write_text("FAILED twice\n!! FAILED once\n| a table |\n0 passed, 1 failed\n")
        said = self.suite(house_a=f"cat {folder / 'inner'}").stdout
        self.assertEqual(said.count("!! FAILED once"), 3)
        self.assertNotIn("!! FAILED twice", said)
        self.assertNotIn("!! a table", said)

    def test_a_target_that_dies_after_counting_has_failed(self):
        result = self.suite(house_a="echo 3 passed, 0 failed; exit 139")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "3 passed, 1 failed"))

    def test_a_target_that_counts_nothing_has_failed(self):
        for line in ("echo fine", "echo 0 passed, 0 failed", "true"):
            with self.subTest(line=line):
                result = self.suite(house_a=line)
                self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_a_part_of_a_suite_is_played_by_its_name(self):
        result = self.suite("house/part", house='[ "$2" = PART=part ] && echo 3 passed, 0 failed')
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "3 passed, 1 failed"))
        self.assertIn("-- house/part: 3 passed, 0 failed", result.stdout)

    def test_a_part_that_does_not_end_has_failed_and_is_named(self):
        for lanes in ("1", "2"):
            with self.subTest(lanes=lanes):
                result = self.suite("--lanes", lanes, "check/house", limit="1",
                                    check="[ \"$2\" ] || exit; printf 'in the middle'; trap '' TERM; sleep 1000")
                self.assertEqual(result.returncode, 1)
                self.assertIn("-- check/house: 0 passed, 1 failed", result.stdout)
                self.assertIn("!! error: check/house has not ended within 1 s", result.stdout)

    def test_a_whole_suite_and_a_long_part_may_take_their_time(self):
        line = "sleep 2; echo 3 passed, 0 failed"
        result = self.suite("long/house", limit="1", long=line)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "6 passed, 0 failed"))

    def test_what_a_part_leaves_running_does_not_hold_the_suite(self):
        folder = fresh("left_running")
        for lanes in ("1", "2"):
            with self.subTest(lanes=lanes):
                result = self.suite("--lanes", lanes, house_a=f"sh -c 'setsid sleep 1000 & echo $! >{folder}/left'; "
                                    "echo 3 passed, 0 failed")
                self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "3 passed, 0 failed"))
                os.kill(int((folder / "left").read_text()), signal.SIGKILL)

    def test_a_suite_that_is_ended_ends_its_targets(self):
        for lanes, target in (("1", "check/house"), ("2", "check/house"), ("1", "house"), ("2", "house")):
            with self.subTest(lanes=lanes, target=target):
                folder = fresh("suite_ended")
                # The target has the pipe open for as long as it lives.
                pipe = folder / "pipe"
                os.mkfifo(pipe)
                life = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                make = script(folder / "make", f"exec >{pipe}; echo begun; exec sleep 1000")
                with subprocess.Popen([CI / "suite", "--lanes", lanes, target], env={**os.environ, "MAKE": str(make)},
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as suite:
                    self.assertEqual(self.heard(life), b"begun\n")
                    suite.send_signal(signal.SIGTERM)
                    self.assertEqual(suite.wait(60), 130)
                self.assertEqual(self.heard(life), b"")
                os.close(life)

    def heard(self, pipe):
        self.assertTrue(select.select([pipe], [], [], 60)[0], "nothing came within a minute")
        return os.read(pipe, 100)

    def test_only_a_whole_line_counts(self):
        result = self.suite(house_a="echo so far 3 passed, 0 failed or so")
        self.assertEqual(result.returncode, 1)

    def test_a_count_behind_a_message_of_swiftpm_counts(self):
        # Two lanes build in one folder, and SwiftPM ends its message without a line feed.
        message = ("Another instance of SwiftPM (PID: 15069) is already running using '/a.b/c/.build', waiting until "
                   "that process has finished execution...")
        result = self.suite(house_a=f"printf '%s' \"{message}\" \"{message}\"; echo 18 passed, 0 failed")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "18 passed, 0 failed"))

    def test_lanes_run_side_by_side_and_add_up(self):
        meeting = fresh("lanes_meeting")
        # Each waits for the other: one after the other they would never end.
        first = f"touch {meeting}/a; until [ -e {meeting}/b ]; do :; done; echo 3 passed, 0 failed"
        second = f"touch {meeting}/b; until [ -e {meeting}/a ]; do :; done; echo 4 passed, 0 failed"
        result = self.suite("--lanes", "2", house_a=first, house_b=second, house_c="echo 5 passed, 0 failed")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "12 passed, 0 failed"))

    def test_a_target_that_plays_alone_has_none_beside_it(self):
        seen = fresh("lanes_alone")
        # Looks for the other one as long as it would take that one to begin.
        look = f"for i in $(seq 20000); do [ -e {seen}/{{0}} ] && touch {seen}/beside; done; echo 1 passed, 0 failed"
        line = f"touch {seen}/{{1}}; {look}; rm {seen}/{{1}}"
        for first in ("house_a", "house_b"):
            with self.subTest(alone=first):
                result = self.suite("--lanes", "2", "--alone", f"{first},house_x", house_a=line.format("b", "a"),
                                    house_b=line.format("a", "b"))
                self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 0 failed")
                self.assertFalse((seen / "beside").exists())
        # None of them alone, they meet.
        wait = f"until [ -e {seen}/{{0}} ]; do :; done"
        meet = f"touch {seen}/{{1}}; {wait}; touch {seen}/beside; echo 1 passed, 0 failed"
        result = self.suite("--lanes", "2", house_a=meet.format("b", "a"), house_b=meet.format("a", "b"))
        self.assertTrue((seen / "beside").exists(), result.stdout)

    def test_output_of_lanes_is_not_mixed(self):
        line = "for i in 1 2 3 4 5 6 7 8 9; do echo {0} $i; done; echo 1 passed, 0 failed"
        result = self.suite("--lanes", "2", house_a=line.format("a"), house_b=line.format("b"))
        spoken = [text[0] for text in result.stdout.splitlines() if text[:2] in ("a ", "b ")]
        self.assertIn("".join(spoken), ("a" * 9 + "b" * 9, "b" * 9 + "a" * 9))

    def test_after_a_failure_in_a_lane_no_other_target_begins(self):
        result = self.suite("--lanes", "2", house_a="echo 1 passed, 1 failed", house_b="echo 2 passed, 0 failed",
                            house_c="echo 4 passed, 0 failed", house_d="echo 8 passed, 0 failed")
        self.assertEqual(result.returncode, 1)
        self.assertIn("stopped at house_a", result.stdout)
        # b had begun and is waited for; whether c began depends on which of the two ended first.
        self.assertIn(result.stdout.splitlines()[-1], ("3 passed, 1 failed", "7 passed, 1 failed"))
