# SPDX-License-Identifier: Apache-2.0

"""Compact tokens and requests that are refused."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import gate
from proofspec.basics import label, mac, u8, u16, u32, xor
from proofspec.compact import (
    BODY,
    ERROR,
    EVENT,
    REQUEST,
    YOUNG,
    Subject,
    head,
    make,
    make_error,
    mask_of,
    plain_part,
    seal_plain,
    to_text,
)
from proofspec.refusals import Refusal as R

from .gates import (
    APP,
    AUDIENCE,
    EVENT_NUMBER,
    FRONT,
    GENERATION,
    NAMES,
    OTHER_AUDIENCE,
    PAY,
    SIDE,
    SUBJECTS,
    fields,
    put_request,
    site_keys,
)
from .hostile import expect
from .hostile_config import flipped
from .world import START, stuff

KIND_FLAG, REPLAY = "WrongKind", "WrongOccasion"


def offer(
    comment: str,
    kind: int,
    token: bytes | str,
    reason: R | None,
    *flags: str,
    subject: Subject | None = None,
    audience: bytes = AUDIENCE,
    **rules: int,
) -> Block:
    """A token as the holder of its handle's S judges it, at START unless told otherwise."""
    subject = subject or SUBJECTS[kind]
    text = token if isinstance(token, str) else to_text(token)
    block = case("check_compact", comment).put_all(
        secret=FRONT.secret(),
        generation=GENERATION,
        audience=audience,
        kind=kind,
        account=subject.account,
        digest=subject.digest,
        body_digest=subject.body,
        beacon_key=FRONT.beacon_key,
        now=rules.get("now", START),
        window=rules.get("window", 60),
        newest=rules.get("newest", 0),
        event=rules.get("event", EVENT_NUMBER if kind == EVENT else 0),
        measured_max=rules.get("measured_max", 10),
        unanchored=rules.get("unanchored", 0),
    )
    return expect(block.put("text", text), "none" if reason is None else str(int(reason)), *flags)


def made(kind: int, number: int = 3, subject: Subject | None = None, **other: int | bytes) -> bytes:
    return make(kind, number, fields(kind, **other), subject or SUBJECTS[kind], site_keys(kind))


def sealed(kind: int, at: int, value: bytes) -> bytes:
    """A token whose plain part has some bytes of its own, rightly tagged and masked."""
    keys = site_keys(kind)
    plain = plain_part(kind, fields(kind), SUBJECTS[kind], keys.generation)
    changed = plain[:at] + value + plain[at + len(value) :]
    return seal_plain(kind, 3, changed, SUBJECTS[kind], keys)


def compacts() -> Iterator[Block]:
    for kind in NAMES:
        yield from _accepted(kind)
        yield from _shape(kind)
        yield from _kinds(kind)
        yield from _keys(kind)
        yield from _subject(kind)
        yield from _fields(kind)
    yield from _texts()
    yield from _rules()


def _accepted(kind: int) -> Iterator[Block]:
    name = NAMES[kind]
    yield offer(f"{name}: plain", kind, made(kind), None)
    guest = replace(SUBJECTS[kind], account=gate.NO_ACCOUNT)
    yield offer(f"{name}: a guest", kind, made(kind, 0, guest), None, subject=guest)
    young = made(kind, flags=YOUNG)
    yield offer(f"{name}: of a young process", kind, young, None, "EdgeCase")


def _shape(kind: int) -> Iterator[Block]:
    name, good = NAMES[kind], made(kind)
    for version in (0, 2, 15):
        token = u8(version << 4 | kind) + good[1:]
        yield offer(f"{name}: version {version}", kind, token, R.VERSION, "UnknownVersion")
    for other in (0, 4, 15):
        token = u8(0x10 | other) + good[1:]
        yield offer(f"{name}: kind {other}", kind, token, R.KIND, KIND_FLAG)
    for at in (2, 17):
        yield offer(f"{name}: a bit of the handle, byte {at}", kind, flipped(good, at), R.HANDLE, "BitFlip")
    yield offer(f"{name}: another account key", kind, good[:1] + u8(4) + good[2:], R.TAG, "BitFlip")
    for at in (42, 65):
        yield offer(f"{name}: a bit of the tag, byte {at}", kind, flipped(good, at), R.TAG, "BitFlip")
    yield offer(f"{name}: a tag of zeros", kind, good[:42] + bytes(24), R.TAG, "Guess")
    for at, what in ((18, "created"), (24, "start"), (33, "measured"), (36, "beacon")):
        yield offer(f"{name}: a masked bit of {what}", kind, flipped(good, at), R.TAG, "BitFlip")
    # The mask is an exclusive or: a flipped masked bit flips the plain one, and so chooses the word.
    yield offer(f"{name}: the account's hint flipped", kind, flipped(good, 34), R.OTHER_ACCOUNT, "BitFlip")
    yield offer(f"{name}: the generation flipped", kind, flipped(good, 40), R.TAG, "BitFlip")
    yield offer(f"{name}: a reserved flag flipped", kind, flipped(good, 32, 7), R.TAG, "BitFlip")
    later = made(kind, count=8)
    yield offer(f"{name}: tag of the next", kind, good[:42] + later[42:], R.TAG, "Recombined")


