// SPDX-License-Identifier: Apache-2.0

#include "verifier_model.h"

#include <stdlib.h>

// World ----------------------------------------------------------------------------------------------------------

static uint64_t latest(const struct world *world) {
  return world->latest == 0 ? 0 : world->latest + (world->seconds - world->latest_seconds);
}

void world_sign(struct world *world, uint64_t issued) {
  if (issued <= latest(world)) return;
  world->latest = issued;
  world->latest_seconds = world->seconds;
}

/// The hardware's time is at least the one that it was told or has stored, and at most the latest one that it can have
/// been told.
static void check_time(const struct world *world) {
  uint64_t epoch = pfc_verifier_epoch(&world->verifier);
  if (!world->verifier.ready) return;
  REQUIRE(epoch >= world->epoch && epoch >= world->verifier.ledger.epoch);
  REQUIRE(epoch <= latest(world));
}

void world_start(struct world *world, int has_factory_secret) {
  memset(world, 0, sizeof *world);
  world->hardware = fuzz_fixture()->hardware;
  world->hardware.challenge_seconds = 60;
  if (has_factory_secret) {
    memset(world->hardware.factory_secret, 0x5F, sizeof world->hardware.factory_secret);
    world->hardware.has_factory_secret = 1;
  }
  world->platform = world_platform(world);
  memset(world->areas, 0xFF, sizeof world->areas);
  REQUIRE(pfc_verifier_provision(&world->hardware, &world->platform, 0, 0, 0) == PFC_OK);
  world_restart(world);
}

static int slot_of(const struct pfc_verifier *verifier, const uint8_t *instance_id) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &verifier->ledger.slots[i];
    if (slot->state != PFC_SLOT_FREE && memcmp(slot->instance_id, instance_id, PFC_ID_BYTES) == 0) return i;
  }
  return -1;
}

/// A freed slot forgets its instance's generations. That only a floor frees it is checked where it happens, and that
/// no token from below the floor returns, where one is held.
static void forget(struct world *world) {
  for (unsigned i = 0; i < INSTANCES; i++) {
    uint8_t id[PFC_ID_BYTES];
    memset(id, (int)i + 1, sizeof id);
    if (slot_of(&world->verifier, id) >= 0) continue;
    world->told[i].revoked = 0;
    world->told[i].held = NULL;
  }
}

/// Part of a slot that a restart must bring back: all but the last command where uses are not counted and there is no
/// ratchet, and but the number of copies, which are not stored each.
static void durable(uint8_t bytes[PFC_SLOT_BYTES], const struct pfc_slot *slot) {
  struct pfc_slot copy = *slot;
  copy.copies = 0;
  if (copy.uses == PFC_USES_UNLIMITED && copy.policy == PFC_RATCHET_NONE) {
    copy.last.verdict = 0;
    copy.last.counter = 0;
    memset(copy.last.nonce, 0, sizeof copy.last.nonce);
  }
  pfc_slot_encode(bytes, &copy);
}

