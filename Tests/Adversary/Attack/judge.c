// SPDX-License-Identifier: Apache-2.0

// Service, backend and hardware in one process of their own: everything that is not the app.
//
// Commands, one a line on standard input; each answer ends with a line "ok" or "error WHAT".
//   enrol POLICY GENERATION   then lines "record CLASS NUMBER NAME DIGEST" and "end":
//                             makes baseline, configuration and token, presents the token to the hardware;
//                             "config HEX", "verdict N" (3: held)
//   token GENERATION          the last enrolled measurement in a token of this generation; "verdict N"
//   forge HEX                 "config HEX": the configuration, made anew without environment sources
//   challenge                 "challenge COUNTER HEX HARDWARE INSTANCE"
//   command HEX               "verdict N DETAIL"

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ProofCore.h"
#include "ProofKey.h"
#include "hex.h"
#include "sources.h"

enum { COMMAND_LINE_MAX = 4096 };

static uint8_t store[2 * (1 + PFC_SLOTS)][PFC_RECORD_BYTES_MAX];
static struct pfc_hardware hardware;
static struct pfc_verifier verifier;
static struct pfc_session session;
static uint8_t signing_key[PFC_SIGNING_KEY_BYTES];
static uint8_t instance[PFC_ID_BYTES];
static struct pfc_measured measured;
static uint64_t issued = 1000;

static int draw(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  return getrandom(bytes, size, 0) == (ssize_t)size ? 0 : -1;
}

static void end(const char *error) {
  if (error == NULL) {
    puts("ok");
  } else {
    printf("error %s\n", error);
  }
  (void)fflush(stdout);
}

static int read_store(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, store[2 * record + copy], size);
  return 0;
}

static int write_store(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(store[2 * record + copy], bytes, size);
  return 0;
}

static const char *start(void) {
  struct pfc_platform platform = {.random = draw, .storage = {.read = read_store, .write = write_store}};
  uint8_t seed[32];
  memset(&hardware, 0, sizeof hardware);
  if (draw(NULL, hardware.id, PFC_ID_BYTES) != 0 || draw(NULL, hardware.secret_key, PFC_SECRET_KEY_BYTES) != 0 ||
      draw(NULL, seed, sizeof seed) != 0 || draw(NULL, instance, sizeof instance) != 0) {
    return "random";
  }
  pfc_public_key(hardware.public_key, hardware.secret_key);
  pfc_signing_key(hardware.issuers[0].public_key, signing_key, seed);
  hardware.mode = pfc_sdk_key.mode;
  hardware.issuer_count = 1;
  if (pfc_verifier_provision(&hardware, &platform, 0, 0, 0) != PFC_OK) return "provision";
  if (pfc_verifier_init(&verifier, &hardware, &platform) != PFC_OK) return "start";
  pfc_session_init(&session);
  return NULL;
}

/// A token of this generation for what was measured last, signed, sealed, and presented to the hardware.
static const char *present_token(uint32_t generation) {
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[PFC_SECRET_KEY_BYTES];
  struct pfc_outcome outcome;
  struct pfc_token token;
  memset(&token, 0, sizeof token);
  token.version = PFC_VERSION;
  token.mode = pfc_sdk_key.mode;
  token.form = PFC_FORM_DIVERSIFIED;
  token.integrity_classes = 0xFFFF;
  token.device_classes = 0x0001;
  token.attempts = 0xFFFF;
  token.uses = PFC_USES_UNLIMITED;
  token.generation = generation;
  token.issued = issued++;
  memcpy(token.hardware_id, hardware.id, PFC_ID_BYTES);
  memcpy(token.instance_id, instance, PFC_ID_BYTES);
  if (draw(NULL, ephemeral, sizeof ephemeral) != 0) return "random";
  if (pfc_secrets_make(&token.secrets, &pfc_sdk_key, &measured, PFC_FORM_DIVERSIFIED, hardware.id) != PFC_OK ||
      pfc_token_create(bytes, &token, hardware.public_key, NULL, signing_key, ephemeral) != PFC_OK) {
    return "token";
  }
  pfc_session_close(&session);
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_TOKEN, bytes, sizeof bytes, &outcome);
  printf("verdict %u\n", outcome.verdict);
  return NULL;
}

struct line {
  unsigned class_, number;
  uint8_t name[PFC_NAME_MAX];
  size_t name_size;
  uint8_t digest[PFC_DIGEST_BYTES];
  int present;
};

static int read_record(struct line *record, char *text) {
  char *save = NULL;
  const char *word = strtok_r(text, " ", &save);
  const char *class_ = strtok_r(NULL, " ", &save), *number = strtok_r(NULL, " ", &save);
  const char *name = strtok_r(NULL, " ", &save), *digest = strtok_r(NULL, " ", &save);
  long size;
  if (digest == NULL || strcmp(word, "record") != 0) return -1;
  record->class_ = (unsigned)atoi(class_);
  record->number = (unsigned)atoi(number);
  size = hex_read(record->name, sizeof record->name, name);
  record->name_size = size > 0 ? (size_t)size : 0;
  record->present = strcmp(digest, "-") != 0;
  if (record->present && hex_read(record->digest, sizeof record->digest, digest) != PFC_DIGEST_BYTES) return -1;
  return size > 0 ? 0 : -1;
}