def _kinds(kind: int) -> Iterator[Block]:
    name = NAMES[kind]
    for other, what in NAMES.items():
        if other == kind:
            continue
        token = made(other, subject=SUBJECTS[kind])
        yield offer(f"{name}: a token for a {what}", kind, token, R.KIND, KIND_FLAG)
        # Under the keys of the kind asked for, with the label of the other one.
        keys = site_keys(kind)
        start = head(kind, 3, keys.handle)
        plain = plain_part(kind, fields(kind), SUBJECTS[kind], keys.generation)
        names = {REQUEST: "pfc1.mac-request", BODY: "pfc1.mac-body...", EVENT: "pfc1.mac-event.."}
        bound = SUBJECTS[kind].account + SUBJECTS[kind].digest
        tag = mac(keys.tag, label(names[other]) + start + plain + bound)[:24]
        mixed = start + xor(plain, mask_of(tag, keys)) + tag
        yield offer(f"{name}: the label of a {what}", kind, mixed, R.TAG, "WrongLabel")
    error = make_error(kind, 1, stuff("hostile error", 47))
    yield offer(f"{name}: an error state without keys", kind, error, R.ERROR_STATE, "ErrorState")
    zero = u8(0x10 | kind) + bytes(65)
    yield offer(f"{name}: all zeros", kind, zero, R.ERROR_STATE, "ErrorState", "Guess")


def _keys(kind: int) -> Iterator[Block]:
    name = NAMES[kind]
    side = make(kind, 3, fields(kind), SUBJECTS[kind], site_keys(kind, SIDE))
    yield offer(f"{name}: for another gate", kind, side, R.HANDLE, "WrongKey")
    right = site_keys(kind)
    posing = replace(site_keys(kind, SIDE), handle=right.handle)
    token = make(kind, 3, fields(kind), SUBJECTS[kind], posing)
    yield offer(f"{name}: another gate's keys under this handle", kind, token, R.TAG, "WrongKey")
    if kind == EVENT:
        game = make(kind, 3, fields(kind), SUBJECTS[kind], site_keys(kind, FRONT, OTHER_AUDIENCE))
        yield offer(f"{name}: for another audience", kind, game, R.TAG, "WrongKey")
        yield offer(f"{name}: judged by another audience", kind, made(kind), R.TAG, "WrongKey", audience=OTHER_AUDIENCE)
    swapped = replace(right, tag=right.mask, mask=right.tag)
    token = make(kind, 3, fields(kind), SUBJECTS[kind], swapped)
    yield offer(f"{name}: tag and mask key exchanged", kind, token, R.TAG, "WrongKey")
    s = FRONT.secret()
    for key, what in ((s, "S"), (gate.standard_key(s), "the standard form's key"), (APP.own.im, "IM")):
        token = make(kind, 3, fields(kind), SUBJECTS[kind], replace(right, tag=key))
        yield offer(f"{name}: tagged with {what}", kind, token, R.TAG, "WrongKey")


def _subject(kind: int) -> Iterator[Block]:
    name, good, right = NAMES[kind], made(kind), SUBJECTS[kind]
    digest = {REQUEST: R.OTHER_REQUEST, BODY: R.OTHER_BODY, EVENT: R.OTHER_DATA}[kind]
    others: tuple[tuple[str, Subject, R], ...] = (
        ("another account", replace(right, account=flipped(right.account, 0)), R.OTHER_ACCOUNT),
        ("no account", replace(right, account=bytes(32)), R.OTHER_ACCOUNT),
        ("an account with the same hint", replace(right, account=flipped(right.account, 1)), R.TAG),
        ("another digest", replace(right, digest=flipped(right.digest, 0)), digest),
        ("a digest with the same hint", replace(right, digest=flipped(right.digest, 31)), R.TAG),
        ("account and digest exchanged", Subject(right.digest, right.account, right.body), R.OTHER_ACCOUNT),
    )
    for what, subject, reason in others:
        yield offer(f"{name}: {what}", kind, good, reason, REPLAY, subject=subject)


