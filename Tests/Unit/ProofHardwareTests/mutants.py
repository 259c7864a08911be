#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Takes out the hardware's defences one by one and sees to it that a test notices each time.

  mutants.py [WORD…]     all, or those whose file, defence or replacement has one of the words

Those of the core have their own (Tests/Adversary/Mutants). Each mutant is one piece of source replaced by another; it
is killed when it builds and the tests fail.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from mutation import Broken, Mutant, play  # noqa: E402
from planting import changed  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
COPY = ROOT / ".build" / "hardware-mutants"

UNITS, PROCESS = "units", "process"

# (tests that must notice, file below CSources, the defence, what stands there instead)
MUTANTS = [
    # The link
    (UNITS, "ProofDevice/link.c", "if (!link->cccd[asks ? CHALLENGE : VERDICT]) return PFD_ATT_NOT_SUBSCRIBED;", ""),
    (UNITS, "ProofDevice/link.c", "if (size > 0 && takes_type(handle, value[0] & 0x0Fu)) {",
     "if (size > 0) {"),
    (UNITS, "ProofDevice/link.c", "if (size > link->mtu) {", "if (0) {"),
    (UNITS, "ProofDevice/link.c", "if (is_request(pdu[0]) && response_waits(link)) return PFD_LINK_CLOSE;", ""),
    (UNITS, "ProofDevice/link.c", "} else if (link->mtu_exchanged) {", "} else if (0) {"),
    (UNITS, "ProofDevice/link.c", "if (theirs < PFD_MTU_MIN) {", "if (0) {"),
    (UNITS, "ProofDevice/link.c",
     "(link->value_handle != handle || offset > link->value_size)", "(offset > link->value_size)"),
    (UNITS, "ProofDevice/link.c", "pfc_session_close(&link->session);\n  pfc_wipe(link, sizeof *link);",
     "link->mtu = 0;"),
    (UNITS, "ProofDevice/link.c", "  link->value_handle = 0;\n", ""),
    (UNITS, "ProofDevice/link.c", "        memset(link->reply, 0, sizeof link->reply);\n", ""),
    (UNITS, "ProofDevice/link.c", "    memset(link->out, 0, sizeof link->out);\n", ""),
    (UNITS, "ProofDevice/gatt.c", "if (size + CHARACTERISTIC_ENTRY > room) break;", ""),
    # Apps that ask for the log
    (UNITS, "ProofDevice/unit.c", "  if (!link->may_ask) {", "  if (0) {"),
    (UNITS, "ProofDevice/unit.c", "  } else if (link->logs_left == 0) {", "  } else if (0) {"),
    (UNITS, "ProofDevice/unit.c", "    link->logs_left--;\n", ""),
    (UNITS, "ProofDevice/unit.c", "  link->logs_left = PFD_LOGS_MAX;\n",
     "  if (!link->logs_left) link->logs_left = 1;\n"),
    (UNITS, "ProofDevice/unit.c", "    pfc_log_refuse(&unit->log.log, answer.verdict);\n", ""),
    (UNITS, "ProofDevice/unit.c", "first = ask.from < ring->oldest ? ring->oldest : ask.from;", "first = ask.from;"),
    (UNITS, "ProofDevice/unit.c", "  if (first > ring->log.next) first = ring->log.next;\n", ""),
    (UNITS, "ProofDevice/unit.c", "  memcpy(nonce, ask.nonce, sizeof nonce);\n",
     "  memset(nonce, 0, sizeof nonce);\n"),
    (UNITS, "ProofDevice/link.c", "size_t pdu = link->mtu < PFD_OUT_MAX ? link->mtu : PFD_OUT_MAX;",
     "size_t pdu = link->mtu;"),
    # Grants
    (UNITS, "ProofDevice/unit.c",
     "grant_page != 0) result = pfc_verifier_take_grants(&unit->verifier);", "grant_page > 0xFFFE) result = PFC_OK;"),
    (UNITS, "ProofDevice/unit.c", "    result = pfc_grants_format(&platform.storage, hardware->secret_key);\n", ""),
    (UNITS, "ProofDevice/unit.c", "    pfc_grant_digest(digest, bytes);\n", "    memset(digest, 0, sizeof digest);\n"),
    (UNITS, "ProofDevice/flash.c", "flash->grant_page + 2 * (record - PFC_SLOTS - 1) + copy",
     "flash->grant_page + (record - PFC_SLOTS - 1) + copy"),
    (UNITS, "ProofDevice/flash.c", "if (record > PFC_SLOTS) return flash->grant_page +",
     "if (record > PFC_SLOTS) return 0 * flash->grant_page +"),
    (UNITS, "ProofDevice/gatt.c", "{PFD_HANDLE_GRANT, WRITES, PFC_MESSAGE_GRANT}",
     "{PFD_HANDLE_GRANT, WRITES, PFC_MESSAGE_ORDER}"),
    (PROCESS, "proof-hardware/provisioning.c", "  if (flash->grant_page != 0) features |= PFC_FEATURE_GRANTS;\n", ""),
    (PROCESS, "proof-hardware/flash_file.c", "page_count(areas & WITH_LOG) : 0);", "page_count(0) : 0);"),
    # Sealed commands
    (UNITS, "ProofDevice/unit.c",
     "  if (unit->seals && pfc_verifier_prepare(&unit->verifier) != PFC_OK) return;\n", ""),
    (UNITS, "ProofDevice/unit.c", "event.detail = outcome->sealed_detail;", "event.detail = 0;"),
    (UNITS, "ProofDevice/unit.c", "outcome->reply + (is_sealed ? 0 : 3)", "outcome->reply + 3"),
    (UNITS, "ProofDevice/link.c",
     "  if (outcome.verdict == PFC_VERDICT_TOO_NEW) return PFD_ATT_READ_NOT_PERMITTED;\n", ""),
    (UNITS, "ProofDevice/link.c", "take_challenge(link, PFC_ASK_SEALED)", "take_challenge(link, PFC_ASK_CHALLENGE)"),
    (UNITS, "ProofDevice/link.c", "handle == PFD_HANDLE_COMMAND && type == PFC_MESSAGE_SEALED_UP) return 1;",
     "type == PFC_MESSAGE_SEALED_UP) return 1;"),
    (UNITS, "ProofDevice/unit.c", "    carry_log(unit, link, outcome);\n",
     "    carry_log(unit, link, outcome);\n    memset(&link->session.channel, 0, sizeof link->session.channel);\n"),
    (UNITS, "ProofDevice/unit.c", "{ return pfc_verifier_keep_channels(&unit->verifier); }",
     "{ return unit->verifier.ready ? PFC_OK : PFC_E_ARGUMENT; }"),
    # Several centrals
    (UNITS, "ProofDevice/unit.c", "  if (outcome->execute == PFC_EXECUTE) {\n    note_proof(unit, link, outcome);",
     "  if (type == PFC_MESSAGE_COMMAND && outcome->instance_id) note_proof(unit, link, outcome);\n"
     "  if (outcome->execute == PFC_EXECUTE) {"),
    (UNITS, "ProofDevice/unit.c", "== 0) other->proved = 0;", "== 0) other->proved += 0;"),
    (UNITS, "ProofDevice/unit.c", "memcpy(link->instance, outcome->instance_id, sizeof link->instance);", ""),
    (UNITS, "ProofDevice/unit.c", "link->proved = ++unit->accepted;", "link->proved = 1;"),
    (UNITS, "ProofDevice/unit.c", "  link->since = now(unit);\n", ""),
    (UNITS, "ProofDevice/unit.c", "if (has_clock && now(unit) - link->began < PFD_PROVE_SECONDS) return 1;", ""),
    (UNITS, "ProofDevice/unit.c", "now(unit) - link->began < PFD_PROVE_SECONDS",
     "now(unit) - link->since < PFD_PROVE_SECONDS"),
    (UNITS, "ProofDevice/unit.c", "if (link->proved == 0 || (has_clock", "if ((has_clock"),
    (UNITS, "ProofDevice/unit.c", " || (has_clock && now(unit) - link->since >= PFD_IDLE_SECONDS)) return 0;",
     ") return 0;"),
    (UNITS, "ProofDevice/unit.c", "return later < PFD_KEPT_LINKS;", "return later < PFD_LINKS;"),
    (UNITS, "ProofDevice/unit.c", "> link->proved;\n  return later", "< link->proved;\n  return later"),
    (UNITS, "ProofDevice/unit.c", "  return open[draw % count];", "  return open[0];"),
    (UNITS, "ProofDevice/unit.c", "open[count++] = (uint8_t)i;", "open[count < 1 ? count++ : 0] = (uint8_t)i;"),
    (UNITS, "ProofDevice/unit.c", "    if (!unit->used[i]) return -1;\n    if (!is_kept", "    if (!is_kept"),
    (UNITS, "ProofDevice/unit.c", "now(unit) - unit->links[link].since < PFD_ALONE_SECONDS) return 0;", "0) return 0;"),
    (UNITS, "ProofDevice/unit.c", "unit->port->seconds == NULL || now(unit) - unit->links[link].since",
     "now(unit) - unit->links[link].since + PFD_ALONE_SECONDS * (unit->port->seconds == NULL)"),
    (UNITS, "ProofDevice/unit.c", "    if (!is_told(*count)) return;\n", ""),
    (UNITS, "ProofDevice/unit.c", "if (is_told(unit->evicted)) tell(unit, &event);", "tell(unit, &event);"),
    (UNITS, "ProofDevice/unit.c", "  memset(unit->judged, 0, sizeof unit->judged);\n", ""),
    (UNITS, "ProofDevice/unit.c", "if (!needs_keys(event->b)) {", "{"),
    (UNITS, "ProofDevice/unit.c", "memset(unit->replies[link], 0, PFD_REPLY_BYTES);", ""),
    (UNITS, "ProofDevice/unit.c", "if (outcome->execute == PFC_EXECUTE) {",
     "if (type == PFC_MESSAGE_COMMAND) {\n    outcome->command = bytes;\n    outcome->execute = PFC_EXECUTE;"),
    # Flash
    (UNITS, "ProofDevice/flash.c", "PFD_FLASH_IDENTITY_PAGES + 2 * record + copy", "PFD_FLASH_IDENTITY_PAGES + record"),
    (UNITS, "ProofDevice/flash.c", "return result == 0 ? differs(flash, offset, bytes, size) : result;",
     "return result;"),
    (UNITS, "ProofDevice/flash.c", "found[i] ^ (at < size ? bytes[at] : BLANK)",
     "at < size ? found[i] ^ bytes[at] : 0"),
    (UNITS, "ProofDevice/flash.c", "(used + 1) * PFD_ENTRY_BYTES <= flash->page_bytes &&", ""),
    (UNITS, "ProofDevice/identity.c", "if (!pfc_equal(check, bytes + AT_CHECK, CHECK_BYTES)) return PFC_E_DAMAGED;",
     ""),
    (UNITS, "ProofDevice/identity.c", "result == PFC_E_DAMAGED; page++", "page < 1; page++"),
    (UNITS, "ProofDevice/unit.c", "result == PFC_OK && is_rekeyed(port, hardware)", "0 && is_rekeyed(port, hardware)"),
    # The log
    (UNITS, "ProofDevice/unit.c", "if (result == PFC_OK && unit->log_flash.pages != 0) {", "if (0) {"),
    (UNITS, "ProofDevice/flash.c", ".offset = flash->log_page * flash->page_bytes,", ".offset = 0 * flash->log_page,"),
    (PROCESS, "proof-hardware/provisioning.c", "if (begins && !provisioning->has_drawn) {", "if (0) {"),
    (PROCESS, "proof-hardware/provisioning.c",
     "if ((provisioning->given & GIVEN_LOG) == 0 && flash->port.log_pages != 0 &&",
     "if (0 && flash->port.log_pages != 0 &&"),
    # State
    (UNITS, "ProofDevice/unit.c", "    unit->device = before;\n", ""),
    (UNITS, "ProofDevice/unit.c", "  if (keep_state(unit, &before) != 0) {", "  if (0) {"),
    (UNITS, "ProofDevice/unit.c", "    int ignored = keep_state(unit, &before);", "    int ignored = 0;"),
    (UNITS, "ProofDevice/state.c", "  device->opened = seconds;\n", "  (void)seconds;\n"),
    (UNITS, "ProofDevice/state.c",
     "if (!pfc_equal(check, state + AT_CHECK, CHECK_BYTES)) return PFC_E_DAMAGED;", ""),
    (PROCESS, "proof-hardware/serve.c", "    if (status == GO_ON) status = state_file_load(&state, &unit);\n", ""),
    (PROCESS, "proof-hardware/state_file.c", "S_ISREG(status.st_mode) && (status.st_mode & 022) != 0", "0"),
    (PROCESS, "proof-hardware/state_file.c", 'compose(file->draft, name, ".state.new")',
     'compose(file->draft, name, ".state")'),
    (PROCESS, "proof-hardware/provisioning.c", "if (status == GO_ON && flash->formatted)", "if (0)"),
    (PROCESS, "proof-hardware/provisioning.c", "if (is_open(&mode) && !open_provision) {", "if (0) {"),
    (PROCESS, "proof-hardware/provisioning.c", "if (status == GO_ON && is_open(&mode) && (", "if (0 && ("),
    # The process
    (PROCESS, "proof-hardware/flash_file.c", "if ((status.st_mode & 077) != 0) return", "if (0) return"),
    (PROCESS, "proof-hardware/flash_file.c", "if (flock(flash->file, LOCK_EX | LOCK_NB) != 0) return", "if (0) return"),
    (PROCESS, "proof-hardware/options.c", "return !secret && provisioning_set", "return provisioning_set"),
    (PROCESS, "proof-hardware/provisioning.c",
     "pfc_factory_secret(hardware->factory_secret, provisioning->drawn, hardware->id);",
     "memcpy(hardware->factory_secret, provisioning->drawn, PFC_FACTORY_SECRET_BYTES);"),
    (PROCESS, "proof-hardware/provisioning.c", "  } else if (hardware->has_factory_secret && memcmp(",
     "  } else if (0 && memcmp("),
    # Version 1 in flash
    (UNITS, "ProofDevice/flash.c", "  if (old != 0) return old > 0 ? read_old(flash, page, bytes, size) : -1;\n", ""),
    (UNITS, "ProofDevice/flash.c", "if (!old && (used + 1)", "if ((used + 1)"),
    (UNITS, "ProofDevice/flash.c", "first + at / PFD_ENTRY_BYTES_1 * PFD_ENTRY_BYTES_1,", "first,"),
    (UNITS, "ProofDevice/identity.c", "  if (version == PFC_VERSION) return AT_CHECK_1;\n", ""),
    (UNITS, "ProofDevice/identity.c", "if (at_check == AT_CHECK) memcpy(hardware->factory_secret",
     "if (at_check == AT_CHECK_1) memcpy(hardware->factory_secret"),
    (PROCESS, "proof-hardware/wire.c", "if (result != 0 && errno == ECONNREFUSED)", "if (1)"),
    (PROCESS, "proof-hardware/wire.c", "  wire->path = NULL;\n", ""),
    (PROCESS, "proof-hardware/wire.c", "if (length == 0 || length > PFD_MTU_MAX) return WIRE_END;", ""),
    (PROCESS, "proof-hardware/log.c", "log_hex(id, event->id, sizeof event->id);",
     "extern void *malloc(unsigned long);\n  static void *volatile kept;\n  kept = malloc(3);\n"
     "  log_hex(id, event->id, sizeof event->id);"),
    (PROCESS, "proof-hardware/serve.c", "pfd_unit_flush(&unit, link);", ""),
    (PROCESS, "proof-hardware/serve.c", "    if (yielding >= 0) disconnect((unsigned)yielding);\n", ""),
    (PROCESS, "proof-hardware/serve.c", "(POLLHUP | POLLERR)) != 0) wire_forget(&wire, i);",
     "(POLLHUP | POLLERR)) != 0) (void)i;"),
    (PROCESS, "proof-hardware/serve.c", "if (wire.in[i] != WIRE_NONE && pfd_unit_is_overdue(&unit, i)) disconnect(i);",
     ""),
    (PROCESS, "proof-hardware/wire.c", "count <= 0 || count > (ssize_t)PFD_MTU_MAX", "count <= 0"),
]


