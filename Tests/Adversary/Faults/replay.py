# SPDX-License-Identifier: Apache-2.0

"""Runs inside gdb and plays one attempt again, step by step, as an independent witness of what walk.c counts.

    FAULT_STEP=15949 gdb -q -batch -x Tests/Adversary/Faults/replay.py --args .build/faults/O2/target changed-app

From `walk_begin` on it goes FAULT_STEP instructions, shows the one it stands before, sets the program counter behind it
(behind it and its neighbour if FAULT_SKIP is 2), and lets the program run to its end. The exit status is one of
fault.h: 42 if the command was done. A step number stands in each line that run.py writes about a survivor.
"""

import os

import gdb

step = int(os.environ["FAULT_STEP"])
skip = int(os.environ.get("FAULT_SKIP", "1"))

gdb.execute("set pagination off")
gdb.execute("set disassembly-flavor att")
gdb.execute("set startup-with-shell off")
gdb.execute("tbreak *&walk_begin", to_string=True)
gdb.execute("run", to_string=True)
if step > 0:
    gdb.execute(f"stepi {step}", to_string=True)
frame = gdb.selected_frame()
there = frame.architecture().disassemble(frame.pc(), count=skip)
for instruction in there:
    print(f"skipped {instruction['addr']:x}: {instruction['asm']}")
last = there[-1]
gdb.execute(f"set $pc = {last['addr'] + last['length']}")
gdb.execute("continue", to_string=True)
print(f"exit status {gdb.parse_and_eval('$_exitcode')}")
