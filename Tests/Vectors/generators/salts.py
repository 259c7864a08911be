# SPDX-License-Identifier: Apache-2.0

"""salt.txt: salts of challenges."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import salts

from .world import stuff

KEY, OTHER_KEY = stuff("key of salts", 32), stuff("next key of salts", 32)
POINT = stuff("point of an installation key", 64)
PLAIN = salts.Terms(
    account=b"acme",
    key_id=stuff("key id of an SDK build", 8),
    device=stuff("device id", 16),
    purpose=2,
    gate=b"",
    expiry=1_800_000_060,
    generation=1,
    policy=1,
    limit=33,
    mode=0,
    sources=[(1, 1, 1, 0), (1, 5, 1, 0), (2, 2, 1, 6), (3, 6, 2, 3)],
)


def cases() -> Iterator[Block]:
    at_gate = replace(PLAIN, purpose=salts.GATE_PURPOSE, gate=stuff("gate id", 16))
    for key, terms, epoch, noise, comment in (
        (KEY, PLAIN, 1, 0, "a measurement"),
        (KEY, PLAIN, 1, 65_535, "the same terms, other random bits"),
        (OTHER_KEY, PLAIN, 2, 0, "the next key"),
        (KEY, at_gate, 1, 4_711, "an admission to a gate"),
        (KEY, replace(PLAIN, purpose=salts.GATE_PURPOSE), 1, 1, "an API without gate"),
        (KEY, replace(PLAIN, generation=65_536, policy=3, limit=50, mode=7), 3, 2, "a field is at its end"),
        (KEY, replace(PLAIN, generation=2**32 - 2, limit=16, mode=5), 4, 3, "the last generation; epoch 4 is 0"),
        (KEY, replace(PLAIN, expiry=(1 << 19) * 3_433), 1, 9, "the low bits of the expiry are 0"),
        (bytes(32), replace(PLAIN, account=b"a" * 64, sources=PLAIN.sources[:2]), 1, 77, "a long name, a zero key"),
    ):
        made = salts.salt(key, terms, epoch, noise)
        block = case("salt", comment).put_all(
            key=key,
            epoch=epoch,
            noise=noise,
            account=terms.account,
            key_id=terms.key_id,
            device_id=terms.device,
            purpose=terms.purpose,
            gate_id=terms.gate,
            expiry=terms.expiry,
            generation=terms.generation,
            policy=terms.policy,
            limit=terms.limit,
            mode=terms.mode,
        )
        for source in terms.sources:
            block.put("source", source)
        yield block.put_all(salt=made, point=POINT, secret=salts.credential_secret(key, made, POINT))
