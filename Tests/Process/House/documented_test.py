# SPDX-License-Identifier: Apache-2.0

"""`docs/site/documented` finds a public symbol without a word."""

import json
import unittest

from place import SITE, fresh, run


def symbol(name, *words):
    found = {"identifier": {"precise": f"s:{name}"}, "pathComponents": ["Noun", name]}
    if words:
        found["docComment"] = {"lines": [{"text": word} for word in words]}
    return found


class Documented(unittest.TestCase):
    def judged(self, *symbols, borrowed=()):
        folder = fresh(self.id().rsplit(".", 1)[1])
        # As many as there are at least, so that only the ones in question decide.
        many = [symbol(f"other{number}", "Words.") for number in range(1000)]
        relations = [{"source": f"s:{name}", "sourceOrigin": {"displayName": "Equatable.=="}} for name in borrowed]
        (folder / "Module.symbols.json").write_text(json.dumps(
            {"symbols": many + list(symbols), "relationships": relations}))
        result = run(SITE / "documented", folder)
        return result.returncode, result.stdout

    def test_documented_symbols_pass(self):
        self.assertEqual(self.judged(symbol("verb", "Does it."))[0], 0)

    def test_a_symbol_without_a_word_is_named(self):
        for words in ((), ("", "  ")):
            status, output = self.judged(symbol("verb", *words))
            self.assertEqual(status, 1)
            self.assertIn("not documented: Module.Noun.verb", output)

    def test_a_sample_that_nobody_compiles_is_refused(self):
        status, output = self.judged(symbol("verb", "Does it.", "```swift", "verb()", "```"))
        self.assertEqual(status, 1)
        self.assertIn("has a sample that is not compiled: Module.Noun.verb", output)

    def test_a_c_declaration_without_a_word_is_named(self):
        folder = fresh("header")
        header = folder / "noun.h"
        good = "/// A noun.\nstruct pfc_noun {\n  int size;\n};\n\n/// Does it.\nPFC_MUST_USE int pfc_do(void);\n"
        symbols = [symbol(f"other{number}", "Words.") for number in range(1000)]
        (folder / "Module.symbols.json").write_text(json.dumps({"symbols": symbols, "relationships": []}))
        for text, bare in ((good, None), (good.replace("/// Does it.\n", ""), "pfc_do"),
                           (good.replace("/// A noun.\n", ""), "pfc_noun")):
            header.write_text(text)
            result = run(SITE / "documented", folder, header)
            self.assertEqual(result.returncode, 1 if bare else 0, result.stdout)
            self.assertIn(bare or "all documented", result.stdout)

    def test_what_a_protocol_documents_may_stay_without(self):
        self.assertEqual(self.judged(symbol("==", ""), borrowed=["=="])[0], 0)

    def test_too_few_symbols_are_no_symbols(self):
        folder = fresh("few")
        (folder / "Module.symbols.json").write_text(json.dumps({"symbols": [], "relationships": []}))
        self.assertEqual(run(SITE / "documented", folder).returncode, 1)