def _fields(kind: int) -> Iterator[Block]:
    name = NAMES[kind]
    for bit in (2, 7):
        token = sealed(kind, 14, u8(1 << bit))
        yield offer(f"{name}: flag {bit}, tagged", kind, token, R.RESERVED, "Reserved")
    yield offer(f"{name}: count 0, tagged", kind, sealed(kind, 10, u32(0)), R.RESERVED, "OutOfRange")
    yield offer(f"{name}: created 0, tagged", kind, sealed(kind, 0, u32(0)), R.RESERVED, "OutOfRange")
    other = sealed(kind, 22, u16(GENERATION % 2**16 ^ 1))
    yield offer(f"{name}: another generation, tagged", kind, other, R.GENERATION, "WrongKey")
    if kind != EVENT:
        odd = sealed(kind, 4, b"\xff\xff")
        yield offer(f"{name}: another body's beginning, tagged", kind, odd, R.RESERVED, "Reserved")
    error = made(kind, flags=ERROR, measured=2)
    yield offer(f"{name}: an error state with keys", kind, error, R.ERROR_STATE, "ErrorState")
    both = sealed(kind, 14, u8(ERROR | 4))
    yield offer(f"{name}: an error state and flag 2", kind, both, R.RESERVED, "Precedence")


def _texts() -> Iterator[Block]:
    good = to_text(made(EVENT))
    for text, what, flag in (
        (good[:-1], "87 characters", "Truncated"),
        (good + "A", "89 characters", "Extended"),
        ("x", "one character", "Truncated"),
        (good[:-1] + "=", "padding in the place of the last", "OutOfRange"),
        (good[:40] + "+" + good[41:], "a character of the other alphabet", "OutOfRange"),
        (good[:40] + "/" + good[41:], "another of the other alphabet", "OutOfRange"),
        (good[:40] + "." + good[41:], "a full stop", "OutOfRange"),
        (good[:40] + "~" + good[41:], "a tilde", "OutOfRange"),
    ):
        yield offer(f"text: {what}", EVENT, text, R.TEXT, flag)


def _rules() -> Iterator[Block]:
    good, edge = made(EVENT), "EdgeCase"
    yield offer("another event", EVENT, good, R.EVENT, REPLAY, event=EVENT_NUMBER + 1)
    token = made(EVENT, event=0)
    yield offer("event 0", EVENT, token, None, edge, event=0)
    yield offer("60 s ahead", EVENT, made(EVENT, created=START + 60), None, edge)
    yield offer("61 s ahead", EVENT, made(EVENT, created=START + 61), R.AHEAD, "WrongTime")
    yield offer("60 s ago", EVENT, made(EVENT, created=START - 60), None, edge)
    yield offer("61 s ago", EVENT, made(EVENT, created=START - 61), R.STALE, "WrongTime")
    yield offer("a window of 0 s", EVENT, good, None, edge, window=0)
    yield offer("the last second of 32 bits", EVENT, made(EVENT, created=2**32 - 1), R.AHEAD, "WrongTime")
    yield offer("a window of 2^32 - 1 s", EVENT, good, None, edge, window=2**32 - 1)
    none = made(EVENT, beacon=gate.NO_BEACON)
    yield offer("no beacon", EVENT, none, R.UNANCHORED, "WrongTime")
    yield offer("no beacon, where none is asked for", EVENT, none, None, edge, unanchored=1)
    interval = START // 300
    for away, reason in ((-3, R.UNANCHORED), (-2, None), (-1, None), (1, None), (2, R.UNANCHORED)):
        beacon = gate.beacon(FRONT.beacon_key, interval + away)
        token = made(EVENT, beacon=beacon)
        flag = edge if reason is None else "WrongTime"
        yield offer(f"the beacon {away:+d} intervals away", EVENT, token, reason, flag)
    side = gate.beacon(SIDE.beacon_key, interval)
    yield offer("another gate's beacon", EVENT, made(EVENT, beacon=side), R.UNANCHORED, "WrongKey")
    hour = START + 3600
    ahead = made(EVENT, created=hour)
    yield offer("made an hour ahead of time", EVENT, ahead, R.UNANCHORED, "WrongTime", now=hour)
    yield offer("measured 10 s ago", EVENT, made(EVENT, measured=10), None, edge)
    yield offer("measured 11 s ago", EVENT, made(EVENT, measured=11), R.MEASURED, "WrongTime")
    old = made(EVENT, measured=255)
    yield offer("measured long ago, any age allowed", EVENT, old, None, edge, measured_max=255)
    yield offer("63 counts behind", EVENT, good, None, edge, newest=7 + 63)
    yield offer("64 counts behind", EVENT, good, R.KEPT, REPLAY, newest=7 + 64)
    yield offer("ahead of the newest", EVENT, good, None, edge, newest=1)
    yield offer("the last count", EVENT, made(EVENT, count=2**32 - 1), None, edge, newest=2**32 - 1)
    late = made(EVENT, created=START - 61, beacon=gate.NO_BEACON, measured=200)
    yield offer("stale, unanchored and old", EVENT, late, R.STALE, "Precedence")
    wrong = {"event": 1, "now": START + 1000}
    yield offer("another event, and stale", EVENT, good, R.EVENT, "Precedence", **wrong)
    request = made(REQUEST)
    yield offer("a request where an event is asked for", REQUEST, request, R.EVENT, REPLAY, event=3300)


