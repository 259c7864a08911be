# SPDX-License-Identifier: Apache-2.0

"""State of the verifier in the board's RAM: field by field, by the layout that the sources have."""

import pathlib
import tempfile

import stage

ROOT = pathlib.Path(stage.ROOT)
BUILD = ROOT / ".build" / "firmware"

DONE, COUNTER, READY = "device.done", "verifier.ledger.counter", "verifier.ready"
# The verifier's pointers to its parts: if one is damaged, no proof is correct until power on.
BASE = ("verifier.hardware", "verifier.platform", "hardware")
SLOTS_, SLOT, SECRETS = "verifier.ledger.slots", "verifier.ledger.slots[0]", "verifier.ledger.slots[0].secrets"
# State that no refused token, order or recall may change; a refused command may cost an attempt.
DURABLE = ("verifier.ledger.epoch", "verifier.ledger.floor")
PASSING = ("verifier.epoch", "verifier.alive_from", "verifier.swept_from")
FIELDS = (DONE, COUNTER, READY, *BASE, SLOTS_, SLOT, SECRETS, *DURABLE, *PASSING)
# In a slot's secrets: what proves the app, then what proves the device (struct pfc_secrets).
DEVICE_SECRETS, DEVICE_KEY = slice(16 + 32, None), slice(16 + 32, 16 + 32 + 16)
FREE, HELD, REVOKED = 0, 1, 2
# A tenant is forgotten in RAM, and with it which of its tokens were superseded; the next start finds both.
LOST = "a slot lost until power on"


def layout(sources, profile):
    """Where each of FIELDS stands within the unit, and how long it is."""
    # Needs the emulator's package, which the tests of State do without.
    from emulated import tool
    rows = ", ".join(f"{{offsetof(struct pfd_unit, {name}), sizeof unit.{name}}}" for name in FIELDS)
    text = ("#include <stddef.h>\n#include \"ProofDevice.h\"\n"
            f"static struct pfd_unit unit;\nconst unsigned at[][2] = {{{rows}}};\n")
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        (at / "at.c").write_text(text, encoding="ascii")
        include = [f"-I{sources / name}" for name in ("ProofCore/include", "ProofDevice/include", "ports/profiles")]
        foreign = ["-isystem", BUILD / "include", "-isystem",
                   ROOT / ".build/foreign/libsodium/source/src/libsodium/include"]
        tool("gcc", "-mcpu=cortex-m3", "-mthumb", f"-DPFC_PROFILE=\"{profile}.h\"", *include, *foreign,
             "-c", at / "at.c", "-o", at / "at.o")
        tool("objcopy", "-O", "binary", "-j", ".rodata", at / "at.o", at / "at.bin")
        bytes_ = (at / "at.bin").read_bytes()
    words = [int.from_bytes(bytes_[at : at + 4], "little") for at in range(0, len(bytes_), 4)]
    return dict(zip(FIELDS, zip(words[0::2], words[1::2])))


class State:
    """State of the verifier in RAM."""

    def __init__(self, image, fields, board):
        unit = image.symbols["unit"]
        read = {name: bytes(board.uc.mem_read(unit + at, size)) for name, (at, size) in fields.items()}
        self.done, self.counter = (int.from_bytes(read[name], "little") for name in (DONE, COUNTER))
        self.base = [read[name] for name in BASE]
        # A verifier that is not ready answers *fault* to everything, until power on.
        self.serves = read[READY] == b"\1" and not board.dead
        self.durable = {name: read[name] for name in DURABLE}
        self.passing = {name: read[name] for name in PASSING}
        size, at = fields[SLOT][1], fields[SECRETS][0] - fields[SLOT][0]
        # Each slot's rights, its secrets, and its record of the last command.
        self.slots, self.secrets, self.lasts = [], [], []
        for first in range(0, fields[SLOTS_][1], size):
            slot, end = read[SLOTS_][first : first + size], at + fields[SECRETS][1]
            self.slots.append(slot[:at])
            self.secrets.append(slot[at:end])
            self.lasts.append(slot[end:])

    def differences(self, before, is_known):
        """By name, but for the secrets.

        A slot serves only a holder of its secrets. `is_known` says whether anyone can have these: a held or revoked
        slot with others is spoilt, and opens nothing, also if its garbage begins with the number of a state. A revoked
        slot must stay revoked in every case, and a slot that became free is lost.
        """
        slots = is_lost = False
        for was, one, secrets in zip(before.slots, self.slots, self.secrets):
            if one == was:
                continue
            known = is_known(secrets)
            lost = was[0] == HELD and one[0] == FREE and (not any(one) or not known)
            is_lost |= lost
            slots |= was[0] == REVOKED or not lost and known and one[0] in (FREE, HELD, REVOKED)
        names = ["slots"] * slots + [LOST] * is_lost
        names += [name for name in PASSING if self.passing[name] != before.passing[name]]
        return self._ledger(before) + names

    def differences_at_start(self, before):
        """By name, after a restart: it forgets what is passing, and all else must be as it was."""
        slots = any(was[0] == REVOKED or one[0] in (FREE, HELD, REVOKED)
                    for was, one in zip(before.slots, self.slots) if one != was)
        return (self._ledger(before) + ["slots"] * slots + ["last command"] * (self.lasts != before.lasts)
                + ["secrets"] * (self.secrets != before.secrets))

    def _ledger(self, before):
        names = [name for name in DURABLE if self.durable[name] != before.durable[name]]
        return names + ["counter"] * (self.counter < before.counter)
