// SPDX-License-Identifier: Apache-2.0

/// Hardware as a firmware developer would begin it: the installed headers and library, a C library, nothing else of
/// this repository. It is C11 and C++17 at once.
///
/// Standard input is the factory and then the link. The first line is `ID PUBLIC-KEY SECRET-KEY ISSUER` in
/// hexadecimal; each other line is a message, `TYPE BYTES`, and is answered by one. A command that is done prints
/// `do CLASS BYTES` before the answer.

#define _DEFAULT_SOURCE
#include <ProofCore.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN_CLASS 1u
#define LINE_BYTES (2u * PFC_MESSAGE_MAX + 16u)

// The board: a generator of random bytes, and storage that lasts as long as this process.

static uint8_t areas[1 + PFC_SLOTS][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];

static int board_random(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  return getentropy(bytes, size);
}

static int board_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int board_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

// Hexadecimal.

static bool take_hex(const char **text, uint8_t *bytes, size_t size_max, size_t *size) {
  size_t count = 0;
  unsigned value;
  int length;
  while (**text == ' ') ++*text;
  while (sscanf(*text, "%2x%n", &value, &length) == 1 && length == 2) {
    if (count == size_max) return false;
    bytes[count++] = (uint8_t)value;
    *text += 2;
    if (**text == ' ' || **text == '\n') break;
  }
  *size = count;
  return true;
}

static bool take_field(const char **text, uint8_t *bytes, size_t size) {
  size_t taken = 0;
  return take_hex(text, bytes, size, &taken) && taken == size;
}

static void print_line(const char *word, unsigned number, const uint8_t *bytes, size_t size) {
  printf("%s%u ", word, number);
  for (size_t i = 0; i < size; i++) printf("%02x", bytes[i]);
  printf("\n");
}

// The application. docs/tutorials/FIRMWARE.md shows these lines; a test compares.

static struct pfc_verifier verifier;
static struct pfc_session session;  // one for each link
void drive_motor(const struct pfc_outcome *outcome);
void send_reply(uint8_t type, const uint8_t *bytes, size_t size);

static void on_message(uint8_t type, const uint8_t *bytes, size_t size) {
  static struct pfc_outcome outcome;
  pfc_verifier_receive(&verifier, &session, type, bytes, size, &outcome);
  if (outcome.execute == PFC_EXECUTE) drive_motor(&outcome);
  send_reply(outcome.reply_type, outcome.reply, outcome.reply_size);
  memset(&outcome, 0, sizeof outcome);  // nothing is ever done twice
}

void drive_motor(const struct pfc_outcome *outcome) {
  // Asked a second time, as ProofCore.h advises: one skipped instruction must not open a door.
  if (outcome->execute != PFC_EXECUTE || outcome->command_class != OPEN_CLASS) return;
  print_line("do ", outcome->command_class, outcome->command, outcome->command_size);
}

void send_reply(uint8_t type, const uint8_t *bytes, size_t size) {
  print_line("", type, bytes, size);
  fflush(stdout);
}

static bool start(const char *line) {
  static struct pfc_hardware hardware;
  static struct pfc_platform platform;
  if (!take_field(&line, hardware.id, sizeof hardware.id) ||
      !take_field(&line, hardware.public_key, sizeof hardware.public_key) ||
      !take_field(&line, hardware.secret_key, sizeof hardware.secret_key) ||
      !take_field(&line, hardware.issuers[0].public_key, sizeof hardware.issuers[0].public_key)) {
    return false;
  }
  hardware.mode = PFC_MODE_DEVELOPMENT;
  hardware.issuer_count = 1;
  platform.random = board_random;
  platform.storage.read = board_read;
  platform.storage.write = board_write;
  pfc_session_init(&session);
  return pfc_verifier_provision(&hardware, &platform, 0, 0, 0) == PFC_OK &&
         pfc_verifier_init(&verifier, &hardware, &platform) == PFC_OK;
}

int main(void) {
  static char line[LINE_BYTES];
  if (fgets(line, sizeof line, stdin) == NULL || !start(line)) {
    fprintf(stderr, "firmware: the factory's line is not four fields that fit each other\n");
    return EXIT_FAILURE;
  }
  while (fgets(line, sizeof line, stdin) != NULL) {
    static uint8_t message[PFC_MESSAGE_MAX];
    char *end;
    size_t size = 0;
    const unsigned long type = strtoul(line, &end, 10);
    const char *rest = end;
    if (type > UINT8_MAX || !take_hex(&rest, message, sizeof message, &size)) continue;
    on_message((uint8_t)type, message, size);
  }
  pfc_verifier_wipe(&verifier);
  return EXIT_SUCCESS;
}
