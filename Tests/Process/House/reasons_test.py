# SPDX-License-Identifier: Apache-2.0

"""docs/reasons.txt has every code once, in plain sentences, and what is generated from it is in the tree."""

import importlib.machinery
import importlib.util
import re
import unittest

from place import ROOT


def script():
    loader = importlib.machinery.SourceFileLoader("reasons_script", str(ROOT / "docs" / "generate-reasons"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


REASONS = script()
TEXT = REASONS.read(REASONS.SOURCE)


def faults(text=TEXT, **files):
    """The faults of a text; `files` maps the last part of a name to a text in its place."""
    def read(name):
        return files.get(name.rsplit("/", 1)[-1].split(".")[0], REASONS.read(name))

    return list(REASONS.faults(REASONS.parse(text), read))


def planted(old, new):
    """The faults after one change of the text, which must be possible."""
    assert TEXT.count(old) == 1, (TEXT.count(old), old)
    return " ".join(faults(TEXT.replace(old, new)))


class Reasons(unittest.TestCase):
    def test_the_text_has_no_fault(self):
        self.assertEqual(faults(), [])

    def test_the_files_in_the_tree_are_what_the_text_gives(self):
        for name, text in REASONS.generated(REASONS.parse(TEXT)).items():
            with self.subTest(name):
                self.assertTrue((ROOT / name).read_text(encoding="utf-8") == text, "run docs/generate-reasons")

    def test_a_change_of_the_text_changes_each_file(self):
        changed = TEXT.replace("allZeros | developer", "allZeros | retry")
        changed = changed.replace("12 | hardwareFault | operator", "12 | hardwareFault | retry")
        first = r"1 \| (noPlace|unknownHardware|noAccount|missing|tooLong) \| \w+"
        changed = re.sub(first, r"99 | \1 | retry", changed)
        before, after = (REASONS.generated(REASONS.parse(text)) for text in (TEXT, changed))
        same = {name for name in before if before[name] == after[name]}
        self.assertEqual(same, set())

    def test_a_code_used_twice_is_found(self):
        self.assertIn("SETUP-2: the code is used in line", planted("3 | configurationOfAnotherAccount",
                                                                   "2 | configurationOfAnotherAccount"))

    def test_a_case_without_a_row_and_a_row_without_a_case_are_found(self):
        row = re.search(r"\n1 \| noPlace \|[^\n]*", TEXT)[0]
        self.assertEqual(len(faults(TEXT.replace(row, ""))), 1)
        self.assertIn("MeasurementStoreError.noPlace has no row", faults(TEXT.replace(row, ""))[0])
        self.assertIn("MeasurementStoreError has no case nowhere", planted("1 | noPlace |", "1 | nowhere |"))
        added = REASONS.read("Sources/ProofKit/Store/MeasurementStoreError.swift").replace(
            "  case noPlace\n", "  case noPlace\n  case another(path: String)\n")
        self.assertEqual([fault.split(": ", 1)[1] for fault in faults(MeasurementStoreError=added)],
                         ["MeasurementStoreError.another has no row"])

    def test_a_number_that_is_not_the_one_of_the_type_is_found(self):
        for old, new, fault in (("1 | noNetwork", "17 | noNetwork", "the number of noNetwork is 1"),
                                ("18 | stale | online", "51 | stale | online", "the number of stale is 18"),
                                ("13 | random |", "33 | random |", "the number of random is 13"),
                                ("68 | stale", "73 | stale", "the number of stale is 68")):
            with self.subTest(new):
                self.assertIn(fault, planted(old, new))

    def test_a_detail_that_is_not_the_hardware_s_is_found(self):
        self.assertIn("the number of otherChallenge is 2", planted("18.2 | otherChallenge", "18.7 | otherChallenge"))
        row = re.search(r"\n39.3 \| reservedBit \|[^\n]*", TEXT)[0]
        found = " ".join(faults(TEXT.replace(row, "")))
        self.assertIn("the detail reservedBit is not both in", found)
        self.assertIn("RefusalDetail.reservedBit has no row", found)
        header = REASONS.read(REASONS.DETAILS).replace("  PFC_DETAIL_SUITE = 3,",
                                                       "  PFC_DETAIL_SUITE = 3,\n  PFC_DETAIL_NEW_ONE = 4,")
        self.assertIn("the detail newOne is not both in", " ".join(faults(message=header)))

    def test_each_kind_of_type_is_compared_with_its_rows(self):
        """Errors, words of a refusal, words in a log: each row taken out once, and each found."""
        for code, case in (("5 | signature", "TokenRefusal.Reason.signature"), ("16 | signatureWrong", "JOSEError.si"),
                           ("8004 | network", "PresenterError.network"), ("event-missing | missing", "EventRefusal.mi"),
                           ("needs-data | needsData", "EventJudgement.Reason.needsData"),
                           ("memory | memoryWork", "ChallengeKind.memoryWork"), ("instance | instance", "Subject.ins")):
            with self.subTest(code):
                row = re.search(rf"\n{re.escape(code)} \|[^\n]*", TEXT)[0]
                self.assertIn(f"{case}", " ".join(faults(TEXT.replace(row, "", 1))))

    def test_a_mender_that_is_none_is_found(self):
        for new in ("noPlace | nobody", "noPlace | cause", "noPlace(cause) | developer"):
            with self.subTest(new):
                self.assertIn("cannot mend", planted("noPlace | developer", new))

    def test_a_sentence_that_breaks_the_rules_is_found(self):
        for sentence, fault in ((" ".join(["Long"] * 26) + ".", "more than 25 words"),
                                ("erase the store.", "capital letter"), ("Erase the store", "full stop"),
                                ("Whoever erases the store.", "begins with"), ("Ask nobody.", "name who acts")):
            with self.subTest(sentence):
                self.assertIn(fault, planted("Pass a value that was drawn or derived.", sentence))

    def test_a_line_of_another_form_is_refused(self):
        for line in ("1 | two | developer | Three.\n", "= SETUP\n", "1 | two | developer | Three. | \n", "text\n"):
            with self.subTest(line), self.assertRaises(ValueError):
                REASONS.parse(TEXT + line)


if __name__ == "__main__":
    unittest.main()
