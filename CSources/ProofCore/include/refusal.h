// SPDX-License-Identifier: Apache-2.0

/// Why a gate or a redeemer refuses: one value for each cause. For logs and metrics; a client is told the class alone.
///
/// Numbers stand in logs and are never reused.

#ifndef PFC_REFUSAL_H
#define PFC_REFUSAL_H

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The first cause in the order of the tables in docs/SPEC.md, section 15.
enum pfc_refusal {
  PFC_REFUSAL_NONE = 0,  ///< Not refused.

  // A gate token.
  PFC_REFUSAL_TOKEN_LENGTH = 1,       ///< Another number of bytes.
  PFC_REFUSAL_TOKEN_MAGIC = 2,        ///< Another kind of structure, such as a token for a lock.
  PFC_REFUSAL_TOKEN_VERSION = 3,      ///< A version or suite that this build does not know.
  PFC_REFUSAL_TOKEN_GATE = 4,         ///< For another gate: the hint, or the id inside.
  PFC_REFUSAL_TOKEN_KEY = 5,          ///< Sealed to a key number that this gate does not hold (any more).
  PFC_REFUSAL_TOKEN_SEAL = 6,         ///< Does not open: sealed to another key, or altered.
  PFC_REFUSAL_TOKEN_ISSUER = 7,       ///< Names an issuer that this gate does not trust.
  PFC_REFUSAL_TOKEN_SIGNATURE = 8,    ///< Its issuer did not sign it.
  PFC_REFUSAL_TOKEN_MODE = 9,         ///< Development at a production gate, or the reverse.
  PFC_REFUSAL_TOKEN_FORM = 10,        ///< Signed as another form.
  PFC_REFUSAL_TOKEN_RANGE = 11,       ///< A field out of range, the secret among them.
  PFC_REFUSAL_TOKEN_LIFE = 12,        ///< Lives longer than 24 h.
  PFC_REFUSAL_TOKEN_AHEAD = 13,       ///< Issued more than 5 minutes ahead of the gate's time.
  PFC_REFUSAL_TOKEN_EXPIRED = 14,     ///< Its end has passed.
  PFC_REFUSAL_TOKEN_SUPERSEDED = 15,  ///< Issued before the floor of the gate's configuration.
  PFC_REFUSAL_TOKEN_REVOKED = 16,     ///< The configuration revokes the instance. The caller finds this out.

  // A compact token's shape.
  PFC_REFUSAL_TEXT = 32,            ///< Not 88 characters of base64url.
  PFC_REFUSAL_COMPACT_LENGTH = 33,  ///< Not 66 bytes.
  PFC_REFUSAL_COMPACT_VERSION = 34, ///< A version that this build does not know.
  PFC_REFUSAL_COMPACT_KIND = 35,    ///< Another kind than the one asked for.
  PFC_REFUSAL_ERROR_STATE = 36,     ///< The app says that it cannot prove anything; `measured` has the cause.
  PFC_REFUSAL_HANDLE = 37,          ///< The handle is not that of the keys, or the caller knows no such handle.

  // A compact token's tag does not verify. The hints that choose among these are not authenticated.
  PFC_REFUSAL_TAG = 48,            ///< Forged, altered, or made with other keys.
  PFC_REFUSAL_OTHER_ACCOUNT = 49,  ///< Looks made for another account, or for none.
  PFC_REFUSAL_OTHER_BODY = 50,     ///< Looks made for a request with another body.
  PFC_REFUSAL_OTHER_REQUEST = 51,  ///< Looks made for another method, scheme, authority, target or authorization.
  PFC_REFUSAL_OTHER_DATA = 52,     ///< Looks made for other business data.

  // A compact token's fields, which its tag authenticates.
  PFC_REFUSAL_RESERVED = 64,    ///< A flag that this version does not know, or another field that no app writes.
  PFC_REFUSAL_GENERATION = 65,  ///< Another generation than that of the keys.
  PFC_REFUSAL_EVENT = 66,       ///< Another event number.
  PFC_REFUSAL_AHEAD = 67,       ///< `created` is more than the window ahead.
  PFC_REFUSAL_STALE = 68,       ///< `created` is more than the window ago.
  PFC_REFUSAL_UNANCHORED = 69,  ///< No beacon, or none of the last 15 minutes, where the rule asks for one.
  PFC_REFUSAL_MEASURED = 70,    ///< The measurement behind it is older than the rule allows.
  PFC_REFUSAL_KEPT = 71,        ///< Kept by the app while it made many others.
  PFC_REFUSAL_REPLAYED = 72     ///< Used before. The caller has the replay store, and finds this out.
};

/// The class of a refusal: all that a client is told.
enum pfc_refusal_class {
  PFC_TELL_PASS = 0,           ///< Not refused.
  PFC_TELL_TOKEN = 1,    ///< Send a gate token, a new one if this one was sent before.
  PFC_TELL_CLOCK = 2,    ///< Ask for the gate's time and its beacon, and sign anew.
  PFC_TELL_PROOF = 3,    ///< Sign anew, over what is really sent.
  PFC_TELL_REFUSED = 4         ///< Nothing that the client can mend.
};

/// The class of this refusal. PFC_TELL_REFUSED for a number that is none.
PFC_MUST_USE enum pfc_refusal_class pfc_refusal_class(enum pfc_refusal refusal);

#ifdef __cplusplus
}
#endif

#endif
