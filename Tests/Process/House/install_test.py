# SPDX-License-Identifier: Apache-2.0

"""`make install` installs all that a C or C++ program needs."""

import re
import shutil
import unittest

from place import ROOT, fresh, run

CONSUMER = """
#include <ProofCore.h>
#include <stdio.h>

int main(void) {
  static const uint8_t bytes[PFC_KEY_BYTES] = {1, 2, 3};
  struct pfc_key key = pfc_key_plain(bytes, PFC_MODE_DEVELOPMENT);
  uint8_t id[PFC_KEY_ID_BYTES];
  pfc_key_id(id, &key);
  printf("mode %d, slots %d\\n", id[0], PFC_SLOTS);
  return 0;
}
"""


# Headers that a program may have of its own, by the same names: whichever is found, each must be the right one.
OWN_HEADERS = {"config.h": "#define PACKAGE_NAME \"own\"\n", "key.h": "#define OWN_KEY 1\n",
               "hash.h": "#define OWN_HASH 1\n", "result.h": "#define OWN_RESULT 1\n"}

CLASHING = """
#include %s
#include %s
#include <config.h>
#include <key.h>
#include "hash.h"
#include <result.h>
#include <stdio.h>

int main(void) {
  struct pfc_config config;
  struct pfp_probe_options options;
  printf("%%s %%d %%d\\n", PACKAGE_NAME, OWN_KEY + OWN_HASH + OWN_RESULT, (int)(sizeof config > sizeof options));
  return 0;
}
"""

