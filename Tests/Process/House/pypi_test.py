# SPDX-License-Identifier: Apache-2.0

"""`.ci/pypi` installs by name below .build, or says what is missing."""

import unittest

from place import CI, fresh, run


class PyPI(unittest.TestCase):
    def test_packages_that_pypi_lacks_are_named(self):
        folder = fresh("pypi") / "packages"
        offline = {"PYPI_FOLDER": str(folder), "PIP_NO_INDEX": "1"}
        for _ in range(2):
            result = run(CI / "pypi", "attack", **offline)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertRegex(result.stderr, r"pypi: missing: frida==")

    def test_an_unknown_purpose_from_pypi_is_refused(self):
        self.assertEqual(run(CI / "pypi", "atack").returncode, 2)
