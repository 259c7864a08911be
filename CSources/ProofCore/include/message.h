// SPDX-License-Identifier: Apache-2.0

/// The messages between app and hardware (docs/SPEC.md, section 10). Each has one type and one encoding.
///
/// Creating and opening come in pairs. Openers refuse a wrong length before they look at anything else, and never
/// write past their output. What points into a message lives as long as the message's bytes.

#ifndef PFC_MESSAGE_H
#define PFC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "proof.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Message types of the link. The numbers are on the wire and never reused.
enum pfc_message_type {
  PFC_MESSAGE_ASK = 1,        ///< app → hardware, 1 byte
  PFC_MESSAGE_CHALLENGE = 2,  ///< hardware → app, 40; 72 with a key for a sealed command
  PFC_MESSAGE_TOKEN = 3,      ///< app → hardware, 288
  PFC_MESSAGE_COMMAND = 4,    ///< app → hardware, 58, 70, 90 or 102 and the command; sealed 110 or 142
  PFC_MESSAGE_VERDICT = 5,    ///< hardware → app, 43
  PFC_MESSAGE_ORDER = 6,      ///< app → hardware, 124
  PFC_MESSAGE_RECALL = 7,     ///< app → hardware, 72
  PFC_MESSAGE_STATUS = 8,     ///< hardware → app, 28
  PFC_MESSAGE_SEALED_UP = 9,  ///< app → hardware, 25 and the command (channel.h)
  PFC_MESSAGE_SEALED_DOWN = 10,  ///< hardware → app, 35 (sealed.h)
  PFC_MESSAGE_LOG_ASK = 11,   ///< app → hardware, 24
  PFC_MESSAGE_LOG = 12,       ///< hardware → app, 48 and 32 for each entry
  PFC_MESSAGE_GRANT = 13      ///< app → hardware, 96 (grant.h)
};

/// 1 if a message of this type may have this many bytes.
PFC_MUST_USE int pfc_message_fits(uint8_t type, size_t size);

/// Kinds of ASK.
enum pfc_ask {
  PFC_ASK_CHALLENGE = 1,
  PFC_ASK_STATUS = 2,
  PFC_ASK_SEALED = 3  ///< A challenge with a key for a sealed command (sealed.h)
};

/// Decisions of the hardware. Numbers are on the wire and never reused.
enum pfc_verdict {
  PFC_VERDICT_NONE = 0,                ///< Never sent.
  PFC_VERDICT_ACCEPTED = 1,            ///< Integrity matched; do the command.
  PFC_VERDICT_ACCEPTED_DEVICE = 2,     ///< Device matched, reduced rights; do the command.
  PFC_VERDICT_HELD = 3,                ///< The token is held: it opens, and its instance may send commands.
  PFC_VERDICT_DONE = 4,                ///< The order or grant is carried out, or was already. detail to a GRANT: uses
                                       ///< left.
  PFC_VERDICT_NOT_EXECUTED = 5,        ///< Answer to a recall: that command was not accepted and never will be.
  PFC_VERDICT_ACCEPTED_COPY = 6,       ///< As 1, and another copy of the app sent commands: the ratchet differs.
  PFC_VERDICT_ACCEPTED_DEVICE_COPY = 7,  ///< As 2, and another copy of the app sent commands.
  PFC_VERDICT_READY = 8,               ///< The upcoming token is a candidate on this link: its first proof commits it.
  PFC_VERDICT_INTEGRITY_DIFFERS = 16,  ///< App or environment is not as measured. detail: attempts left.
  PFC_VERDICT_DEVICE_DIFFERS = 17,     ///< The device is not as measured, or a stranger speaks.
  PFC_VERDICT_STALE = 18,              ///< No such live challenge: used, replaced, timed out, or of another link.
  PFC_VERDICT_NOT_PERMITTED = 19,      ///< The token does not permit this command class for this kind of match, or
                                       ///< the kind is that of the other sort of slot: enum pfc_ratchet_detail.
  PFC_VERDICT_NO_ATTEMPTS = 20,        ///< The token's attempts are exhausted.
  PFC_VERDICT_NO_USES = 21,            ///< The token's uses are exhausted.
  PFC_VERDICT_UNKNOWN = 22,            ///< No token is held for this instance: present it.
  PFC_VERDICT_COPIED = 23,             ///< Another copy of the app sent commands, and the token refuses this class to
                                       ///< copies. detail: the last accepted command's counter, low 16 bits.
  PFC_VERDICT_NOT_FOR_ME = 32,         ///< The token or order is for other hardware.
  PFC_VERDICT_NOT_SIGNED = 33,         ///< Not signed by an issuer this hardware knows.
  PFC_VERDICT_EXPIRED = 34,            ///< The token's time is over. detail to a TOKEN: days begun since.
  PFC_VERDICT_SUPERSEDED = 35,         ///< A newer generation was seen, or a floor was raised above this token.
  PFC_VERDICT_REVOKED = 36,
  PFC_VERDICT_WRONG_MODE = 37,  ///< Development on production or the reverse, a literal token where not allowed, or
                                ///< suite 1 where there is a factory secret.
  PFC_VERDICT_NO_ROOM = 38,     ///< All slots serve other instances. detail: their number.
  PFC_VERDICT_TOO_NEW = 39,     ///< A version, suite, type or kind that this hardware does not know: update it.
  PFC_VERDICT_MALFORMED = 48,   ///< The message does not parse.
  PFC_VERDICT_BUSY = 49,        ///< Too many refusals on this link. detail: seconds to wait, then reconnect.
  PFC_VERDICT_FAULT = 50        ///< The hardware could not store or draw random bytes; nothing was done.
};

