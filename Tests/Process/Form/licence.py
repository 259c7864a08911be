# SPDX-License-Identifier: Apache-2.0

"""Says which source files lack the line that names their licence.

    for finding in findings(name, text): print(finding)

The line stands at the top, below a first line that has to be the first: `#!`, the tools version of Package.swift, or a
directive of shellcheck. Vectors, corpora, data and pages have none; LICENSE is for all of them.
"""

import pathlib

LICENCE = "SPDX-License-Identifier: Apache-2.0"
OPENERS = {".swift": "// ", ".c": "// ", ".h": "// ", ".js": "// ", ".java": "// ", ".py": "# ", ".sh": "# ",
           ".mk": "# ", ".ld": "/* ", ".pml": "/* "}


def line(name, text):
    """The line that the file has to have; None for a file that needs none."""
    path = pathlib.Path(name)
    opener = OPENERS.get(path.suffix)
    if path.name == "Makefile" or (not path.suffix and text.startswith("#!")):
        opener = "# "
    if opener is None:
        return None
    return opener + LICENCE + (" */" if opener == "/* " else "")


def findings(name, text):
    """One finding for a source file without the line."""
    wanted = line(name, text)
    if wanted is None or not text or wanted in text.split("\n", 3)[:3]:
        return []
    return [f"{name}: the licence is not named: {wanted}"]
