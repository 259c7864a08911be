// SPDX-License-Identifier: Apache-2.0

/// Structures made by the core, printed for Tests/Vectors/check.py to verify. The same on every machine, byte for byte.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "emit.h"
#include "packets.h"
#include "sample.h"
#include "suites.h"
#include "world.h"

static unsigned cases;

void begin_block(const char *type, const char *comment) {
  printf("%scase = %u\ncomment = %s\nblock = %s\n", cases == 0 ? "" : "\n", cases + 1, comment, type);
  cases++;
}

void field_number(const char *name, uint64_t number) { printf("%s = %" PRIu64 "\n", name, number); }

static void print_hex(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) printf("%02x", bytes[i]);
}

void field_bytes(const char *name, const void *bytes, size_t size) {
  printf("%s =%s", name, size != 0 ? " " : "");
  print_hex(bytes, size);
  printf("\n");
}

void field_text(const char *name, const char *text) { printf("%s = %s\n", name, text); }

static void field_records(const struct evidence *records, size_t count) {
  for (size_t i = 0; i < count; i++) {
    printf("record = %u %u ", records[i].class_, records[i].number);
    if (records[i].absent) {
      printf("absent");
    } else {
      print_hex(records[i].digest, PFC_DIGEST_BYTES);
    }
    printf(" ");
    print_hex(records[i].name, records[i].name_size);
    printf("\n");
  }
}

static struct sample sample;
static struct pfc_measured measured;
static struct world world;

// Configuration and measurement ----------------------------------------------------------------------------------

static void emit_config(const char *comment, uint8_t mode, uint8_t policy, uint32_t generation, uint8_t limit) {
  sample.key.mode = mode;
  sample.draft.policy = policy;
  sample.draft.generation = generation;
  sample.draft.limit_log2 = limit;
  CHECK_NUMBER(baseline(&sample.config, &sample.draft, &sample.key, sample.records, SAMPLE_RECORDS), PFC_OK);
  CHECK_NUMBER(pfc_config_encode(sample.bytes, sizeof sample.bytes, &sample.size, &sample.config), PFC_OK);
  begin_block("made_config", comment);
  field_number("mode", mode);
  field_number("policy", policy);
  field_number("generation", generation);
  field_number("limit", limit);
  field_bytes("mpk", sample.mpk, sizeof sample.mpk);
  field_bytes("salt", sample.draft.salt, sizeof sample.draft.salt);
  for (unsigned i = 0; i < sample.draft.source_count; i++) {
    const struct pfc_source *source = &sample.draft.sources[i];
    printf("source = %u %u %u %u\n", source->class_, source->number, source->version, source->groups_log2);
  }
  field_records(sample.records, SAMPLE_RECORDS);
  field_bytes("config", sample.bytes, sample.size);
}

static void emit_measurement(const char *comment, const uint8_t mpk[PFC_KEY_BYTES]) {
  struct pfc_key key = pfc_key_plain(mpk, sample.config.mode);
  CHECK_NUMBER(measure(&measured, sample.bytes, sample.size, &key, sample.records, SAMPLE_RECORDS), PFC_OK);
  begin_block("made_measurement", comment);
  field_bytes("mpk", mpk, PFC_KEY_BYTES);
  field_bytes("config", sample.bytes, sample.size);
  field_records(sample.records, SAMPLE_RECORDS);
  field_bytes("im", measured.integrity, 32);
  field_bytes("dpk", measured.device_key, 16);
  field_bytes("dm", measured.device, 32);
}

static void emit_evidence(void) {
  uint8_t other_mpk[PFC_KEY_BYTES] = {0xfe, 0xdc};
  sample_make(&sample, 2024);
  emit_config("the smallest generation", PFC_MODE_PRODUCTION, PFC_POLICY_FULL, 1, PFC_CONFIG_LIMIT_LOG2_MIN);
  emit_config("the largest generation, development", PFC_MODE_DEVELOPMENT, PFC_POLICY_INCREMENTAL,
              PFC_GENERATION_ALL - 1, PFC_CONFIG_LIMIT_LOG2_MAX);
  sample.draft.salt[0] ^= 0xff;
  emit_config("another salt", PFC_MODE_PRODUCTION, PFC_POLICY_INCREMENTAL, 65536, 30);
  emit_measurement("untouched", sample.mpk);
  emit_measurement("another key", other_mpk);
  sample.records[4].digest[0] ^= 1;
  emit_measurement("another app", sample.mpk);
  sample.records[4].digest[0] ^= 1;
  sample.records[1].absent = false;
  emit_measurement("another device", sample.mpk);
  sample.records[1].absent = true;
  CHECK_NUMBER(measure(&measured, sample.bytes, sample.size, &sample.key, sample.records, SAMPLE_RECORDS), PFC_OK);
}

