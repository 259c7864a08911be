#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""An operator's changes reach the running service: no setting of an account stays as it was read at the start.

Secrets, keys, APIs and policies are changed behind the service's back, with proofctl on the store itself, and through
its management API. The next token that a device fetches is by the new ones, and by the new ones alone.
"""

import base64
import hashlib
import hmac
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from checks import Checks  # noqa: E402
from service import BUILT, PATIENCE, Service, let_unregistered_apps_pass, make_store  # noqa: E402

DOMAIN = "api.example.com"


class Place:
    def __init__(self, folder):
        self.folder = folder
        self.store = make_store(folder)
        self.token = (folder / "management-token").read_text()
        self.service = None
        self.fetched = 0

    def direct(self, *arguments):
        """The tool on the store itself."""
        return self._tool(arguments, self.store)

    def remote(self, *arguments):
        """The tool against the service that runs."""
        return self._tool(arguments, ["--service", f"http://127.0.0.1:{self.service.port}",
                                      "--token-file", str(self.folder / "management-token")])

    def _tool(self, arguments, where):
        done = subprocess.run([BUILT / "proofctl", *arguments, *where, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.returncode} {done.stderr}")
        return json.loads(done.stdout)

    def fetch(self, domain=DOMAIN):
        """A token that a device fetched now, or the outcome that it got instead."""
        self.fetched += 1
        file = self.folder / f"tokens.{self.fetched}"
        done = subprocess.run(
            [BUILT / "proof-load", "--to", f"127.0.0.1:{self.service.port}", "--pairs", "1", "--connections", "1",
             "--devices", "1", "--domain", domain, "--tokens", file, "--json"],
            capture_output=True, text=True, timeout=PATIENCE)
        data = file.read_bytes()
        if not data:
            figures = json.loads(done.stdout)
            return next(iter([*figures["outcomes"], *figures["errors"]]))
        return data[4:].decode()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        connection.request("GET", path)
        body = connection.getresponse().read()
        connection.close()
        return body.decode()

    def secret(self):
        return base64.b64decode(self.direct("secret", "get")["secret"], validate=True)


def unb64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def is_by(token, secret):
    signed, _, signature = token.rpartition(".")
    return hmac.compare_digest(hmac.new(secret, signed.encode(), hashlib.sha256).digest(), unb64url(signature))


def key_id(token):
    """The id of a token's key; the outcome itself if it is no token."""
    return json.loads(unb64url(token.split(".")[0])).get("kid") if "." in token else token


def secrets(place, checks):
    before = place.secret()
    checks.that(not is_by(place.fetch(), before), "the token of an app that fails is by no key")
    let_unregistered_apps_pass(place.store)
    checks.that(is_by(place.fetch(), before), "after proofctl changed the policy, the app passes")
    for name, tool in (("proofctl on the store", place.direct), ("the management API", place.remote)):
        tool("secret", "change", "--at-once")
        after = place.secret()
        token = place.fetch()
        checks.that(after != before, f"{name} changes the secret")
        checks.that(is_by(token, after), f"after {name} changed the secret, the next token is by the new one")
        checks.that(not is_by(token, before), f"after {name} changed the secret, none is by the old one")
        before = after


def keys(place, checks):
    for name, tool in (("proofctl on the store", place.direct), ("the management API", place.remote)):
        def published():
            return {key["kid"] for key in json.loads(place.get("/v1/jwks/demo"))["keys"]}
        tool("keyset", "add", "ES256", "--kid", "new")
        checks.that("new" in published(), f"a key that {name} added is published")
        tool("api", "add", "keyed.example.com", "--keyset", "new")
        checks.that(key_id(place.fetch("keyed.example.com")) == "new",
                    f"a token for an API that {name} added is by its key")
        tool("api", "remove", "keyed.example.com")
        checks.that(place.fetch("keyed.example.com") == "unknownDomain", f"an API that {name} removed is unknown")
        tool("keyset", "remove", "new")
        checks.that("new" not in published(), f"a key that {name} removed is not published")


def builds(place, checks):
    """A build of the SDK that is revoked gets nothing from then on."""
    (build,) = place.direct("sdk", "list")
    place.direct("sdk", "revoke", build["id"])
    outcome = place.fetch()
    checks.that(outcome == "status(404)", f"a build that was revoked gets {outcome}")


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        place = Place(pathlib.Path(name))
        with Service(*place.store, "--plain", "--quiet") as service:
            place.service = service
            secrets(place, checks)
            keys(place, checks)
            builds(place, checks)
            checks.that(service.stop() == 0, "stops")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
