// SPDX-License-Identifier: Apache-2.0

// The second look at what is about to be let in: a command, a token, an order, a recall.
//
// verifier_judgement.c and verifier_admission.c come to their verdicts by branches, and a glitch of the supply or of
// the clock can skip one. So every condition is looked at again here, from the message's own bytes and from what the
// verifier holds, by other code that branches on none of them. Whatever one skipped instruction does to the one look,
// the other still refuses; Tests/Adversary/Faults walks both and counts.

#include "crypto.h"
#include "grant.h"
#include "internal.h"
#include "proof.h"
#include "ratchet.h"
#include "token.h"
#include "verifier_channel.h"
#include "verifier_clock.h"
#include "verifier_review.h"

/// Each look adds its step: one that was passed over is missed in the end. Any two differ in many bits.
enum {
  STEP_SHAPE = 0x0e2c9a35,
  STEP_CHALLENGE = 0x0b7451d6,
  STEP_AGE = 0x0d51a3c9,
  STEP_SLOT = 0x072be48e,
  STEP_ONCE = 0x08e5369b,
  STEP_BOUNDS = 0x03c80f5d,
  STEP_DEVICE = 0x05969ce2,
  STEP_INTEGRITY = 0x0a4d6317,
  STEP_RIGHTS = 0x0cb2d178,
  STEP_SECRETS = 0x0617ce29,
#if PFC_OPENS_TOKENS
  STEP_HEIR = 0x0fa1745c,
#else
  STEP_HEIR = 0,  // No tokens, no candidates
#endif
#if PFC_RATCHETS
  STEP_RATCHET = 0x01da6f83,
#else
  STEP_RATCHET = 0,
#endif
#if PFC_SEALS_COMMANDS
  STEP_SEAL = 0x04f2795b,
#else
  STEP_SEAL = 0,
#endif
#if PFC_CHANNEL
  STEP_CHANNEL = 0x0b91d34a,
  CHANNEL_STEPS = STEP_SHAPE + STEP_CHALLENGE + STEP_AGE + STEP_SLOT + STEP_ONCE + STEP_BOUNDS + STEP_RIGHTS +
                  STEP_SECRETS + STEP_CHANNEL,
#endif
  COMMAND_STEPS = STEP_SHAPE + STEP_CHALLENGE + STEP_AGE + STEP_SLOT + STEP_ONCE + STEP_BOUNDS + STEP_DEVICE +
                  STEP_INTEGRITY + STEP_RIGHTS + STEP_SECRETS + STEP_HEIR + STEP_RATCHET + STEP_SEAL,

  STEP_OPENED = 0x06a9c34e,
  STEP_SAME = 0x096f5ab1,
  STEP_TIME = 0x0d35860c,
  STEP_TENANT = 0x02d8b9e7,
  TOKEN_STEPS = STEP_OPENED + STEP_SAME + STEP_TIME + STEP_TENANT,
  ORDER_STEPS = STEP_OPENED + STEP_SAME + STEP_TIME,
  RECALL_STEPS = STEP_SLOT + STEP_DEVICE,

#if PFC_GRANTS
  STEP_OWNER = 0x0a38d51b,
  STEP_TAG = 0x0c5e1f84,
  STEP_MEMBER = 0x03b7a96c,
  STEP_SERIAL = 0x0589e6d2,
  STEP_LOAN = 0x0f17b2a3,
  GRANT_STEPS = STEP_SHAPE + STEP_OWNER + STEP_TAG + STEP_MEMBER + STEP_SERIAL + STEP_LOAN
#endif
};

/// Volatile, so that every look is stored and read again: nothing of it lives in a register alone.
struct review {
  uint32_t steps;
  uint32_t wrong;  ///< Bits of whatever was not as it must be; stays 0
};

static void look(volatile struct review *review, uint32_t step, uint32_t wrong) {
  review->wrong |= wrong;
  review->steps += step;
}

