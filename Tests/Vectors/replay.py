# SPDX-License-Identifier: Apache-2.0

"""Plays a verifier script, as its block says, to the model of the hardware."""

from blocks import Block
from proofspec.hardware import Hardware, Settings


class Player:
    """One hardware, fed with the lines of one script."""

    def __init__(self, block: Block) -> None:
        self.block, self.now = block, 0
        self.random: list[bytes] = []
        settings = Settings(
            block.bytes("hardware_id"),
            block.bytes("hardware_secret"),
            block.int("mode"),
            bool(block.int("literal")),
            tuple(bytes.fromhex(v) for v in block.all("issuer")),
            block.int("slots"),
            block.int("challenge_limit"),
            block.int("busy_wait"),
            b"".join(bytes.fromhex(v) for v in block.all("factory_secret")),
        )
        self.hardware = Hardware(settings, lambda: self.random.pop(0), lambda: self.now)

    def play(self) -> int:
        """The number of answers, all as written."""
        answers, answer = 0, ""
        for name, value in self.block.lines:
            if name == "clock":
                self.now = int(value)
            elif name == "random":
                self.random.append(bytes.fromhex(value))
            elif name == "link":
                self.hardware.use(int(value))
            elif name == "disconnect":
                self.hardware.disconnect()
            elif name == "restart":
                self.hardware.restart()
            elif name == "grants":
                self.hardware.take_grants()
            elif name == "channels":
                self.hardware.keep_channels()
            elif name == "prepare":
                self.hardware.prepare(bytes.fromhex(value))
            elif name == "send":
                type, _, message = value.partition(" ")
                got = self.hardware.receive(int(type), bytes.fromhex(message))
                answer = f"{int(got[0])} {got[1].hex()}"
            elif name == "reply":
                answers += 1
                if value != answer:
                    comment = self.block.word("comment")
                    raise AssertionError(f"{comment}: {answer} instead of {value}")
        if self.random:
            raise AssertionError(f"{self.block.word('comment')}: random bytes left over")
        return answers
