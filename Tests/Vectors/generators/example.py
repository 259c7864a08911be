# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 14: one first contact, every value."""

import hashlib
from dataclasses import dataclass, field

from proofspec.baseline import device_set, leaf_check, leaf_keys, make_config, wrap_mask
from proofspec.basics import PRODUCTION, kdf
from proofspec.config import FULL, Source, config_tag
from proofspec.curves import hardware_public, sign
from proofspec.evidence import APP, DEVICE, ENVIRONMENT, Record
from proofspec.frame import check, fragments
from proofspec.hardware import Hardware, Settings
from proofspec.keys import DIVERSIFIED, Secrets, device_key, key_id, recall_key, receipt_key
from proofspec.measurement import measure
from proofspec.message import Type, Verdict, make_command, make_recall, parse_answer
from proofspec.proof import INTEGRITY, Occasion, escort
from proofspec.token import Body, create_token, signed_bytes, token_digest, token_header

from .world import START, Issuer, Place, stuff

MARGIN, NAME = " " * 4, 24
SOURCES = (Source(DEVICE, 1, 1, 0), Source(APP, 1, 1, 1), Source(ENVIRONMENT, 1, 1, 0))


@dataclass
class Page:
    """Text with values in code blocks; bytes are hex, 32 to a line."""

    lines: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.lines += ["", text, ""]

    def show(self, name: str, value: bytes | int | str, note: str = "") -> None:
        text = value.hex() if isinstance(value, bytes) else str(value)
        rows = [text[i : i + 64] for i in range(0, len(text), 64)] or ["(empty)"]
        for i, row in enumerate(rows):
            head = name if i == 0 else ""
            tail = f"   {note}" if note and i == 0 else ""
            self.lines.append(f"{MARGIN}{head:<{NAME}}{row}{tail}".rstrip())

    def text(self) -> str:
        return "\n".join(self.lines).strip("\n") + "\n"


def example() -> str:
    """All of section 14, made with the model of section 10 as the hardware."""
    page = Page()
    backend = Issuer(stuff("example issuer", 32))
    door = Place(stuff("example hardware id", 16), stuff("example hardware secret", 32))
    own = _baseline(page)
    token, there = _token(page, backend, door, own)
    _dialogue(page, backend, door, token, there)
    return page.text()


def _records() -> list[Record]:
    device, app, environment = SOURCES

    def of(source: Source, name: bytes, content: bytes | None) -> Record:
        digest = None if content is None else hashlib.sha256(content).digest()
        return Record(source.cls, source.number, source.version, name, digest)

    return [
        of(device, b"board", b"board 7"),
        of(app, b"lib", b"library code"),
        of(app, b"main", b"program code"),
        of(environment, b"tracer", None),
    ]


def _baseline(page: Page) -> Secrets:
    mpk, salt, records = stuff("example mpk", 16), stuff("example salt", 16), _records()
    config = make_config(PRODUCTION, FULL, 1, 30, mpk, salt, SOURCES, records)
    dpk = device_key(mpk, salt)
    ds, transcript = device_set(records)
    ld, la = leaf_keys(mpk, dpk, salt)
    found = measure(mpk, config, records)
    page.say(
        "**Baseline.** A production key; a device source with one record, an app source with two "
        "groups, an environment source that could not be read. The digests are SHA-256 of "
        "`board 7`, `library code`, `program code`."
    )
    page.show("MPK", mpk)
    page.show("key id", key_id(PRODUCTION, mpk))
    page.show("salt", salt)
    page.show("DPK", dpk)
    for r in records:
        name = f"{r.cls}.{r.number} {r.name.decode()}"
        page.show(f"record {name}", r.encoded())
    page.show("device set transcript", transcript)
    page.show("DS", ds)
    page.show("wrap mask", wrap_mask(ds, salt))
    page.show("wrapped DPK", config.wrapped)
    page.show("device leaf key LD", ld)
    page.show("other leaf key LA", la)
    page.show("leaf check", leaf_check(la))
    page.show("leaves", b"".join(config.leaves))
    page.show("tag", config_tag(config.body()))
    page.show("MC", config.encoded(), f"({len(config.encoded())} bytes)")
    page.say("**Measurement** of the same records, hence over the same DS and DPK.")
    page.show("IMK", kdf("pfc1.im-key.....", mpk, salt))
    page.show("IM", found.im)
    page.show("device part", config.device_part())
    page.show("DMK", kdf("pfc1.dm-key.....", dpk, salt))
    page.show("DM", found.dm)
    return found.secrets(mpk)


