# SPDX-License-Identifier: Apache-2.0

"""Configurations that are refused, and measurements that are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blocks import Block, case, put_records
from proofspec.basics import DEVELOPMENT, GENERATION_MAX, kdf, mac, sha256, u8, u32
from proofspec.config import INCREMENTAL, Config, Source, config_tag
from proofspec.evidence import APP, DEVICE, ENVIRONMENT, Record
from proofspec.order import EPOCH, create_order

from . import world
from .hostile import expect
from .plain import many_sources, one_record_each
from .world import BACKEND, DOOR, START, evidence, mpk, stuff

PLAIN = world.config()
D, A, E = Source(DEVICE, 1, 1, 0), Source(APP, 1, 1, 0), Source(ENVIRONMENT, 1, 1, 0)


def read(comment: str, data: bytes, word: str, *flags: str) -> Block:
    return expect(case("read_config", comment).put("config", data), word, *flags)


def tagged(body: bytes) -> bytes:
    """A body with its right tag, whatever it says."""
    return body + config_tag(body)


def patched(at: int, value: bytes, body: bytes = PLAIN.body()) -> bytes:
    return tagged(body[:at] + value + body[at + len(value) :])


def of(sources: Sequence[Source], leaves: int | None = None, **other: object) -> bytes:
    """Tagged bytes of a configuration with these sources; leaves as many as they have."""
    count = sum(s.groups for s in sources) if leaves is None else leaves
    made: Config = replace(
        PLAIN,
        sources=tuple(sources),
        leaves=tuple(stuff(f"leaf {i}", 4) for i in range(count)),
        **other,  # type: ignore[arg-type]
    )
    return made.encoded()


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def configs() -> Iterator[Block]:
    yield from _accepted()
    yield from _foreign()
    yield from _damaged()
    yield from _too_new()
    yield from _fields()
    yield from _sources()
    yield from _counts()


def _accepted() -> Iterator[Block]:
    longest = world.config(sources=many_sources(), records=one_record_each())
    edge = "EdgeCase"
    yield read("five sources", PLAIN.encoded(), "none")
    yield read("two sources of one group", of([D, A]), "none", edge)
    yield read("684 bytes", longest.encoded(), "none", edge)
    dev = world.config(mode=DEVELOPMENT, policy=INCREMENTAL)
    yield read("development mode, incremental", dev.encoded(), "none")
    yield read("the highest generation", patched(8, u32(GENERATION_MAX)), "none", edge)
    yield read("limit 16", patched(56, u8(16)), "none", edge)
    yield read("limit 50", patched(56, u8(50)), "none", edge)
    yield read("wrapped DPK of zeros: no range", patched(36, bytes(16)), "none", edge)
    yield read("leaves of zeros: no range", patched(80, bytes(40)), "none", edge)
    yield read("two sources of 64 groups", of([replace(s, groups_log2=6) for s in (D, A)]), "none")


def _foreign() -> Iterator[Block]:
    token = world.app("one").token()
    order = create_order(BACKEND.seed, EPOCH, START, DOOR.id)
    for comment, data in (
        ("four other bytes", b"PKMD"),
        ("zeros", bytes(136)),
        ("a token", token),
        ("an order", order),
        ("the magic in lower case", b"pkmc" + PLAIN.encoded()[4:]),
        ("the magic one byte late", b"\x00" + PLAIN.encoded()),
        ("75 bytes of something else", stuff("something else", 75)),
    ):
        yield read(comment, data, "foreign", "WrongMagic")
    yield read(
        "another magic, rightly tagged", tagged(b"PKMD" + PLAIN.body()[4:]), "foreign", "WrongMagic"
    )


def _damaged() -> Iterator[Block]:
    whole, body = PLAIN.encoded(), PLAIN.body()
    for length in (0, 1, 3, 4, 59, 60, 75, len(whole) - 16, len(whole) - 1):
        yield read(f"only {length} bytes of it", whole[:length], "damaged", "Truncated")
    yield read("a byte more", whole + b"\x00", "damaged", "Extended")
    yield read("twice", whole + whole, "damaged", "Extended")
    for at, what in (
        (4, "version"),
        (5, "suite"),
        (6, "mode"),
        (7, "policy"),
        (8, "generation"),
        (13, "key id"),
        (20, "salt, which keys the tag"),
        (36, "wrapped DPK"),
        (52, "leaf check"),
        (56, "limit"),
        (57, "number of sources"),
        (58, "number of leaves"),
        (59, "reserved byte"),
        (62, "a source's version"),
        (80, "the first leaf"),
        (-17, "the last leaf"),
        (-16, "the first byte of the tag"),
        (-1, "the last byte of the tag"),
    ):
        yield read(f"a bit of the {what}", flipped(whole, at), "damaged", "BitFlip")
    full = mac(kdf("pfc1.config-tag.", PLAIN.salt), body)
    for comment, tag in (
        ("the tag is zeros", bytes(16)),
        ("the tag is the second half of the HMAC", full[16:]),
        ("the tag under another label", mac(kdf("pfc1.record-key.", PLAIN.salt), body)[:16]),
        ("the tag under the salt itself", mac(PLAIN.salt, body)[:16]),
        ("the tag under a salt of zeros", mac(kdf("pfc1.config-tag.", bytes(16)), body)[:16]),
        ("the tag under MPK", mac(kdf("pfc1.config-tag.", mpk()), body)[:16]),
        ("a hash in the place of the tag", sha256(body)[:16]),
        ("the tag without the magic", mac(kdf("pfc1.config-tag.", PLAIN.salt), body[4:])[:16]),
    ):
        yield read(comment, body + tag, "damaged", "WrongTag")
    other = world.config(salt=stuff("another salt", 16)).encoded()
    mixed = whole[:80] + other[80:]
    yield read("the head of one and the leaves of another", mixed, "damaged", "Recombined")
    long = tagged(PLAIN.body() + bytes(685 - len(whole)))
    yield read("685 bytes, rightly tagged", long, "damaged", "Extended")
    sources = [replace(D, number=i) for i in range(1, 25)] + [A]
    over = of([replace(s, groups_log2=2) for s in sources], leaves=128)
    yield read("25 sources and 128 leaves: 688 bytes", over, "damaged", "Extended", "OutOfRange")


def _too_new() -> Iterator[Block]:
    for at, what in ((4, "version"), (5, "suite")):
        for value in (0, 2, 255):
            yield read(f"{what} {value}", patched(at, u8(value)), "too-new", "UnknownVersion")
    body = flipped(PLAIN.body(), 4, 1)
    both = patched(6, b"\x09\x09" + bytes(4), body)
    yield read("version 3 with fields of its own", both, "too-new", "UnknownVersion", "Precedence")
    longer = tagged(body + stuff("news", 99))
    yield read("version 3 with a length of its own", longer, "too-new", "UnknownVersion")
    yield read("version 3, 76 bytes", tagged(body[:60]), "too-new", "UnknownVersion", "Precedence")


def _fields() -> Iterator[Block]:
    bad = ("malformed", "OutOfRange")
    for mode in (0, 3, 255):
        both = PLAIN.body()[:12] + u8(mode) + PLAIN.body()[13:]
        yield read(f"mode {mode}, the key id alike", patched(6, u8(mode), both), *bad)
    yield read("mode 2, the key id of mode 1", patched(6, u8(2)), "malformed", "Inconsistent")
    yield read("mode 1, the key id of mode 2", patched(12, u8(2)), "malformed", "Inconsistent")
    for policy in (0, 4, 255):
        yield read(f"policy {policy}", patched(7, u8(policy)), *bad)
    yield read("generation 0", patched(8, u32(0)), *bad)
    yield read("generation 2^32 - 1", patched(8, u32(2**32 - 1)), *bad)
    yield read("a salt of zeros", patched(20, bytes(16)), *bad)
    for limit in (0, 15, 51, 255):
        yield read(f"limit {limit}", patched(56, u8(limit)), *bad)
    for value in (1, 128, 255):
        yield read(f"reserved byte {value}", patched(59, u8(value)), "malformed", "Reserved")


def _sources() -> Iterator[Block]:
    def rated(comment: str, sources: Sequence[Source], flag: str) -> Block:
        return read(comment, of(sources), "malformed", flag)

    yield rated("class 0", [replace(D, cls=0), D, A], "OutOfRange")
    yield rated("class 4", [D, A, replace(E, cls=4)], "OutOfRange")
    yield rated("class 255", [D, A, replace(E, cls=255)], "OutOfRange")
    yield rated("number 0", [replace(D, number=0), A], "OutOfRange")
    yield rated("source version 0", [D, replace(A, version=0)], "OutOfRange")
    yield read(
        "2^7 groups, leaves enough",
        of([D, replace(A, groups_log2=7)], leaves=129),
        "malformed",
        "OutOfRange",
    )
    for g in (7, 8, 32, 63, 64, 255):
        raw = u8(APP) + u8(1) + u8(1) + u8(g)
        odd = patched(64, raw, of([D, A])[:-16])
        yield read(f"2^{g} groups, two leaves", odd, "malformed", "OutOfRange")
    yield rated("an app source before a device source", [A, D], "Ordering")
    yield rated("numbers descend", [replace(D, number=2), D, A], "Ordering")
    yield rated("a source twice", [D, A, A], "Ordering")
    yield rated("a source twice, in two versions", [D, A, replace(A, version=2)], "Ordering")
    yield rated("no device source", [A, E], "Incomplete")
    yield rated("no app source", [D, E], "Incomplete")
    yield rated("environment only", [E], "Incomplete")
    yield rated("one source", [D], "Incomplete")


def _counts() -> Iterator[Block]:
    bad = ("malformed", "Inconsistent")
    body = PLAIN.body()
    yield read("no source, no leaf", of([]), "malformed", "OutOfRange")
    yield read("no source, one leaf", of([], leaves=1), "malformed", "OutOfRange")
    many = [replace(D, number=i) for i in range(1, 25)] + [A]
    yield read("25 sources", of(many), "malformed", "OutOfRange")
    big = [replace(D, groups_log2=6), replace(A, groups_log2=6), E]
    yield read("129 leaves", of(big), "malformed", "OutOfRange")
    yield read("a leaf too few, counted rightly", of([D, A], leaves=1), *bad)
    yield read("a leaf too many, counted rightly", of([D, A], leaves=3), *bad)
    yield read("no leaf", of([D, A], leaves=0), *bad)
    for n in (0, 4, 6, 24, 255):
        yield read(f"five sources, said to be {n}", patched(57, u8(n)), *bad)
    for m in (0, 9, 11, 128, 255):
        yield read(f"ten leaves, said to be {m}", patched(58, u8(m)), *bad)
    swapped = patched(57, u8(6) + u8(9))
    yield read("a leaf that is said to be a source", swapped, *bad)
    wide = [replace(D, number=i, groups_log2=6) for i in (1, 2, 3)] + [replace(A, groups_log2=6)]
    yield read("256 groups, 256 mod 256 leaves", of(wide, leaves=0), *bad)
    yield read("257 groups, 257 mod 256 leaves", of([*wide, E], leaves=1), *bad)
    yield read("four bytes too many, rightly tagged", tagged(body + bytes(4)), *bad)
    yield read("a byte too many, rightly tagged", tagged(body + bytes(1)), *bad)
    yield read("four bytes too few, rightly tagged", tagged(body[:-4]), *bad)
    yield read("a byte too few, rightly tagged", tagged(body[:-1]), *bad)
    yield read("the head alone, rightly tagged", tagged(body[:60]), *bad)


def measurements() -> Iterator[Block]:
    seen = evidence()
    app = next(i for i, r in enumerate(seen) if r.cls == APP)
    alien = Source(APP, 9, 1, 0)
    first, second = seen[app], seen[app + 1]
    prefix = [replace(first, name=b"ab"), replace(first, name=b"a")]
    last = Source(ENVIRONMENT, 200, 1, 0)

    def without(cls: int) -> list[Record]:
        return [r for r in seen if r.cls != cls]

    def added(source: Source) -> list[Record]:
        return sorted([*seen, world.record(source, b"x", "x")], key=lambda r: r.order)

    for comment, records, word, flag in (
        ("all asked for", seen, "none", "Valid"),
        ("one absent", [*seen[:-1], replace(seen[-1], digest=None)], "none", "Valid"),
        ("a source not asked for", added(alien), "not-asked", "OutOfRange"),
        ("a source not asked for, at the end", added(last), "not-asked", "OutOfRange"),
        ("a number of another class", added(Source(DEVICE, 2, 1, 0)), "not-asked", "OutOfRange"),
        ("no record at all", [], "missing", "Incomplete"),
        ("no record of the device", without(DEVICE), "missing", "Incomplete"),
        ("no record of the app", without(APP), "missing", "Incomplete"),
        ("no record of the environment", without(ENVIRONMENT), "missing", "Incomplete"),
        ("one source left out", [r for r in seen if r.source != (2, 2)], "missing", "Incomplete"),
        ("a record twice", [*seen[: app + 1], *seen[app:]], "disordered", "Ordering"),
        (
            "a name twice, with two digests",
            [*seen[: app + 1], replace(first, digest=bytes(32)), *seen[app + 1 :]],
            "disordered",
            "Ordering",
        ),
        (
            "two records change places",
            [*seen[:app], second, first, *seen[app + 2 :]],
            "disordered",
            "Ordering",
        ),
        ("the order reversed", seen[::-1], "disordered", "Ordering"),
        (
            "a prefix after the longer name",
            [*seen[: app + 5], *prefix, *seen[app + 5 :]],
            "disordered",
            "Ordering",
        ),
        ("a class before its turn", without(DEVICE) + seen[:app], "disordered", "Ordering"),
    ):
        block = case("measure", comment).put_all(mpk=mpk(), config=PLAIN.encoded())
        yield expect(put_records(block, records), word, flag)
