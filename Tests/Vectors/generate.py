#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes the vectors of this folder. `--check` compares instead; `--spec` writes SPEC's example."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from blocks import Block, write
from generators import (
    attacks,
    carried,
    channels,
    gates,
    grants,
    hostile_channel,
    hostile_compact,
    hostile_config,
    hostile_frame,
    hostile_gate,
    hostile_grants,
    hostile_log,
    hostile_order,
    hostile_own,
    hostile_proof,
    hostile_sealed,
    hostile_token,
    hostile_token_2,
    logs,
    own,
    own_texts,
    own_strings,
    plain,
    salts,
    scripts_channel,
    scripts_command,
    scripts_corners,
    scripts_grants,
    scripts_ratchet,
    scripts_sealed,
    scripts_recall,
    scripts_time,
    scripts_token,
    scripts_upcoming,
    scripts_version,
    sealed,
)
from generators.example import example
from generators.gate_example import example as gate_example
from generators.channel_example import example as channel_example
from generators.grant_example import example as grant_example
from generators.hostile import to_json
from generators.log_example import example as log_example
from generators.sealed_example import example as sealed_example

HERE = Path(__file__).resolve().parent
SPEC = HERE.parents[1] / "docs" / "SPEC.md"
# Where each example stands in the page.
EXAMPLES = {"example": example, "gate-example": gate_example, "log-example": log_example,
            "sealed-example": sealed_example, "grant-example": grant_example, "channel-example": channel_example}



def hostile_tokens() -> Iterator[Block]:
    yield from hostile_token.tokens()
    yield from hostile_token_2.tokens()


PLAIN = {
    "key": ("Keys, section 3 of docs/SPEC.md.", plain.keys),
    "config": ("Configurations, section 5.", plain.configs),
    "measurement": ("Measurements, sections 5 and 6.", plain.measurements),
    "proof": ("Proofs, nonces, receipts, section 7.", plain.proofs),
    "token": ("Measurement tokens, section 8.", carried.tokens),
    "order": ("Orders, section 9.", carried.orders),
    "message": ("Messages, section 10.", carried.messages),
    "frame": ("Frames, section 11.", carried.frames),
    "record": ("Stored records, section 12.", carried.records),
    "log": ("The hardware's log, section 17.", logs.logs),
    "sealed": ("Sealed commands, section 18.", sealed.cases),
    "channel": ("Channels, section 20.", channels.cases),
    "grant": ("Grants and the records of loans, sections 19 and 12.", grants.cases),
    "gate": ("Gates: keys, accounts, beacons, tokens, section 15.", gates.keys),
    "request": ("Digests of requests, section 15.", gates.requests),
    "compact": ("Compact tokens of requests and events, section 15.", gates.compacts),
    "string": ("An app's own strings, SERVICE.md section 11 and SPEC.md section 13.", own_strings.cases),
    "salt": ("Salts of challenges, SERVICE.md sections 4 and 8.", salts.cases),
    "own": ("A gate's own keys and texts, section 16.", own.texts),
    "work": ("Answers to a gate's challenges, section 16.", own_texts.answers),
}

HOSTILE = {
    "config": ("Configurations that are refused.", hostile_config.configs),
    "measurement": ("Evidence that is refused.", hostile_config.measurements),
    "token": ("Measurement tokens that are refused.", hostile_tokens),
    "order": ("Orders that are refused.", hostile_order.orders),
    "proof": ("Proofs, receipts and recalls that do not fit.", hostile_proof.proofs),
    "message": ("Messages that are malformed.", hostile_order.messages),
    "frame": ("Packets of every kind.", hostile_frame.frames),
    "log": ("Entries, stored heads and keys, and LOGs that are refused.", hostile_log.cases),
    "sealed": ("Sealed commands and answers that are refused.", hostile_sealed.cases),
    "channel": ("Commands of a channel that are refused.", hostile_channel.cases),
    "grant": ("Grants and records of loans that are refused.", hostile_grants.cases),
    "gate": ("Gate tokens and beacons that are refused.", hostile_gate.gates),
    "request": ("Requests in another spelling.", hostile_compact.requests),
    "compact": ("Compact tokens that are refused.", hostile_compact.compacts),
    "own": ("A gate's own texts that are refused.", hostile_own.cases),
    "work": ("Solutions that are wrong.", hostile_own.solutions),
}


def scripts() -> Iterator[Block]:
    for module in (scripts_command, scripts_token, scripts_recall, scripts_time, scripts_corners,
                   scripts_upcoming, scripts_version, scripts_ratchet, scripts_sealed, scripts_grants, scripts_channel):
        for script in module.scripts():
            yield script.block


def files() -> dict[str, str]:
    """Every file of this folder that is generated, by name."""
    attacks.check_arithmetic()
    made = {f"{noun}.txt": write(title, blocks()) for noun, (title, blocks) in PLAIN.items()}
    made["verifier.txt"] = write("Dialogues with one piece of hardware, sections 10, 18, 19 and 20.", scripts())
    for noun, (title, blocks) in HOSTILE.items():
        cases = list(blocks())
        made[f"hostile_{noun}.txt"] = write(title, cases)
        made[f"proofkit_{noun}_test.json"] = to_json(f"PROOFKIT-{noun.upper()}", title, cases)
    return made


def spec(current: str) -> str:
    """The page with each example between its two comments."""
    for name, made in EXAMPLES.items():
        before, begin, rest = current.partition(f"<!-- {name}:begin -->\n")
        _, end, after = rest.partition(f"<!-- {name}:end -->")
        if not begin or not end:
            raise ValueError(f"{SPEC} has no place for {name}")
        current = f"{before}{begin}\n{made()}\n{end}{after}"
    return current


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a committed file differs")
    parser.add_argument("--spec", action="store_true", help="write the example into SPEC.md")
    arguments = parser.parse_args()
    if arguments.spec:
        SPEC.write_text(spec(SPEC.read_text(encoding="utf-8")), encoding="utf-8")
        print("1 page written")
        return 0
    made = {HERE / name: text for name, text in files().items()}
    if arguments.check:
        made[SPEC] = spec(SPEC.read_text(encoding="utf-8"))
        differ = [path for path, text in made.items() if _committed(path) != text]
        for path in differ:
            print(f"differs: {path.name}", file=sys.stderr)
        print(f"{len(made) - len(differ)} passed, {len(differ)} failed")
        return 1 if differ else 0
    for path, text in made.items():
        path.write_text(text, encoding="ascii")
    print(f"{len(made)} files written")
    return 0


def _committed(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