def _token(page: Page, backend: Issuer, door: Place, own: Secrets) -> tuple[bytes, Secrets]:
    there, instance = own.diversified(door.id), stuff("example instance", 16)
    body = Body(
        mode=PRODUCTION,
        form=DIVERSIFIED,
        integrity_classes=0x0003,
        device_classes=0x0001,
        attempts=5,
        uses=1000,
        generation=1,
        not_after=START + 30 * 86400,
        issued=START,
        hardware_id=door.id,
        instance_id=instance,
        issuer_id=backend.id,
        secrets=there,
    )
    ephemeral, header = stuff("example ephemeral", 32), token_header(door.id)
    signed = signed_bytes(door.public, header, body.encoded())
    token = create_token(door.public, ephemeral, backend.seed, body)
    page.say(
        "**Token** by a backend, for one piece of hardware: classes 0 and 1, class 0 for a device "
        "match too, 5 attempts, 1000 uses, generation 1, 30 days."
    )
    page.show("issuer's seed", backend.seed)
    page.show("issuer's public key", backend.public)
    page.show("issuer id", backend.id)
    page.show("hardware id", door.id)
    page.show("hardware's secret key", door.secret)
    page.show("hardware's public key", door.public)
    page.show("instance id", instance)
    page.show("K_hw", there.key)
    page.show("IM_hw", there.im)
    page.show("DPK_hw", there.device_key)
    page.show("DM_hw", there.dm)
    page.show("header", header)
    page.show("body", body.encoded())
    page.show("signature", sign(backend.seed, signed))
    page.show("ephemeral secret key", ephemeral)
    page.show("ephemeral public key", hardware_public(ephemeral))
    page.show("TOKEN", token)
    page.show("token digest", token_digest(token))
    return token, there


def _dialogue(page: Page, backend: Issuer, door: Place, token: bytes, there: Secrets) -> None:
    settings = Settings(door.id, door.secret, PRODUCTION, False, (backend.public,))
    challenge, instance = stuff("example challenge", 32), stuff("example instance", 16)
    hardware = Hardware(settings, lambda: challenge, lambda: 0)

    page.say(
        "**First contact.** New hardware, whose first challenge has counter 1. The token is "
        "presented and held: verdict 3, 1000 uses, counter 0."
    )
    _, held = hardware.receive(Type.TOKEN, token)
    page.show("receipt key", receipt_key(there.device_key))
    page.show("VERDICT", held)
    page.say(
        "Then a challenge is asked for, and a command of kind integrity and class 1, `open`, is "
        "sent under it."
    )
    page.show("ASK", b"\x01")
    _, given = hardware.receive(Type.ASK, b"\x01")
    page.show("CHALLENGE", given)
    counter = int.from_bytes(given[:8], "little")
    occasion = Occasion(door.id, given[8:], counter, INTEGRITY, 1, b"open")
    command = make_command(occasion, instance, there)
    nonce = occasion.nonce()
    page.show("nonce transcript", occasion.transcript())
    page.show("nonce", nonce)
    page.show("integrity proof", command.integrity_proof)
    page.show("escort nonce", escort(nonce, command.integrity_proof))
    page.show("device proof", command.device_proof)
    page.show("COMMAND", command.encoded())
    _, accepted = hardware.receive(Type.COMMAND, command.encoded())
    answer = parse_answer(accepted)
    if (answer.verdict, answer.detail) != (Verdict.ACCEPTED, 999) or answer.counter != counter:
        raise AssertionError("the worked example is not accepted")
    page.say(
        "It is accepted: verdict 1, 999 uses left. Had the verdict been lost, a recall would "
        "bring it back, with detail 0."
    )
    page.show("receipt", answer.receipt)
    page.show("VERDICT", accepted)
    recall = make_recall(there.device_key, instance, counter, nonce)
    page.show("recall key", recall_key(there.device_key))
    page.show("RECALL", recall.encoded())
    page.show("VERDICT", hardware.receive(Type.RECALL, recall.encoded())[1])
    page.say(
        "**Frames** of that COMMAND in packets of 20 bytes. The check is the CRC of type, length "
        "and message."
    )
    page.show("check", check(Type.COMMAND, command.encoded()))
    for i, fragment in enumerate(fragments(Type.COMMAND, command.encoded(), 20)):
        page.show(f"packet {i}", fragment)