// Token and order ------------------------------------------------------------------------------------------------

static void field_measured(void) {
  field_bytes("mpk", sample.mpk, PFC_KEY_BYTES);
  field_bytes("im", measured.integrity, 32);
  field_bytes("dpk", measured.device_key, 16);
  field_bytes("dm", measured.device, 32);
}

static void make_secrets(struct app *app, uint8_t form) {
  app->token.form = form;
  CHECK_NUMBER(pfc_secrets_make(&app->token.secrets, &sample.key, &measured, form, world.hardware.id), PFC_OK);
}

static void emit_token(const char *comment, struct app *app) {
  app_issue(app, &world);
  begin_block("made_token", comment);
  field_bytes("hardware_id", world.hardware.id, 16);
  field_bytes("hardware_secret", world.hardware.secret_key, 32);
  field_bytes("issuer_public", world.issuer.public_key, 32);
  field_number("version", app->token.version);
  field_number("policy", app->token.policy);
  field_number("delegable_classes", app->token.delegable_classes);
  field_number("base", app->token.base);
  field_bytes("factory_secret", world.hardware.factory_secret, world.hardware.has_factory_secret ? 32 : 0);
  field_number("mode", app->token.mode);
  field_number("form", app->token.form);
  field_number("integrity_classes", app->token.integrity_classes);
  field_number("device_classes", app->token.device_classes);
  field_number("attempts", app->token.attempts);
  field_number("uses", app->token.uses);
  field_number("generation", app->token.generation);
  field_number("not_after", app->token.not_after);
  field_number("issued", app->token.issued);
  field_bytes("instance_id", app->token.instance_id, 16);
  field_measured();
  field_bytes("token", app->bytes, sizeof app->bytes);
  field_bytes("digest", app->digest, sizeof app->digest);
}

static void emit_order(const char *comment, uint8_t type, uint64_t issued, bool addressed, uint8_t instance,
                       uint32_t generation) {
  struct pfc_order order;
  uint8_t bytes[PFC_ORDER_BYTES];
  memset(&order, 0, sizeof order);
  order.type = type;
  order.issued = issued;
  order.generation = generation;
  if (addressed) memcpy(order.hardware_id, world.hardware.id, 16);
  memset(order.instance_id, instance, 16);
  CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK);
  begin_block("made_order", comment);
  field_bytes("issuer_public", world.issuer.public_key, 32);
  field_number("type", type);
  field_number("issued", issued);
  field_bytes("hardware_id", order.hardware_id, 16);
  field_bytes("instance_id", order.instance_id, 16);
  field_number("generation", generation);
  field_bytes("order", bytes, sizeof bytes);
}

// Command, answer, recall ----------------------------------------------------------------------------------------

static void emit_command(const char *comment, struct app *app, uint8_t kind, uint8_t class_, const char *text) {
  app_command(app, &world, kind, class_, text);
  begin_block("made_command", comment);
  field_bytes("hardware_id", world.hardware.id, 16);
  field_bytes("challenge", app->challenge.bytes, 32);
  field_number("counter", app->challenge.counter);
  field_number("kind", kind);
  field_number("class", class_);
  field_bytes("instance_id", app->token.instance_id, 16);
  field_number("form", app->token.form);
  field_measured();
  field_bytes("command", text, strlen(text));
  field_bytes("ratchet", app->ratchet, sizeof app->ratchet);
  field_number("known", app->known);
  field_bytes("message", app->message, app->size);
}

/// The last answer, to `answer_to`. Without a nonce the verdict has no receipt; without an app, or one that holds a
/// slot, there is no device key.
static void emit_answer(const char *comment, const char *answer_to, const struct app *app, const uint8_t *nonce) {
  bool has_receipt = !pfc_is_zero(world.answer.receipt, PFC_RECEIPT_BYTES);
  bool held = app != NULL && pfc_ledger_find(&world.verifier.ledger, app->token.instance_id) >= 0;
  begin_block("made_answer", comment);
  printf("answer_to = %s\n", answer_to);
  field_bytes("dpk_hw", held ? app->token.secrets.device_key : NULL, held ? 16 : 0);
  field_bytes("nonce", nonce, has_receipt ? 16 : 0);
  field_number("verdict", world.answer.verdict);
  field_number("detail", world.answer.detail);
  field_number("counter", world.answer.counter);
  field_bytes("message", world.outcome.reply, world.outcome.reply_size);
}

static void emit_act(const char *comment, struct app *app, uint8_t kind, uint8_t class_) {
  (void)app_do(app, &world, kind, class_, "open");
  emit_answer(comment, "command", app, app->nonce);
}