/// PFC_REVIEW_PASSED if nothing was wrong and no step is missing.
static uint32_t passed(const volatile struct review *review, uint32_t steps) {
  uint32_t word = PFC_REVIEW_PASSED ^ review->wrong ^ (review->steps ^ steps);
  PFC_DECLASSIFY(&word, sizeof word);
  return word;
}

/// 0 if equal, in constant time; other code than `pfc_equal`.
static uint32_t difference(const void *a, const void *b, size_t size) {
  const uint8_t *left = a, *right = b;
  volatile uint32_t bits = 0;
  for (size_t i = 0; i < size; i++) bits |= (uint32_t)(left[i] ^ right[i]);
  return bits;
}

// COMMAND --------------------------------------------------------------------------------------------------------

/// 0 if the proof is right, in constant time.
static uint32_t proof_difference(const uint8_t *proof, const uint8_t key[PFC_KEY_BYTES],
                                 const uint8_t nonce[PFC_NONCE_BYTES],
                                 const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  uint8_t expected[PFC_PROOF_BYTES];
  uint32_t wrong;
  // Should it never be made, it differs from what was sent in every bit.
  for (size_t i = 0; i < sizeof expected; i++) expected[i] = (uint8_t)~proof[i];
  pfc_proof_make_once(expected, key, nonce, measurement);
  wrong = difference(expected, proof, sizeof expected);
  pfc_wipe(expected, sizeof expected);
  return wrong;
}

static uint32_t is_too_old(const struct pfc_verifier *verifier, const struct pfc_session *session) {
  uint32_t limit = verifier->hardware->challenge_seconds;
  uint32_t passed = pfc_platform_seconds(&verifier->platform) - session->asked;
  return (verifier->platform.seconds != NULL) & (limit != 0) & (passed > limit);
}

#if PFC_CHANNEL
static uint32_t is_channel_over(const struct pfc_verifier *verifier, const struct pfc_channel *channel) {
  uint32_t limit = verifier->hardware->challenge_seconds;
  uint32_t passed = pfc_platform_seconds(&verifier->platform) - channel->opened;
  return (verifier->platform.seconds != NULL) &
         ((passed > PFC_CHANNEL_SECONDS) | ((limit != 0) & (passed > limit)));
}
#endif

static uint32_t is_out_of_bounds(const struct pfc_verifier *verifier, const struct pfc_slot *slot) {
  return (uint32_t)(slot->attempts == 0) | (slot->uses == 0) |
         ((slot->not_after != 0) & (pfc_verifier_epoch(verifier) > slot->not_after));
}

/// The slot still holds a token of this instance, and no recall has ended this challenge for it.
static uint32_t is_not_served(const struct pfc_verifier *verifier, int index, const struct pfc_command *command) {
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
  return (uint32_t)(slot->state ^ PFC_SLOT_HELD) | difference(slot->instance_id, command->instance_id, PFC_ID_BYTES) |
         (command->counter < verifier->alive_from[index]);
}

#if PFC_OPENS_TOKENS
/// 0 if `judged` is the slot itself, or the link's candidate: of the same instance, newer than the slot and than what
/// is revoked, not below the floor, with no attempt or use more than the slot, with its ratchet, for an
/// integrity command.
static uint32_t is_no_heir(const struct pfc_verifier *verifier, const struct pfc_session *session,
                           const struct pfc_slot *slot, const struct pfc_slot *judged, uint8_t kind) {
  uint32_t candidate = judged != slot;
  uint32_t wrong = (uint32_t)(judged != &session->candidate) | (judged->state ^ PFC_SLOT_HELD) |
                   (~(uint32_t)kind & 1u) |
                   difference(judged->instance_id, slot->instance_id, PFC_ID_BYTES) |
                   (judged->generation <= slot->generation) | (judged->generation <= slot->revoked) |
                   (judged->issued < verifier->ledger.floor) | (judged->attempts > slot->attempts) |
                   (judged->uses > slot->uses);
#if PFC_RATCHETS
  uint32_t carries = (uint32_t)(pfc_slot_ratchet(slot) != PFC_RATCHET_NONE) &
                     (uint32_t)(pfc_slot_ratchet(judged) != PFC_RATCHET_NONE);
  wrong |= (0 - carries) & (difference(judged->ratchet, slot->ratchet, PFC_RATCHET_BYTES) |
                            (uint32_t)(judged->copies != slot->copies));
#endif
  return (0 - candidate) & wrong;
}
#endif