def requests() -> Iterator[Block]:
    def read(comment: str, word: str, *flags: str, **other: bytes) -> Block:
        return expect(put_request(case("read_request", comment), replace(PAY, **other)), word, *flags)

    yield read("a payment", "none")
    for method in (b"", b"GE T", b"GET\n", b"G:ET", b"G/T", b"G\xc3\xa4T", b"(GET", b"G\x7f", b"A" * 33):
        yield read(f"method {method.hex() or 'empty'}", "malformed", "Spelling", method=method)
    for method in (b"A" * 32, b"m-search", b"!#$%&'*+-.^_`|~9"):
        yield read(f"method {method.decode()}", "none", "EdgeCase", method=method)
    for scheme in (b"", b"HTTPS", b"ftp", b"https:", b"httpss", b"htt", b"ws"):
        yield read(f"scheme {scheme.hex() or 'empty'}", "malformed", "Spelling", scheme=scheme)
    for authority in (
        *(b"", b"A.example", b"a.example:443", b"a.example:", b"a:0", b"a:065", b"a:65536", b"a:99999"),
        *(b"a:100000", b"a:4x", b"a:+1", b"a: 1", b":80", b"u@a.example", b"a/b", b"a?b", b"a#b", b"a\\b"),
        *(b"a b", b"a\tb", b"a\x00", b"b\xc3\xbccher.example", b"[::1", b"[]", b"[]:1", b"[::1]x", b"[::1]:443"),
        *(b"[::1]:", b"a:1:2", b"::1", b"a\x7f", b"[a]b]", b"x" * 256),
    ):
        yield read(f"authority {authority[:20].hex() or 'empty'}", "malformed", "Spelling", authority=authority)
    for authority in (b"a", b"a.", b"a:1", b"a:65535", b"a:80", b"[::1]", b"[::1]:8443", b"a_b", b"a]", b"x" * 255):
        yield read(f"authority {authority[:20].decode()}", "none", "EdgeCase", authority=authority)
    http = {"scheme": b"http", "authority": b"a:80"}
    yield read("http on its own port", "malformed", "Spelling", **http)
    for target in (
        *(b"", b"x", b"https://a/", b"**", b"*x", b"/a#b", b"/a\\b", b"/a b", b"/a\n", b"/a\r", b"/\x00"),
        *(b"/\xc3\xa4", b"/\x7f", b"?a", b"#", b"\n/"),
    ):
        yield read(f"target {target.hex() or 'empty'}", "malformed", "Spelling", target=target)
    for target in (b"*", b"/", b"//", b"/?", b"/\"<>{}|^`[]'"):
        yield read(f"target {target.decode()}", "none", "EdgeCase", target=target)
    for text in (b"a\nb", b"a\r", b"\x00", b"Bearer a\r\nX: y"):
        yield read(f"authorization {text.hex()}", "malformed", "Spelling", authorization=text)
    for text in (b"", b" ", b"\t", b"\xff\xfe", b"x" * 700):
        yield read(f"authorization {text[:8].hex() or 'empty'}", "none", "EdgeCase", authorization=text)
