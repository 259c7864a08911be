# SPDX-License-Identifier: Apache-2.0

"""docs/RUNBOOKS.md, played as it stands, line by line, and its statements on the effect."""

import pathlib
import re
import sqlite3
import stat
import subprocess
import unittest

from place import BIN, ROOT, Site, blocks

PAGE = "RUNBOOKS.md"


class Runbooks(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)
        site = self.site
        site.make()
        site.start_service()
        site.make_backend()
        self.lock = site.make_lock()
        site.start_backend()
        site.start_lock()
        self.phone = site.make_phone("phone", self.lock)

    def assert_outcome(self, phone, words, outcome):
        answer = self.site.app(phone, *words.split())
        self.assertEqual(answer["outcome"], outcome, answer)

    def shell(self, **variables):
        shell = self.site.shell(**variables)
        self.addCleanup(shell.close)
        return shell

    def fetched(self, phone="phone"):
        self.assert_outcome(phone, "fetch", "fetched")

    def test_the_quick_start_gives_a_service_that_an_app_trusts_by_its_authority_alone(self):
        self.fetched()
        self.assert_outcome("phone", "open", "accepted")
        # Another authority vouches for nothing here.
        bundle = self.site.folder / "phone" / "app"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", "/CN=another", "-keyout", "/dev/null", "-out", bundle / "authority.pem"], check=True,
                       capture_output=True)
        self.assert_outcome("phone", "fetch", "not fetched: mitm detected")
        for key in ("authority.key", "localhost.key", "account.store", "management"):
            self.assertEqual(stat.S_IMODE((self.site.folder / key).stat().st_mode), 0o600, key)

    def test_a_revoked_phone(self):
        failing, signing, carrying = blocks(PAGE, "## 1. Revoke a phone")
        site = self.site
        site.make_phone("other-phone", self.lock)
        for phone in ("phone", "other-phone"):
            self.fetched(phone)
            self.assert_outcome(phone, "open", "accepted")
        shell = self.shell(PHONE=self.phone, LOCK=self.lock)
        shell.play(failing)
        self.assert_outcome("phone", "fetch", "not fetched: the backend says signature")
        self.assert_outcome("phone", "open", "accepted")
        # The page's cure for a ledger in use. It does no harm where the backend shares its ledger.
        site.stop("backend")
        shell.play(signing)
        site.start_backend()
        shell.play(carrying)
        self.assert_outcome("phone", "open", "ask the backend: revoked")
        self.assert_outcome("other-phone", "open", "accepted")
        self.fetched("other-phone")
        # It comes back: the service lets it pass, the backend does not.
        shell.play('proofctl device clear "$PHONE"')
        self.assert_outcome("phone", "fetch", "not fetched: the backend says hardware")

    def test_a_replaced_lock(self):
        revoking, making, _ = blocks(PAGE, "## 2. Replace a lock")
        site = self.site
        self.fetched()
        shell = self.shell(LOCK=self.lock)
        shell.play(revoking)
        self.assert_outcome("phone", "fetch", "not fetched: the backend says hardware")
        self.assert_outcome("phone", "open", "accepted")
        shell.play(making)
        new = shell.value("NEW")
        self.assertFalse((site.folder / "lock.key").exists() or (site.folder / "provisioning").exists())
        site.stop("lock")
        site.start_lock("new")
        site.pair("phone", new, "new.sock")
        self.assert_outcome("phone", "open", "failed")
        self.fetched()
        self.assert_outcome("phone", "open", "accepted")

    def test_a_lock_with_a_factory_secret(self):
        making, = blocks(PAGE, "### A lock with a factory secret")
        site = self.site
        shell = self.shell()
        shell.play(making)
        new = shell.value("NEW")
        for name in ("lock.key", "lock.factory", "provisioning"):
            self.assertFalse((site.folder / name).exists(), name)
        site.stop("lock")
        site.start_lock("safe")
        site.pair("phone", new, "safe.sock")
        self.assert_outcome("phone", "fetch", "not fetched: the backend says unavailable")
        site.stop("backend")
        site.start_backend("--factory-key", "factory.key")
        self.fetched()
        self.assert_outcome("phone", "open", "accepted")

    def test_a_restored_backup(self):
        backing, keeping = blocks(PAGE, "## 3. Back up")
        restoring, replacing, banning, returning = blocks(PAGE, "## 4. Restore a backup")
        site = self.site
        self.fetched()
        other = site.make_phone("other-phone", self.lock)
        self.fetched("other-phone")
        url = f"https://localhost:{site.port}"
        shell = self.shell(PHONE=other, URL=url, ISSUER="issuer.key")
        shell.play(backing)
        backup = site.folder / "account.backup"
        self.assertEqual(stat.S_IMODE(backup.stat().st_mode), 0o600)
        with sqlite3.connect(backup) as store:
            self.assertEqual(store.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        site.stop("backend")
        shell.play(keeping)
        self.assertEqual(stat.S_IMODE((site.folder / "ledger.backup").stat().st_mode), 0o600)
        site.start_backend()

        # After the backup: a ban, a setting, two newer measurements.
        shell.play('proofctl device fail "$PHONE"\nproofctl policy set token-lifetime=77')
        serial = site.ctl("config", "show")["serial"]
        shell.play('proofctl config url "$URL"')
        held = site.ctl("config", "show")["serial"]
        self.assertGreater(held, serial)
        for _ in range(2):
            self.fetched()
        self.assert_outcome("phone", "open", "accepted")
        self.assert_outcome("other-phone", "fetch", "not fetched: the backend says signature")

        site.stop("service")
        shell.play(restoring)
        before = site.ctl("saltkey", "list")
        shell.play(replacing)
        after = site.ctl("saltkey", "list")
        self.assertEqual([key["state"] for key in after], ["active"])
        self.assertNotIn(after[0]["kid"], [key["kid"] for key in before])
        self.assertEqual(stat.S_IMODE((site.folder / "account.store").stat().st_mode), 0o600)
        site.start_service()
        # The page's rows.
        self.fetched("other-phone")
        self.assertEqual(site.ctl("policy", "show")["token-lifetime"], "300")
        self.assertLess(site.ctl("config", "show")["serial"], held)
        self.assert_outcome("phone", "fetch", "not fetched: the backend says superseded")
        outcomes = []
        while not outcomes or outcomes[-1] != "accepted":
            site.app("phone", "fetch")
            outcomes.append(site.app("phone", "open")["outcome"])
            self.assertLess(len(outcomes), 5, outcomes)
        shell.play(banning)
        self.assert_outcome("other-phone", "fetch", "not fetched: the backend says signature")
        while site.ctl("config", "show")["serial"] <= held:
            shell.play('proofctl config url "$URL"')

        site.stop("backend")
        shell.play(returning)
        site.start_backend()
        self.fetched()

    def test_every_block_of_the_page_is_played(self):
        page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
        # The blocks of sections 5 to 7 need several machines; Tests/Process/Scale does what they do.
        self.assertEqual(len(re.findall(r"^```sh$", page, re.MULTILINE)), 3 + 3 + 2 + 4 + 3)
        self.assertEqual(page.count("<!-- not run: needs a cluster"), 3)
        for program in re.findall(r"^\(?(proof[\w-]+)", "".join(
                block for heading in re.findall(r"^## .*$", page, re.MULTILINE) for block in blocks(PAGE, heading)),
                re.MULTILINE):
            self.assertTrue((BIN / program).exists(), program)


class Versions(unittest.TestCase):
    def test_every_program_has_the_one_version(self):
        header = (ROOT / "CSources" / "ProofCore" / "include" / "version.h").read_text(encoding="utf-8")
        version = re.search(r'PROOFKIT_VERSION "(.+)"', header)[1]
        names = re.findall(r'\.executable(?:Target)?\(\s*name: "(proof[\w-]+)"', (ROOT / "Package.swift").read_text())
        self.assertGreater(len(set(names)), 12)
        for program in [*(BIN / name for name in sorted(set(names))),
                        ROOT / "CSources" / "ports" / "cortex-m3" / "proof-firmware"]:
            name = program.name
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((done.returncode, (done.stdout + done.stderr).strip()), (0, f"{name} {version}"), done)
        found = subprocess.run(["grep", "-rnE", rf'define \w*VERSION "{version}"', ROOT / "CSources"],
                               capture_output=True, text=True, check=False, timeout=60).stdout.splitlines()
        self.assertEqual([pathlib.Path(line.split(":")[0]).name for line in found], ["version.h"])


if __name__ == "__main__":
    unittest.main()
