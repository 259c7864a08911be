// SPDX-License-Identifier: Apache-2.0

/// The compact token: 66 bytes, 88 characters of base64url, that prove one HTTP request or one business event.
///
///     head   = u8(version, kind) || u8(account key) || handle 16
///     plain  = created 4 || event 2 || start 4 || count 4 || flags 1 || measured 1 || hints 2 || beacon 4 ||
///              generation 2
///     tag    = HMAC(tag key, label of the kind || head || plain || account 32 || digest 32)[0..24)
///     masked = plain xor HMAC(mask key, "pfc1.mask......." || tag)[0..24)
///     token  = head || masked || tag
///
/// An app makes one without network or storage. A gate or redeemer decodes it, finds the keys of its handle, checks it,
/// judges its fields, and then inserts its replay key into a store, in that order.

#ifndef PFC_COMPACT_H
#define PFC_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#include "gate.h"
#include "http.h"
#include "refusal.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The thing that is proved. The numbers are on the wire and never reused; 4 is a beacon's.
enum pfc_compact_kind {
  PFC_COMPACT_REQUEST = 1,  ///< A whole request (http.h).
  PFC_COMPACT_BODY = 2,     ///< A request's body alone: for migration, and only where a route names it.
  PFC_COMPACT_EVENT = 3     ///< A business event, for one audience.
};

/// Bits of `flags`. The others are zero in this version.
enum pfc_compact_flag {
  PFC_COMPACT_ERROR = 1,  ///< The app is in an error state: never valid. `measured` is then the cause
  PFC_COMPACT_YOUNG = 2   ///< The process is younger than 2 seconds
};

/// Causes of an error state. Numbers stand in metrics and are never reused; apps may add their own from 128 on.
enum pfc_compact_error {
  PFC_ERROR_NOT_STARTED = 1,  ///< The SDK was not started.
  PFC_ERROR_NOT_READY = 2,    ///< Started, and no answer of the service yet.
  PFC_ERROR_FAILED = 3,       ///< The start failed, and waiting does not mend it.
  PFC_ERROR_MEASUREMENT = 4,  ///< The environment could not be measured.
  PFC_ERROR_PAGE = 5,         ///< A page asked that is not on the list.
  PFC_ERROR_INTERNAL = 6
};

/// A token's fields. Public once it is checked.
struct pfc_compact {
  uint8_t kind;         ///< enum pfc_compact_kind
  uint8_t account_key;  ///< Number of the key behind `account`; 0 where the app has none
  uint8_t handle[PFC_HANDLE_BYTES];  ///< Set from the keys
  uint32_t created;                  ///< Unix seconds
  uint16_t event;                    ///< PFC_COMPACT_EVENT: its number. Otherwise 0
  uint32_t start;                    ///< Random for each process, and drawn anew after a fork
  uint32_t count;                    ///< 1 or more; one more for each token since `start`, of all kinds together
  uint8_t flags;                     ///< enum pfc_compact_flag
  uint8_t measured;                  ///< Seconds since the measurement, 255 for more; or an error state's cause
  uint8_t beacon[PFC_BEACON_BYTES];  ///< The newest that the app knows; zeros for none
  uint16_t generation;               ///< Set from the keys
};

/// The values that a token is bound to and does not carry. Both sides make them from what they see.
struct pfc_compact_subject {
  uint8_t account[PFC_DIGEST_BYTES];  ///< `pfc_gate_account`; zeros for none
  uint8_t digest[PFC_DIGEST_BYTES];   ///< Digest of the request (http.h), the body or the business data; zeros for none
  uint8_t body[PFC_DIGEST_BYTES];     ///< PFC_COMPACT_REQUEST: the body digest within. Otherwise not looked at
};

/// App side. The keys are made from the IM of a fresh measurement (gate.h) and must fit the kind. PFC_E_ARGUMENT for
/// an unknown kind or flag, keys of the other use, a count of 0, `created` 0, or an event number in another kind; the
/// output is then zeros.
PFC_MUST_USE int pfc_compact_make(uint8_t bytes[PFC_COMPACT_BYTES], const struct pfc_compact *compact,
                                  const struct pfc_compact_subject *subject, const struct pfc_compact_keys *keys);

/// App side, in an error state without keys: a well-formed token with a handle of zeros, which has no keys.
/// `random` is 48 fresh random bytes. PFC_E_ARGUMENT for an unknown kind or a cause of 0; the output is then zeros.
PFC_MUST_USE int pfc_compact_make_error(uint8_t bytes[PFC_COMPACT_BYTES], uint8_t kind, uint8_t cause,
                                        const uint8_t random[PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES]);

/// The text of a token: 88 characters and a terminator.
void pfc_compact_encode(char text[PFC_COMPACT_TEXT_BYTES + 1], const uint8_t bytes[PFC_COMPACT_BYTES]);
/// PFC_REFUSAL_TEXT unless it is 88 characters of base64url; the output is then zeros.
PFC_MUST_USE enum pfc_refusal pfc_compact_decode(uint8_t bytes[PFC_COMPACT_BYTES], const char *text, size_t size);

/// The head, by which the caller finds the keys: fills kind, account key and handle, and zeros the rest. Refuses
/// another length, version, or kind than the one asked for. PFC_REFUSAL_ERROR_STATE for a handle of zeros; `measured`
/// is then the cause, which nothing authenticates.
PFC_MUST_USE enum pfc_refusal pfc_compact_read_head(struct pfc_compact *compact, const uint8_t *bytes, size_t size,
                                                    uint8_t kind);

/// Gate and redeemer: begins with `pfc_compact_read_head`, then checks handle and tag, the latter in constant time, and
/// what the tag authenticates: reserved flags, count and generation. PFC_REFUSAL_ERROR_STATE if the app says so; all
/// of `*compact` is then set. After any other refusal it is zeros.
PFC_MUST_USE enum pfc_refusal pfc_compact_check(struct pfc_compact *compact, const uint8_t *bytes, size_t size,
                                                uint8_t kind, const struct pfc_compact_subject *subject,
                                                const struct pfc_compact_keys *keys);

/// The rules of a route or an event for a token that was checked.
struct pfc_compact_rules {
  uint64_t now;           ///< Unix seconds: the highest time that the node has seen
  uint32_t window;        ///< Seconds before and after `created`; PFC_COMPACT_WINDOW_SECONDS as a rule
  uint32_t newest;        ///< The highest count seen for this handle and start; 0 if not known
  uint16_t event;         ///< The number asked for; 0 for requests
  uint8_t measured_max;   ///< The oldest measurement in seconds; 255 for any
  uint8_t unanchored;     ///< 1 if a token without a valid beacon passes
  struct pfc_beacons beacons;  ///< `pfc_beacons_at`
};

/// Judges the fields of a checked token, in the order of docs/SPEC.md, section 15. The last step is the caller's: the
/// replay key goes into the store, and a token whose key is there is PFC_REFUSAL_REPLAYED.
PFC_MUST_USE enum pfc_refusal pfc_compact_judge(const struct pfc_compact *compact,
                                                const struct pfc_compact_rules *rules);

/// 1 if a token carries one of these beacons.
PFC_MUST_USE int pfc_compact_is_anchored(const struct pfc_compact *compact, const struct pfc_beacons *beacons);

/// The name under which a token is used once: handle, start, count. Never the text.
void pfc_compact_replay_key(uint8_t key[PFC_REPLAY_KEY_BYTES], const struct pfc_compact *compact);

#ifdef __cplusplus
}
#endif

#endif