static void emit_recall(const char *comment, const struct app *app) {
  uint8_t message[PFC_RECALL_BYTES];
  pfc_recall_create(message, app->token.instance_id, app->challenge.counter, app->nonce, app->token.secrets.device_key);
  begin_block("made_recall", comment);
  field_bytes("dpk_hw", app->token.secrets.device_key, 16);
  field_bytes("instance_id", app->token.instance_id, 16);
  field_number("counter", app->challenge.counter);
  field_bytes("nonce", app->nonce, 16);
  field_bytes("message", message, sizeof message);
  (void)world_send(&world, PFC_MESSAGE_RECALL, message, sizeof message);
  emit_answer(comment, "recall", app, app->nonce);
}

static void emit_dialogue(void) {
  struct app app, stranger, old;
  uint8_t noise[PFC_TOKEN_BYTES] = {9};
  world_make(&world, 4711);
  app_make(&app, &world, 1);
  app.token.integrity_classes = 0x0006;
  app.token.device_classes = 0x0004;
  app.token.uses = 2;
  app.token.attempts = 1;
  app.token.not_after = WORLD_BEGIN + 1000;
  make_secrets(&app, PFC_FORM_DIVERSIFIED);
  emit_token("counted, limited, diversified", &app);
  (void)app_present(&app, &world);
  emit_answer("held", "token", &app, app.digest);
  emit_act("accepted", &app, PFC_KIND_INTEGRITY, 1);
  emit_recall("what was accepted", &app);
  stranger = app;
  stranger.token.secrets.device[0] ^= 1;
  emit_act("device differs", &stranger, PFC_KIND_DEVICE, 2);
  emit_recall("what was refused", &stranger);
  emit_act("not permitted", &app, PFC_KIND_DEVICE, 1);
  emit_act("accepted, device only", &app, PFC_KIND_DEVICE, 2);
  emit_act("no uses", &app, PFC_KIND_INTEGRITY, 1);
  (void)app_send(&app, &world);
  emit_answer("stale", "command", &app, app.nonce);

  old = app;
  app.token.generation = 2;
  app.token.uses = PFC_USES_UNLIMITED;
  app.token.issued = WORLD_BEGIN + 10;
  emit_token("without limit of uses", &app);
  (void)app_present(&app, &world);
  emit_answer("held, without limit", "token", &app, app.digest);
  (void)app_present(&old, &world);
  emit_answer("superseded", "token", &app, old.digest);
  stranger = app;
  stranger.token.secrets.integrity[0] ^= 1;
  emit_act("integrity differs", &stranger, PFC_KIND_INTEGRITY, 1);
  emit_act("no attempts", &app, PFC_KIND_INTEGRITY, 1);
  (void)world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 1001, NULL, 0);
  emit_answer("order done", "order", NULL, NULL);
  emit_act("expired", &app, PFC_KIND_INTEGRITY, 1);
  (void)world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1002, app.token.instance_id, 2);
  emit_act("revoked", &app, PFC_KIND_INTEGRITY, 1);
  app_make(&stranger, &world, 2);
  emit_act("unknown instance", &stranger, PFC_KIND_INTEGRITY, 1);
  (void)world_send(&world, PFC_MESSAGE_TOKEN, noise, sizeof noise);
  emit_answer("malformed", "token", NULL, NULL);
  memcpy(noise, app.bytes, 8);
  (void)world_send(&world, PFC_MESSAGE_TOKEN, noise, sizeof noise);
  emit_answer("not for me", "token", NULL, NULL);
  (void)world_send(&world, 200, noise, 3);
  emit_answer("no message", "other", NULL, NULL);
  world.random = RANDOM_FAILS;
  (void)world_ask(&world, &app.challenge);
  emit_answer("fault", "ask", NULL, NULL);
  world.random = RANDOM_GOOD;
  for (unsigned i = 0; i < PFC_SESSION_OPENINGS_MAX; i++)
    (void)world_send(&world, PFC_MESSAGE_TOKEN, noise, sizeof noise);
  emit_answer("busy", "token", NULL, NULL);
}