void world_restart(struct world *world) {
  struct pfc_verifier before = world->verifier;
  uint8_t uncertain[PFC_SLOTS + 1];
  memcpy(uncertain, world->uncertain, sizeof uncertain);
  memset(&world->verifier, 0xEE, sizeof world->verifier);
  // A generator that repeats itself is found between restarts; over one, the counter alone keeps challenges apart.
  memset(world->last_challenge, 0, sizeof world->last_challenge);
  world->latest = latest(world);
  world->seconds = world->latest_seconds = 0;
  for (unsigned i = 0; i < LINKS; i++) {
    world->links[i] = (struct link){.live = 0};
    pfc_session_init(&world->links[i].session);
  }
  int result = pfc_verifier_init(&world->verifier, &world->hardware, &world->platform);
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_STORAGE);
    static const uint8_t ask = PFC_ASK_CHALLENGE;
    REQUIRE(world_deliver(world, &world->links[0], PFC_MESSAGE_ASK, &ask, 1) == PFC_VERDICT_FAULT);
    world->write_countdown = 0;
    world->read_fails = 0;
    REQUIRE(pfc_verifier_init(&world->verifier, &world->hardware, &world->platform) == PFC_OK);
  }
  for (unsigned i = 0; i < PFC_SLOTS && before.ready; i++) {
    uint8_t old[PFC_SLOT_BYTES], new[PFC_SLOT_BYTES];
    durable(old, &before.ledger.slots[i]);
    durable(new, &world->verifier.ledger.slots[i]);
    // A floor whose write failed and yet was durable frees or disarms slots only now.
    int passed = uncertain[0] && world->verifier.ledger.slots[i].state != PFC_SLOT_HELD &&
                 before.ledger.slots[i].issued < world->verifier.ledger.floor;
    REQUIRE(uncertain[i + 1] || passed || memcmp(old, new, sizeof old) == 0);
  }
  REQUIRE(world->verifier.ledger.epoch >= before.ledger.epoch && world->verifier.ledger.floor >= before.ledger.floor);
  check_time(world);
  forget(world);
}

// Judging --------------------------------------------------------------------------------------------------------

static struct issued *issued_of(struct world *world, const uint8_t *digest) {
  for (unsigned i = 0; i < world->issued_count; i++) {
    if (memcmp(world->issued[i].digest, digest, PFC_TOKEN_DIGEST_BYTES) == 0) return &world->issued[i];
  }
  fuzz_fail("a held token was made by the harness", __FILE__, __LINE__);
}

/// One slot, before and after a message. Uses and attempts only go down, all else only up.
static void check_slot(const struct pfc_slot *old, const struct pfc_slot *new, uint64_t floor, uint8_t verdict) {
  uint8_t old_bytes[PFC_SLOT_BYTES], new_bytes[PFC_SLOT_BYTES];
  struct pfc_slot counted = *old;
  if (verdict == PFC_VERDICT_COPIED && new->copies != old->copies) {
    // A refused copy is counted, and nothing else.
    REQUIRE(new->copies == old->copies + 1);
    counted.copies = new->copies;
    old = &counted;
  }
  pfc_slot_encode(old_bytes, old);
  pfc_slot_encode(new_bytes, new);
  if (memcmp(old_bytes, new_bytes, sizeof old_bytes) == 0) return;
  // A refusal changes nothing, but for the attempt it counts. A fault may have moved forward by half a step.
  REQUIRE(verdict <= PFC_VERDICT_INTEGRITY_DIFFERS || verdict == PFC_VERDICT_FAULT);
  REQUIRE(verdict != PFC_VERDICT_NONE && verdict != PFC_VERDICT_NOT_EXECUTED);
  if (old->state == PFC_SLOT_FREE) return;
  if (new->state == PFC_SLOT_FREE || memcmp(old->instance_id, new->instance_id, PFC_ID_BYTES) != 0) {
    REQUIRE(old->issued < floor && old->revoked_at < floor);
    return;
  }
  REQUIRE(new->generation >= old->generation && new->revoked >= old->revoked);
  REQUIRE(new->revoked_at >= old->revoked_at);
  if (memcmp(old->token_digest, new->token_digest, PFC_TOKEN_DIGEST_BYTES) == 0) {
    REQUIRE(new->uses <= old->uses && new->attempts <= old->attempts);
    REQUIRE(verdict != PFC_VERDICT_FAULT || new->uses == old->uses);
  } else {
    REQUIRE(new->state == PFC_SLOT_REVOKED || (new->generation > old->generation && verdict == PFC_VERDICT_HELD));
  }
}

