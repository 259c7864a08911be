// SPDX-License-Identifier: Apache-2.0

/// Writes valid structures, one file each, as the first inputs of every target: seeds FOLDER makes FOLDER/TARGET/NAME.
/// `run.sh --renew` grows the committed corpus from them.

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static const char *folder;

static void seed(const char *target, const char *name, const void *head, size_t head_size, const void *bytes,
                 size_t size) {
  char path[512];
  FILE *file;
  snprintf(path, sizeof path, "%s/%s", folder, target);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
  file = fopen(path, "wb");
  if (file == NULL || fwrite(head, 1, head_size, file) != head_size || fwrite(bytes, 1, size, file) != size ||
      fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

static void configs(void) {
  struct pfc_config config = {
      .mode = PFC_MODE_DEVELOPMENT, .policy = PFC_POLICY_INCREMENTAL, .limit_log2 = 30, .generation = 7};
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  char name[32];
  config.key_id[0] = config.mode;
  memset(config.salt, 0x5A, sizeof config.salt);
  for (unsigned count = 2; count <= PFC_CONFIG_SOURCES_MAX; count += 11) {
    size_t size;
    config.source_count = (uint8_t)count;
    config.leaf_count = 0;
    for (unsigned i = 0; i < count; i++) {
      uint8_t groups_log2 = count == 2 ? 6 : i % 3, class_ = (uint8_t)(1 + 3 * i / count);
      if (count == 2) class_ = (uint8_t)(1 + i);
      config.sources[i] = (struct pfc_source){class_, (uint8_t)(1 + i), 1, groups_log2};
      config.leaf_count = (uint8_t)(config.leaf_count + (1 << groups_log2));
    }
    REQUIRE(pfc_config_encode(bytes, sizeof bytes, &size, &config) == PFC_OK);
    snprintf(name, sizeof name, "raw-%u", count);
    seed("config", name, "\x00", 1, bytes, size);
    snprintf(name, sizeof name, "tagged-%u", count);
    seed("config", name, "\x01", 1, bytes, size);
    snprintf(name, sizeof name, "structure-%u", count);
    seed("config", name, "\x02", 1, &config, sizeof config);
  }
}

static void signed_structures(void) {
  const struct fuzz_fixture *fixture = fuzz_fixture();
  struct pfc_token token = fuzz_token(1);
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[PFC_SECRET_KEY_BYTES];
  static const uint8_t zeros[8] = {0};
  memset(ephemeral, 0x65, sizeof ephemeral);
  REQUIRE(pfc_token_create(bytes, &token, fixture->hardware.public_key, NULL, fixture->signing_keys[0], ephemeral) ==
          PFC_OK);
  seed("token", "raw", "\x02", 1, bytes, PFC_TOKEN_BYTES);
  seed("token", "made", "\x00", 1, zeros, sizeof zeros);
  seed("token", "created", "\x01", 1, zeros, sizeof zeros);
  seed("token", "made-version-2-suite-2", "\x00\x80", 2, zeros, sizeof zeros);
  seed("token", "made-version-2-suite-1", "\x00\xA0", 2, zeros, sizeof zeros);
  seed("message", "token", "\x03", 1, bytes, PFC_TOKEN_BYTES);
  // A secret of zeros, one after the other, and an instance of zeros.
  static const struct {
    char name[24];
    size_t at, size;
    uint8_t filled;
  } zeroed[] = {{"story-zero-instance", 48, 16, 0x49},
                {"story-zero-key", 72, 16, 0x11},
                {"story-zero-integrity", 88, 32, 0x22},
                {"story-zero-device-key", 120, 16, 0x33},
                {"story-zero-device", 136, 32, 0x44}};
  for (size_t i = 0; i < sizeof zeroed / sizeof zeroed[0]; i++) {
    uint8_t input[2 + PFC_TOKEN_BODY_BYTES] = {0};
    memset(input + 2 + zeroed[i].at, zeroed[i].filled, zeroed[i].size);
    seed("token", zeroed[i].name, input, 2 + zeroed[i].at + zeroed[i].size, "", 0);
  }
  for (uint8_t type = PFC_ORDER_EPOCH; type <= PFC_ORDER_FLOOR; type++) {
    struct pfc_order order = {.type = type, .issued = 1000};
    char name[] = {'r', 'a', 'w', (char)('0' + type), 0}, made[] = {'m', 'a', 'd', 'e', (char)('0' + type), 0};
    uint8_t how[2] = {0, (uint8_t)((type - 1) << 2)};
    memcpy(order.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
    if (type == PFC_ORDER_REVOKE) {
      order.generation = 1;
      order.instance_id[0] = 1;
    }
    REQUIRE(pfc_order_create(bytes, &order, fixture->signing_keys[1]) == PFC_OK);
    seed("order", name, "\x02", 1, bytes, PFC_ORDER_BYTES);
    seed("order", made, how, sizeof how, zeros, sizeof zeros);
    name[0] = 's';
    seed("order", name, "\x01", 1, &order, sizeof order);
    seed("message", name, "\x06", 1, bytes, PFC_ORDER_BYTES);
  }
}

/// The message as a target of its own, and in packets as the fuzzer writes them: two bytes, then the packet.
static void message(const char *name, uint8_t type, const uint8_t *bytes, size_t size) {
  static const size_t packet_sizes[] = {PFC_PACKET_MIN, 182, 254};
  seed("message", name, &type, 1, bytes, size);
  for (unsigned i = 0; i < 3; i++) {
    struct pfc_fragmenter fragmenter;
    uint8_t stream[2 * PFC_MESSAGE_MAX], packet[PFC_PACKET_MAX];
    size_t total = 0, taken;
    char file[32];
    REQUIRE(pfc_fragment_init(&fragmenter, type, bytes, size, packet_sizes[i]) == PFC_OK);
    while ((taken = pfc_fragment_next(&fragmenter, packet)) > 0) {
      stream[total++] = 0;
      stream[total++] = (uint8_t)taken;
      memcpy(stream + total, packet, taken);
      total += taken;
    }
    snprintf(file, sizeof file, "%s-%zu", name, packet_sizes[i]);
    seed("frame", file, "", 0, stream, total);
  }
}

static void messages(void) {
  struct pfc_secrets secrets = fuzz_token(1).secrets;
  struct pfc_request request = {.kind = PFC_KIND_INTEGRITY, .command = (const uint8_t *)"open", .command_size = 4};
  struct pfc_answer answer = {.verdict = PFC_VERDICT_ACCEPTED};
  struct pfc_status status = {.mode = 1, .slots = 8};
  uint8_t bytes[PFC_MESSAGE_MAX] = {PFC_ASK_CHALLENGE}, nonce[PFC_NONCE_BYTES];
  size_t size;
  message("ask", PFC_MESSAGE_ASK, bytes, 1);
  REQUIRE(pfc_command_create(bytes, sizeof bytes, &size, nonce, &request, &secrets) == PFC_OK);
  message("command-integrity", PFC_MESSAGE_COMMAND, bytes, size);
  request.kind = PFC_KIND_DEVICE;
  REQUIRE(pfc_command_create(bytes, sizeof bytes, &size, nonce, &request, &secrets) == PFC_OK);
  message("command-device", PFC_MESSAGE_COMMAND, bytes, size);
  request.kind = PFC_KIND_INTEGRITY_RATCHET;
  request.ratchet = request.instance_id;
  REQUIRE(pfc_command_create(bytes, sizeof bytes, &size, nonce, &request, &secrets) == PFC_OK);
  message("command-ratchet", PFC_MESSAGE_COMMAND, bytes, size);
  pfc_recall_create(bytes, request.instance_id, 0, nonce, secrets.device_key);
  message("recall", PFC_MESSAGE_RECALL, bytes, PFC_RECALL_BYTES);
  pfc_answer_encode(bytes, &answer);
  message("verdict", PFC_MESSAGE_VERDICT, bytes, PFC_VERDICT_MESSAGE_BYTES);
  pfc_challenge_encode(bytes, &request.challenge);
  message("challenge", PFC_MESSAGE_CHALLENGE, bytes, PFC_CHALLENGE_MESSAGE_BYTES);
  pfc_status_encode(bytes, &status);
  message("status", PFC_MESSAGE_STATUS, bytes, PFC_STATUS_BYTES);
  seed("message", "create-command", "\x80\x00\x00\x04", 4, bytes, 64);
  seed("message", "create-recall", "\x81", 1, bytes, 64);
}

/// The log: its messages, what it stores, and a lock that is read.
static void logbook(void) {
  static const uint8_t zeros[96] = {0};
  static const uint8_t cut[] = {0, 0, 0x10, 0, 0x21, 0, 0x1C, 5, 6, 0, 0x20, 5, 6, 0, 0x20, 3, 1, 0, 33, 0, 0};
  static const uint8_t put_back[] = {0, 0, 0x10, 0, 0x21, 139, 1, 0, 0x22, 0, 0x20, 5, 199, 1, 0, 0x11, 0, 0x12, 5};
  static const uint8_t overwritten[] = {0, 0, 0x10, 0, 0x21, 5, 0, 0x10, 0, 0x10, 138, 138, 138, 7, 49, 13, 3, 0};
  struct pfc_log state = {.next = 3};
  uint8_t message[PFC_LOG_BYTES(2)] = {0}, nonce[PFC_NONCE_BYTES] = {0};
  size_t size;
  REQUIRE(pfc_log_message_make(message, sizeof message, &size, &state, 0, 1, 2, nonce) == PFC_OK);
  seed("logbook", "story-cut", cut, sizeof cut, "", 0);
  seed("logbook", "story-put-back", put_back, sizeof put_back, "", 0);
  seed("logbook", "story-overwritten", overwritten, sizeof overwritten, "", 0);
  seed("logbook", "ask", "\x01", 1, zeros, PFC_LOG_ASK_BYTES);
  seed("logbook", "message", "\x02", 1, message, size);
  seed("logbook", "page", "\x03\x00", 2, zeros, 16);
  seed("logbook", "key-record", "\x04\x00", 2, zeros, 64);
}

/// The log in flash: what stands there, then events, some of them cut.
static void log_flash(void) {
  static const uint8_t life[] = {2, 0, 0, 1, 2, 3, 4, 5, 200, 6, 7, 193, 8, 9, 10, 11, 210, 12, 13, 14, 15, 16, 195};
  static const uint8_t once[] = {3, 0, 0, 1, 2, 3, 4, 5, 200, 6, 7, 193, 8, 9, 10, 11, 210, 12, 13, 14, 15, 16, 195};
  // A record, heads and entries that fit together; then ones that do not.
  static const uint8_t found[] = {0, 5, 5, 0, 16, 1, 2, 16, 2, 2, 16, 2, 7, 17, 2, 12, 18, 0, 1, 2, 3, 200, 4};
  static const uint8_t torn[] = {0, 4, 5, 0, 16, 10, 1, 16, 1, 2, 16, 2, 7, 19, 0, 1, 2, 3, 200, 4};
  seed("logflash", "life", life, sizeof life, life, sizeof life);
  seed("logflash", "once", once, sizeof once, life, sizeof life);
  seed("logflash", "found", found, sizeof found, life, sizeof life);
  seed("logflash", "torn", torn, sizeof torn, life, sizeof life);
}

/// Opcodes; what they mean stands in the target's own file.
static void scripts(void) {
  static const uint8_t fold[] = {2, 0, 0, 0x81, 0x81, 0, 'a', 0, 'b', 0x10, 'c', 1, 'a', 0, 'b', 1, 'a', 1, 'x'};
  static const uint8_t record[] = {24, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 7, 4, 3};
  static const uint8_t serve[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token for instance 0 over link 0
      0, 0, 0, 0,                    // a challenge
      1, 0, 0, 4, 0, 0, 0,           // an integrity command of class 0
      4, 0, 0, 0, 0, 0,              // a recall of it
      0, 0, 0, 0,                    // a challenge
      1, 0, 0x20, 4, 0, 0, 0,        // the same from a changed app
      8,                             // a power cut
      11, 0, 0, 0,                   // the status
  };
  static const uint8_t orders[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token
      3, 0, 5, 0, 0, 0,              // an epoch
      3, 1, 6, 10, 0, 0, 0,          // a revocation
      3, 2, 7, 0, 0, 0,              // a floor
      7, 0x14, 9, 3, 2, 9, 0, 0, 0,  // a torn write, then a floor
      8,                             // a power cut
      5, 0, 1,                       // a replay
  };
  // Stories: what no coverage leads to. Committed as they are.
  static const uint8_t recalled[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token
      0, 1, 0, 0,                    // a challenge over link 1
      1, 0, 0x40, 4, 0, 0, 0,        // the command that answers it, over link 0
      4, 0, 0, 0, 0, 0,              // a recall of it: not executed
      5, 1, 1,                       // the command again, over link 1
  };
  static const uint8_t swept[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // the same …
      0, 1, 0, 0,                    //
      1, 0, 0x40, 4, 0, 0, 0,        //
      4, 0, 0, 0, 0, 0,              //
      3, 2, 5, 0, 0, 0,              // … but a floor frees the slot
      2, 0, 0x21, 7, 0xFF, 0, 0, 0,  // and the instance comes back with a new token and its old secrets
      5, 3, 1,                       // before the command comes again, over link 1
  };
  static const uint8_t held_back[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token
      0, 0, 0, 0,                    // a challenge over link 0
      0, 1, 0, 0,                    // and one over link 1
      1, 0, 0x40, 4, 1, 0, 0,        // the command that answers the second is done
      1, 0, 0, 4, 0, 0, 0,           // the one that answers the first comes after it
      4, 0, 1, 0, 0, 0,              // a recall of the one that was done
  };
  static const uint8_t disconnected[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token
      0, 0, 0, 0,                    // a challenge over link 0
      9, 0,                          // the link ends
      1, 0, 0, 4, 0, 0, 0,           // the command that answered it, over the next one
  };
  static const uint8_t torn_floor[] = {
      2, 0, 0x21, 0, 0xFF, 0, 0, 0,  // a token of instance 0
      2, 1, 0x21, 0, 0xFF, 0, 0, 0,  // a token of instance 1
      7, 0x20, 0,                    // the second write from now fails
      3, 2, 5, 0, 0, 0,              // a floor above both
      0, 0, 0, 0,                    // a challenge
      1, 0, 0, 4, 0, 0, 0,           // a command of instance 1
  };
  seed("verifier", "story-recalled", recalled, sizeof recalled, "", 0);
  seed("verifier", "story-swept", swept, sizeof swept, "", 0);
  seed("verifier", "story-held-back", held_back, sizeof held_back, "", 0);
  seed("verifier", "story-disconnected", disconnected, sizeof disconnected, "", 0);
  seed("verifier", "story-torn-floor", torn_floor, sizeof torn_floor, "", 0);
  seed("measurement", "fold", fold, sizeof fold, "", 0);
  seed("record", "record", record, sizeof record, "", 0);
  logbook();
  log_flash();
  seed("verifier", "serve", serve, sizeof serve, "", 0);
  seed("verifier", "story-factory-secret", "\xFF", 1, serve, sizeof serve);
  seed("verifier", "orders", orders, sizeof orders, "", 0);
}

/// The valid case of each reader of gates; all that differs from it is the fuzzer's.
static void gates(void) {
  static const uint8_t beacon[10] = {2, 0x14, 1, 2, 3, 4, 5, 6, 7, 8};
  static const char text[] =
      "\x02\xff" "EQOLtXQwoW4S79OApefB50XSVoi2aWrJNCqLuCzoPIt8pdRQJ0zUOHCYmkl3NCnQF2_r8cX1FXRNI4uYqmS477MC";
  static const uint8_t zeros[48] = {0};
  uint8_t error[2 + PFC_COMPACT_BYTES] = {3, PFC_COMPACT_EVENT};
  for (uint8_t what = 0; what < 2; what++) {
    seed("gate", what == 0 ? "made" : "created", &what, 1, zeros, 16);
    seed("compact", what == 0 ? "made" : "makes", &what, 1, zeros, 16);
  }
  for (uint8_t kind = 0; kind < 3; kind++) {
    char name[] = {'k', 'i', 'n', 'd', (char)('1' + kind), 0};
    const uint8_t head[2] = {0, kind};
    seed("compact", name, head, sizeof head, zeros, 16);
  }
  seed("gate", "beacon", beacon, 1, beacon + 1, sizeof beacon - 1);
  seed("compact", "text", text, sizeof text - 1, "", 0);
  REQUIRE(pfc_compact_make_error(error + 2, PFC_COMPACT_EVENT, 1, zeros) == PFC_OK);
  seed("compact", "error", error, sizeof error, "", 0);
  seed("http", "request", zeros, 8, "", 0);
  seed("http", "ipv6", "\0\0\x0a[::1]:8443\0\0", 15, "", 0);
  seed("http", "texts", "\x06" "Basic \x04/a?b\x01" "b\x04POST\x04http", 24, "", 0);
  for (uint8_t what = 0; what < 3; what++) {
    const char *names[] = {"pairing", "puzzles", "search"};
    seed("work", names[what], &what, 1, zeros, 16);
  }
  seed("work", "found", "\x02\0\0\0\0\xff\x03\x03", 8, "", 0);
  seed("work", "last", "\x02\xff\xff\xff\xff\x01\x03\x03", 8, "", 0);
}

/// Sealed commands: a lock whose owner asks, makes and sends, whole, changed and late.
static void sealed(void) {
  static const uint8_t whole[] = {0, 8, 1, 3, 0, 4, 4, 0, 0, 1, 11, 5, 9, 4, 0};
  static const uint8_t late[] = {0, 1, 1, 3, 2, 200, 0xfe, 4, 0, 1, 3, 2, 2, 4, 0};
  static const uint8_t other[] = {0, 2, 1, 3, 0, 0, 13, 0, 9, 3, 1, 1, 4, 0, 0, 1, 3, 1, 1, 4, 0};
  uint8_t message[150] = {5};
  seed("sealed", "story-whole", whole, sizeof whole, "", 0);
  seed("sealed", "story-late", late, sizeof late, "", 0);
  seed("sealed", "story-other-link", other, sizeof other, "", 0);
  seed("sealed", "shape", "\x01", 1, message, sizeof message);
  seed("sealed", "answer", "\x02", 1, message + 1, 18);
}

/// Channels: a lock whose owner opens one and goes on in it; changed, repeated, on another link, after others.
static void channels(void) {
  static const uint8_t goes_on[] = {0, 1, 0, 1, 0, 4, 3, 0, 1, 16, 9, 3, 0, 3, 0, 0, 1, 0, 1, 3, 1, 7};
  static const uint8_t ends[] = {0, 0, 0, 1, 0, 4, 3, 0, 6, 1, 1, 1, 0, 4, 3, 0, 16, 1, 240, 0, 3, 0, 0, 6, 7, 0};
  static const uint8_t links[] = {0, 5, 0, 8, 1, 0, 0, 5, 0, 1, 0, 0, 13, 0, 0x9f, 1, 0, 0, 3, 0};
  uint8_t message[60] = {9};
  seed("channel", "story-goes-on", goes_on, sizeof goes_on, "", 0);
  seed("channel", "story-ends", ends, sizeof ends, "", 0);
  seed("channel", "story-links", links, sizeof links, "", 0);
  seed("channel", "shape", "\x01", 1, message, sizeof message);
  seed("channel", "round-trip", "\x02", 1, message, sizeof message);
}

/// Grants: a lock whose phones lend, borrow, take back, are revoked and come again; over starts and failed writes.
static void grants(void) {
  static const uint8_t lends[] = {0, 0, 0, 0, 32, 0, 1, 15, 0, 0, 10, 10, 10, 18};
  static const uint8_t back[] = {0,  4, 0, 0, 32, 0, 3, 15, 0, 0, 10, 33, 1, 0,
                                 0, 10, 33, 2, 0, 0, 32, 1, 1, 9, 0, 0, 10};
  static const uint8_t revoked[] = {0, 0, 0, 0, 32, 0, 1, 15, 0, 0, 10, 4, 10, 3, 10, 32, 1, 1, 9, 0, 0, 10, 6, 10};
  static const uint8_t broken[] = {0, 20, 0, 0, 32, 0, 3, 15, 0, 0, 15, 10, 10};
  uint8_t bytes[96] = "PD\1\1", row[80] = {1};
  bytes[40] = bytes[44] = bytes[48] = bytes[50] = bytes[52] = 1;
  seed("grant", "story-lends", lends, sizeof lends, "", 0);
  seed("grant", "story-back", back, sizeof back, "", 0);
  seed("grant", "story-revoked", revoked, sizeof revoked, "", 0);
  seed("grant", "story-broken", broken, sizeof broken, "", 0);
  seed("grant", "shape", "\x01", 1, bytes, sizeof bytes);
  seed("grant", "whole", "\x02", 1, row + 1, 40);
  seed("grant", "row", "\x03", 1, row, sizeof row);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: seeds FOLDER\n");
    return 2;
  }
  folder = argv[1];
  mkdir(folder, 0777);
  configs();
  signed_structures();
  messages();
  scripts();
  gates();
  sealed();
  channels();
  grants();
  return 0;
}