static void emit_literal(void) {
  struct app app;
  static char longest[PFC_COMMAND_MAX + 1];
  memset(longest, 'x', PFC_COMMAND_MAX);
  world_make(&world, 4712);
  world.hardware.allow_literal = 1;
  app_make(&app, &world, 3);
  for (uint8_t form = PFC_FORM_DIVERSIFIED; form <= PFC_FORM_LITERAL; form++) {
    make_secrets(&app, form);
    app.token.generation = form;
    emit_token(form == PFC_FORM_LITERAL ? "literal" : "diversified", &app);
    for (uint8_t kind = 1; kind <= 4; kind++) {
      CHECK(world_ask(&world, &app.challenge));
      emit_command("no bytes", &app, kind, 0, "");
      emit_command("a few bytes", &app, kind, 7, "open");
      emit_command("all bytes", &app, kind, 15, longest);
    }
  }
  emit_order("an epoch", PFC_ORDER_EPOCH, WORLD_BEGIN, true, 0, 0);
  emit_order("an epoch, the last second", PFC_ORDER_EPOCH, UINT64_MAX, true, 0, 0);
  emit_order("a revocation", PFC_ORDER_REVOKE, WORLD_BEGIN + 1, true, 0x77, 3);
  emit_order("a revocation for good", PFC_ORDER_REVOKE, 1, true, 0x77, PFC_GENERATION_ALL);
  emit_order("a floor", PFC_ORDER_FLOOR, WORLD_BEGIN + 2, true, 0, 0);
}

static void emit_version_2(void) {
  struct app app;
  for (unsigned factory = 0; factory < 2; factory++) {
    world_make(&world, 4714);
    if (factory != 0) world_factory(&world);
    app_make(&app, &world, 6);
    make_secrets(&app, PFC_FORM_DIVERSIFIED);
    app.token.generation = 5;
    app.token.delegable_classes = 0x8001;
    app_renew(&app);
    app.token.base = 2;
    emit_token(factory != 0 ? "version 2, suite 2" : "version 2, suite 1", &app);
    (void)app_present(&app, &world);
    emit_answer("held, version 2", "token", &app, app.digest);
    emit_act("accepted, version 2", &app, PFC_KIND_INTEGRITY, 1);
  }
}

static void emit_frames_of(uint8_t type, const uint8_t *message, size_t size) {
  static const size_t packet_sizes[] = {20, 21, 64, 182, 185, 244, 350, 514};
  static struct packets packets;
  const struct shape shape = {type, size};
  for (unsigned p = 0; p < sizeof packet_sizes / sizeof packet_sizes[0]; p++) {
    packets_cut(&packets, &shape, message, packet_sizes[p]);
    begin_block("made_frames", "a message in packets");
    field_number("type", type);
    field_number("packet", packet_sizes[p]);
    field_bytes("message", message, size);
    for (size_t i = 0; i < packets.count; i++) field_bytes("fragment", packets.bytes[i], packets.sizes[i]);
  }
}

/// One message of each type, out of one conversation.
static void emit_frames(void) {
  struct app app;
  struct pfc_order order;
  uint8_t bytes[PFC_ORDER_BYTES], recall[PFC_RECALL_BYTES];
  const uint8_t what = PFC_ASK_CHALLENGE;
  world_make(&world, 4713);
  app_make(&app, &world, 5);
  app_issue(&app, &world);
  emit_frames_of(PFC_MESSAGE_TOKEN, app.bytes, sizeof app.bytes);
  (void)app_present(&app, &world);
  emit_frames_of(PFC_MESSAGE_VERDICT, world.outcome.reply, world.outcome.reply_size);
  emit_frames_of(PFC_MESSAGE_ASK, &what, 1);
  CHECK(world_ask(&world, &app.challenge));
  emit_frames_of(PFC_MESSAGE_CHALLENGE, world.outcome.reply, world.outcome.reply_size);
  app_command(&app, &world, PFC_KIND_DEVICE, 1, "");
  emit_frames_of(PFC_MESSAGE_COMMAND, app.message, app.size);
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "8 bytes.");
  emit_frames_of(PFC_MESSAGE_COMMAND, app.message, app.size);
  pfc_recall_create(recall, app.token.instance_id, app.challenge.counter, app.nonce, app.token.secrets.device_key);
  emit_frames_of(PFC_MESSAGE_RECALL, recall, sizeof recall);
  (void)world_status(&world);
  emit_frames_of(PFC_MESSAGE_STATUS, world.outcome.reply, world.outcome.reply_size);
  memset(&order, 0, sizeof order);
  order.type = PFC_ORDER_EPOCH;
  order.issued = WORLD_BEGIN;
  memcpy(order.hardware_id, world.hardware.id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK);
  emit_frames_of(PFC_MESSAGE_ORDER, bytes, sizeof bytes);
}

int emit_all(void) {
  cases = 0;
  emit_evidence();
  emit_dialogue();
  emit_literal();
  emit_version_2();
  emit_frames();
  emit_gates();
  emit_logbook();
#if PFC_SEALS_COMMANDS
  emit_sealed();
#endif
#if PFC_CHANNEL
  emit_channel();
#endif
#if PFC_GRANTS
  emit_grants();
#endif
  return harness_failures() == 0 ? 0 : 1;
}