#if PFC_RATCHETS

/// 1 if the command's tag is not that of the slot's ratchet, in constant time.
static uint32_t is_out_of_step(const struct pfc_slot *slot, const uint8_t tag[PFC_RATCHET_TAG_BYTES],
                               const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t expected[PFC_RATCHET_TAG_BYTES];
  uint32_t bits;
  // Should it never be made, it differs from what was sent in every bit.
  for (size_t i = 0; i < sizeof expected; i++) expected[i] = (uint8_t)~tag[i];
  pfc_ratchet_tag(expected, slot->ratchet, nonce);
  bits = difference(expected, tag, sizeof expected);
  pfc_wipe(expected, sizeof expected);
  return (bits | (0u - bits)) >> 31;
}

/// 0 if the kind is that of the slot, and the verdict tells a copy exactly where the command is out of step and its
/// class is not kept from copies.
static uint32_t ratchet_difference(const struct pfc_slot *slot, const struct pfc_command *command,
                                   const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  uint32_t policy = slot->policy & PFC_POLICY_RATCHET;
  uint32_t has = (uint32_t)(policy != PFC_RATCHET_NONE);
  uint32_t told = (uint32_t)(verdict == PFC_VERDICT_ACCEPTED_COPY) | (verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY);
  uint32_t open = (uint32_t)slot->device_classes >> command->command_class;
  uint32_t kept = (uint32_t)(policy == PFC_RATCHET_REFUSE) & ~open;
  volatile uint32_t out = has;
  if (command->ratchet_tag != NULL) out = is_out_of_step(slot, command->ratchet_tag, nonce);
  return ((uint32_t)(command->ratchet_tag != NULL) ^ has) | (out ^ told) | (told & kept);
}

#endif

#if PFC_SEALS_COMMANDS
/// 0 if a sealed command has the hint of what it is judged under and was opened for this challenge under its keys, and
/// if a command in the clear meets a slot that takes those.
static uint32_t seal_difference(const struct pfc_verifier *verifier, const struct pfc_session *session, int index,
                                const struct pfc_slot *judged, const struct pfc_command *command,
                                const uint8_t *message, size_t size, const struct pfc_seal *seal) {
  const struct pfc_seal_facts *facts;
  struct pfc_sealed sealed;
  uint8_t hint[PFC_SEAL_HINT_BYTES];
  uint32_t wrong;
  if (seal == NULL) return (uint32_t)(command->kind > PFC_KIND_DEVICE_RATCHET) | (judged->policy & PFC_POLICY_SEALED);
  facts = &seal->facts;
  if (pfc_sealed_decode(&sealed, message, size) != PFC_OK) return 1;
  wrong = (uint32_t)(facts->device_key != judged->secrets.device_key) |
          (facts->token_digest != judged->token_digest) | (facts->challenge != &session->challenge) |
          (facts->instance_id != verifier->ledger.slots[index].instance_id) |
          (facts->lock_key != verifier->seal.public_key) | (session->seal_number == 0) |
          (session->seal_number ^ verifier->seal.number) | (uint32_t)pfc_is_zero(seal->shared, sizeof seal->shared) |
          (uint32_t)(command->kind <= PFC_KIND_DEVICE_RATCHET);
  // Should it never be made, it differs from what was sent in every bit.
  for (size_t i = 0; i < sizeof hint; i++) hint[i] = (uint8_t)~sealed.hint[i];
  pfc_seal_hint(hint, judged->secrets.device_key, &session->challenge, command->kind, verifier->seal.public_key,
                sealed.app_key);
  wrong |= difference(hint, sealed.hint, sizeof hint);
  pfc_wipe(hint, sizeof hint);
  return wrong;
}
#endif