static void check_state(const struct pfc_ledger *before, const struct pfc_ledger *after, uint8_t verdict) {
  REQUIRE(after->epoch >= before->epoch && after->floor >= before->floor && after->counter >= before->counter);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &after->slots[i];
    check_slot(&before->slots[i], slot, after->floor, verdict);
    // Nothing from below the floor is served, even where storage refused to forget it.
    REQUIRE(slot->state != PFC_SLOT_HELD || slot->issued >= after->floor);
    REQUIRE(slot->state != PFC_SLOT_REVOKED || slot->issued >= after->floor || slot->revoked_at >= after->floor);
  }
}

/// A token that was not held before is taken in its time only.
static void check_not_expired(const struct pfc_verifier *before, const struct issued *issued) {
  const struct pfc_token *token = &issued->token;
  int index = slot_of(before, token->instance_id);
  const uint8_t *held = index >= 0 ? before->ledger.slots[index].token_digest : NULL;
  if (held != NULL && memcmp(held, issued->digest, sizeof issued->digest) == 0) return;
  REQUIRE(token->not_after == 0 || pfc_verifier_epoch(before) <= token->not_after);
}

/// Work for the hardware, and guesses of a stranger, are counted on each link and limited. A token of the wrong suite
/// is refused by its head, and is no work.
static void check_limits(struct link *link, uint8_t verdict, uint16_t detail) {
  if (verdict != PFC_VERDICT_WRONG_MODE || detail != PFC_DETAIL_SUITE) {
    link->opened += verdict >= PFC_VERDICT_NOT_SIGNED && verdict <= PFC_VERDICT_NO_ROOM;
  }
  link->refused += verdict == PFC_VERDICT_DEVICE_DIFFERS;
  REQUIRE(link->opened <= PFC_SESSION_OPENINGS_MAX && link->refused <= PFC_SESSION_REFUSALS_MAX);
}

