# SPDX-License-Identifier: Apache-2.0

"""The time of day of single processes, which a test moves while they run."""

import pathlib
import struct
import subprocess


class MovedClock:
    """`environment` is for the processes to move. All of them have one clock, which `move` sets at once."""

    def __init__(self, folder):
        library, self.shift = pathlib.Path(folder) / "moved_clock.so", pathlib.Path(folder) / "shift"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library,
                        pathlib.Path(__file__).parent / "moved_clock.c"], check=True)
        self.shift.write_bytes(struct.pack("<q", 0))
        self.environment = {"LD_PRELOAD": str(library), "MOVED_CLOCK": str(self.shift)}

    def move(self, seconds):
        """Adds so many seconds to the system's clock."""
        # Written in place: the processes have mapped the file.
        with open(self.shift, "r+b") as file:
            file.write(struct.pack("<q", seconds))
