// SPDX-License-Identifier: Apache-2.0

#include "world.h"

#include <string.h>

static int world_random(void *context, uint8_t *bytes, size_t size) {
  struct world *world = context;
  if (world->random == RANDOM_FAILS || !CHECK_NUMBER(size, PFC_CHALLENGE_BYTES)) return -1;
  if (world->random == RANDOM_GOOD) dice_fill(&world->dice, world->last_random, size);
  memcpy(bytes, world->last_random, size);
  return 0;
}

static uint32_t world_seconds(void *context) { return ((struct world *)context)->seconds; }

int world_restart(struct world *world) {
  flash_power(&world->flash);
  pfc_session_init(&world->links[0]);
  pfc_session_init(&world->links[1]);
  world->link = &world->links[0];
  return pfc_verifier_init(&world->verifier, &world->hardware, &world->platform);
}

void world_clock(struct world *world, bool present) {
  world->platform.seconds = present ? world_seconds : NULL;
  CHECK_NUMBER(world_restart(world), PFC_OK);
}

void world_make(struct world *world, uint64_t seed) {
  memset(world, 0, sizeof *world);
  world->dice.state = seed;
  flash_erase(&world->flash, seed + 1);
  issuer_make(&world->issuer, seed + 2);
  dice_fill(&world->dice, world->hardware.id, PFC_ID_BYTES);
  dice_fill(&world->dice, world->hardware.secret_key, PFC_SECRET_KEY_BYTES);
  pfc_public_key(world->hardware.public_key, world->hardware.secret_key);
  world->hardware.mode = PFC_MODE_PRODUCTION;
  world->hardware.challenge_seconds = 30;
  world->hardware.issuer_count = 1;
  memcpy(world->hardware.issuers[0].public_key, world->issuer.public_key, PFC_PUBLIC_KEY_BYTES);
  world->platform.context = world;
  world->platform.random = world_random;
  world->platform.storage = flash_storage(&world->flash);
  CHECK_NUMBER(pfc_verifier_provision(&world->hardware, &world->platform, 0, 0, 1), PFC_OK);
  CHECK_NUMBER(world_restart(world), PFC_OK);
}

/// docs/SPEC.md section 10, the table of verdicts: who may have a receipt, as an answer to what.
static bool may_have_receipt(uint8_t type, uint8_t verdict) {
  switch (verdict) {
    case PFC_VERDICT_ACCEPTED:
    case PFC_VERDICT_ACCEPTED_DEVICE:
    case PFC_VERDICT_ACCEPTED_COPY:
    case PFC_VERDICT_ACCEPTED_DEVICE_COPY: return type == PFC_MESSAGE_COMMAND || type == PFC_MESSAGE_RECALL;
    case PFC_VERDICT_HELD:
    case PFC_VERDICT_READY: return type == PFC_MESSAGE_TOKEN;
    case PFC_VERDICT_DONE: return type == PFC_MESSAGE_GRANT;
    case PFC_VERDICT_NOT_EXECUTED:
    case PFC_VERDICT_STALE: return type == PFC_MESSAGE_RECALL;
    case PFC_VERDICT_INTEGRITY_DIFFERS:
    case PFC_VERDICT_DEVICE_DIFFERS:
    case PFC_VERDICT_NOT_PERMITTED:
    case PFC_VERDICT_COPIED:
    case PFC_VERDICT_NO_ATTEMPTS:
    case PFC_VERDICT_NO_USES:
    case PFC_VERDICT_EXPIRED: return type == PFC_MESSAGE_COMMAND;
    default: return false;
  }
}

