# SPDX-License-Identifier: Apache-2.0

"""The people and things that the vectors are about. Nothing here is random."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proofspec.baseline import make_config
from proofspec.basics import FOREVER, PRODUCTION, u32
from proofspec.config import FULL, Config, Source
from proofspec.curves import hardware_public, issuer_public
from proofspec.evidence import APP, DEVICE, ENVIRONMENT, Record
from proofspec.keys import DIVERSIFIED, Secrets, issuer_id
from proofspec.measurement import measure
from proofspec.token import VERSION_2, Body, create_token, factory_secret

START = 1_700_000_000  # a time of issue, in Unix seconds


def stuff(name: str, length: int) -> bytes:
    """Bytes that belong to a name: SHA-256 over it and a counter."""
    blocks = (length + 31) // 32
    seed = b"proofkit vectors: " + name.encode()
    return b"".join(hashlib.sha256(seed + u32(i)).digest() for i in range(blocks))[:length]


@dataclass(frozen=True)
class Issuer:
    seed: bytes

    @property
    def public(self) -> bytes:
        return issuer_public(self.seed)

    @property
    def id(self) -> bytes:
        return issuer_id(self.public)


@dataclass(frozen=True)
class Place:
    """A piece of hardware, as seen from outside."""

    id: bytes
    secret: bytes
    drawn: bytes = b""  # F, with which the backend seals by suite 2

    @property
    def factory_secret(self) -> bytes:
        return factory_secret(self.drawn, self.id) if self.drawn else b""

    @property
    def public(self) -> bytes:
        return hardware_public(self.secret)


def issuer(name: str) -> Issuer:
    return Issuer(stuff(f"issuer {name}", 32))


def place(name: str) -> Place:
    return Place(stuff(f"hardware id {name}", 16), stuff(f"hardware secret {name}", 32))


BACKEND, OTHER_BACKEND, STRANGER = issuer("backend"), issuer("other backend"), issuer("stranger")
DOOR, GATE = place("door"), place("gate")
# The door as a factory that draws secrets makes it.
SAFE = Place(DOOR.id, DOOR.secret, stuff("factory secret of the door", 32))

SOURCES = (
    Source(DEVICE, 1, 1, 0),
    Source(DEVICE, 4, 2, 1),
    Source(APP, 1, 1, 2),
    Source(APP, 2, 1, 0),
    Source(ENVIRONMENT, 3, 1, 1),
)


def record(source: Source, name: bytes, content: str | None) -> Record:
    """An observation whose digest is that of `content`; None for a source not readable."""
    digest = None if content is None else hashlib.sha256(content.encode()).digest()
    return Record(source.cls, source.number, source.version, name, digest)


def evidence(sources: Sequence[Source] = SOURCES, device: str = "phone") -> list[Record]:
    """A few records for each source, in order."""
    made = []
    for s in sources:
        names = [b"%d-%d" % (s.number, i) for i in range(s.groups + 1)]
        owner = device if s.cls == DEVICE else "any"
        made += [record(s, n, f"{owner} {s.cls} {s.number} {n.decode()}") for n in names]
    return sorted(made, key=lambda r: r.order)


def changed(records: Sequence[Record], cls: int, content: str = "changed") -> list[Record]:
    """The first record of a class says something else."""
    i = next(i for i, r in enumerate(records) if r.cls == cls)
    digest = hashlib.sha256(content.encode()).digest()
    return [*records[:i], replace(records[i], digest=digest), *records[i + 1 :]]


def config(name: str = "plain", mode: int = PRODUCTION, **other: object) -> Config:
    """A configuration for SOURCES, or with other arguments of make_config."""
    arguments: dict = {
        "mode": mode,
        "policy": FULL,
        "generation": 1,
        "limit": 30,
        "mpk": mpk(name),
        "salt": stuff(f"salt {name}", 16),
        "sources": SOURCES,
        "records": evidence(),
    }
    return make_config(**(arguments | other))


def mpk(name: str = "plain") -> bytes:
    return stuff(f"mpk {name}", 16)


@dataclass(frozen=True)
class App:
    """One installation: what it is called, and what it measures."""

    name: str
    instance_id: bytes
    own: Secrets  # MPK, IM, DPK, DM

    def at(self, where: Place, form: int = DIVERSIFIED) -> Secrets:
        return self.own.in_form(form, where.id)

    def body(self, where: Place = DOOR, by: Issuer = BACKEND, **other: object) -> Body:
        """A token's body with harmless defaults."""
        form = other.get("form", DIVERSIFIED)
        body = Body(
            mode=PRODUCTION,
            form=DIVERSIFIED,
            integrity_classes=0x0007,
            device_classes=0x0001,
            attempts=3,
            uses=FOREVER,
            generation=1,
            not_after=0,
            issued=START,
            hardware_id=where.id,
            instance_id=self.instance_id,
            issuer_id=by.id,
            secrets=self.at(where, form if isinstance(form, int) else DIVERSIFIED),
        )
        return replace(body, **other)  # type: ignore[arg-type]

    def token(self, where: Place = DOOR, by: Issuer = BACKEND, **other: object) -> bytes:
        body = self.body(where, by, **other)
        return create_token(where.public, ephemeral(body), by.seed, body, where.factory_secret)

    def body_2(self, where: Place = DOOR, by: Issuer = BACKEND, **other: object) -> Body:
        """The same in version 2."""
        base = other.get("generation", 1)
        return self.body(where, by, **({"version": VERSION_2, "base": base} | other))


def ephemeral(body: Body) -> bytes:
    """A sealed box's own secret key; another body has another."""
    return stuff("ephemeral " + hashlib.sha256(body.encoded()).hexdigest(), 32)


def app(name: str) -> App:
    """An installation that measured a configuration of its own."""
    found = measure(mpk(name), config(name), evidence())
    return App(name, stuff(f"instance {name}", 16), found.secrets(mpk(name)))


def bare_app(name: str) -> App:
    """An installation whose secrets are just bytes, where no measurement matters."""
    own = Secrets(*(stuff(f"{name} {what}", n) for what, n in _OWN))
    return App(name, stuff(f"instance {name}", 16), own)


_OWN = (("mpk", 16), ("im", 32), ("dpk", 16), ("dm", 32))