static int accepts(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

/// No detail says which key, measurement, tag or issuer was wrong, or what a slot's limits are before a proof.
static void check_detail(uint8_t type, const struct pfc_answer *answer) {
  switch (answer->verdict) {
    case PFC_VERDICT_STALE:
    case PFC_VERDICT_NOT_PERMITTED:
    case PFC_VERDICT_INTEGRITY_DIFFERS:
      REQUIRE(type == PFC_MESSAGE_COMMAND || answer->detail == 0);
      break;
    case PFC_VERDICT_EXPIRED:
      REQUIRE(type != PFC_MESSAGE_COMMAND || answer->detail == 0);
      break;
    case PFC_VERDICT_DEVICE_DIFFERS:
    case PFC_VERDICT_NO_ATTEMPTS:
    case PFC_VERDICT_NO_USES:
    case PFC_VERDICT_UNKNOWN:
    case PFC_VERDICT_NOT_FOR_ME:
    case PFC_VERDICT_NOT_SIGNED:
    case PFC_VERDICT_REVOKED:
    case PFC_VERDICT_MALFORMED:
      REQUIRE(answer->detail == 0);
      break;
    default:
      break;
  }
}

/// The command as the hardware's secrets would make it; equal to the message in as far as its proofs are right.
static void remake(uint8_t again[PFC_MESSAGE_MAX], const struct world *world, const struct pfc_challenge *challenge,
                   const struct pfc_command *command, const struct pfc_slot *slot, uint8_t nonce[PFC_NONCE_BYTES]) {
  struct pfc_request request = {.kind = command->kind,
                                .command_class = command->command_class,
                                .challenge = *challenge,
                                .command = command->command,
                                .command_size = command->command_size,
                                .ratchet = slot->ratchet,
                                .known = command->known};
  size_t size;
  request.challenge.counter = command->counter;
  memcpy(request.instance_id, command->instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world->hardware.id, PFC_ID_BYTES);
  REQUIRE(pfc_command_create(again, PFC_MESSAGE_MAX, &size, nonce, &request, &slot->secrets) == PFC_OK);
}

static void check_executed(struct world *world, const struct link *link, const struct pfc_verifier *before,
                           struct issued *issued, const struct pfc_command *command, const uint8_t *nonce,
                           uint8_t verdict) {
  const struct pfc_token *token = &issued->token;
  const struct told *told = &world->told[issued->instance];
  uint16_t classes = command->integrity_proof != NULL ? token->integrity_classes : token->device_classes;
  REQUIRE((token->policy != PFC_RATCHET_NONE) == (command->ratchet_tag != NULL));
  REQUIRE(link->live && command->counter == link->challenge.counter);
  REQUIRE(world->seconds - link->asked <= world->hardware.challenge_seconds);
  for (unsigned i = 0; i < world->executed_count; i++) REQUIRE(world->executed[i] != command->counter);
  if (world->executed_count < COMMANDS_MAX) world->executed[world->executed_count++] = command->counter;
  REQUIRE((classes >> command->command_class & 1) == 1);
  REQUIRE(command->counter >= told->recalled);
  REQUIRE(token->generation > told->revoked && token->issued >= world->floor);
  REQUIRE(token->not_after == 0 || pfc_verifier_epoch(before) <= token->not_after);
  REQUIRE(told->held == NULL || token->generation >= told->held->token.generation);
  issued->accepted++;
  REQUIRE(token->uses == PFC_USES_UNLIMITED || issued->accepted <= token->uses);
  REQUIRE(issued->refused < token->attempts);
  for (unsigned i = 0; i < world->command_count; i++) {
    struct commanded *made = &world->commands[i];
    if (made->instance == issued->instance && memcmp(made->nonce, nonce, PFC_NONCE_BYTES) == 0) {
      made->executed = verdict;
    }
  }
}

static void check_receipt(const struct pfc_answer *answer, int keyed, const uint8_t *device_key, const uint8_t *nonce) {
  if (!keyed) {
    REQUIRE(fuzz_all(answer->receipt, PFC_RECEIPT_BYTES, 0));
  } else {
    REQUIRE(pfc_receipt_check(answer->receipt, device_key, nonce, answer->verdict, answer->detail, answer->counter) ==
            PFC_OK);
  }
}

/// 1 if who made the device proof had the device key and meant the integrity proof beside it, right or wrong.
static int escorted(const struct pfc_command *command, const struct pfc_secrets *secrets, const uint8_t *nonce) {
  struct pfc_proof_key key;
  uint8_t escort[PFC_NONCE_BYTES];
  pfc_command_escort(escort, nonce, command);
  pfc_proof_key_init(&key, secrets->device_key);
  return pfc_proof_check(command->device_proof, &key, escort, secrets->device) == PFC_OK;
}

static void after_command(struct world *world, struct link *link, const struct pfc_verifier *before,
                          const struct pfc_command *command, const struct pfc_answer *answer,
                          const struct pfc_outcome *outcome) {
  uint8_t again[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES] = {0};
  const struct pfc_slot *slot = NULL;
  const uint8_t *message = command->instance_id - 2;
  uint8_t verdict = answer->verdict;
  int index = slot_of(before, command->instance_id);
  int keyed = accepts(verdict) || verdict == PFC_VERDICT_EXPIRED || verdict == PFC_VERDICT_COPIED ||
              (verdict >= PFC_VERDICT_INTEGRITY_DIFFERS && verdict <= PFC_VERDICT_NO_USES &&
               verdict != PFC_VERDICT_STALE);
  if (index >= 0) slot = &before->ledger.slots[index];
  REQUIRE(slot != NULL || !keyed);
  if (slot != NULL && slot->state == PFC_SLOT_HELD) {
    remake(again, world, &link->challenge, command, slot, nonce);
  }
  check_receipt(answer, keyed, slot != NULL ? slot->secrets.device_key : NULL, nonce);
  if (outcome->execute == PFC_EXECUTE) {
    size_t proved = (size_t)(command->device_proof + PFC_PROOF_BYTES - message);
    int copy = verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
    REQUIRE(accepts(verdict));
    REQUIRE((verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_COPY) ==
            (command->integrity_proof != NULL));
    if (copy) {
      // Out of step, and right but for the tag.
      REQUIRE(command->ratchet_tag != NULL);
      REQUIRE(memcmp(again + (command->ratchet_tag - message), command->ratchet_tag, PFC_RATCHET_TAG_BYTES) != 0);
      proved = command->integrity_proof != NULL ? PFC_COMMAND_HEAD_BYTES + PFC_PROOF_BYTES : PFC_COMMAND_HEAD_BYTES;
      REQUIRE(escorted(command, &slot->secrets, nonce));
      REQUIRE(slot->policy == PFC_RATCHET_REPORT || (slot->device_classes >> command->command_class & 1) == 1);
    }
    REQUIRE(memcmp(again + PFC_COMMAND_HEAD_BYTES, message + PFC_COMMAND_HEAD_BYTES, proved - PFC_COMMAND_HEAD_BYTES) ==
            0);
    REQUIRE(outcome->command_class == command->command_class && outcome->kind == command->kind);
    REQUIRE(outcome->command_size == command->command_size);
    REQUIRE(outcome->command_size == 0 || outcome->command == command->command);
    check_executed(world, link, before, issued_of(world, slot->token_digest), command, nonce, verdict);
  }
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) {
    // Only who has the device key spends an attempt.
    struct issued *issued = issued_of(world, slot->token_digest);
    REQUIRE(link->live && command->integrity_proof != NULL);
    REQUIRE(escorted(command, &slot->secrets, nonce));
    REQUIRE(++issued->refused <= issued->token.attempts);
    REQUIRE(answer->detail <= issued->token.attempts - issued->refused);
  }
  if (verdict != PFC_VERDICT_BUSY && verdict != PFC_VERDICT_MALFORMED && verdict != PFC_VERDICT_TOO_NEW) link->live = 0;
}