#if PFC_GRANTS
/// The command classes that the instance of a slot is lent now.
static uint32_t lent_classes(const struct pfc_verifier *verifier, int index) {
  const struct pfc_grant_row *row = &verifier->grants.rows[index];
  const struct pfc_slot *owner;
  volatile uint32_t wrong;
  // Guards the reads below.
  if (row->owner == 0 || row->owner > PFC_SLOTS) return 0;
  owner = &verifier->ledger.slots[row->owner - 1];
  wrong = (uint32_t)(verifier->grants.on ^ 1u) | (uint32_t)(owner->state ^ PFC_SLOT_HELD) |
          difference(owner->instance_id, row->owner_id, PFC_GRANT_PREFIX_BYTES) |
          difference(verifier->ledger.slots[index].instance_id, row->member_id, PFC_GRANT_PREFIX_BYTES) |
          is_out_of_bounds(verifier, owner) | (row->uses == 0) | (pfc_verifier_epoch(verifier) > row->end);
  return ((uint32_t)(wrong != 0) - 1u) & row->classes & owner->delegable_classes & owner->integrity_classes;
}
#endif

#if PFC_CHANNEL
uint32_t pfc_review_channel(const struct pfc_verifier *verifier, int index, const uint8_t *message, size_t size,
                            uint8_t verdict, const struct pfc_seal *seal) {
  volatile struct review review = {0, 0};
  struct pfc_command command;
  const struct pfc_channel *channel = seal->channel;
  const struct pfc_slot *slot;
  uint8_t nonce[PFC_NONCE_BYTES];
  uint32_t permitted, integrity, accepted;
  // These checks guard every read below.
  if (index < 0 || index >= PFC_SLOTS || channel == NULL) return ~PFC_REVIEW_PASSED;
  if (pfc_channel_up_open(&command, seal->plain, nonce, message, size, channel->chain) != PFC_OK) {
    return ~PFC_REVIEW_PASSED;
  }
  slot = &verifier->ledger.slots[index];
  integrity = (uint32_t)channel->kind & 1u;
  accepted = integrity != 0 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
  look(&review, STEP_SHAPE, (uint32_t)channel->kind - PFC_KIND_SEALED_INTEGRITY > 1);
  // The counter that was told, and none before it.
  look(&review, STEP_CHALLENGE, (uint32_t)(command.counter != channel->next) | (channel->next <= channel->before));
  look(&review, STEP_AGE,
       (uint32_t)(channel->left - 1u >= PFC_CHANNEL_COMMANDS) | is_channel_over(verifier, channel));
  look(&review, STEP_SLOT,
       (uint32_t)(slot->state ^ PFC_SLOT_HELD) | (uint32_t)(channel->slot != index) |
           difference(slot->token_digest, channel->token_digest, PFC_TOKEN_DIGEST_BYTES) |
           (command.counter < verifier->alive_from[index]));
  look(&review, STEP_SECRETS,
       (pfc_slot_sum(slot) ^ slot->sum) | (pfc_channel_sum(channel) ^ channel->sum) |
           (uint32_t)pfc_is_zero(channel->chain, sizeof channel->chain));
  look(&review, STEP_ONCE, (uint32_t)(slot->last.counter != channel->before) | (slot->last.verdict ^ accepted));
  look(&review, STEP_BOUNDS, is_out_of_bounds(verifier, slot));
  look(&review, STEP_CHANNEL,
       (verifier->channels ^ 1u) | (~(uint32_t)slot->policy & PFC_POLICY_CHANNEL) | (verdict ^ accepted));
  permitted = slot->device_classes;
  if (integrity != 0) {
    permitted = slot->integrity_classes;
#if PFC_GRANTS
    permitted |= lent_classes(verifier, index);
#endif
  }
  look(&review, STEP_RIGHTS, ~(permitted >> command.command_class) & 1u);
  return passed(&review, CHANNEL_STEPS);
}
#endif

