"""The firmware's own binary in an emulator that can be stopped before each instruction, copied and sent on: the board
as far as the firmware sees it, with the serial line's interface of `Board`.
"""

import re
import subprocess

from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, UC_PROT_EXEC, UC_PROT_READ, Uc, UcError
from unicorn.arm_const import UC_ARM_REG_PC, UC_ARM_REG_SP, UC_CPU_ARM_CORTEX_M3

TOOLS = "arm-none-eabi-"
FLASH_BYTES = 1 << 20
RAM, RAM_BYTES = 0x20000000, 8192
NOR, NOR_BYTES = 0x21000000, 1 << 16
TIMER, UART, LOG_UART, SYSTEM = 0x40000000, 0x40004000, 0x40005000, 0xE000E000
TICKS = 400
# Loops over bytes, and arithmetic: they take nine in ten of all instructions and do the same each time.
ARITHMETIC = re.compile(
    r"Transform|sha256|hmacsha|memset|memcpy|memzero|nor_|clock_seconds|crc_update|uart_receive|find_last|log_event")
PATIENCE = 400_000_000  # instructions that an untouched firmware may take
ENDLESS = 400_000  # instructions after which an attempt counts as endless; untouched, it takes at most 200,000


def tool(name, *words):
    return subprocess.run([TOOLS + name, *map(str, words)], check=True, capture_output=True, text=True).stdout


class Image:
    """An ELF file: its bytes, and where each instruction stands, how long it is, and whose it is."""

    def __init__(self, path):
        self.path = path
        binary = path.with_suffix(".bin")
        tool("objcopy", "-O", "binary", "-j", ".text", "-j", ".ARM.exidx", "-j", ".data", path, binary)
        self.bytes = binary.read_bytes()
        self.symbols, self.length, self.function, self.idle = {}, {}, {}, None
        name = ""
        for line in tool("objdump", "-d", path).splitlines():
            if found := re.match(r"^([0-9a-f]+) <(.+)>:$", line):
                name = found[2]
                self.symbols[name] = int(found[1], 16)
            elif found := re.match(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{4} ?)+)\s+(\S*)", line):
                address = int(found[1], 16)
                self.length[address] = 2 * len(found[2].split())
                self.function[address] = name
                if found[3] == "wfi":
                    self.idle = address
        for line in tool("nm", path).splitlines():
            address, _, symbol = line.split(" ", 2)
            self.symbols[symbol] = int(address, 16)

    def is_arithmetic(self, address):
        return bool(ARITHMETIC.search(self.function.get(address, "")))


class Emulated:
    """Power on. It stands whenever the firmware waits; what is sent then is read."""

    def __init__(self, image, nor):
        self.image, self.sent, self.coming, self.ticks, self.dead = image, bytearray(), bytearray(), 0, False
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M3)
        self.uc.mem_map(0, FLASH_BYTES, UC_PROT_READ | UC_PROT_EXEC)
        self.uc.mem_map(RAM, max(RAM_BYTES, 4096))
        self.uc.mem_map(NOR, NOR_BYTES)
        self.uc.mem_write(0, image.bytes)
        self.uc.mem_write(NOR, nor[:NOR_BYTES])
        self.uc.mmio_map(TIMER, 0x1000, self._timer, None, self._ignore, None)
        self.uc.mmio_map(UART, 0x1000, self._uart_read, None, self._uart_write, None)
        self.uc.mmio_map(LOG_UART, 0x1000, lambda *_: 0, None, self._ignore, None)
        self.uc.mmio_map(SYSTEM, 0x1000, lambda *_: 0, None, self._system, None)
        self.uc.reg_write(UC_ARM_REG_SP, int.from_bytes(image.bytes[0:4], "little"))
        self.pc = int.from_bytes(image.bytes[4:8], "little") & ~1
        self.run()

    def _ignore(self, *_):
        pass

    def _timer(self, uc, offset, size, data):
        if offset != 4:
            return 0
        self.ticks += TICKS
        return (0xFFFFFFFF - self.ticks) & 0xFFFFFFFF

    def _uart_read(self, uc, offset, size, data):
        if offset == 4:
            return 2 if self.coming else 0
        return self.coming.pop(0) if offset == 0 and self.coming else 0

    def _uart_write(self, uc, offset, size, value, data):
        if offset == 0:
            self.sent.append(value & 0xFF)

    def _system(self, uc, offset, size, value, data):
        if offset == 0xD0C:
            self.dead = True
            uc.emu_stop()

    def run(self, count=PATIENCE):
        """Until the firmware waits. False if it does not get there."""
        try:
            self.uc.emu_start(self.pc | 1, self.image.idle, count=count)
        except UcError:
            self.dead = True
        self.pc = self.uc.reg_read(UC_ARM_REG_PC) & ~1
        return not self.dead and self.pc == self.image.idle

    def wake(self):
        """Goes on behind the wait."""
        self.pc += 2
        return self.run()

    def step(self):
        self.uc.emu_start(self.pc | 1, 0xFFFFFFFE, count=1)
        self.pc = self.uc.reg_read(UC_ARM_REG_PC) & ~1

    def save(self):
        memory = bytes(self.uc.mem_read(RAM, RAM_BYTES)), bytes(self.uc.mem_read(NOR, NOR_BYTES))
        return self.uc.context_save(), *memory, bytes(self.sent), bytes(self.coming), self.ticks, self.pc

    def restore(self, saved, nor=True):
        context, ram, flash, sent, coming, self.ticks, self.pc = saved
        self.uc.context_restore(context)
        self.uc.mem_write(RAM, ram)
        if nor:
            self.uc.mem_write(NOR, flash)
        self.sent, self.coming, self.dead = bytearray(sent), bytearray(coming), False

    # The serial line.

    def send(self, pdu):
        self.coming += len(pdu).to_bytes(2, "little") + pdu

    def end(self):
        self.coming += b"\0\0"

    def receive(self):
        if not self.sent and not self.wake():
            return None
        came, bytes_ = [], bytes(self.sent)
        while len(bytes_) >= 2:
            size = int.from_bytes(bytes_[:2], "little")
            came.append(bytes_[2 : 2 + size])
            bytes_ = bytes_[2 + size :]
        self.sent.clear()
        return came
