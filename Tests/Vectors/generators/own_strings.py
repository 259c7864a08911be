# SPDX-License-Identifier: Apache-2.0

"""string.txt: an app's own strings."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec import strings

from .world import stuff

SECRET, OTHER_SECRET = stuff("secret of strings", 32), stuff("next secret of strings", 32)
DEVICE, OTHER_DEVICE = stuff("device id", 16), stuff("other device id", 16)


def cases() -> Iterator[Block]:
    for secret, device, comment in (
        (SECRET, DEVICE, "an installation"),
        (SECRET, OTHER_DEVICE, "another installation: every key differs"),
        (OTHER_SECRET, DEVICE, "the account's next secret: every key differs"),
        (b"\xff" * 32, b"\xff" * 16, "all ones"),
        (bytes(32), bytes(16), "all zeros"),
    ):
        key = strings.string_key(secret, device)
        yield case("string_key", comment).put_all(
            secret=secret,
            device_id=device,
            key=key,
            decoy=strings.decoy(secret, device),
            key_id=strings.key_id(key),
        )
    key = strings.string_key(SECRET, DEVICE)
    values = ((b"a", b"1"), (b"a", b"2"), ("Schlüssel-🔑".encode(), b"s3cret"), (b"n" * 64, b"v" * 400))
    for number, (name, value) in enumerate(values):
        nonce = stuff(f"nonce of string {number}", strings.NONCE_BYTES)
        yield case("string_value", f"a name of {len(name)} bytes, a value of {len(value)}").put_all(
            key=key,
            name=name,
            value=value,
            nonce=nonce,
            place=strings.place(key, name),
            sealed=strings.seal(key, name, value, nonce),
        )
    other = strings.string_key(OTHER_SECRET, DEVICE)
    for count, comment in ((0, "without strings"), (1, "with one"), (4, "with strings of two keys")):
        made = case("string_file", f"a file {comment}").put("key", key).put("other_key", other)
        records = []
        for number in range(count):
            owner, name, value = (key, other)[number % 2], b"name %d" % (number // 2), b"value %d" % number
            nonce = stuff(f"nonce of record {number}", strings.NONCE_BYTES)
            made.put("string", (owner == key, name, value))
            records.append(strings.record(owner, name, value, nonce))
        yield made.put("file", strings.file(records))