/// Details of refusals: the cause within the verdict. With the verdict's number each is on the wire and never reused.
/// docs/SPEC.md, section 10, says to whom they are told. 0 is no detail, which is also what earlier versions answer.
enum pfc_detail {
  // PFC_VERDICT_STALE, to a COMMAND
  PFC_DETAIL_NO_CHALLENGE = 1,     ///< The link has no live challenge.
  PFC_DETAIL_OTHER_CHALLENGE = 2,  ///< The link's live challenge has another counter.
  PFC_DETAIL_CHALLENGE_TIMED_OUT = 3,
  PFC_DETAIL_CHALLENGE_ENDED = 4,  ///< A recall, or a later command of this instance, ended the challenge.
  PFC_DETAIL_SEAL_REPLACED = 5,  ///< To a sealed one: the challenge has no E_lock, or E_lock was used or replaced.
  PFC_DETAIL_NO_CHANNEL = 6,     ///< To a SEALED-UP: the link has no channel, or the channel waits for another counter.
  // PFC_VERDICT_NOT_PERMITTED
  PFC_DETAIL_CLASS_NOT_PERMITTED = 1,  ///< The token permits the class for no match.
  PFC_DETAIL_INTEGRITY_DEMANDED = 2,   ///< The token permits the class for an integrity match only.
  PFC_DETAIL_SEALED_DEMANDED = 3,  ///< The token permits sealed commands only: send kind 5 or 6.
  PFC_DETAIL_GRANT_SPENT = 4,  ///< The loan of the class is used up, ended or taken back. To a GRANT: the hardware took
                               ///< this serial from the owner for this member, or a later one.
  PFC_DETAIL_OWNER_CANNOT = 5,   ///< The owner could not send such a command now.
  PFC_DETAIL_NOT_DELEGABLE = 9,  ///< To a GRANT: the owner may not lend all of its classes. 6 to 8: ratchet.h
  // PFC_VERDICT_UNKNOWN, to a GRANT
  PFC_DETAIL_NO_MEMBER = 1,  ///< No slot holds the token that the grant names: present it first.
  // PFC_VERDICT_EXPIRED, to a TOKEN or an ORDER; other values are days begun since the token's end
  PFC_DETAIL_AHEAD = 65535,  ///< `issued` is beyond the step (docs/SPEC.md, section 10).
  // PFC_VERDICT_SUPERSEDED
  PFC_DETAIL_BELOW_FLOOR = 1,       ///< A floor was raised above the token.
  PFC_DETAIL_OLDER_GENERATION = 2,  ///< The hardware holds this generation of the instance, or a newer one.
  // PFC_VERDICT_WRONG_MODE
  PFC_DETAIL_OTHER_MODE = 1,    ///< Development on production, or the reverse.
  PFC_DETAIL_LITERAL_FORM = 2,  ///< The literal form, where it is not allowed.
  PFC_DETAIL_SUITE = 3,         ///< Suite 1, where there is a factory secret.
  // PFC_VERDICT_TOO_NEW
  PFC_DETAIL_LATER_VERSION = 1,
  PFC_DETAIL_LATER_SUITE = 2,
  PFC_DETAIL_RESERVED_BIT = 3,
  PFC_DETAIL_UNKNOWN_KIND = 4,  ///< The kind of a COMMAND or an ASK, or the type of an order
  // PFC_VERDICT_FAULT
  PFC_DETAIL_NOT_STORED = 1,   ///< A record was not written, or the second review found what the first had not.
  PFC_DETAIL_NOT_DRAWN = 2,    ///< The random generator failed, or repeats itself.
  PFC_DETAIL_NOT_STARTED = 3,  ///< The hardware's records are damaged, or of a later version.
};

