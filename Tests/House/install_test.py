"""What `make install` puts down is all that a C or C++ program needs."""

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


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = fresh(self.id().rsplit(".", 1)[1])

    def make(self, target, **variables):
        # A build of its own: nobody else's is touched, and this one is known to be from scratch.
        variables.setdefault("BUILD", self.folder / "build")
        result = run("make", target, *(f"{name}={value}" for name, value in variables.items()))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def consumed(self, compiler, standard, suffix, **variables):
        """Compiles and runs a program that knows nothing but `pkg-config proofcore`; what it prints."""
        flags = run("pkg-config", "--cflags", "--libs", "proofcore", **variables)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        source, program = self.folder / f"consumer.{suffix}", self.folder / f"consumer-{suffix}"
        source.write_text(CONSUMER)
        built = run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program,
                    *flags.stdout.split())
        self.assertEqual(built.returncode, 0, built.stderr)
        ran = run(program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_a_c11_and_a_cpp17_program_need_pkg_config_alone(self):
        prefix = self.folder / "prefix"
        self.make("install", PREFIX=prefix)
        found = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        self.assertEqual(self.consumed("clang", "c11", "c", **found), "mode 2, slots 8\n")
        self.assertEqual(self.consumed("clang++", "c++17", "cpp", **found), "mode 2, slots 8\n")

    def test_a_staged_installation_serves_through_the_sysroot_of_pkg_config(self):
        stage = self.folder / "stage"
        self.make("install", PREFIX="/usr", DESTDIR=stage)
        found = {"PKG_CONFIG_SYSROOT_DIR": str(stage), "PKG_CONFIG_PATH": str(stage / "usr" / "lib" / "pkgconfig")}
        self.assertEqual(self.consumed("gcc", "c11", "c", **found), "mode 2, slots 8\n")

    def test_a_program_sees_the_number_of_slots_the_library_was_built_with(self):
        prefix = self.folder / "prefix"
        self.make("install", PREFIX=prefix, SLOTS=2)
        found = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        self.assertEqual(self.consumed("gcc", "c11", "c", **found), "mode 2, slots 2\n")

    def test_the_uninstalled_build_serves_as_well(self):
        self.make("core")
        found = {"PKG_CONFIG_PATH": str(self.folder / "build")}
        self.assertEqual(self.consumed("gcc", "c11", "c", **found), "mode 2, slots 8\n")

    def test_uninstall_removes_what_install_put_there_and_nothing_else(self):
        prefix = self.folder / "prefix"
        (prefix / "lib").mkdir(parents=True)
        (prefix / "lib" / "other.txt").write_text("somebody else's")
        self.make("install", PREFIX=prefix)
        self.make("uninstall", PREFIX=prefix)
        left = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()]
        self.assertEqual(left, ["lib/other.txt"])

    def test_the_key_of_an_sdk_build_has_a_library_of_its_own_and_is_not_installed(self):
        prefix = self.folder / "prefix"
        self.make("install", PREFIX=prefix)
        build = self.folder / "build"
        self.assertIn("pfc_sdk_key", run("nm", build / "libproofkey.a").stdout)
        self.assertNotIn("pfc_sdk_key", run("nm", build / "libproofcore.a").stdout)
        self.assertEqual([path.name for path in prefix.rglob("*.a")], ["libproofcore.a"])

    def test_the_same_sources_give_the_same_library_wherever_the_tree_stands(self):
        self.make("core")
        here = (self.folder / "build" / "libproofcore.a").read_bytes()
        elsewhere = self.folder / "elsewhere"
        shutil.copytree(ROOT / "CSources", elsewhere / "CSources")
        result = run("make", "-C", elsewhere / "CSources")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((elsewhere / ".build" / "core" / "libproofcore.a").read_bytes(), here)
