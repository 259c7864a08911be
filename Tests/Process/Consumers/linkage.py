# SPDX-License-Identifier: Apache-2.0

"""Libraries of a program that links ProofKit alone: libsodium, and nothing else that is ours to choose."""

import json
import pathlib
import re
import shutil
import unittest

from builds import OUT, ROOT, STATIC, run, swift_build

# A C library is there on every machine, and the compiler's own come with the language.
SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
COMPILER = {"libstdc++.so.6", "libgcc_s.so.1"}

# How far a size may be from what the page says: another compiler may cost that much.
MARGIN = 0.15
PAGE = ROOT / "docs" / "SDK.md"
ROW = re.compile(r"^\| `(\w+)`, .*?\| ([\d.]+) MB \| ([\d.]+) MB \|$", re.MULTILINE)


def needed(program):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program)))


def functions_of(program, library):
    """Functions of a library that the program calls, by name."""
    path = re.search(rf"{re.escape(library)} => (\S+)", run("ldd", program))[1]
    offered = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", path).splitlines()}
    asked = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--undefined-only", program).splitlines()}
    return offered & asked


CLIENT = """// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "client", dependencies: [.package(url: "%s", from: "1.0.0")],
  targets: [.executableTarget(
    name: "client", dependencies: [.product(name: "ProofKit", package: "proofkit")], path: ".")])
"""


class Dependency(unittest.TestCase):
    def test_a_debug_build_of_an_app_optimises_the_c_that_measures_and_proves(self):
        swift_build()
        manifest = (OUT / "app" / "debug.yaml").read_text()
        for folder in ("ProofCore", "ProofKey", "ProofProbe"):
            compiled = [json.loads(line.split("args: ", 1)[1]) for line in manifest.splitlines()
                        if "args: " in line and re.search(rf'"-c","[^"]*/CSources/{folder}/', line)]
            self.assertTrue(compiled, folder)
            # The last one counts.
            self.assertEqual({[word for word in words if word.startswith("-O")][-1] for words in compiled}, {"-O2"})

    def test_the_package_can_be_a_dependency_by_version(self):
        place = OUT / "by-version"
        shutil.rmtree(place, ignore_errors=True)
        package, client = place / "proofkit", place / "client"
        client.mkdir(parents=True)
        tracked = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        for name in filter(None, tracked):
            if (ROOT / name).is_file():
                (package / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, package / name)
        identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.com"]
        for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "all"], ["tag", "1.0.0"]):
            run("git", "-C", package, *words)
        (client / "Package.swift").write_text(CLIENT % package)
        (client / "main.swift").write_text("import ProofKit\n")
        # Loads the whole graph, and refuses flags that a dependency may not have.
        shown = run("swift", "package", "--package-path", client, "show-dependencies", "--format", "json")
        graph = json.loads(shown[shown.index("{"):])
        self.assertEqual([one["version"] for one in graph["dependencies"]], ["1.0.0"])


class Linkage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.apps, cls.static = swift_build(), swift_build(*STATIC)
        paths = json.loads(run("swift", "-print-target-info"))["paths"]["runtimeLibraryPaths"]
        cls.runtime = {file.name for path in paths for file in pathlib.Path(path).glob("*.so*")}

    def chosen(self, program):
        return needed(program) - self.runtime - SYSTEM - COMPILER

    def test_proofkit_alone_links_libsodium_and_nothing_else_that_is_ours_to_choose(self):
        for folder in (self.apps, self.static):
            with self.subTest(folder=folder.name):
                self.assertEqual(self.chosen(folder / "offline"), {"libsodium.so.23"})
        self.assertTrue({"crypto_auth_hmacsha256_final", "sodium_malloc"}
                        <= functions_of(self.apps / "offline", "libsodium.so.23"))

    def test_what_a_program_links_beyond_that_is_seen(self):
        self.assertEqual(self.chosen(self.apps / "door"), {"libsodium.so.23", "libcurl.so.4"})

    def test_proofkit_alone_brings_no_foundation(self):
        self.assertEqual({name for name in needed(self.apps / "offline") if "Foundation" in name}, set())

    def test_a_static_program_needs_no_swift_on_the_machine(self):
        for program in ("offline", "door"):
            self.assertEqual(needed(self.static / program) & self.runtime, set())

    def test_the_sizes_of_the_page_are_those_of_today(self):
        rows = {name: (float(whole), float(stripped)) for name, whole, stripped in ROW.findall(PAGE.read_text())}
        self.assertEqual(sorted(rows), ["door", "offline"])
        for name, said in rows.items():
            stripped = OUT / f"{name}-stripped"
            run("strip", "-o", stripped, self.static / name)
            for megabytes, file in zip(said, (self.static / name, stripped)):
                with self.subTest(file=file.name):
                    self.assertAlmostEqual(file.stat().st_size / 1e6, megabytes, delta=MARGIN * megabytes)
