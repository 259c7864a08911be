# SPDX-License-Identifier: Apache-2.0

"""Signs and verifies the request of the group `request` with the library http-message-signatures (PyPI).

usage: peer.py NAME N     NAME is sign or verify; prints the nanoseconds that N of them took

The request, the covered components and the key's length are those of RequestSample in proof-bench.
"""

import base64
import datetime
import hashlib
import sys
import time

import http_message_signatures as rfc9421

KEY = bytes(range(32))
BODY = b'{"cents":1200}'
COVERED = ("@method", "@authority", "@path", "@query", "content-digest", "authorization", "content-type")


class Message:
    """The parts of a request that the library reads."""

    def __init__(self, headers=()):
        digest = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
        self.method = "POST"
        self.url = "https://api.example.com/v1/payments?to=7"
        self.headers = {"Content-Type": "application/json", "Authorization": "Bearer 0123456789abcdef",
                        "Accept": "*/*", "User-Agent": "app/1.0", "Content-Digest": f"sha-256=:{digest}:"}
        self.headers.update(headers)


class Resolver(rfc9421.HTTPSignatureKeyResolver):
    """One key for each name."""

    def resolve_private_key(self, key_id):
        return KEY

    def resolve_public_key(self, key_id):
        return KEY


def main():
    name, count = sys.argv[1], int(sys.argv[2])
    created = datetime.datetime.now()
    tools = {"signature_algorithm": rfc9421.algorithms.HMAC_SHA256, "key_resolver": Resolver()}
    signer = rfc9421.HTTPMessageSigner(**tools)

    def sign(message):
        signer.sign(message, key_id="AQEBAQEBAQEBAQEBAQEBAQ", created=created, nonce="3q2-7wAAAAAAAAAA",
                    label="proofkit", tag="proofkit", include_alg=True, covered_component_ids=COVERED,
                    use_existing_digest=True)

    signed = Message()
    sign(signed)
    verifier = rfc9421.HTTPMessageVerifier(**tools)
    messages = [Message() for _ in range(count)]
    start = time.perf_counter_ns()
    for message in messages:
        if name == "sign":
            sign(message)
        elif len(verifier.verify(signed)) != 1:
            sys.exit("the library refuses its own signature")
    print(time.perf_counter_ns() - start)


if __name__ == "__main__":
    main()
