# SPDX-License-Identifier: Apache-2.0

"""The block format of README.md: reading and writing."""

from collections.abc import Iterable, Iterator

from proofspec.evidence import Record

LINE_BYTES_MAX = 1500


class Block:
    """Named values in order; a name may stand several times."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def put(self, name: str, value: object) -> "Block":
        """Bytes become hex, integers decimal, booleans 1 or 0, sequences words in a row."""
        self.lines.append((name, _text(value)))
        return self

    def put_all(self, **fields: object) -> "Block":
        for name, value in fields.items():
            self.put(name, value)
        return self

    def all(self, name: str) -> list[str]:
        return [v for n, v in self.lines if n == name]

    def word(self, name: str) -> str:
        values = self.all(name)
        if len(values) != 1:
            raise ValueError(f"{len(values)} lines {name!r} where one is due")
        return values[0]

    def int(self, name: str) -> int:
        return int(self.word(name), 10)

    def bytes(self, name: str) -> bytes:
        return bytes.fromhex(self.word(name))


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, tuple | list):
        return " ".join(_text(v) for v in value)
    return str(value)


def case(kind: str, comment: str) -> Block:
    """A block whose number `write` fills in."""
    return Block().put("case", 0).put("comment", comment).put("block", kind)


def record_text(record: Record) -> str:
    digest = "absent" if record.digest is None else record.digest.hex()
    return f"{record.cls} {record.number} {digest} {record.name.hex()}"


def put_records(block: Block, records: Iterable[Record]) -> Block:
    for record in records:
        block.put("record", record_text(record))
    return block


def write(title: str, blocks: Iterable[Block]) -> str:
    """The text of a file; cases are numbered from 1."""
    parts = [f"# {title}\n# The format is described in README.md.\n"]
    for number, block in enumerate(blocks, 1):
        block.lines[0] = ("case", str(number))
        lines = [f"{name} = {value}".rstrip() for name, value in block.lines]
        too_long = [line for line in lines if len(line) >= LINE_BYTES_MAX]
        if too_long or any("\n" in line or not line.isascii() for line in lines):
            raise ValueError(f"a line that the format does not have: {too_long}")
        parts.append("\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def read(text: str) -> Iterator[Block]:
    block = Block()
    for line in text.splitlines() + [""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if block.lines:
                yield block
            block = Block()
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"no '=' in {line!r}")
        block.lines.append((name.strip(), value.strip()))