uint32_t pfc_review_command(const struct pfc_verifier *verifier, const struct pfc_session *session, int index,
                            const struct pfc_slot *judged, const uint8_t *message, size_t size,
#if PFC_SEALS_COMMANDS
                            uint8_t verdict, const struct pfc_seal *seal) {
#else
                            uint8_t verdict) {
#endif
  volatile struct review review = {0, 0};
  struct pfc_command command;
  const struct pfc_slot *slot;
  uint8_t nonce[PFC_NONCE_BYTES] = {0}, answered[PFC_NONCE_BYTES];
  uint32_t classes;
  // These three checks guard every read below.
  if (index < 0 || index >= PFC_SLOTS) return ~PFC_REVIEW_PASSED;
#if PFC_SEALS_COMMANDS
  if (seal != NULL) {
    if (pfc_sealed_open(&command, seal->plain, nonce, &seal->facts, seal->shared, message, size) != PFC_OK) {
      return ~PFC_REVIEW_PASSED;
    }
  } else
#endif
  if (pfc_command_decode(&command, message, size) != PFC_OK) {
    return ~PFC_REVIEW_PASSED;
  }
  slot = &verifier->ledger.slots[index];
  look(&review, STEP_SHAPE, (uint32_t)command.kind - 1 > (PFC_SEALS_COMMANDS ? 5 : PFC_RATCHETS ? 3 : 1));
  // A challenge that was not live has been wiped.
  look(&review, STEP_CHALLENGE,
       (uint32_t)(command.counter != session->challenge.counter) |
           (uint32_t)pfc_is_zero(session->challenge.bytes, PFC_CHALLENGE_BYTES));
  look(&review, STEP_AGE, is_too_old(verifier, session));
  look(&review, STEP_SLOT, is_not_served(verifier, index, &command));
#if PFC_OPENS_TOKENS
  look(&review, STEP_HEIR, is_no_heir(verifier, session, slot, judged, command.kind));
#endif
  look(&review, STEP_SECRETS, pfc_slot_sum(judged) ^ judged->sum);
  look(&review, STEP_ONCE, (slot->last.verdict != PFC_VERDICT_NONE) & (slot->last.counter == command.counter));
  look(&review, STEP_BOUNDS, is_out_of_bounds(verifier, judged));
#if PFC_SEALS_COMMANDS
  look(&review, STEP_SEAL, seal_difference(verifier, session, index, judged, &command, message, size, seal));
  // A sealed command's nonce came with its opening.
  if (seal == NULL)
#endif
  {
    review.wrong |= (uint32_t)pfc_nonce_derive(nonce, verifier->hardware->id, &session->challenge, command.kind,
                                               command.command_class, command.command, command.command_size);
  }
  pfc_command_escort(answered, nonce, &command);
  classes = judged->device_classes;
  if (pfc_kind_is_integrity(command.kind)) {
    classes = judged->integrity_classes;
#if PFC_GRANTS
    classes |= lent_classes(verifier, index);
#endif
    look(&review, STEP_INTEGRITY,
         proof_difference(command.integrity_proof, judged->secrets.integrity_key, nonce, judged->secrets.integrity));
  } else {
    look(&review, STEP_INTEGRITY, (uint32_t)command.kind & 1u);
  }
  look(&review, STEP_DEVICE,
       proof_difference(command.device_proof, judged->secrets.device_key, answered, judged->secrets.device));
#if PFC_RATCHETS
  look(&review, STEP_RATCHET, ratchet_difference(judged, &command, nonce, verdict));
#else
  (void)verdict;
#endif
  look(&review, STEP_RIGHTS, ~(classes >> command.command_class) & 1u);
  return passed(&review, COMMAND_STEPS);
}

#if PFC_OPENS_TOKENS