/// The same table: verdicts whose detail says something, and those that always have one.
static bool may_have_detail(uint8_t type, uint8_t verdict) {
  switch (verdict) {
    case PFC_VERDICT_ACCEPTED:
    case PFC_VERDICT_ACCEPTED_DEVICE:
    case PFC_VERDICT_ACCEPTED_COPY:
    case PFC_VERDICT_ACCEPTED_DEVICE_COPY:
    case PFC_VERDICT_COPIED:
    case PFC_VERDICT_STALE: return type == PFC_MESSAGE_COMMAND;
    case PFC_VERDICT_NOT_PERMITTED: return type == PFC_MESSAGE_COMMAND || type == PFC_MESSAGE_GRANT;
    case PFC_VERDICT_DONE:
    case PFC_VERDICT_UNKNOWN: return type == PFC_MESSAGE_GRANT;
    case PFC_VERDICT_HELD:
    case PFC_VERDICT_READY:
    case PFC_VERDICT_INTEGRITY_DIFFERS:
    case PFC_VERDICT_TOO_NEW:
    case PFC_VERDICT_BUSY:
    case PFC_VERDICT_FAULT: return true;
    case PFC_VERDICT_SUPERSEDED: return type == PFC_MESSAGE_TOKEN || type == PFC_MESSAGE_GRANT;
    case PFC_VERDICT_WRONG_MODE: return type == PFC_MESSAGE_TOKEN;
    case PFC_VERDICT_EXPIRED:
      if (type == PFC_MESSAGE_GRANT) return true;
      return type == PFC_MESSAGE_TOKEN || type == PFC_MESSAGE_ORDER;
    case PFC_VERDICT_NO_ROOM: return type == PFC_MESSAGE_TOKEN || type == PFC_MESSAGE_ORDER;
    default: return false;
  }
}

static bool has_detail(uint8_t type, uint8_t verdict) {
  return may_have_detail(type, verdict) && verdict >= PFC_VERDICT_DEVICE_DIFFERS && verdict != PFC_VERDICT_UNKNOWN;
}

/// The counter that a COMMAND or RECALL names; 0 for everything else and for what does not parse.
static uint64_t counter_named(uint8_t type, const uint8_t *message, size_t size) {
  struct pfc_command command;
  if (type == PFC_MESSAGE_RECALL && size == PFC_RECALL_BYTES) return get64(message + 16);
  if (type != PFC_MESSAGE_COMMAND || pfc_command_decode(&command, message, size) != PFC_OK) return 0;
  return command.counter;
}

uint8_t world_send(struct world *world, uint8_t type, const uint8_t *message, size_t size) {
  struct pfc_outcome *outcome = &world->outcome;
  memset(outcome, 0xa5, sizeof *outcome);
  memset(&world->answer, 0, sizeof world->answer);
  pfc_verifier_receive(&world->verifier, world->link, type, message, size, outcome);
  bool accepted = outcome->verdict == PFC_VERDICT_ACCEPTED || outcome->verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
                  outcome->verdict == PFC_VERDICT_ACCEPTED_COPY ||
                  outcome->verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
  CHECK_NUMBER(outcome->execute, accepted && type == PFC_MESSAGE_COMMAND ? PFC_EXECUTE : 0);
  CHECK_NUMBER(pfc_message_fits(outcome->reply_type, outcome->reply_size), 1);
  if (outcome->reply_type == PFC_MESSAGE_CHALLENGE || outcome->reply_type == PFC_MESSAGE_STATUS) {
    CHECK_NUMBER(type, PFC_MESSAGE_ASK);
    CHECK_NUMBER(outcome->verdict, PFC_VERDICT_NONE);
    return PFC_VERDICT_NONE;
  }
  CHECK_NUMBER(outcome->reply_type, PFC_MESSAGE_VERDICT);
  CHECK_NUMBER(pfc_answer_decode(&world->answer, outcome->reply, outcome->reply_size), PFC_OK);
  CHECK_NUMBER(world->answer.verdict, outcome->verdict);
  if (!may_have_receipt(type, outcome->verdict)) CHECK_ZEROS(world->answer.receipt, PFC_RECEIPT_BYTES);
  const uint8_t *named = NULL;
  if (type == PFC_MESSAGE_COMMAND && counter_named(type, message, size) != 0) named = message + 2;
  if (type == PFC_MESSAGE_RECALL && size == PFC_RECALL_BYTES) named = message;
  if (type == PFC_MESSAGE_GRANT && outcome->instance_id != NULL) named = message + 8;
  CHECK(outcome->instance_id == (world->verifier.ready != 0 ? named : NULL));
  if (!may_have_detail(type, outcome->verdict)) CHECK_NUMBER(world->answer.detail, 0);
  if (PFC_TELLS_DETAILS && has_detail(type, outcome->verdict)) CHECK(world->answer.detail != 0);
  // Hardware that did not start knows nothing, not even how to read.
  CHECK_COUNT(world->answer.counter, world->verifier.ready != 0 ? counter_named(type, message, size) : 0);
  if (outcome->execute == PFC_EXECUTE) {
    CHECK(outcome->command >= message && outcome->command + outcome->command_size == message + size);
    CHECK_NUMBER(outcome->kind, message[0]);
    CHECK_NUMBER(outcome->command_class, message[1]);
  }
  return outcome->verdict;
}

