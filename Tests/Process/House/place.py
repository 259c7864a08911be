# SPDX-License-Identifier: Apache-2.0

"""Where things are, and how the tests of the house run commands."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
CI = ROOT / ".ci"
FORM = ROOT / "Tests" / "Process" / "Form"
OBJECTS = ROOT / "Tests" / "Process" / "Objects"
SITE = ROOT / "docs" / "site"
BUILD = ROOT / ".build" / "house"


def fresh(name):
    """An empty folder below .build for one test."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(*command, cwd=ROOT, **variables):
    """Runs a command with more variables in its environment; never raises for its exit status.

    The make that started these tests speaks to its children through variables. The commands here stand for what a
    person types, so they do not inherit them.
    """
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PREFIX", "DESTDIR", "PART")}
    environment.update(variables)
    return subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)


def script(path, text):
    """Writes an executable shell script."""
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path
