# SPDX-License-Identifier: Apache-2.0

"""Plants faults in copies of sources. A fault that no longer fits the source ends the run: it would test nothing."""

import sys


def planted(text, old, new, name):
    """The text with `new` in the place of `old`, which stands there exactly once. `name` is where the text is from."""
    if text.count(old) != 1:
        sys.exit(f"{name} has changed, follow it: the text to take out stands there {text.count(old)} times:\n{old}")
    return text.replace(old, new)


def changed(folder, edits):
    """The changed texts of a folder's files, by name; an edit is (name, old, new)."""
    texts = {}
    for name, old, new in edits:
        text = texts.get(name) or (folder / name).read_text(encoding="utf-8")
        texts[name] = planted(text, old, new, name)
    return texts