bool world_ask(struct world *world, struct pfc_challenge *challenge) {
  const uint8_t what = PFC_ASK_CHALLENGE;
  (void)world_send(world, PFC_MESSAGE_ASK, &what, 1);
  if (world->outcome.reply_type != PFC_MESSAGE_CHALLENGE) return false;
  if (!CHECK_NUMBER(pfc_challenge_decode(challenge, world->outcome.reply, world->outcome.reply_size), PFC_OK))
    return false;
  CHECK_BYTES(challenge->bytes, world->last_random, PFC_CHALLENGE_BYTES);
  CHECK(challenge->counter > world->highest_counter);
  world->highest_counter = challenge->counter;
  return true;
}

struct pfc_status world_status(struct world *world) {
  const uint8_t what = PFC_ASK_STATUS;
  struct pfc_status status;
  memset(&status, 0, sizeof status);
  (void)world_send(world, PFC_MESSAGE_ASK, &what, 1);
  CHECK_NUMBER(world->outcome.reply_type, PFC_MESSAGE_STATUS);
  CHECK_NUMBER(pfc_status_decode(&status, world->outcome.reply, world->outcome.reply_size), PFC_OK);
  return status;
}

uint8_t world_order(struct world *world, uint8_t type, uint64_t issued, const uint8_t *instance_id,
                    uint32_t generation) {
  struct pfc_order order;
  uint8_t bytes[PFC_ORDER_BYTES];
  memset(&order, 0, sizeof order);
  order.type = type;
  order.issued = issued;
  order.generation = generation;
  memcpy(order.hardware_id, world->hardware.id, PFC_ID_BYTES);
  if (instance_id != NULL) memcpy(order.instance_id, instance_id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_order_create(bytes, &order, world->issuer.signing_key), PFC_OK);
  return world_send(world, PFC_MESSAGE_ORDER, bytes, sizeof bytes);
}

void app_make(struct app *app, const struct world *world, uint64_t seed) {
  struct dice dice = {seed};
  memset(app, 0, sizeof *app);
  app->token.version = PFC_VERSION;
  app->token.mode = world->hardware.mode;
  app->token.form = PFC_FORM_DIVERSIFIED;
  app->token.integrity_classes = app->token.device_classes = 0xffff;
  app->token.attempts = 3;
  app->token.uses = PFC_USES_UNLIMITED;
  app->token.generation = 1;
  app->token.issued = WORLD_BEGIN;
  memcpy(app->token.hardware_id, world->hardware.id, PFC_ID_BYTES);
  dice_fill(&dice, app->token.instance_id, PFC_ID_BYTES);
  dice_fill(&dice, &app->token.secrets, sizeof app->token.secrets);
}

void world_factory(struct world *world) {
  uint8_t drawn[PFC_FACTORY_SECRET_BYTES];
  dice_fill(&world->dice, drawn, sizeof drawn);
  pfc_factory_secret(world->hardware.factory_secret, drawn, world->hardware.id);
  world->hardware.has_factory_secret = 1;
  CHECK_NUMBER(pfc_verifier_provision(&world->hardware, &world->platform, 0, 0, world->highest_counter + 1), PFC_OK);
  CHECK_NUMBER(world_restart(world), PFC_OK);
}

void app_renew(struct app *app) {
  app->token.version = PFC_TOKEN_VERSION_2;
  app->token.base = app->token.generation;
}

void app_update(struct app *app) {
  struct dice dice = {get64(app->token.instance_id) ^ app->token.generation};
  if (app->token.base == 0) app_renew(app);
  app->token.policy = PFC_POLICY_UPCOMING;
  app->token.generation++;
  dice_fill(&dice, &app->token.secrets, sizeof app->token.secrets);
}

void app_ratchet(struct app *app, uint8_t policy) {
  app_renew(app);
  app->token.policy = policy;
}

