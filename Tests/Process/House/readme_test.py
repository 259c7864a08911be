# SPDX-License-Identifier: Apache-2.0

"""`Tests/Process/Samples/run.py` runs what the pages show, and notices when it does not work."""

import unittest

from place import ROOT, fresh, run


def fenced(language, text):
    return f"```{language}\n{text}\n```\n"


class Readme(unittest.TestCase):
    def judged(self, text):
        page = fresh(self.id().rsplit(".", 1)[1]) / "page.md"
        page.write_text(text)
        result = run(ROOT / "Tests" / "Process" / "Samples" / "run.py", page)
        return result.returncode, result.stdout

    def assert_last_line(self, text, expected):
        status, output = self.judged(text)
        self.assertEqual(output.splitlines()[-1], expected, output)
        self.assertEqual(status, 0 if expected.endswith(" 0 failed") else 1)

    def test_a_command_that_works_passes(self):
        self.assert_last_line(fenced("sh", "test -f Makefile"), "1 passed, 0 failed")

    def test_a_command_that_fails_is_found_even_in_the_middle(self):
        self.assert_last_line(fenced("sh", "false\ntrue"), "0 passed, 1 failed")

    def test_a_c_program_is_compiled_and_run(self):
        program = "#include <ProofCore.h>\nint main(void) { return PFC_VERSION - %d; }"
        self.assert_last_line(fenced("c", program % 1), "1 passed, 0 failed")
        self.assert_last_line(fenced("c", program % 2), "0 passed, 1 failed")

    def test_a_piece_of_c_is_compiled(self):
        statements = "uint8_t digest[32];\nstruct pfc_hash hash;\npfc_hash_init(&hash);\npfc_hash_final(digest, &%s);"
        self.assert_last_line("<!-- in a function -->\n" + fenced("c", statements % "hash"), "1 passed, 0 failed")
        self.assert_last_line("<!-- in a function -->\n" + fenced("c", statements % "hush"), "0 passed, 1 failed")

    def test_statements_of_swift_are_compiled_with_the_parameters_that_they_name(self):
        comment = "<!-- in a function of text: String, wait: () async throws -> Int -->\n"
        block = fenced("swift", "import Glibc\nlet count = try await wait()\nprint(text, count)")
        self.assert_last_line(comment + block, "1 passed, 0 failed")
        self.assert_last_line(comment.replace("text:", "words:") + block, "0 passed, 1 failed")

    def test_a_block_may_continue_the_one_before(self):
        page = (fenced("c", "static int twice(int n) { return 2 * n; }") + "Then:\n<!-- continues -->\n"
                + fenced("c", "int main(void) { return twice(0); }"))
        self.assert_last_line(page, "1 passed, 0 failed")

    def test_a_block_that_is_not_run_says_why(self):
        reason = "<!-- not run: it needs a radio -->\n"
        self.assert_last_line(reason + fenced("sh", "false") + fenced("sh", "true"), "1 passed, 0 failed")
        self.assert_last_line("<!-- not run: -->\n" + fenced("sh", "false"), "0 passed, 1 failed")

    def test_a_shell_by_another_name_is_refused(self):
        self.assert_last_line(fenced("console", "$ true"), "0 passed, 1 failed")

    def test_a_fence_of_another_kind_is_refused(self):
        for fence in ("```sh title", "```{sh}", "~~~sh", "````sh"):
            with self.subTest(fence=fence):
                end = fence[:4].rstrip("s{")
                self.assert_last_line(f"{fence}\ntrue\n{end}\n" + fenced("sh", "true"), "0 passed, 1 failed")

    def test_a_block_without_an_end_is_refused(self):
        self.assert_last_line("```sh\ntrue\n", "0 passed, 1 failed")
