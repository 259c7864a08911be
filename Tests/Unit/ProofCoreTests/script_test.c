// SPDX-License-Identifier: Apache-2.0

/// The second implementation's dialogues: the hardware's every answer, byte for byte.

#include <string.h>

#include "ProofCore.h"
#include "flash.h"
#include "harness.h"
#include "vectors.h"

enum { LINKS = 2 };

/// Hardware as a script describes it, with the script's clock and randomness.
static struct {
  struct flash flash;
  uint32_t seconds;
  uint8_t random[PFC_CHALLENGE_BYTES];
  bool random_given;
  struct pfc_hardware hardware;
  struct pfc_platform platform;
  struct pfc_verifier verifier;
  struct pfc_session sessions[LINKS];
  struct pfc_session *session;
  struct pfc_outcome outcome;
} stage;

static int take_random(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  if (!CHECK(stage.random_given) || !CHECK_NUMBER(size, sizeof stage.random)) return -1;
  stage.random_given = false;
  memcpy(bytes, stage.random, size);
  return 0;
}

/// The bytes that the hardware draws next.
static void give_random(const char *value) {
  size_t size;
  CHECK(parse_bytes(value, stage.random, sizeof stage.random, &size) && size == sizeof stage.random);
  stage.random_given = true;
}

static uint32_t read_clock(void *context) {
  (void)context;
  return stage.seconds;
}

static void begin_links(void) {
  for (unsigned i = 0; i < LINKS; i++) pfc_session_init(&stage.sessions[i]);
  stage.session = &stage.sessions[0];
}

static bool set_stage(const struct block *block) {
  memset(&stage, 0, sizeof stage);
  flash_erase(&stage.flash, 1);
  block_exactly(block, "hardware_id", stage.hardware.id, 16);
  block_exactly(block, "hardware_secret", stage.hardware.secret_key, 32);
  pfc_public_key(stage.hardware.public_key, stage.hardware.secret_key);
  stage.hardware.mode = (uint8_t)block_number(block, "mode");
  stage.hardware.allow_literal = (uint8_t)block_number(block, "literal");
  stage.hardware.challenge_seconds = (uint16_t)block_number(block, "challenge_limit");
  for (size_t i = 0; i < block->count; i++) {
    size_t size;
    if (strcmp(block->fields[i].name, "issuer") != 0) continue;
    if (!CHECK(stage.hardware.issuer_count < PFC_ISSUERS_MAX)) return false;
    CHECK(parse_bytes(block->fields[i].value, stage.hardware.issuers[stage.hardware.issuer_count++].public_key, 32,
                      &size));
  }
  take_factory_secret(block, &stage.hardware);
  stage.platform.random = take_random;
  stage.platform.seconds = read_clock;
  stage.platform.storage = flash_storage(&stage.flash);
  CHECK_NUMBER(block_number(block, "busy_wait"), PFC_SESSION_WAIT_SECONDS);
  if (!CHECK_NUMBER(block_number(block, "slots"), PFC_SLOTS)) return false;
  // The first challenge has counter 1.
  if (!CHECK_NUMBER(pfc_verifier_provision(&stage.hardware, &stage.platform, 0, 0, 1), PFC_OK)) return false;
  begin_links();
  return CHECK_NUMBER(pfc_verifier_init(&stage.verifier, &stage.hardware, &stage.platform), PFC_OK);
}

/// `T hex`
static bool parse_typed(const char *value, uint8_t *type, uint8_t *bytes, size_t capacity, size_t *size) {
  uint64_t number;
  if (!parse_number(value, &number) || number > 255) return false;
  *type = (uint8_t)number;
  value += strcspn(value, " ");
  value += strspn(value, " ");
  return parse_bytes(value, bytes, capacity, size);
}

static bool has_line(const struct block *block, const char *name) {
  for (size_t i = 0; i < block->count; i++) {
    if (strcmp(block->fields[i].name, name) == 0) return true;
  }
  return false;
}

static void judge_script(const struct block *block) {
  const char *step = "";
  if (!PFC_SEALS_COMMANDS && has_line(block, "prepare")) {
    test_note("a script of verifier.txt not run: this build answers no sealed commands");
    return;
  }
  if (!PFC_CHANNEL && has_line(block, "channels")) {
    test_note("a script of verifier.txt not run: this build opens no channels");
    return;
  }
  if (!PFC_GRANTS && has_line(block, "grants")) {
    test_note("a script of verifier.txt not run: this build takes no grants");
    return;
  }
  if (!set_stage(block)) return;
  for (size_t i = 0; i < block->count; i++) {
    static uint8_t bytes[2048];
    const char *name = block->fields[i].name, *value = block->fields[i].value;
    uint8_t type;
    uint64_t number;
    size_t size;
    if (strcmp(name, "clock") == 0) {
      CHECK(parse_number(value, &number));
      stage.seconds = (uint32_t)number;
    } else if (strcmp(name, "random") == 0) {
      give_random(value);
#if PFC_SEALS_COMMANDS
    } else if (strcmp(name, "prepare") == 0) {
      give_random(value);
      CHECK_NUMBER(pfc_verifier_prepare(&stage.verifier), PFC_OK);
#endif
#if PFC_CHANNEL
    } else if (strcmp(name, "channels") == 0) {
      CHECK_NUMBER(pfc_verifier_keep_channels(&stage.verifier), PFC_OK);
#endif
#if PFC_GRANTS
    } else if (strcmp(name, "grants") == 0) {
      CHECK_NUMBER(pfc_verifier_take_grants(&stage.verifier), PFC_OK);
#endif
    } else if (strcmp(name, "send") == 0) {
      REQUIRE(CHECK(parse_typed(value, &type, bytes, sizeof bytes, &size)));
      pfc_verifier_receive(&stage.verifier, stage.session, type, bytes, size, &stage.outcome);
    } else if (strcmp(name, "reply") == 0) {
      REQUIRE(CHECK(parse_typed(value, &type, bytes, sizeof bytes, &size)));
      test_case("script line %u, case %s (%s), step: %s, line %u", block->line, block_word(block, "case"),
                block_word(block, "comment"), step, block->line + (unsigned)i);
      CHECK_NUMBER(stage.outcome.reply_type, type);
      if (!CHECK_NUMBER(stage.outcome.reply_size, size)) return;
      if (!CHECK_BYTES(stage.outcome.reply, bytes, size)) return;
    } else if (strcmp(name, "link") == 0) {
      REQUIRE(CHECK(parse_number(value, &number) && number >= 1 && number <= LINKS));
      stage.session = &stage.sessions[number - 1];
    } else if (strcmp(name, "disconnect") == 0) {
      pfc_session_close(stage.session);
      pfc_session_init(stage.session);
    } else if (strcmp(name, "restart") == 0) {
      begin_links();
      REQUIRE(CHECK_NUMBER(pfc_verifier_init(&stage.verifier, &stage.hardware, &stage.platform), PFC_OK));
    } else if (strcmp(name, "step") == 0) {
      step = value;
    }
  }
}

static void scripts(void) {
  // The scripts fill their hardware's eight slots; other hardware would answer otherwise, and rightly.
  if (PFC_SLOTS != 8) {
    test_note("verifier.txt not run: it is about 8 slots, this build has %d", PFC_SLOTS);
    return;
  }
  static const struct judge judges[] = {{"script", judge_script}};
  JUDGE_FILE("verifier.txt", judges);
}

static const struct test tests[] = {
    TEST("every dialogue of the second implementation has the same answers, byte for byte", scripts),
};

const struct suite script_suite = SUITE("script", tests);