static void after_recall(struct world *world, const struct pfc_verifier *before, const uint8_t *message,
                         const struct pfc_answer *answer) {
  const uint8_t *nonce = message + PFC_ID_BYTES + 8;
  uint64_t counter = fuzz_get64(message + PFC_ID_BYTES);
  int accepted = accepts(answer->verdict);
  int keyed = accepted || answer->verdict == PFC_VERDICT_NOT_EXECUTED || answer->verdict == PFC_VERDICT_STALE;
  int index = slot_of(before, message);
  const struct pfc_slot *slot = index >= 0 ? &before->ledger.slots[index] : NULL;
  REQUIRE(!keyed || (slot != NULL && slot->state == PFC_SLOT_HELD));
  check_receipt(answer, keyed, slot != NULL ? slot->secrets.device_key : NULL, nonce);
  if (!keyed) return;
  REQUIRE(answer->counter == counter && pfc_recall_check(message, slot->secrets.device_key) == PFC_OK);
  struct issued *issued = issued_of(world, slot->token_digest);
  struct told *told = &world->told[issued->instance];
  if (counter >= told->recalled) told->recalled = counter + 1;
  int sent = 0;
  for (unsigned i = 0; i < world->command_count; i++) {
    const struct commanded *command = &world->commands[i];
    if (command->instance != issued->instance || memcmp(command->nonce, nonce, PFC_NONCE_BYTES) != 0) continue;
    sent |= command->counter == counter;
    REQUIRE(answer->verdict != PFC_VERDICT_NOT_EXECUTED || command->counter != counter || !command->executed);
    REQUIRE(!accepted || !command->executed || command->executed == answer->verdict);
  }
  REQUIRE(!accepted || sent);
}

