# SPDX-License-Identifier: Apache-2.0

"""A program of other people enrols with a running proof-service, and gets a token that its API accepts.

This client is written from docs/SERVICE.md. It asks for a challenge, has the program collect what is asked, makes the
configuration, has the program measure itself under it, and reports.
"""

import pathlib
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("Backend", "Service")]

import messages as m  # noqa: E402
from account import DEVELOPMENT_KEY  # noqa: E402
from place import Place  # noqa: E402

DEVELOPMENT = 2
VERSION = "0.1.0"
DOMAIN = "door.example.com"
NO_RECORD = bytes(32)


def read_challenge(data):
    fields = m.Fields(data, m.CHALLENGE)
    salt, lifetime, policy, limit = fields.take(16), fields.uint(2), fields.uint(1), fields.uint(1)
    generation, serial, count = fields.uint(4), fields.uint(4), fields.uint(1)
    sources = tuple(m.Source(*(fields.uint(1) for _ in range(4))) for _ in range(count))
    fields.end()
    return m.Draft(salt, lifetime, policy, limit, generation, sources), serial


def read_answer(data):
    """Outcome, token, ARC and reasons."""
    fields = m.Fields(data, m.ANSWER)
    fields.take(16)
    outcome = fields.uint(1)
    fields.take(12)
    token = fields.blob(1 << 16).decode()
    return outcome, token, fields.text(), fields.text()


class Account:
    """An account of a running service, with one API and the development key of the SDK."""

    def __init__(self):
        self.place = Place()
        self.place.make_account()
        self.url = self.place.start_service()
        self.place.ask("sdk", "add", "--development")
        self.place.ask("api", "add", DOMAIN)
        self.key_id = m.u8(DEVELOPMENT) + m.derive("pfc1.key-id.....", DEVELOPMENT_KEY, m.u8(DEVELOPMENT))[:7]

    def close(self):
        self.place.close()

    def register(self, executable, bundle):
        self.place.ask("registration", "add", executable, "--bundle", bundle, "--expire-after", "1h")

    def ask_without(self, sources):
        """Apps are not asked for these sources from now on."""
        self.place.ask("policy", "set", "sources-without=" + (",".join(sources) or "none"))

    def is_good(self, token):
        code, said, _ = self.place.run("token", "check", token, "--json")
        return code == 0, said.strip()

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()

    def fetch(self, program):
        """Outcome, token, ARC and reasons for the program as it is now."""
        records = program.collect([(1, 5, 1)])
        digest = next((record[3] for record in records if record[3] is not None), NO_RECORD)
        device = m.sha256(b"pfa1.device-id.." + m.text("acme") + digest)[:16]
        question = (m.head(m.QUESTION) + self.key_id + device + m.u8(m.TOKEN) + m.u32(0) + m.text("acme")
                    + m.text(VERSION))
        draft, serial = read_challenge(self.post("/v1/challenge", question))
        records = program.collect([(source.cls, source.number, source.version) for source in draft.sources])
        versions = {(source.cls, source.number): source.version for source in draft.sources}
        evidence = [m.Record(cls, number, versions[cls, number], name, digest) for cls, number, name, digest in records]
        config = m.make_config(DEVELOPMENT, draft.policy, draft.generation, draft.limit, DEVELOPMENT_KEY, draft.salt,
                               draft.sources, evidence)
        integrity, measured_device = program.measured_under(config.encoded())
        body = (
            m.head(m.REPORT) + self.key_id + draft.salt + device + m.u8(m.TOKEN) + m.u32(serial) + m.text("acme")
            + m.text(DOMAIN) + m.blob(b"") + m.text(VERSION) + m.text("") + m.text("") + m.u8(0)
        )
        findings = sorted({f"finding.{line.split(' ')[0].replace('/', '.')}" for line in program.ask("alarms")})
        body += m.u8(len(findings)) + b"".join(m.text(name) + m.text("special") for name in findings)
        body += m.u32(len(records))
        for cls, number, name, digest in records:
            body += m.u8(cls) + m.u8(number) + m.u8(digest is not None) + m.u8(len(name)) + name + (digest or b"")
        body += integrity + measured_device
        return read_answer(self.post(
            "/v1/report", body + m.derive_tag("pfa1.report-key.", DEVELOPMENT_KEY, draft.salt, body)))
