# SPDX-License-Identifier: Apache-2.0

"""The folders that the benchmarks measure are made once, and finished by the next run if one was interrupted."""

import os
import sys
import unittest

from place import ROOT, fresh

sys.path.insert(0, str(ROOT / "Benchmarks" / "probe-files"))
import inputs  # noqa: E402


class Inputs(unittest.TestCase):
    def test_a_folder_whose_making_was_interrupted_is_finished(self):
        place = fresh("inputs")
        whole, part = inputs.make(f"{place}/whole", 5, 100), f"{place}/part"
        first = f"{part}/{inputs.path_of(0)}"
        os.makedirs(os.path.dirname(first))
        os.link(f"{whole}/{inputs.path_of(0)}", first)
        for _ in range(2):
            inputs.make_part(whole, part, 3)
            made = [f"{part}/{inputs.path_of(number)}" for number in range(5)]
            self.assertEqual([os.path.exists(path) for path in made], [True, True, True, False, False])
            self.assertTrue(all(os.path.samefile(path, path.replace(part, whole)) for path in made[:3]))