/// The time is known, and one signature may not move it this far.
static uint32_t is_beyond_step(const struct pfc_verifier *verifier, uint64_t issued) {
  uint64_t known = pfc_verifier_time(verifier);
  uint64_t limit = known + PFC_EPOCH_STEP;
  // A limit beyond the last second has wrapped: no time is beyond it.
  return (uint32_t)(known != 0) & (limit >= known) & (issued > limit);
}

// TOKEN ----------------------------------------------------------------------------------------------------------

/// The slot is free or the instance's own, it has no other, and whatever is known of it is older.
static uint32_t is_out_of_place(const struct pfc_ledger *ledger, int index, const struct pfc_token *token) {
  const struct pfc_slot *chosen = &ledger->slots[index];
  uint32_t wrong = (chosen->state != PFC_SLOT_FREE) &
                   (difference(chosen->instance_id, token->instance_id, PFC_ID_BYTES) != 0);
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &ledger->slots[i];
    uint32_t own = (slot->state != PFC_SLOT_FREE) &
                   (difference(slot->instance_id, token->instance_id, PFC_ID_BYTES) == 0);
    wrong |= own & ((uint32_t)(i != index) | (token->generation <= slot->generation) |
                    (token->generation <= slot->revoked));
  }
  return wrong;
}

uint32_t pfc_review_token(const struct pfc_verifier *verifier, int index, const uint8_t *message, size_t size,
                          const struct pfc_token *token) {
  volatile struct review review = {0, 0};
  struct pfc_token again;
  uint32_t waits;
  if (index < 0 || index >= PFC_SLOTS) return ~PFC_REVIEW_PASSED;
  look(&review, STEP_OPENED, (uint32_t)pfc_token_open(&again, message, size, verifier->hardware));
  look(&review, STEP_SAME, difference(token, &again, sizeof again));
  look(&review, STEP_TIME,
       (uint32_t)(again.issued < verifier->ledger.floor) | is_beyond_step(verifier, again.issued) |
           ((again.not_after != 0) & (pfc_verifier_epoch(verifier) > again.not_after)));
  look(&review, STEP_TENANT, is_out_of_place(&verifier->ledger, index, &again));
  waits = (uint32_t)((again.policy & PFC_POLICY_UPCOMING) != 0) &
          (verifier->ledger.slots[index].state == PFC_SLOT_HELD);
  pfc_wipe(&again, sizeof again);
  return passed(&review, TOKEN_STEPS) ^ ((0 - waits) & (PFC_REVIEW_PASSED ^ PFC_REVIEW_READY));
}

// ORDER ----------------------------------------------------------------------------------------------------------

uint32_t pfc_review_order(const struct pfc_verifier *verifier, const uint8_t *message, size_t size,
                          const struct pfc_order *order) {
  volatile struct review review = {0, 0};
  struct pfc_order again;
  look(&review, STEP_OPENED, (uint32_t)pfc_order_open(&again, message, size, verifier->hardware));
  look(&review, STEP_SAME, difference(order, &again, sizeof again));
  look(&review, STEP_TIME, is_beyond_step(verifier, again.issued));
  return passed(&review, ORDER_STEPS);
}

#endif

// GRANT ----------------------------------------------------------------------------------------------------------

#if PFC_GRANTS

/// 0 if the tag is right, in constant time.
static uint32_t tag_difference(const struct pfc_slot *owner, const uint8_t *message) {
  uint8_t expected[PFC_GRANT_TAG_BYTES];
  const uint8_t *tag = message + PFC_GRANT_BYTES - PFC_GRANT_TAG_BYTES;
  uint32_t wrong;
  // Should it never be made, it differs from what was sent in every bit.
  for (size_t i = 0; i < sizeof expected; i++) expected[i] = (uint8_t)~tag[i];
  pfc_grant_tag(expected, message, &owner->secrets, owner->token_digest);
  wrong = difference(expected, tag, sizeof expected);
  pfc_wipe(expected, sizeof expected);
  return wrong;
}

