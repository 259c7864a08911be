# SPDX-License-Identifier: Apache-2.0

"""Builds the consumers, each with what its developer has: the package by its path, or pkg-config."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
OUT = ROOT / ".build" / "consumers"

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
LANGUAGES = {"C11": ["gcc", "-std=c11"], "C++17": ["g++", "-x", "c++", "-std=c++17"]}

# A person's shell has no variables of the make that started this, nor a pkg-config set up for something else.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PREFIX", "DESTDIR", "CC",
                               "PKG_CONFIG_PATH", "PKG_CONFIG_SYSROOT_DIR")}


def run(*command, **variables):
    done = subprocess.run([str(part) for part in command], env=dict(ENVIRONMENT, **variables), text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# A program that brings the Swift runtime along, as an app is handed out.
STATIC = ["-c", "release", "--static-swift-stdlib"]


def swift_build(*options):
    """Builds the apps; where the programs are."""
    common = ["swift", "build", "--package-path", HERE.parent, "--scratch-path", OUT / "app", *options]
    for app in ("door", "offline"):
        run(*common, "--quiet", "--product", app)
    return pathlib.Path(run(*common, "--show-bin-path").strip())


def make_firmware():
    """Installs the core into an empty folder, and compiles the firmware with what pkg-config says; the programs."""
    stage = OUT / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    run("make", "-s", "-C", ROOT, "install", "PREFIX=/usr", f"DESTDIR={stage}", f"BUILD={OUT / 'core'}")
    flags = run("pkg-config", "--cflags", "--libs", "proofcore", PKG_CONFIG_SYSROOT_DIR=str(stage),
                PKG_CONFIG_PATH=str(stage / "usr" / "lib" / "pkgconfig")).split()
    programs = {}
    for language, compiler in LANGUAGES.items():
        program = programs[language] = OUT / f"firmware-{language}"
        run(*compiler, *WARNINGS, HERE / "firmware" / "firmware.c", "-o", program, *flags)
    return programs