static void after_order(struct world *world, const struct pfc_ledger *before, const uint8_t *message) {
  const struct pfc_ledger *after = &world->verifier.ledger;
  uint64_t issued = fuzz_get64(message + 16);
  if (issued > world->epoch) world->epoch = issued;
  if (message[4] == PFC_ORDER_REVOKE) {
    int index = slot_of(&world->verifier, message + 40);
    if (issued < before->floor) {
      // The revoked token is superseded: the order may not take a slot for it.
      REQUIRE(memcmp(before->records, after->records, sizeof after->records) == 0);
    } else {
      // A floor forgets a revocation only when it lies above the latest.
      REQUIRE(index >= 0 && after->slots[index].revoked >= fuzz_get32(message + 56));
      REQUIRE(after->slots[index].revoked_at >= issued);
    }
  }
  if (message[4] == PFC_ORDER_REVOKE && issued >= after->floor) {
    for (unsigned i = 0; i < INSTANCES; i++) {
      struct told *told = &world->told[i];
      if (message[40] != i + 1) continue;
      if (fuzz_get32(message + 56) > told->revoked) told->revoked = fuzz_get32(message + 56);
    }
  }
  if (message[4] == PFC_ORDER_FLOOR && issued > world->floor) world->floor = issued;
}

static void check_challenge(struct world *world, struct link *link, const struct pfc_outcome *outcome) {
  struct pfc_challenge challenge;
  REQUIRE(pfc_challenge_decode(&challenge, outcome->reply, outcome->reply_size) == PFC_OK);
  REQUIRE(challenge.counter >= world->next_counter);
  REQUIRE(memcmp(challenge.bytes, world->last_challenge, sizeof challenge.bytes) != 0);
  memcpy(world->last_challenge, challenge.bytes, sizeof challenge.bytes);
  world->next_counter = challenge.counter + 1;
  link->challenge = challenge;
  link->asked = world->seconds;
  link->live = 1;
}

uint8_t world_deliver(struct world *world, struct link *link, uint8_t type, const uint8_t *bytes, size_t size) {
  struct pfc_verifier before = world->verifier;
  struct pfc_outcome outcome;
  struct pfc_answer answer = {0};
  struct pfc_command command;
  struct pfc_status status;
  uint8_t *message = fuzz_copy(bytes, size);
  memset(&outcome, 0xEE, sizeof outcome);
  pfc_verifier_receive(&world->verifier, &link->session, type, message, size, &outcome);
  check_state(&before.ledger, &world->verifier.ledger, outcome.verdict);
  check_time(world);
  REQUIRE(outcome.execute == 0 || (outcome.execute == PFC_EXECUTE && type == PFC_MESSAGE_COMMAND));
  if (outcome.verdict == PFC_VERDICT_NONE) {
    REQUIRE(type == PFC_MESSAGE_ASK && size == 1 && !outcome.execute);
    REQUIRE(outcome.reply_type == (message[0] == 1 ? PFC_MESSAGE_CHALLENGE : PFC_MESSAGE_STATUS));
    if (message[0] == 1) check_challenge(world, link, &outcome);
    if (message[0] == 2) REQUIRE(pfc_status_decode(&status, outcome.reply, outcome.reply_size) == PFC_OK);
  } else {
    REQUIRE(outcome.reply_type == PFC_MESSAGE_VERDICT);
    REQUIRE(pfc_answer_decode(&answer, outcome.reply, outcome.reply_size) == PFC_OK);
    check_detail(type, &answer);
    REQUIRE(answer.verdict == outcome.verdict);
    if (type == PFC_MESSAGE_COMMAND && pfc_command_decode(&command, message, size) == PFC_OK) {
      REQUIRE(outcome.instance_id == NULL || outcome.instance_id == message + 2);
      after_command(world, link, &before, &command, &answer, &outcome);
    } else if (type == PFC_MESSAGE_RECALL && size == PFC_RECALL_BYTES) {
      after_recall(world, &before, message, &answer);
    } else if (answer.verdict == PFC_VERDICT_HELD) {
      struct issued *issued;
      uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
      REQUIRE(type == PFC_MESSAGE_TOKEN && size == PFC_TOKEN_BYTES && answer.counter == 0);
      pfc_token_digest(digest, message);
      issued = issued_of(world, digest);
      check_receipt(&answer, 1, issued->token.secrets.device_key, digest);
      REQUIRE(issued->fits);
      REQUIRE(issued->token.generation > world->told[issued->instance].revoked);
      REQUIRE(issued->token.issued >= world->floor);
      check_not_expired(&before, issued);
      world->told[issued->instance].held = issued;
      if (issued->token.issued > world->epoch) world->epoch = issued->token.issued;
    } else {
      check_receipt(&answer, 0, NULL, NULL);
      if (answer.verdict == PFC_VERDICT_DONE) after_order(world, &before.ledger, message);
    }
  }
  if (type != PFC_MESSAGE_COMMAND || outcome.verdict == PFC_VERDICT_DEVICE_DIFFERS) {
    check_limits(link, outcome.verdict, answer.detail);
  }
  forget(world);
  free(message);
  return outcome.verdict;
}