void app_follow(struct app *app, uint8_t verdict) {
  bool copy = verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
  if (!copy && verdict != PFC_VERDICT_ACCEPTED && verdict != PFC_VERDICT_ACCEPTED_DEVICE) return;
  app->known = (uint32_t)app->challenge.counter;
  if (!copy) pfc_ratchet_next(app->ratchet, app->ratchet, app->nonce);
  if (copy && (app->token.policy & PFC_POLICY_RATCHET) == PFC_RATCHET_REPORT) {
    pfc_ratchet_fork(app->ratchet, &app->token.secrets, app->nonce);
  }
}

void app_issue(struct app *app, const struct world *world) {
  struct dice dice = {get64(app->token.instance_id) + app->token.generation};
  uint8_t ephemeral[32];
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  // The suite that the hardware demands, for a token that can have it.
  bool safe = world->hardware.has_factory_secret == 1 && app->token.version == PFC_TOKEN_VERSION_2;
  const uint8_t *s = safe ? world->hardware.factory_secret : NULL;
  CHECK_NUMBER(
      pfc_token_create(app->bytes, &app->token, world->hardware.public_key, s, world->issuer.signing_key, ephemeral),
      PFC_OK);
  pfc_token_digest(app->digest, app->bytes);
}

uint8_t app_present(struct app *app, struct world *world) {
  uint8_t verdict = world_send(world, PFC_MESSAGE_TOKEN, app->bytes, sizeof app->bytes);
  if (verdict == PFC_VERDICT_HELD || verdict == PFC_VERDICT_READY) {
    CHECK_NUMBER(pfc_receipt_check(world->answer.receipt, app->token.secrets.device_key, app->digest, verdict,
                                   world->answer.detail, 0),
                 PFC_OK);
    pfc_ratchet_begin(app->ratchet, &app->token.secrets, app->digest);
  }
  return verdict;
}

void app_command(struct app *app, const struct world *world, uint8_t kind, uint8_t class_, const char *text) {
  struct pfc_request request;
  memset(&request, 0, sizeof request);
  request.kind = kind;
  request.command_class = class_;
  memcpy(request.instance_id, app->token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world->hardware.id, PFC_ID_BYTES);
  request.challenge = app->challenge;
  request.command = (const uint8_t *)text;
  request.command_size = strlen(text);
  request.ratchet = app->ratchet;
  request.known = app->known;
  CHECK_NUMBER(
      pfc_command_create(app->message, sizeof app->message, &app->size, app->nonce, &request, &app->token.secrets),
      PFC_OK);
}

uint8_t app_send(struct app *app, struct world *world) {
  return world_send(world, PFC_MESSAGE_COMMAND, app->message, app->size);
}

bool app_believes(const struct app *app, const struct world *world) {
  return pfc_receipt_check(world->answer.receipt, app->token.secrets.device_key, app->nonce, world->answer.verdict,
                           world->answer.detail, world->answer.counter) == PFC_OK;
}

uint8_t app_do(struct app *app, struct world *world, uint8_t kind, uint8_t class_, const char *text) {
  if (!world_ask(world, &app->challenge)) return world->outcome.verdict;
  app_command(app, world, kind, class_, text);
  uint8_t verdict = app_send(app, world);
  CHECK_COUNT(world->answer.counter, app->challenge.counter);
  // An app on another device has another key too, and cannot tell this receipt from any other.
  if (may_have_receipt(PFC_MESSAGE_COMMAND, verdict) && verdict != PFC_VERDICT_DEVICE_DIFFERS) {
    CHECK(app_believes(app, world));
  }
  return verdict;
}

uint8_t app_recall(struct app *app, struct world *world) {
  uint8_t message[PFC_RECALL_BYTES];
  pfc_recall_create(message, app->token.instance_id, app->challenge.counter, app->nonce, app->token.secrets.device_key);
  uint8_t verdict = world_send(world, PFC_MESSAGE_RECALL, message, sizeof message);
  CHECK_COUNT(world->answer.counter, app->challenge.counter);
  if (may_have_receipt(PFC_MESSAGE_RECALL, verdict)) {
    CHECK_NUMBER(world->answer.detail, 0);
    CHECK(app_believes(app, world));
  }
  return verdict;
}
