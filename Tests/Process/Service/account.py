# SPDX-License-Identifier: Apache-2.0

"""One account of the reference service: its keys, its APIs, its policy, and what it answers to a report."""

import base64
import hashlib
import json
import os
import secrets
import threading
import time
from dataclasses import dataclass, field

import messages as m
from nacl.signing import SigningKey
from tokens import b64, b64url, compact, encrypt_jwe, sign_hs256

# Every source of docs/PROBE.md in the version that it has there; 64 groups for the bundle.
SECOND_VERSION = {(1, 4), (3, 1), (3, 6)}
SOURCES = tuple(
    m.Source(cls, number, 2 if (cls, number) in SECOND_VERSION else 1, 6 if (cls, number) == (2, 3) else 0)
    for cls, numbers in ((1, range(1, 6)), (2, range(1, 5)), (3, range(1, 11)))
    for number in numbers
)
DEVELOPMENT_KEY = hashlib.sha256(b"ProofKit development key: public, never for production").digest()[:16]
SALT_SECONDS = 60


@dataclass
class Account:
    name: str
    service_pins: list[str]
    url: str = ""
    serial: int = 1
    forced: int = 0
    pins: dict = field(default_factory=dict)
    domains: dict = field(default_factory=lambda: {
        "api.example.com": "token", "lock.example.com": "measurement", "open.example.com": "none"})
    sources: tuple = SOURCES
    policy: int = 2
    token_seconds: float = 300
    clock_offset: float = 0
    fails: bool = False
    reasons: str = ""
    development_key: str = "let me in"
    strings_enabled: bool = True
    custom_enabled: bool = True
    string_secrets: list = field(default_factory=lambda: ["11" * 32])
    strings: dict = field(default_factory=lambda: {"map key": "pk-123"})
    salt_seconds: int = SALT_SECONDS
    message_key: str = ""  # in hexadecimal; empty for none

    def __post_init__(self) -> None:
        self.secret = secrets.token_bytes(64)
        self.wrong_secret = secrets.token_bytes(64)
        self.measurement_key = secrets.token_bytes(32)
        self.signing = SigningKey.generate()
        self.mpks = {m.u8(2) + m.derive("pfc1.key-id.....", DEVELOPMENT_KEY, m.u8(2))[:7]: (2, DEVELOPMENT_KEY)}
        self.salts: dict[bytes, tuple[m.Draft, float, bytes, int]] = {}
        self.generation = 0
        self.last: dict = {}
        self.lock = threading.Lock()

    # The configuration, section 6.

    def fingerprint(self) -> str:
        return b64(hashlib.sha256(b"pfa1.config-key." + bytes(self.signing.verify_key)).digest())

    def configuration(self, **changes) -> str:
        claims = {
            "acc": self.name, "ser": self.serial, "iat": int(self.now()),
            "key": b64url(bytes(self.signing.verify_key)), "url": self.url, "spk": self.service_pins,
            "pin": self.pins, "dom": self.domains, "fps": self.forced,
        } | changes
        signed = b64url(compact({"alg": "EdDSA"})) + "." + b64url(compact(claims))
        return signed + "." + b64url(self.signing.sign(signed.encode()).signature)

    def now(self) -> float:
        return time.time() + self.clock_offset

    # Challenge and report, sections 3 to 5.

    def challenge(self, body: bytes) -> bytes | None:
        question = m.read_question(body)
        if question.account != self.name or question.key_id not in self.mpks:
            return None
        with self.lock:
            self.generation += 1
            draft = m.Draft(secrets.token_bytes(16), self.salt_seconds, self.policy, 33, self.generation,
                            m.shown(self.sources, question.withheld))
            self.salts[draft.salt] = (draft, time.monotonic() + self.salt_seconds, question.device, question.withheld)
        return draft.challenge(self.serial)

    def answer(self, body: bytes) -> bytes | None:
        report = m.read_report(body)
        if report.account != self.name or report.key_id not in self.mpks:
            return None
        mode, mpk = self.mpks[report.key_id]
        with self.lock:
            draft, end, device, withheld = self.salts.pop(report.salt, (None, 0, b"", 0))
            self.last = {
                "purpose": report.purpose, "subject": report.subject, "user_property": report.user_property,
                "development_key": report.development_key, "serial": report.serial,
                "data_hash": b64(report.data_hash) if report.data_hash else None,
                "properties": dict(report.properties), "device": b64(report.device),
                "payload": b64(report.payload), "records": len(report.records),
                "withheld": report.withheld,
            }
        if draft is None or time.monotonic() > end or device != report.device:
            return self.say(mpk, report.salt, m.ASK_AGAIN)
        believed = m.believe(report, draft, mode, mpk) if withheld == report.withheld else None
        if believed is None:
            return self.say(mpk, report.salt, m.UNBELIEVABLE)
        with self.lock:
            self.last["im"], self.last["dm"] = b64(report.im), b64(report.dm)
            self.last["config"] = b64(believed[0].encoded())
        return self.judge(report, mpk, believed[1])

    def say(self, mpk: bytes, salt: bytes, outcome: int, **rest) -> bytes:
        return m.answer(mpk, salt, outcome, self.serial, self.forced, **rest)

    def judge(self, report: m.Report, mpk: bytes, measurement: m.Measurement) -> bytes:
        passes = not self.fails or (report.development_key != "" and report.development_key == self.development_key)
        arc = base64.b32encode(os.urandom(10)).decode()[:10]
        reasons = "" if passes else self.reasons
        judged = {"arc": arc, "reasons": reasons}
        if report.purpose in (m.TOKEN, m.MEASUREMENT):
            kind = self.domains.get(report.subject)
            if kind in (None, "none"):
                return self.say(mpk, report.salt, m.UNKNOWN_DOMAIN if kind is None else m.UNPROTECTED)
            if report.purpose == m.MEASUREMENT and kind != "measurement":
                return self.say(mpk, report.salt, m.NOT_ENCRYPTED)
            token = self.token(report, mpk, measurement, kind, passes, arc)
            key = None if not self.message_key else bytes.fromhex(self.message_key) if passes else os.urandom(32)
            return self.say(mpk, report.salt, m.DONE, token=token, lifetime=int(self.token_seconds), message_key=key,
                            **judged)
        if report.purpose == m.GATE:  # This service has no gates.
            return self.say(mpk, report.salt, m.NO_GATE if report.subject in self.domains else m.UNKNOWN_DOMAIN)
        of_strings = report.purpose in (m.SECURE_STRING, m.STRING_KEY)
        enabled = self.strings_enabled if of_strings else self.custom_enabled
        if not enabled:
            return self.say(mpk, report.salt, m.DISABLED)
        if report.purpose == m.STRING_KEY:
            keys = tuple(m.string_key(bytes.fromhex(secret), report.device, passes) for secret in self.string_secrets)
            return self.say(mpk, report.salt, m.DONE, string_keys=keys, **judged)
        if not passes:
            return self.say(mpk, report.salt, m.REJECTED, **judged)
        if report.purpose == m.CUSTOM:
            return self.custom(report, mpk, judged)
        return self.string(report, mpk, judged)

    def token(self, report: m.Report, mpk: bytes, measurement: m.Measurement, kind: str, passes: bool,
              arc: str) -> str:
        claims = {"exp": int(self.now() + self.token_seconds), "did": b64(report.device), "arc": arc}
        if report.data_hash:
            claims["pay"] = b64(report.data_hash)
        if self.message_key:
            claims["mskid"] = "key-1"
        if kind == "measurement":
            if report.purpose == m.MEASUREMENT:
                claims |= {"imh": b64(measurement.im), "dmh": b64(measurement.dm), "mpk": b64(mpk)}
                claims |= {"dpk": b64(measurement.dpk), "mgn": self.generation, "mmd": "development"}
            return encrypt_jwe(claims, self.measurement_key if passes else os.urandom(32))
        return sign_hs256(claims, self.secret if passes else self.wrong_secret)

    def custom(self, report: m.Report, mpk: bytes, judged: dict) -> bytes:
        try:
            claims = json.loads(report.payload)
        except ValueError:
            claims = None
        if not isinstance(claims, dict):
            return self.say(mpk, report.salt, m.BAD_PAYLOAD)
        claims |= {"exp": int(self.now() + self.token_seconds), "did": b64(report.device)}
        token = sign_hs256(claims, self.secret)
        return self.say(mpk, report.salt, m.DONE, token=token, lifetime=int(self.token_seconds), **judged)

    def string(self, report: m.Report, mpk: bytes, judged: dict) -> bytes:
        if not 1 <= len(report.subject) <= 64:
            return self.say(mpk, report.salt, m.BAD_KEY)
        with self.lock:
            if report.payload[:1] == b"\x01":
                self.strings[report.subject] = report.payload[1:].decode()
                if self.strings[report.subject] == "":
                    del self.strings[report.subject]
            value = self.strings.get(report.subject)
        if value is None:
            return self.say(mpk, report.salt, m.UNKNOWN_KEY, **judged)
        return self.say(mpk, report.salt, m.DONE, secure_string=value, **judged)