/// The most days of *expired* that are told.
#define PFC_DETAIL_DAYS_MAX 49711u

// CHALLENGE ------------------------------------------------------------------------------------------------------

/// Hardware side.
void pfc_challenge_encode(uint8_t message[PFC_CHALLENGE_MESSAGE_BYTES], const struct pfc_challenge *challenge);
/// App side. PFC_E_MALFORMED for any other size.
PFC_MUST_USE int pfc_challenge_decode(struct pfc_challenge *challenge, const uint8_t *message, size_t size);

// COMMAND --------------------------------------------------------------------------------------------------------

/// The command that the app requests, and the hardware it is for.
struct pfc_request {
  uint8_t kind;           ///< enum pfc_kind: which match to prove
  uint8_t command_class;  ///< 0 to PFC_CLASSES - 1
  uint8_t instance_id[PFC_ID_BYTES];
  uint8_t hardware_id[PFC_ID_BYTES];
  struct pfc_challenge challenge;  ///< The hardware's last
  const uint8_t *command;
  size_t command_size;  ///< At most PFC_COMMAND_MAX
  const uint8_t *ratchet;  ///< PFC_RATCHET_BYTES for a kind with a ratchet, otherwise unused
  uint32_t known;  ///< Kinds with a ratchet: low bits of the last accepted command's counter, as the app knows it
};

/// App side: derives the nonce, makes the proofs, encodes. An integrity command carries both proofs, so that the
/// hardware can tell its owner's changed app from a stranger. `*nonce` is needed to check the receipt and to recall.
/// PFC_E_SPACE if `capacity` is too small; PFC_E_ARGUMENT if a field is out of range. On failure `*size` is 0.
PFC_MUST_USE int pfc_command_create(uint8_t *message, size_t capacity, size_t *size,
                                    uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_request *request,
                                    const struct pfc_secrets *secrets);

/// The same in two steps, for an app that looks at its surroundings after each proof. Writes everything but the device
/// proof; an integrity proof is then at PFC_COMMAND_HEAD_BYTES.
PFC_MUST_USE int pfc_command_begin(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                                   const struct pfc_request *request, const struct pfc_secrets *secrets);
/// The second step: makes the device proof, which binds the integrity proof as it now is in the message.
void pfc_command_end(uint8_t *message, const uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_secrets *secrets);
/// Where a begun message has its device proof.
uint8_t *pfc_command_device_proof(uint8_t *message);

/// A COMMAND, parsed. Pointers lead into the message.
struct pfc_command {
  uint8_t kind;
  uint8_t command_class;
  const uint8_t *instance_id;
  uint64_t counter;
  const uint8_t *integrity_proof;  ///< NULL for PFC_KIND_DEVICE
  const uint8_t *device_proof;
#if PFC_RATCHETS
  const uint8_t *ratchet_tag;  ///< NULL for a kind without a ratchet
  uint32_t known;              ///< Low bits of the last accepted counter as the app knows it; 0 without a ratchet
#endif
#if PFC_SEALS_COMMANDS
  const uint8_t *step;  ///< A sealed command: takes the nonce's place where the ratchet moves. NULL otherwise
#endif
#if PFC_CHANNEL
  uint8_t in_channel;  ///< 1: a channel's command. It has no proofs of its own and does not move the ratchet
#endif
  const uint8_t *command;
  size_t command_size;
};