uint32_t pfc_review_grant(const struct pfc_verifier *verifier, int owner, int member, const uint8_t *message,
                          size_t size) {
  volatile struct review review = {0, 0};
  struct pfc_grant grant;
  const struct pfc_slot *from, *to;
  const struct pfc_grant_row *row;
  uint8_t digest[PFC_NONCE_BYTES] = {0};
  uint32_t own, stands, back, last, again, unnamed;
  // These checks guard every read below.
  if (owner < 0 || owner >= PFC_SLOTS || member < 0 || member >= PFC_SLOTS) return ~PFC_REVIEW_PASSED;
  if (pfc_grant_decode(&grant, message, size, verifier->hardware->id) != PFC_OK) return ~PFC_REVIEW_PASSED;
  from = &verifier->ledger.slots[owner];
  to = &verifier->ledger.slots[member];
  row = &verifier->grants.rows[member];
  back = (uint32_t)(grant.classes == 0);
  pfc_grant_digest(digest, message);
  look(&review, STEP_SHAPE, (uint32_t)(verifier->grants.on ^ 1u));
  look(&review, STEP_OWNER,
       (uint32_t)(from->state ^ PFC_SLOT_HELD) | difference(from->instance_id, grant.owner, PFC_ID_BYTES) |
           (grant.generation ^ from->generation) | (pfc_slot_sum(from) ^ from->sum));
  look(&review, STEP_TAG, tag_difference(from, message));
  own = (uint32_t)(difference(row->member_id, to->instance_id, PFC_GRANT_PREFIX_BYTES) == 0);
  stands = own & (uint32_t)(row->owner == owner + 1);
  unnamed = (uint32_t)(difference(row->named, grant.member, PFC_GRANT_PREFIX_BYTES) != 0);
  look(&review, STEP_MEMBER,
       (uint32_t)(to->state ^ PFC_SLOT_HELD) |
           ((uint32_t)(difference(to->token_digest, grant.member, PFC_TOKEN_DIGEST_BYTES) != 0) &
            ~(back & stands & (unnamed ^ 1u))));
  last = (0 - own) & row->serials[owner];
  // Taken already: the row is this very grant, or nothing of this owner is left to take back.
  again = (back & (~stands | (uint32_t)(row->uses == 0))) |
          (~back & stands & (uint32_t)(grant.serial == last) &
           (uint32_t)(difference(row->digest, digest, PFC_GRANT_PREFIX_BYTES) == 0));
  again &= (uint32_t)(grant.serial <= last);
  look(&review, STEP_SERIAL, (uint32_t)(grant.serial <= last) & ~again & 1u);
  look(&review, STEP_LOAN,
       (0 - (~(back | again) & 1u)) &
           (is_out_of_bounds(verifier, from) | (uint32_t)(pfc_verifier_epoch(verifier) > grant.end) |
            (grant.classes & ~((uint32_t)from->delegable_classes & from->integrity_classes))));
  return passed(&review, GRANT_STEPS) ^ ((0 - (again & 1u)) & (PFC_REVIEW_PASSED ^ PFC_REVIEW_READY));
}

#endif

// RECALL ---------------------------------------------------------------------------------------------------------

uint32_t pfc_review_recall(const struct pfc_verifier *verifier, int index, const uint8_t message[PFC_RECALL_BYTES]) {
  volatile struct review review = {0, 0};
  const struct pfc_slot *slot;
  if (index < 0 || index >= PFC_SLOTS) return ~PFC_REVIEW_PASSED;
  slot = &verifier->ledger.slots[index];
  // A recall begins with its instance.
  look(&review, STEP_SLOT,
       difference(slot->instance_id, message, PFC_ID_BYTES) | (uint32_t)(slot->state ^ PFC_SLOT_HELD));
  look(&review, STEP_DEVICE, (uint32_t)pfc_recall_check(message, slot->secrets.device_key));
  return passed(&review, RECALL_STEPS);
}
