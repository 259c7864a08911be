# SPDX-License-Identifier: Apache-2.0

"""The firmware's own binary in an emulator that can be stopped before each instruction, copied and sent on: the board
as far as the firmware sees it, with the serial line's interface of `Board`.
"""

import re
import subprocess

from unicorn import (UC_ARCH_ARM, UC_HOOK_CODE, UC_MODE_MCLASS, UC_MODE_THUMB, UC_PROT_EXEC, UC_PROT_READ, Uc, UcError)
from unicorn.arm_const import UC_ARM_REG_PC, UC_ARM_REG_SP, UC_CPU_ARM_CORTEX_M3

TOOLS = "arm-none-eabi-"
FLASH_BYTES = 1 << 20
RAM, BLOCK = 0x20000000, 4096
# Its pages, and the counters of erasures behind them.
NOR, NOR_BYTES = 0x21000000, 21 << 12
TIMER, UART, LOG_UART, SYSTEM = 0x40000000, 0x40004000, 0x40005000, 0xE000E000
TICKS = 400
# Arithmetic of curves, hashes and ciphers that ends in bytes and decides nothing by itself.
SUMS = re.compile(
    r"Transform|^compress$|^schedule$|fe25519|ge25519|sc25519|scalarmult|salsa|poly1305|blake2b|slide_vartime")
DECIDES = re.compile(r"canonical|small_order|frombytes_negate|verify|open")
# Loops over bytes, and arithmetic: they take nine in ten of all instructions and do the same each time.
LOOPS = re.compile(
    r"sha256|sha512|^begin$|hmacsha|memset|memcpy|memzero|nor_|^differs|clock_seconds|crc_update|uart_receive|find_last"
    r"|log_event|canonical|small_order|stream_ref|be64enc|load_[34]|base_point")
# Functions that judge, and those they are made of; the rest brings the message and takes the answer away.
JUDGES = re.compile(r"^pfc_(?!fragment|reassemble|put|get)|^judge$|^_?crypto_(sign|verify|box|secretbox)|"
                    r"^sodium_memcmp|^memcmp$|^sodium_is_zero|frombytes_negate|^(judge|answer|is|seal|channel)_|"
                    r"^(answer|meet|check_proof|escort|holder_of|before_device_proof|draw|spend)$")
PATIENCE = 400_000_000  # instructions that an untouched firmware may take
NOP, NOP_WIDE = b"\x00\xbf", b"\xaf\xf3\x00\x80"


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
        self.condition = {}  # of an instruction that stands in an IT block: where the IT stands
        name, left, it = "", 0, None
        for line in tool("objdump", "-d", path).splitlines():
            if found := re.match(r"^([0-9a-f]+) <(.+)>:$", line):
                name = found[2]
                self.symbols[name] = int(found[1], 16)
            elif found := re.match(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{4} ?)+)\s+(\S*)", line):
                address = int(found[1], 16)
                self.length[address] = 2 * len(found[2].split())
                self.function[address] = name
                if left > 0:
                    self.condition[address], left = it, left - 1
                if re.fullmatch("it[te]*", found[3]):
                    it, left = address, len(found[3]) - 1
                if found[3] == "wfi":
                    self.idle = address
        for line in tool("nm", path).splitlines():
            address, _, symbol = line.split(" ", 2)
            self.symbols[symbol] = int(address, 16)
        # As the linker bounds it, in whole blocks of the emulator's.
        self.ram_bytes = -(-(self.symbols["stack_top"] - RAM) // BLOCK) * BLOCK

    def is_sum(self, address):
        name = self.function.get(address, "")
        return bool(SUMS.search(name)) and not DECIDES.search(name)

    def judges(self, address):
        return bool(JUDGES.search(self.function.get(address, "")))

    def is_repeated(self, address):
        """Whether it is skipped where it comes by for the first time alone."""
        return self.is_sum(address) or bool(LOOPS.search(self.function.get(address, "")))


class Emulated:
    """Power on. It stands whenever the firmware waits; what is sent then is read."""

    def __init__(self, image, nor):
        self.image, self.sent, self.coming, self.ticks, self.dead = image, bytearray(), bytearray(), 0, False
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M3)
        self.uc.mem_map(0, FLASH_BYTES, UC_PROT_READ | UC_PROT_EXEC)
        self.uc.mem_map(RAM, image.ram_bytes)
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
            if self.dead:
                return False
            self.uc.emu_start(self.pc | 1, self.image.idle, count=count)
        except UcError:
            self.dead = True
        self.pc = self.uc.reg_read(UC_ARM_REG_PC) & ~1
        return not self.dead and self.pc == self.image.idle

    def wake(self):
        """Goes on behind the wait."""
        self.pc += 2
        return self.run()

    def path(self):
        """The address of each instruction from here until the firmware waits; it stands where it stood afterwards."""
        addresses, now = [], self.save()
        # Flush code translated already: it calls no hook.
        self.uc.ctl_flush_tb()
        hook = self.uc.hook_add(UC_HOOK_CODE, lambda uc, address, size, data: addresses.append(address))
        if not self.run():
            raise RuntimeError("the untouched firmware does not come to its wait")
        self.uc.hook_del(hook)
        self.uc.ctl_flush_tb()
        self.restore(now)
        return addresses

    def advance(self, count):
        """That many instructions. Inside an IT block the emulator cannot stand: it goes to the block's end."""
        if count > 0:
            self.uc.emu_start(self.pc | 1, 0xFFFFFFFE, count=count)
            self.pc = self.uc.reg_read(UC_ARM_REG_PC) & ~1

    def _patch(self, it, code):
        for place, bytes_ in code:
            self.uc.mem_write(place, bytes_)
        # An IT instruction and the four that it may cover.
        self.uc.ctl_remove_cache(it, it + 18)

    def skip(self, address, width):
        """Passes over the instruction at `address`, which comes next or in the IT block that comes next, and over the
        one behind it if `width` is 2.
        """
        length, condition = self.image.length, self.image.condition
        places = [address]
        if width == 2:
            places.append(address + length.get(address, 2))
        it = condition.get(address)
        if it is None:
            # The processor never saw them: no IT block has begun, even if one of the two would have begun it.
            self.pc = places[-1] + length.get(places[-1], 2)
            return
        within = [place for place in places if condition.get(place) == it]
        kept = [(place, bytes(self.uc.mem_read(place, length[place]))) for place in within]
        self._patch(it, [(place, NOP if len(bytes_) == 2 else NOP_WIDE) for place, bytes_ in kept])
        try:
            self.advance(1)
        except UcError:
            self.dead = True
        self._patch(it, kept)
        if len(within) < len(places):
            self.pc = places[-1] + length.get(places[-1], 2)

    def flash(self, size):
        return bytes(self.uc.mem_read(NOR, size))

    def save(self):
        memory = bytes(self.uc.mem_read(RAM, self.image.ram_bytes)), bytes(self.uc.mem_read(NOR, NOR_BYTES))
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