def noticed(which):
    """Whether these tests of the copy fail."""
    flags = {"CFLAGS": "-O1 -Wno-error", "BUILD": str(COPY / ".build" / "core"), "LINK_SECONDS": "10"}
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | flags
    tests = COPY / "Tests" / "Unit" / "ProofHardwareTests"
    if which == UNITS:
        variables["BUILD"] = str(COPY / ".build" / "hardware-tests")
        build = ["make", "-s", "-j2", "-C", tests, "CFLAGS=-O1 -Wno-error"]
        run = [COPY / ".build" / "hardware-tests" / "proof-hardware-tests"]
    else:
        build = ["make", "-s", "-j2", "-C", COPY / "CSources", "hardware", "CFLAGS=-O1 -Wno-error"]
        run = ["sh", "-c", "/usr/bin/python3 Tests/Adversary/Attacker/run.py --folder Tests/Unit/ProofHardwareTests "
               "&& /usr/bin/python3 Tests/Adversary/Attacker/run.py --rounds 1000"]
    built = subprocess.run(build, env=variables, cwd=COPY, capture_output=True, text=True)
    if built.returncode != 0:
        raise Broken("does not build: " + built.stderr[-400:])
    try:
        return subprocess.run(run, cwd=COPY, env=variables, capture_output=True, timeout=300).returncode != 0
    except subprocess.TimeoutExpired:
        return True


class Hardware:
    """A copy of the hardware and its tests. A test is all units, or all of the process."""

    def __init__(self):
        shutil.rmtree(COPY, ignore_errors=True)
        for folder in ("CSources", *(f"Tests/{name}" for name in (
                "Unit/ProofHardwareTests", "Unit/ProofCoreTests", "Adversary/Attacker", "Support/Runner", "Vectors"))):
            shutil.copytree(ROOT / folder, COPY / folder)

    def untouched(self, names):
        return next((f"{name} fail" for name in names if noticed(name)), None)

    def notices(self, mutant):
        original = {}
        for name, text in changed(COPY / "CSources", mutant.edits).items():
            path = COPY / "CSources" / name
            original[path] = path.read_text()
            path.write_text(text)
        try:
            return noticed(mutant.by)
        finally:
            for path, text in original.items():
                path.write_text(text)


if __name__ == "__main__":
    mutants = [Mutant(f"{name}: {defence} -> {instead}", which, [(name, defence, instead)])
               for which, name, defence, instead in MUTANTS]
    sys.exit(play(Hardware(), mutants, sys.argv[1:]))