size_t world_command(struct world *world, uint8_t message[PFC_MESSAGE_MAX], const struct link *link,
                     const struct issued *issued, int changed, uint8_t kind, uint8_t command_class,
                     const uint8_t *command, size_t command_size) {
  struct pfc_secrets secrets = issued->token.secrets;
  struct pfc_request request = {.kind = kind,
                                .command_class = command_class,
                                .challenge = link->challenge,
                                .command = command,
                                .command_size = command_size};
  struct commanded made = {.instance = issued->instance, .counter = link->challenge.counter};
  size_t size;
  // The slot's ratchet, or the one that the token began with: a copy's.
  uint8_t ratchet[PFC_RATCHET_BYTES];
  int index = slot_of(&world->verifier, issued->token.instance_id);
  pfc_ratchet_begin(ratchet, &secrets, issued->digest);
  if (index >= 0 && (changed & 2) == 0) memcpy(ratchet, world->verifier.ledger.slots[index].ratchet, sizeof ratchet);
  request.ratchet = ratchet;
  if (changed & 1) secrets.integrity[0] ^= 1;
  memcpy(request.instance_id, issued->token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world->hardware.id, PFC_ID_BYTES);
  REQUIRE(pfc_command_create(message, PFC_MESSAGE_MAX, &size, made.nonce, &request, &secrets) == PFC_OK);
  if (world->command_count < COMMANDS_MAX) world->commands[world->command_count++] = made;
  return size;
}

void world_disconnect(struct link *link) {
  pfc_session_close(&link->session);
  link->live = 0;
  link->opened = link->refused = 0;
}

void world_check_owners(struct world *world) {
  static const uint8_t ask = PFC_ASK_CHALLENGE, open[] = "open";
  uint8_t message[PFC_MESSAGE_MAX];
  world->write_countdown = 0;
  world->read_fails = world->random_fails = 0;
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot slot = world->verifier.ledger.slots[i];
    struct link *link = &world->links[0];
    if (slot.state != PFC_SLOT_HELD) continue;
    world_disconnect(link);
    REQUIRE(world_deliver(world, link, PFC_MESSAGE_ASK, &ask, 1) == PFC_VERDICT_NONE);
    uint8_t command_class = (uint8_t)__builtin_ctz(slot.integrity_classes), expected = PFC_VERDICT_ACCEPTED;
    if (slot.uses == 0) expected = PFC_VERDICT_NO_USES;
    if (slot.attempts == 0) expected = PFC_VERDICT_NO_ATTEMPTS;
    if (slot.not_after != 0 && pfc_verifier_epoch(&world->verifier) > slot.not_after) expected = PFC_VERDICT_EXPIRED;
    size_t size = world_command(world, message, link, issued_of(world, slot.token_digest), 0,
                                slot.policy == PFC_RATCHET_NONE ? PFC_KIND_INTEGRITY : PFC_KIND_INTEGRITY_RATCHET,
                                command_class, open, sizeof open);
    REQUIRE(world_deliver(world, link, PFC_MESSAGE_COMMAND, message, size) == expected);
  }
}