static int fold(struct pfc_measurement *measurement, const struct line *records, size_t count) {
  int result = PFC_OK;
  for (size_t i = 0; i < count && result == PFC_OK; i++) {
    const struct line *record = &records[i];
    result = pfc_measurement_update(measurement, (uint8_t)record->class_, (uint8_t)record->number, record->name,
                                    record->name_size, record->present ? record->digest : NULL);
  }
  return result;
}

/// Plays the service: baseline, configuration, and the measurement that an untouched app will have under it.
static const char *enrol(const char *policy, uint32_t generation) {
  enum { RECORDS_MAX = 1024 };
  static char text[COMMAND_LINE_MAX];
  static struct line records[RECORDS_MAX];
  static struct pfc_measurement measurement;
  struct pfc_config draft, config;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t count = 0, size;
  while (fgets(text, sizeof text, stdin) != NULL && strncmp(text, "end", 3) != 0) {
    text[strcspn(text, "\n")] = 0;
    if (count == RECORDS_MAX || read_record(&records[count++], text) != 0) return "record";
  }
  memset(&draft, 0, sizeof draft);
  draft.policy = strcmp(policy, "full") == 0       ? PFC_POLICY_FULL
                 : strcmp(policy, "trusting") == 0 ? PFC_POLICY_TRUSTING
                                                   : PFC_POLICY_INCREMENTAL;
  draft.limit_log2 = 34;
  draft.generation = generation;
  if (draw(NULL, draft.salt, sizeof draft.salt) != 0) return "random";
  pfp_sources_propose(&draft);
  if (pfc_measurement_baseline_init(&measurement, &draft, &pfc_sdk_key) != PFC_OK ||
      fold(&measurement, records, count) != PFC_OK ||
      pfc_measurement_baseline_final(&config, &measurement) != PFC_OK ||
      pfc_config_encode(bytes, sizeof bytes, &size, &config) != PFC_OK) {
    return "baseline";
  }
  if (pfc_measurement_init(&measurement, bytes, size, &pfc_sdk_key, 0) != PFC_OK ||
      fold(&measurement, records, count) != PFC_OK || pfc_measurement_final(&measured, &measurement) != PFC_OK) {
    return "measurement";
  }
  printf("config ");
  hex_print(bytes, size);
  putchar('\n');
  return present_token(generation);
}

/// Encoding computes every check value, so this is all that anyone can do to a configuration without the key.
static const char *forge(const char *text) {
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  struct pfc_config config;
  size_t size, kept = 0;
  long length = hex_read(bytes, sizeof bytes, text);
  if (length < 0 || pfc_config_decode(&config, bytes, (size_t)length) != PFC_OK) return "decode";
  config.leaf_count = 0;
  for (size_t i = 0; i < config.source_count; i++) {
    if (config.sources[i].class_ == PFC_CLASS_ENVIRONMENT) continue;
    config.leaf_count = (uint8_t)(config.leaf_count + (1u << config.sources[i].groups_log2));
    config.sources[kept++] = config.sources[i];
  }
  config.source_count = (uint8_t)kept;
  if (pfc_config_encode(bytes, sizeof bytes, &size, &config) != PFC_OK) return "encode";
  printf("config ");
  hex_print(bytes, size);
  putchar('\n');
  return NULL;
}

static void challenge(void) {
  static const uint8_t ASK[] = {PFC_ASK_CHALLENGE};
  struct pfc_outcome outcome;
  struct pfc_challenge made;
  // One link for each command, so that no refusal before it makes the hardware busy.
  pfc_session_close(&session);
  pfc_session_init(&session);
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_ASK, ASK, sizeof ASK, &outcome);
  if (pfc_challenge_decode(&made, outcome.reply, outcome.reply_size) != PFC_OK) {
    end("challenge");
    return;
  }
  printf("challenge %llu ", (unsigned long long)made.counter);
  hex_print(made.bytes, sizeof made.bytes);
  putchar(' ');
  hex_print(hardware.id, PFC_ID_BYTES);
  putchar(' ');
  hex_print(instance, PFC_ID_BYTES);
  putchar('\n');
  end(NULL);
}

static void command(const char *text) {
  uint8_t message[PFC_MESSAGE_MAX];
  struct pfc_outcome outcome;
  struct pfc_answer answer;
  long size = hex_read(message, sizeof message, text);
  if (size < 0) {
    end("hex");
    return;
  }
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, (size_t)size, &outcome);
  if (pfc_answer_decode(&answer, outcome.reply, outcome.reply_size) != PFC_OK) {
    end("answer");
    return;
  }
  printf("verdict %u %u\n", answer.verdict, answer.detail);
  end(NULL);
}

int main(void) {
  static char line[COMMAND_LINE_MAX];
  const char *error = start();
  end(error);
  if (error != NULL) return 1;
  while (fgets(line, sizeof line, stdin) != NULL) {
    char policy[32];
    unsigned generation;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "enrol %31s %u", policy, &generation) == 2) {
      end(enrol(policy, generation));
    } else if (sscanf(line, "token %u", &generation) == 1) {
      end(present_token(generation));
    } else if (strncmp(line, "forge ", 6) == 0) {
      end(forge(line + 6));
    } else if (strcmp(line, "challenge") == 0) {
      challenge();
    } else if (strncmp(line, "command ", 8) == 0) {
      command(line + 8);
    } else {
      end("command");
    }
  }
  return 0;
}
