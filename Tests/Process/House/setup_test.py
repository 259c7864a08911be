# SPDX-License-Identifier: Apache-2.0

"""`.ci/setup` installs by name, or says what is missing."""

import os
import unittest

from place import CI, fresh, run, script


class Setup(unittest.TestCase):
    """A machine played by scripts in front of PATH: which packages are there, who runs, what apt-get does."""

    def machine(self, *, installed, user=0, apt="exit 100", sudo=None):
        folder = fresh(self.id().rsplit(".", 1)[1])
        lines = "\n".join(f"ii {name}" for name in installed)
        script(folder / "dpkg-query", f"cat <<'END'\n{lines}\nEND\nexit 1\n")
        script(folder / "id", f"echo {user}\n")
        script(folder / "apt-get", f'echo "$@" >>"{folder}/apt.log"\n{apt}\n')
        # Always there, so that a real sudo further down PATH is never started.
        script(folder / "sudo", sudo if sudo is not None else "exit 1\n")
        self.folder = folder
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def asked_of_apt(self):
        log = self.folder / "apt.log"
        return log.read_text() if log.exists() else ""

    def packages(self, *purposes):
        return run(CI / "setup", "--list", *purposes).stdout.split()

    def test_what_is_there_is_not_installed_and_apt_is_not_asked(self):
        machine = self.machine(installed=self.packages("base"))
        result = run(CI / "setup", "base", **machine)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.asked_of_apt(), "")

    def test_only_what_is_missing_is_installed_by_name(self):
        present = [name for name in self.packages("base") if name != "libsodium-dev"]
        machine = self.machine(installed=present, apt="exit 0")
        result = run(CI / "setup", "base", **machine)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("install --no-install-recommends libsodium-dev\n", self.asked_of_apt())

    def test_the_package_lists_are_renewed_when_an_installation_fails_without(self):
        needs_update = 'case "$*" in *update) touch "$0.renewed" ;; esac\n[ -e "$0.renewed" ]'
        machine = self.machine(installed=[], apt=needs_update)
        result = run(CI / "setup", "base", **machine)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("update", self.asked_of_apt())

    def test_packages_that_cannot_be_installed_are_named(self):
        machine = self.machine(installed=[])
        result = run(CI / "setup", "base", **machine)
        self.assertEqual(result.returncode, 1)
        for package in self.packages("base"):
            self.assertRegex(result.stderr, rf"missing:.* {package}( |\n)")

    def test_without_root_and_without_sudo_rights_it_names_what_is_missing(self):
        machine = self.machine(installed=[], user=1000, apt="exit 0")
        result = run(CI / "setup", "foreign", **machine)
        self.assertEqual(result.returncode, 1)
        self.assertIn("qemu-user", result.stderr)
        self.assertEqual(self.asked_of_apt(), "")

    def test_without_root_it_installs_through_sudo(self):
        machine = self.machine(installed=[], user=1000, apt="exit 0", sudo='[ "$1" = -n ] && shift\nexec "$@"\n')
        result = run(CI / "setup", "base", **machine)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libsodium-dev", self.asked_of_apt())

    def test_an_unknown_purpose_is_refused(self):
        self.assertEqual(run(CI / "setup", "bsae").returncode, 2)

    def test_all_that_is_missing_is_named_in_one_go(self):
        machine = self.machine(installed=[], user=1000)
        script(self.folder / "swift", "exit 127\n")
        result = run(CI / "setup", "swift", "base", **machine)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "(?s)setup: missing: .*libsodium-dev.*setup: swift does not tell its version")

    def test_what_is_held_is_there(self):
        machine = self.machine(installed=self.packages("base"))
        held = self.folder / "dpkg-query"
        held.write_text(held.read_text().replace("ii libsodium-dev\n", "hi libsodium-dev\n"))
        result = run(CI / "setup", "base", **machine)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.asked_of_apt(), "")

    def test_a_swift_that_does_not_start_is_named_with_what_it_says(self):
        machine = self.machine(installed=[])
        script(self.folder / "swift", "echo 'swift: libxml2.so.2: cannot open shared object file' >&2\nexit 127\n")
        result = run(CI / "setup", "swift", **machine)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "setup: swift does not tell its version.*libxml2")

    def test_an_old_swift_is_refused_and_the_needed_one_is_named(self):
        machine = self.machine(installed=[])
        script(self.folder / "swift", "echo 'Swift version 5.10.1 (swift-5.10.1-RELEASE)'\n")
        result = run(CI / "setup", "swift", **machine)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"swift is 5\.10\.1; needed: 6\.\d+ or later")