/// Hardware side: the nonce that the device proof answers. It is `nonce` itself for PFC_KIND_DEVICE, otherwise an
/// escort nonce that binds all that stands between the head and the device proof.
void pfc_command_escort(uint8_t answered[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                        const struct pfc_command *command);

/// Hardware side: the shape alone, no proof is checked. PFC_E_MALFORMED if it is none.
PFC_MUST_USE int pfc_command_decode(struct pfc_command *command, const uint8_t *message, size_t size);

// VERDICT --------------------------------------------------------------------------------------------------------

/// A VERDICT: what the hardware says to a token, a command, an order or a recall.
struct pfc_answer {
  uint8_t verdict;   ///< enum pfc_verdict
  uint16_t detail;   ///< enum pfc_detail, or a number that is documented with the verdict; otherwise 0
  uint64_t counter;  ///< Counter of the challenge answered; 0 for tokens and orders
  uint8_t receipt[PFC_RECEIPT_BYTES];  ///< All zeros where the hardware shares no key with the asking app
};

/// Hardware side.
void pfc_answer_encode(uint8_t message[PFC_VERDICT_MESSAGE_BYTES], const struct pfc_answer *answer);
/// App side: the shape alone; believe it when its receipt was checked. PFC_E_MALFORMED if it is none.
PFC_MUST_USE int pfc_answer_decode(struct pfc_answer *answer, const uint8_t *message, size_t size);

// RECALL ---------------------------------------------------------------------------------------------------------

/// App side, after a lost link: asks what became of the command that answered `nonce`. Authenticated, because from
/// then on the hardware accepts no command of this instance whose challenge is as old as `counter`.
void pfc_recall_create(uint8_t message[PFC_RECALL_BYTES], const uint8_t instance_id[PFC_ID_BYTES],
                       uint64_t counter, const uint8_t nonce[PFC_NONCE_BYTES],
                       const uint8_t device_key[PFC_KEY_BYTES]);

/// A RECALL, parsed. Pointers lead into the message.
struct pfc_recall {
  const uint8_t *instance_id;
  uint64_t counter;
  const uint8_t *nonce;
};

/// Hardware side: the shape alone, see `pfc_recall_check`. PFC_E_MALFORMED if it is none.
PFC_MUST_USE int pfc_recall_decode(struct pfc_recall *recall, const uint8_t *message, size_t size);

/// PFC_OK or PFC_E_DIFFERS, in constant time. `message` is PFC_RECALL_BYTES long.
PFC_MUST_USE int pfc_recall_check(const uint8_t message[PFC_RECALL_BYTES],
                                  const uint8_t device_key[PFC_KEY_BYTES]);

// STATUS ---------------------------------------------------------------------------------------------------------

/// Public facts, not authenticated: good for finding hardware, not for trusting it.
struct pfc_status {
  uint8_t mode;
  uint8_t slots;
  uint8_t slots_used;
  uint64_t epoch;  ///< Unix seconds: it is at least this late, as far as the hardware knows; 0 if it knows nothing
  uint8_t hardware_id[PFC_ID_BYTES];
};

/// Hardware side.
void pfc_status_encode(uint8_t message[PFC_STATUS_BYTES], const struct pfc_status *status);
/// App side. PFC_E_MALFORMED if it is none, PFC_E_TOO_NEW if its version is another.
PFC_MUST_USE int pfc_status_decode(struct pfc_status *status, const uint8_t *message, size_t size);

// CAPABILITIES ---------------------------------------------------------------------------------------------------

/// Features of hardware beyond version 1. The bits stand in characteristic 000A and are never reused.
enum pfc_feature {
  PFC_FEATURE_TOKEN_2 = 1u << 0,         ///< It takes tokens of version 2.
  PFC_FEATURE_RATCHET = 1u << 1,         ///< It takes tokens with a ratchet.
  PFC_FEATURE_SEALED = 1u << 2,          ///< It answers sealed commands (SPEC.md, section 18).
  PFC_FEATURE_LOG = 1u << 3,             ///< It keeps a log (SPEC.md, section 17).
  PFC_FEATURE_GRANTS = 1u << 4,          ///< It takes grants (SPEC.md, section 19).
  PFC_FEATURE_FACTORY_SECRET = 1u << 5,  ///< It takes tokens of suite 2, and no others.
  PFC_FEATURE_UPCOMING = 1u << 6,        ///< It takes tokens with PFC_POLICY_UPCOMING as candidates.
  PFC_FEATURE_CHANNEL = 1u << 7,         ///< It opens channels where a token permits it (SPEC.md, section 20).
  PFC_FEATURES = PFC_FEATURE_TOKEN_2 | PFC_FEATURE_RATCHET | PFC_FEATURE_SEALED | PFC_FEATURE_LOG |
                 PFC_FEATURE_GRANTS | PFC_FEATURE_FACTORY_SECRET | PFC_FEATURE_UPCOMING | PFC_FEATURE_CHANNEL
};

/// Value of the characteristic 000A (docs/LINK.md), which hardware of version 1 has not. Public facts, not
/// authenticated: they choose what an app sends first, and hardware refuses what its own policy does not allow.
struct pfc_capabilities {
  uint8_t slots;
  uint32_t features;  ///< enum pfc_feature, or-ed; a reader ignores bits that it does not know.
  uint8_t hardware_id[PFC_ID_BYTES];
};

/// Hardware side.
void pfc_capabilities_encode(uint8_t value[PFC_CAPABILITIES_BYTES], const struct pfc_capabilities *capabilities);
/// App side. PFC_E_MALFORMED for any other size, PFC_E_TOO_NEW if its version is another.
PFC_MUST_USE int pfc_capabilities_decode(struct pfc_capabilities *capabilities, const uint8_t *value, size_t size);

#ifdef __cplusplus
}
#endif

#endif
