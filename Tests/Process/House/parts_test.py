# SPDX-License-Identifier: Apache-2.0

"""`.ci/parts.sh`, `.ci/counted`, `run-swift`: every part is counted once, and what is said stays to be read."""

import json
import os
import unittest

from place import CI, ROOT, fresh, run, script


class Parts(unittest.TestCase):
    def script(self, *lines):
        result = run("bash", "-euc", "\n".join([f". {CI}/parts.sh", *lines, "closing"]))
        return result.returncode, result.stdout.splitlines()

    def test_the_closing_line_is_the_sum(self):
        status, lines = self.script("part a echo '2 passed, 0 failed'", "part b echo '3 passed, 0 failed'")
        self.assertEqual((status, lines), (0, ["-- a", "2 passed, 0 failed", "-- b", "3 passed, 0 failed",
                                               "5 passed, 0 failed"]))

    def test_a_part_that_does_not_say_what_failed_has_failed_once(self):
        for command in ("true", "false", "echo fine", "echo 0 passed, 0 failed", "echo 1 passed, 0 failed or so",
                        "printf '1 passed, 0 failed\\nmore\\n'"):
            with self.subTest(command=command):
                status, lines = self.script(f"part a {command}")
                self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))

    def test_a_part_that_dies_after_counting_has_failed(self):
        status, lines = self.script("part a sh -c 'echo 3 passed, 0 failed; exit 139'")
        self.assertEqual((status, lines[-1]), (1, "3 passed, 1 failed"))

    def test_failures_are_added_and_the_next_part_is_played(self):
        status, lines = self.script("part a sh -c 'echo 3 passed, 2 failed; exit 1'",
                                    "part b echo '4 passed, 0 failed'")
        self.assertEqual((status, lines[-1]), (1, "7 passed, 2 failed"))

    def test_a_check_of_the_scripts_own_names_its_fault(self):
        status, lines = self.script("check 'no such file' true", "check 'no such host' false")
        self.assertEqual((status, lines), (1, ["FAILED: no such host", "1 passed, 1 failed"]))


class Counted(unittest.TestCase):
    def test_lines_that_begin_with_ok_are_checks(self):
        self.assertEqual(run(CI / "counted", "echo", "fine").stdout, "fine\n1 passed, 0 failed\n")
        self.assertEqual(run(CI / "counted", "printf", "ok a\nok b\n").stdout, "ok a\nok b\n2 passed, 0 failed\n")
        failing = run(CI / "counted", "sh", "-c", "echo ok; exit 3")
        self.assertEqual((failing.returncode, failing.stdout), (1, "ok\n1 passed, 1 failed\n"))

    def test_what_a_log_holds_already_stays_there(self):
        log = fresh("counted_log") / "log"
        run("sh", "-c", f"{{ echo before; {CI}/counted echo ok; }} >{log} 2>&1")
        self.assertEqual(log.read_text(), "before\nok\n1 passed, 0 failed\n")


class SwiftTests(unittest.TestCase):
    def run_swift(self, lines, **variables):
        """Runs the package's tests, played by lines of shell: $2 is the file of results, $4 that of events."""
        folder = fresh(self.id().rsplit(".", 1)[1])
        script(folder / "swift", 'while [ "$1" != --xunit-output ]; do shift; done\n' + lines)
        result = run(ROOT / "Tests" / "Unit" / "run-swift", "--filter", "planted",
                     PATH=f"{folder}:{os.environ['PATH']}", **variables)
        return result.returncode, result.stdout.splitlines()

    def played(self, *cases, status=0):
        """The package's tests, played by a swift that says what came of them."""
        status, lines = self.run_swift(
            f"echo '<testsuites>{''.join(cases)}</testsuites>' >\"$2\"\nexit {status}\n")
        return status, lines[-1]

    def test_what_holds_and_what_does_not_is_counted(self):
        self.assertEqual(self.played("<testcase/>", "<testcase/>"), (0, "2 passed, 0 failed"))
        self.assertEqual(self.played("<testcase/>", "<testcase><failure/></testcase>", status=1),
                         (1, "1 passed, 1 failed"))

    def test_a_process_that_dies_after_its_last_test_has_failed(self):
        self.assertEqual(self.played("<testcase/>", status=1), (1, "1 passed, 1 failed"))

    def test_where_no_test_was_played_nothing_has_passed(self):
        self.assertEqual(self.played(), (1, "0 passed, 1 failed"))
        self.assertEqual(self.played("<testcase><skipped/></testcase>"), (1, "0 passed, 1 failed"))

    def test_tests_that_do_not_go_on_are_ended_and_named(self):
        def event(kind, test):
            return json.dumps({"kind": "event", "payload": {"kind": kind, "testID": test}})

        suite = json.dumps({"kind": "test", "payload": {"kind": "suite", "id": "Door"}})
        events = "\n".join([suite, event("testStarted", "Door"), event("testStarted", "Door.opens()"),
                            event("testStarted", "Door.shuts()"), event("testEnded", "Door.opens()"), '{"kind": "ev'])
        status, lines = self.run_swift(f"cat >\"$4\" <<'END'\n{events}\nEND\nsleep 1000\n", SWIFT_TESTS_SILENCE="1")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertEqual([line for line in lines if line.startswith("error: ")],
                         ["error: no test has begun or ended for 1 s; these were under way:", "error:   Door.shuts()"])

    def test_a_build_may_be_silent_for_long(self):
        status, lines = self.run_swift("sleep 3\necho '<testsuites><testcase/></testsuites>' >\"$2\"\n",
                                       SWIFT_TESTS_SILENCE="1")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))

    def test_a_process_that_a_test_left_behind_has_failed_it(self):
        status, lines = self.run_swift("echo '<testsuites><testcase/></testsuites>' >\"$2\"\nsleep 20 &\n",
                                       SWIFT_TESTS_SILENCE="1")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("error: a process that a test started has not ended with the tests: it has their output open",
                      lines)
