# SPDX-License-Identifier: Apache-2.0

"""Section 15: the numbers of refusals, as its tables have them."""

from enum import IntEnum
from typing import NoReturn

from .basics import Refused


class Refusal(IntEnum):
    TOKEN_LENGTH = 1
    TOKEN_MAGIC = 2
    TOKEN_VERSION = 3
    TOKEN_GATE = 4
    TOKEN_KEY = 5
    TOKEN_SEAL = 6
    TOKEN_ISSUER = 7
    TOKEN_SIGNATURE = 8
    TOKEN_MODE = 9
    TOKEN_FORM = 10
    TOKEN_RANGE = 11
    TOKEN_LIFE = 12
    TOKEN_AHEAD = 13
    TOKEN_EXPIRED = 14
    TOKEN_SUPERSEDED = 15
    TEXT = 32
    LENGTH = 33
    VERSION = 34
    KIND = 35
    ERROR_STATE = 36
    HANDLE = 37
    TAG = 48
    OTHER_ACCOUNT = 49
    OTHER_BODY = 50
    OTHER_REQUEST = 51
    OTHER_DATA = 52
    RESERVED = 64
    GENERATION = 65
    EVENT = 66
    AHEAD = 67
    STALE = 68
    UNANCHORED = 69
    MEASURED = 70
    KEPT = 71


def refuse(reason: Refusal) -> NoReturn:
    """The word of these refusals is their number."""
    raise Refused(str(int(reason)))
