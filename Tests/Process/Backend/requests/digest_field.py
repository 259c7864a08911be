# SPDX-License-Identifier: Apache-2.0

"""Verifies a compact proof by the digest that the request carries in a header field: docs/REQUESTS.md. Standard library
and compact_form.py only."""

import base64
import re

import compact_form

MISSING, REPEATED, MALFORMED, NOT_PROVED, OTHER_BODY, OTHER_URL = (
    "missing", "repeated", "malformed", "not proved", "other body", "other url")


class Refused(Exception):
    """Its argument is one of the words above. A token that is refused for itself raises compact_form.Refused."""


def check(text, keys, values, digest, body, account=compact_form.NONE):
    """`values`: all values of the field; `digest` and `body`: those of the request as it came, compact_form's."""
    if len(values) != 1:
        raise Refused(REPEATED if values else MISSING)
    if not re.fullmatch(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]", values[0]):
        raise Refused(MALFORMED)
    claimed = base64.urlsafe_b64decode(values[0] + "=")
    try:
        token = compact_form.check(text, compact_form.REQUEST, keys, account, claimed, body)
    except compact_form.Refused as refusal:
        # 64: the tag is right over the claimed digest, and the body's first two bytes in the token are others.
        if refusal.args[0] == 64 and claimed != digest:
            raise Refused(OTHER_BODY) from None
        if refusal.args[0] in (48, 50, 51):
            raise Refused(NOT_PROVED) from None
        raise
    if claimed != digest:
        raise Refused(OTHER_URL)
    return token
