# SPDX-License-Identifier: Apache-2.0

"""A token that was opened elsewhere: by the hardware's program on this machine, with as many slots as the profile has,
whose flash the firmware then gets.
"""

import stage
from board import NOR_BYTES, SLOTS, put_seed
from case import BUILD
from proofspec.message import Verdict


def hardware_with(profile, name, backend, app, **rights):
    """A piece of hardware without power, in whose flash the app's token is held; and that token."""
    slots = SLOTS[profile]
    program, stage.PROGRAM = stage.PROGRAM, str(BUILD / f"proof-hardware-{slots}" / "proof-hardware")
    try:
        hardware = stage.Hardware(name, [backend.public])
        started = hardware.start()
        token = app.token(backend, hardware, **rights)
        with hardware.connect() as link:
            verdict = app.present(link, hardware, token)
        hardware.stop()
    finally:
        stage.PROGRAM = program
    if not started or verdict != Verdict.HELD:
        raise RuntimeError(f"the stage cannot be set: verdict {verdict!r} of the hardware's program")
    # The same pages: only the seed is the port's own.
    with open(hardware.flash, "r+b") as file:
        put_seed(file, slots)
        file.truncate(NOR_BYTES)
    return hardware, token
