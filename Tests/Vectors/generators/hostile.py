# SPDX-License-Identifier: Apache-2.0

"""Shared by the hostile generators: how a case ends, and the JSON twin."""

import json
from collections.abc import Iterable

from blocks import Block
from judging import VALID, refusal

from .flags import NOTES

GENERATOR_VERSION = "1"
INTEGERS = ("mode", "literal", "counter", "kind", "class", "verdict", "detail", "type")
# Those of gates. `now` and `floor` may be beyond 2^53 and stay texts.
INTEGERS += ("number", "level", "cookie", "generation", "window", "newest", "event", "measured_max", "unanchored")
LISTS = ("issuer", "record", "gate_key")


def expect(block: Block, word: str, *flags: str) -> Block:
    """Ends a case. The expectation is written by hand; the implementation must agree."""
    found = refusal(block)
    if found != word:
        raise AssertionError(f"{block.word('comment')}: {found} instead of {word}")
    block.put("result", "valid" if word == VALID else "invalid").put("refusal", word)
    for flag in flags or (("Valid",) if word == VALID else ()):
        block.put("flag", flag)
    if not block.all("flag") or set(block.all("flag")) - set(NOTES):
        raise AssertionError(f"{block.word('comment')}: flags {flags}")
    return block


def to_json(algorithm: str, title: str, blocks: Iterable[Block]) -> str:
    """The cases in the manner of Wycheproof, grouped by block type."""
    groups: dict[str, list[dict]] = {}
    used: set[str] = set()
    count = 0
    for count, block in enumerate(blocks, 1):
        flags = block.all("flag")
        used.update(flags)
        test: dict = {"tcId": count, "comment": block.word("comment"), "flags": flags}
        kind = block.word("block")
        test |= {"steps": _steps(block)} if kind == "reassemble" else _fields(block)
        test |= {"result": block.word("result"), "refusal": block.word("refusal")}
        groups.setdefault(kind, []).append(test)
    whole = {
        "algorithm": algorithm,
        "generatorVersion": GENERATOR_VERSION,
        "numberOfTests": count,
        "header": [title],
        "notes": {
            flag: {"bugType": bug, "description": text}
            for flag, (bug, text) in sorted(NOTES.items())
            if flag in used
        },
        "testGroups": [{"type": kind, "tests": tests} for kind, tests in groups.items()],
    }
    return json.dumps(whole, indent=2) + "\n"


def _value(name: str, text: str) -> object:
    if name not in INTEGERS:
        return text
    if int(text) >= 2**53:
        raise AssertionError("an integer that JSON readers round")
    return int(text)


def _fields(block: Block) -> dict:
    made: dict = {}
    for name, text in block.lines:
        if name in ("case", "comment", "block", "result", "refusal", "flag"):
            continue
        if name in LISTS:
            made.setdefault(name, []).append(text)
        else:
            made[name] = _value(name, text)
    if block.word("block") in ("open_token", "open_order", "open_gate_token"):
        made.setdefault("issuer", [])
    return made


def _steps(block: Block) -> list[dict]:
    steps: list[dict] = []
    for name, text in block.lines:
        if name == "packet":
            steps.append({"packet": text})
        elif name in ("outcome", "type", "message"):
            steps[-1][name] = _value(name, text)
    return steps
