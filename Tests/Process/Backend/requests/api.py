# SPDX-License-Identifier: Apache-2.0

"""An API in FastAPI that judges each request before it does anything: standard form, compact form, and one event.

`make(keys, now)` takes the keys of admitted installations: {handle: (request key, compact keys, event keys)}.
"""

import base64
import hashlib

import compact_form
import standard_form
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

HOST = "api.example.com"
WINDOW = 60


class Once:
    """Proofs that were used. A real API keeps them in a store that its processes share: docs/REQUESTS.md."""

    def __init__(self):
        self.used = {}

    def use(self, key, created, now):
        self.used = {key: end for key, end in self.used.items() if end >= now}
        if key in self.used:
            return False
        self.used[key] = created + 2 * WINDOW
        return True


def make(keys, now):
    app = FastAPI()
    once = Once()

    @app.middleware("http")
    async def judge(request: Request, call_next):
        body = hashlib.sha256(await request.body()).digest()
        target = request.scope["raw_path"].decode("latin-1")
        if request.scope["query_string"]:
            target += "?" + request.scope["query_string"].decode("latin-1")
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]
        try:
            compact = request.headers.get("proof")
            if compact is None:
                standard(request.method, target, headers, body)
            else:
                check_compact(compact, request, target, body)
        except (standard_form.Refused, compact_form.Refused):
            return JSONResponse({"error": "proof"}, 401, {"Proof-Refusal": "proof"})
        return await call_next(request)

    def standard(method, target, headers, body):
        proof = standard_form.verify(method, HOST, target, headers, request_key)
        if abs(proof.created - now()) > WINDOW or body != (proof.body or hashlib.sha256().digest()):
            raise standard_form.Refused("clock or body")
        if not once.use((proof.key_id, proof.nonce), proof.created, now()):
            raise standard_form.Refused("replayed")

    def request_key(key_id):
        found = keys.get(base64.urlsafe_b64decode(key_id + "=" * (-len(key_id) % 4)))
        return found and found[0]

    def check_compact(text, request, target, body):
        found = keys.get(compact_form.handle_of(text, compact_form.REQUEST))
        if found is None:
            raise compact_form.Refused(37)
        digest = compact_form.request_digest(
            request.method.encode(), b"https", HOST.encode(), target.encode("latin-1"), body,
            request.headers.get("authorization", "").encode("latin-1"))
        token = compact_form.check(text, compact_form.REQUEST, found[1], digest=digest, body=body)
        compact_form.judge(token, now())
        if not once.use(token.replay_key, token.created, now()):
            raise compact_form.Refused(72)

    @app.post("/pay")
    async def pay(request: Request):
        return {"paid": (await request.json())["cents"]}

    @app.get("/balance")
    async def balance():
        return {"cents": 1200}

    return app