C_PAGE = ROOT / "docs" / "C.md"
COMPILERS = {"gcc": ("c11", "c"), "clang": ("c11", "c"), "g++": ("c++17", "cpp"), "clang++": ("c++17", "cpp")}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def declared(*folders):
    """The functions that the public headers of these folders declare; words in comments are none."""
    text = "\n".join(re.sub(r"//.*", "", path.read_text()) for folder in folders
                     for path in sorted((ROOT / "CSources" / folder / "include").glob("*.h")))
    return set(re.findall(r"^[a-zA-Z][^;{#]*?\b(pf[cp]_\w+)\([^;{]*\);", text, re.MULTILINE))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build = fresh("install") / "build"

    def setUp(self):
        self.folder = fresh(self.id().rsplit(".", 1)[1])

    def make(self, target, **variables):
        # A build of these tests' own, made from scratch once; a test with other flags has a folder for itself.
        variables.setdefault("BUILD", self.folder / "build" if "SLOTS" in variables else self.build)
        result = run("make", target, *(f"{name}={value}" for name, value in variables.items()))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def flags(self, *libraries, **variables):
        """Flags by pkg-config for the libraries; a program needs no others."""
        result = run("pkg-config", "--cflags", "--libs", *libraries, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()

    def compiled(self, compiler, text, flags, *others):
        standard, suffix = COMPILERS[compiler]
        source, program = self.folder / f"consumer.{suffix}", self.folder / f"consumer-{compiler}"
        source.write_text(text)
        built = run(compiler, f"-std={standard}", *WARNINGS, *others, source, "-o", program, *flags)
        self.assertEqual(built.returncode, 0, built.stderr)
        return program

    def consumed(self, compiler, **variables):
        """Compiles and runs a program that knows nothing but `pkg-config proofcore`; what it prints."""
        ran = run(self.compiled(compiler, CONSUMER, self.flags("proofcore", **variables)))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def installed(self, **variables):
        """An installation below a prefix of this test's own, and the environment in which pkg-config finds it."""
        prefix = self.folder / "prefix"
        self.make("install", PREFIX=prefix, **variables)
        return prefix, {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def test_a_c11_and_a_cpp17_program_need_pkg_config_alone(self):
        _, found = self.installed()
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                self.assertEqual(self.consumed(compiler, **found), "mode 2, slots 8\n")

    def test_a_staged_installation_serves_through_the_sysroot_of_pkg_config(self):
        stage = self.folder / "stage"
        self.make("install", PREFIX="/usr", DESTDIR=stage)
        found = {"PKG_CONFIG_SYSROOT_DIR": str(stage), "PKG_CONFIG_PATH": str(stage / "usr" / "lib" / "pkgconfig")}
        self.assertEqual(self.consumed("gcc", **found), "mode 2, slots 8\n")

    def test_a_program_sees_the_number_of_slots_the_library_was_built_with(self):
        _, found = self.installed(SLOTS=2)
        self.assertEqual(self.consumed("gcc", **found), "mode 2, slots 2\n")

    def test_the_uninstalled_build_serves_as_well(self):
        self.make("core")
        found = {"PKG_CONFIG_PATH": str(self.build)}
        self.assertEqual(self.consumed("gcc", **found), "mode 2, slots 8\n")

    def test_uninstall_removes_what_install_put_there_and_nothing_else(self):
        prefix = self.folder / "prefix"
        (prefix / "lib").mkdir(parents=True)
        (prefix / "lib" / "other.txt").write_text("somebody else's")
        self.make("install", PREFIX=prefix)
        self.make("uninstall", PREFIX=prefix)
        left = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()]
        self.assertEqual(left, ["lib/other.txt"])

    def test_the_key_of_an_sdk_build_has_a_library_of_its_own_that_hardware_is_not_linked_with(self):
        prefix, found = self.installed()
        library = prefix / "lib"
        self.assertIn("pfc_sdk_key", run("nm", library / "libproofkey.a").stdout)
        for other in ("libproofcore.a", "libproofprobe.a", "libproofprobe.so"):
            self.assertNotIn("pfc_sdk_key", run("nm", library / other).stdout)
        for libraries in (["proofcore"], ["proofprobe"]):
            self.assertNotIn("-lproofkey", self.flags(*libraries, **found))

    def test_the_program_of_the_page_measures_itself_by_every_compiler_and_both_kinds_of_library(self):
        prefix, found = self.installed()
        text = re.search(r"```c\n(.*?)```", C_PAGE.read_text(), re.DOTALL).group(1)
        bundle, storage = self.folder / "bundle", self.folder / "storage"
        bundle.mkdir()
        (bundle / "rules").write_text("the door stays shut\n")
        storage.mkdir(mode=0o700)
        shared = self.flags("proofprobe", "proofkey", **found)
        static = ["-static-libgcc" if flag == "-lproofprobe" else flag for flag in shared]
        static.insert(0, str(prefix / "lib" / "libproofprobe.a"))
        for compiler in COMPILERS:
            for kind, flags in ("shared", [*shared, f"-Wl,-rpath,{prefix}/lib"]), ("static", static):
                with self.subTest(compiler=compiler, kind=kind):
                    program = self.compiled(compiler, text, flags)
                    needed = run("readelf", "-dW", program).stdout
                    self.assertEqual("libproofprobe.so" in needed, kind == "shared")
                    ran = run(program, bundle, storage)
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                    self.assertRegex(ran.stdout, r"^integrity [0-9a-f]{64}\ndevice [0-9a-f]{64}\n$")

    def test_the_headers_and_a_programs_own_of_the_same_names_are_never_taken_for_each_other(self):
        prefix, found = self.installed()
        own = self.folder / "own"
        own.mkdir()
        for name, text in OWN_HEADERS.items():
            (own / name).write_text(text)
        flags = [*self.flags("proofprobe", **found), f"-Wl,-rpath,{prefix}/lib"]
        orders = {"<%s>": [*flags, f"-I{own}"], "<proofcore/%s>": [f"-I{own}", *flags]}
        for compiler in COMPILERS:
            for spelling, order in orders.items():
                with self.subTest(compiler=compiler, spelling=spelling):
                    text = CLASHING % (spelling % "ProofProbe.h", spelling % "ProofCore.h")
                    ran = run(self.compiled(compiler, text, order))
                    self.assertEqual((ran.returncode, ran.stdout), (0, "own 3 1\n"))

    def test_the_shared_library_exports_what_the_public_headers_declare_and_nothing_else(self):
        prefix, _ = self.installed()
        library = prefix / "lib" / "libproofprobe.so"
        dynamic = run("readelf", "-dW", library).stdout
        version = self.version()
        short = ".".join(version.split(".")[:2])
        self.assertIn(f"[libproofprobe.so.{short}]", dynamic)
        self.assertEqual(library.resolve().name, f"libproofprobe.so.{version}")
        exported = run("nm", "-D", "--defined-only", "-P", library).stdout.splitlines()
        functions = {line.split("@")[0] for line in exported if line.split()[1] == "T"}
        self.assertEqual({line.split()[1] for line in exported}, {"A", "T"})
        self.assertEqual(functions, declared("ProofCore", "ProofProbe"))

    @staticmethod
    def shown(archive):
        return set(re.findall(r"^(\w+) [A-Z] ", run("nm", "-g", "-P", "--defined-only", archive).stdout, re.M))

    def test_an_archive_shows_what_its_public_headers_declare_and_nothing_else(self):
        prefix, _ = self.installed()
        for name, expected in (("core", declared("ProofCore")), ("probe", declared("ProofProbe")),
                               ("key", {"pfc_sdk_key"})):
            with self.subTest(name):
                self.assertEqual(self.shown(prefix / "lib" / f"libproof{name}.a"), expected)

    def test_a_function_that_no_header_declares_is_not_shown(self):
        elsewhere = self.folder / "elsewhere"
        shutil.copytree(ROOT / "CSources", elsewhere / "CSources")
        planted = elsewhere / "CSources" / "ProofCore" / "planted.c"
        planted.write_text("int pfc_planted(void);\nint pfc_planted(void) { return 1; }\n")
        result = run("make", "-C", elsewhere / "CSources")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = re.findall(r" (\w) (pfc_planted)\n", run("nm", elsewhere / ".build/core/libproofcore.a").stdout)
        self.assertEqual(names, [("t", "pfc_planted")])

    def version(self):
        header = (ROOT / "CSources" / "ProofCore" / "include" / "version.h").read_text()
        return re.search(r'PROOFKIT_VERSION "(.+)"', header).group(1)

    def test_every_library_has_the_version_that_the_probe_measures(self):
        _, found = self.installed()
        for library in ("proofcore", "proofkey", "proofprobe"):
            self.assertEqual(run("pkg-config", "--modversion", library, **found).stdout, self.version() + "\n")

    def test_a_compiler_that_finds_no_libsodium_is_told_what_to_do(self):
        done = run("make", "-s", "-C", ROOT / "CSources", "CC=cc -nostdinc", f"BUILD={self.folder / 'build'}")
        self.assertEqual(done.returncode, 2)
        for told in ("finds no libsodium for", "make setup", "SYSROOT=DIR", "make firmware", "CPPFLAGS="):
            self.assertIn(told, done.stderr)
        self.assertNotIn("fatal error", done.stderr)

    def test_the_same_sources_give_the_same_library_wherever_the_tree_stands(self):
        names = ("libproofcore.a", "libproofkey.a", "libproofprobe.a", "libproofprobe.so")
        self.make("core")
        here = {name: (self.build / name).read_bytes() for name in names}
        elsewhere = self.folder / "elsewhere"
        shutil.copytree(ROOT / "CSources", elsewhere / "CSources")
        result = run("make", "-C", elsewhere / "CSources")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({name: (elsewhere / ".build" / "core" / name).read_bytes() == here[name] for name in names},
                         dict.fromkeys(names, True))
