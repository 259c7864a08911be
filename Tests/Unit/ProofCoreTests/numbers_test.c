// SPDX-License-Identifier: Apache-2.0

/// Numbers that callers store and other languages know: none is ever reused.

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"

static void results_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_OK, 0}, {PFC_E_ARGUMENT, -1}, {PFC_E_DAMAGED, -2}, {PFC_E_FOREIGN, -3}, {PFC_E_TOO_NEW, -4},
      {PFC_E_MALFORMED, -5}, {PFC_E_ORDER, -6}, {PFC_E_SOURCE, -7}, {PFC_E_RECIPIENT, -8}, {PFC_E_SIGNATURE, -9},
      {PFC_E_MODE, -10}, {PFC_E_DIFFERS, -11}, {PFC_E_STORAGE, -12}, {PFC_E_RANDOM, -13}, {PFC_E_SPACE, -14},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static void refusals_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_REFUSAL_NONE, 0}, {PFC_REFUSAL_TOKEN_LENGTH, 1}, {PFC_REFUSAL_TOKEN_MAGIC, 2},
      {PFC_REFUSAL_TOKEN_VERSION, 3}, {PFC_REFUSAL_TOKEN_GATE, 4}, {PFC_REFUSAL_TOKEN_KEY, 5},
      {PFC_REFUSAL_TOKEN_SEAL, 6}, {PFC_REFUSAL_TOKEN_ISSUER, 7}, {PFC_REFUSAL_TOKEN_SIGNATURE, 8},
      {PFC_REFUSAL_TOKEN_MODE, 9}, {PFC_REFUSAL_TOKEN_FORM, 10}, {PFC_REFUSAL_TOKEN_RANGE, 11},
      {PFC_REFUSAL_TOKEN_LIFE, 12}, {PFC_REFUSAL_TOKEN_AHEAD, 13}, {PFC_REFUSAL_TOKEN_EXPIRED, 14},
      {PFC_REFUSAL_TOKEN_SUPERSEDED, 15}, {PFC_REFUSAL_TOKEN_REVOKED, 16}, {PFC_REFUSAL_TEXT, 32},
      {PFC_REFUSAL_COMPACT_LENGTH, 33}, {PFC_REFUSAL_COMPACT_VERSION, 34}, {PFC_REFUSAL_COMPACT_KIND, 35},
      {PFC_REFUSAL_ERROR_STATE, 36}, {PFC_REFUSAL_HANDLE, 37}, {PFC_REFUSAL_TAG, 48},
      {PFC_REFUSAL_OTHER_ACCOUNT, 49}, {PFC_REFUSAL_OTHER_BODY, 50}, {PFC_REFUSAL_OTHER_REQUEST, 51},
      {PFC_REFUSAL_OTHER_DATA, 52}, {PFC_REFUSAL_RESERVED, 64}, {PFC_REFUSAL_GENERATION, 65},
      {PFC_REFUSAL_EVENT, 66}, {PFC_REFUSAL_AHEAD, 67}, {PFC_REFUSAL_STALE, 68}, {PFC_REFUSAL_UNANCHORED, 69},
      {PFC_REFUSAL_MEASURED, 70}, {PFC_REFUSAL_KEPT, 71}, {PFC_REFUSAL_REPLAYED, 72},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static void messages_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_MESSAGE_ASK, 1}, {PFC_MESSAGE_CHALLENGE, 2}, {PFC_MESSAGE_TOKEN, 3}, {PFC_MESSAGE_COMMAND, 4},
      {PFC_MESSAGE_VERDICT, 5}, {PFC_MESSAGE_ORDER, 6}, {PFC_MESSAGE_RECALL, 7}, {PFC_MESSAGE_STATUS, 8},
      {PFC_MESSAGE_LOG_ASK, 11}, {PFC_MESSAGE_LOG, 12}, {PFC_ASK_CHALLENGE, 1}, {PFC_ASK_STATUS, 2},
      {PFC_KIND_INTEGRITY, 1}, {PFC_KIND_DEVICE, 2}, {PFC_KIND_INTEGRITY_RATCHET, 3}, {PFC_KIND_DEVICE_RATCHET, 4},
      {PFC_ORDER_EPOCH, 1}, {PFC_ORDER_REVOKE, 2}, {PFC_MODE_PRODUCTION, 1}, {PFC_MODE_DEVELOPMENT, 2},
      {PFC_POLICY_FULL, 1}, {PFC_POLICY_INCREMENTAL, 2}, {PFC_CLASS_DEVICE, 1}, {PFC_CLASS_APP, 2},
      {PFC_CLASS_ENVIRONMENT, 3}, {PFC_LOG_COMMAND, 1}, {PFC_LOG_TOKEN, 2}, {PFC_LOG_ORDER, 3}, {PFC_LOG_NOTE, 5},
      {PFC_ORDER_FLOOR, 3}, {PFC_RATCHET_NONE, 0}, {PFC_RATCHET_REPORT, 1}, {PFC_RATCHET_REFUSE, 2},
      {PFC_FORM_DIVERSIFIED, 1}, {PFC_FORM_LITERAL, 2}, {PFC_FEATURE_TOKEN_2, 1}, {PFC_FEATURE_RATCHET, 2},
      {PFC_FEATURE_LOG, 8}, {PFC_FEATURE_FACTORY_SECRET, 32}, {PFC_FEATURE_UPCOMING, 64},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static void verdicts_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_VERDICT_NONE, 0}, {PFC_VERDICT_ACCEPTED, 1}, {PFC_VERDICT_ACCEPTED_DEVICE, 2}, {PFC_VERDICT_HELD, 3},
      {PFC_VERDICT_DONE, 4}, {PFC_VERDICT_NOT_EXECUTED, 5}, {PFC_VERDICT_ACCEPTED_COPY, 6},
      {PFC_VERDICT_ACCEPTED_DEVICE_COPY, 7}, {PFC_VERDICT_READY, 8}, {PFC_VERDICT_INTEGRITY_DIFFERS, 16},
      {PFC_VERDICT_DEVICE_DIFFERS, 17}, {PFC_VERDICT_STALE, 18}, {PFC_VERDICT_NOT_PERMITTED, 19},
      {PFC_VERDICT_NO_ATTEMPTS, 20}, {PFC_VERDICT_NO_USES, 21}, {PFC_VERDICT_UNKNOWN, 22}, {PFC_VERDICT_COPIED, 23},
      {PFC_VERDICT_NOT_FOR_ME, 32}, {PFC_VERDICT_NOT_SIGNED, 33}, {PFC_VERDICT_EXPIRED, 34},
      {PFC_VERDICT_SUPERSEDED, 35}, {PFC_VERDICT_REVOKED, 36}, {PFC_VERDICT_WRONG_MODE, 37},
      {PFC_VERDICT_NO_ROOM, 38}, {PFC_VERDICT_TOO_NEW, 39}, {PFC_VERDICT_MALFORMED, 48}, {PFC_VERDICT_BUSY, 49},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static void details_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_DETAIL_NO_CHALLENGE, 1}, {PFC_DETAIL_OTHER_CHALLENGE, 2}, {PFC_DETAIL_CHALLENGE_TIMED_OUT, 3},
      {PFC_DETAIL_CHALLENGE_ENDED, 4}, {PFC_DETAIL_CLASS_NOT_PERMITTED, 1}, {PFC_DETAIL_INTEGRITY_DEMANDED, 2},
      {PFC_DETAIL_AHEAD, 65535}, {PFC_DETAIL_BELOW_FLOOR, 1}, {PFC_DETAIL_OLDER_GENERATION, 2},
      {PFC_DETAIL_OTHER_MODE, 1}, {PFC_DETAIL_LITERAL_FORM, 2}, {PFC_DETAIL_SUITE, 3}, {PFC_DETAIL_LATER_VERSION, 1},
      {PFC_DETAIL_LATER_SUITE, 2}, {PFC_DETAIL_RESERVED_BIT, 3}, {PFC_DETAIL_UNKNOWN_KIND, 4},
      {PFC_DETAIL_RATCHET_REPORT, 6}, {PFC_DETAIL_RATCHET_REFUSE, 7}, {PFC_DETAIL_NOT_STORED, 1},
      {PFC_DETAIL_NOT_DRAWN, 2}, {PFC_DETAIL_NOT_STARTED, 3},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/SPEC.md, section 2, the table of limits; sections 5, 8, 9, 10 and 11.
static void limits_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_VERSION, 1}, {PFC_SUITE, 1}, {PFC_TOKEN_VERSION_2, 2}, {PFC_SUITE_FACTORY, 2}, {PFC_RECORD_VERSION, 2},
      {PFC_KEY_BYTES, 16}, {PFC_KEY_ID_BYTES, 8}, {PFC_SALT_BYTES, 16}, {PFC_DIGEST_BYTES, 32},
      {PFC_MEASUREMENT_BYTES, 32}, {PFC_NONCE_BYTES, 16}, {PFC_LAST_NONCE_BYTES, 8}, {PFC_PROOF_BYTES, 32},
      {PFC_RECEIPT_BYTES, 32}, {PFC_CHALLENGE_BYTES, 32}, {PFC_ID_BYTES, 16}, {PFC_ISSUER_ID_BYTES, 8},
      {PFC_TOKEN_DIGEST_BYTES, 16}, {PFC_RATCHET_BYTES, 16}, {PFC_RATCHET_TAG_BYTES, 8},
      {PFC_FACTORY_SECRET_BYTES, 32}, {PFC_PUBLIC_KEY_BYTES, 32}, {PFC_SECRET_KEY_BYTES, 32},
      {PFC_SIGNING_KEY_BYTES, 64}, {PFC_SIGNATURE_BYTES, 64}, {PFC_SEAL_BYTES, 48}, {PFC_LABEL_BYTES, 16},
      {PFC_CONFIG_HEAD_BYTES, 60}, {PFC_CONFIG_SOURCE_BYTES, 4}, {PFC_CONFIG_LEAF_BYTES, 4},
      {PFC_CONFIG_TAG_BYTES, 16}, {PFC_CONFIG_SOURCES_MAX, 24}, {PFC_CONFIG_LEAVES_MAX, 128},
      {PFC_CONFIG_GROUPS_LOG2_MAX, 6}, {PFC_CONFIG_LIMIT_LOG2_MIN, 16}, {PFC_CONFIG_LIMIT_LOG2_MAX, 50},
      {PFC_CONFIG_BYTES_MAX, 684}, {PFC_NAME_MAX, 255}, {PFC_TOKEN_HEAD_BYTES, 8}, {PFC_TOKEN_BODY_BYTES, 168},
      {PFC_TOKEN_BYTES, 288}, {PFC_ORDER_BODY_BYTES, 60}, {PFC_ORDER_BYTES, 124}, {PFC_CLASSES, 16},
      {PFC_POLICY_RATCHET, 3}, {PFC_POLICY_CHANNEL, 4}, {PFC_POLICY_SEALED, 8}, {PFC_POLICY_UPCOMING, 32},
      {PFC_POLICY_TRUSTING, 3}, {PFC_ISSUERS_MAX, 4}, {PFC_EPOCH_STEP, 34560000},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
  CHECK_COUNT(PFC_USES_UNLIMITED, 4294967295u);
  CHECK_COUNT(PFC_GENERATION_ALL, 4294967295u);
}

/// docs/SPEC.md, sections 10 and 11, and the table of section 2.
static void messages_have_their_lengths(void) {
  static const struct number numbers[] = {
      {PFC_COMMAND_MAX, 256}, {PFC_ASK_BYTES, 1}, {PFC_CHALLENGE_MESSAGE_BYTES, 40}, {PFC_COMMAND_HEAD_BYTES, 26},
      {PFC_COMMAND_INTEGRITY_BYTES, 90}, {PFC_COMMAND_DEVICE_BYTES, 58}, {PFC_COMMAND_RATCHET_BYTES, 12},
      {PFC_VERDICT_MESSAGE_BYTES, 43}, {PFC_RECALL_BYTES, 72}, {PFC_STATUS_BYTES, 28}, {PFC_CAPABILITIES_BYTES, 40},
      {PFC_MESSAGE_MAX, PFC_RATCHETS ? 358 : 346}, {PFC_PACKET_MIN, 20}, {PFC_PACKET_MAX, 514},
      {PFC_FRAME_HEAD_BYTES, 2}, {PFC_FRAME_LENGTH_BYTES, 2}, {PFC_FRAME_CHECK_BYTES, 2}, {PFC_FRAME_MORE, 0},
      {PFC_FRAME_COMPLETE, 1}, {PFC_FRAME_REPEATED, 2}, {PFC_FRAME_GARBAGE, -1}, {PFC_FRAME_LOST, -2},
      {PFC_MESSAGE_SEALED_UP, 9}, {PFC_MESSAGE_SEALED_DOWN, 10}, {PFC_MESSAGE_GRANT, 13}, {PFC_ASK_SEALED, 3},
      {PFC_FEATURE_SEALED, 4}, {PFC_FEATURE_GRANTS, 16}, {PFC_FEATURE_CHANNEL, 128}, {PFC_LOG_GRANT, 4},
      {PFC_VERDICT_FAULT, 50},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/SPEC.md, sections 12, 17, 18, 19 and 20.
static void records_have_their_lengths(void) {
  static const struct number numbers[] = {
      {PFC_RECORD_HEAD_BYTES, 8}, {PFC_RECORD_TAG_BYTES, 16}, {PFC_RECORD_PAYLOAD_MAX, 208},
      {PFC_RECORD_PAYLOAD_MAX_1, 196}, {PFC_RECORD_BYTES_MAX, 232}, {PFC_COUNTER_BLOCK, 65536},
      {PFC_RECORD_COPIES, 2}, {PFC_SLOT_BYTES, 208}, {PFC_LEDGER_GLOBAL_BYTES, 24}, {PFC_SLOT_FREE, 0},
      {PFC_SLOT_HELD, 1}, {PFC_SLOT_REVOKED, 2}, {PFC_GRANT_PREFIX_BYTES, 8}, {PFC_LOG_KEY_BYTES, 32},
      {PFC_LOG_TAG_BYTES, 16}, {PFC_LOG_CONTENT_BYTES, 16}, {PFC_LOG_ENTRY_BYTES, 32}, {PFC_LOG_BLOCK, 16},
      {PFC_LOG_UNDONE_MAX, 15}, {PFC_LOG_PAGE_HEAD_BYTES, 32}, {PFC_LOG_KEY_RECORD_BYTES, 80},
      {PFC_LOG_ASK_BYTES, 24}, {PFC_LOG_FIELDS_BYTES, 32}, {PFC_LOG_ENTRIES_MAX, 9}, {PFC_LOG_BYTES(0), 48},
      {PFC_LOG_BYTES(9), 336}, {PFC_LOG_STEPS_MAX, 1048576}, {PFC_SEAL_HINT_BYTES, 8}, {PFC_SEAL_TAG_BYTES, 16},
      {PFC_SEAL_SECONDS, 600}, {PFC_SEALED_CHALLENGE_BYTES, 72}, {PFC_SEALED_HEAD_BYTES, 49},
      {PFC_SEALED_DEVICE_BYTES, 110}, {PFC_SEALED_INTEGRITY_BYTES, 142},
      {PFC_SEALED_COMMAND_MAX, PFC_RATCHETS ? 216 : 204},
      {PFC_SEALED_DOWN_BYTES, 35}, {PFC_CHANNEL_KEY_BYTES, 32}, {PFC_CHANNEL_UP_BYTES, 25},
      {PFC_CHANNEL_COMMANDS, 16}, {PFC_CHANNEL_COMMANDS_BLIND, 4}, {PFC_CHANNEL_SECONDS, 30},
      {PFC_GRANT_TAG_BYTES, 32}, {PFC_GRANT_BYTES, 96}, {PFC_GRANT_USES_MAX, 65534},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/SPEC.md, sections 15 and 16.
static void gates_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_GATE_FORM, 3}, {PFC_GATE_SECRET_BYTES, 32}, {PFC_GATE_KEYS_MAX, 2}, {PFC_GATE_KEY_BYTES, 32},
      {PFC_GATE_TOKEN_HEAD_BYTES, 8}, {PFC_GATE_TOKEN_BODY_BYTES, 168}, {PFC_GATE_TOKEN_BYTES, 288},
      {PFC_GATE_LIFE_SECONDS, 86400}, {PFC_GATE_AHEAD_SECONDS, 300}, {PFC_ARC_BYTES, 10}, {PFC_FINDINGS_MAX, 16},
      {PFC_APP_BYTES, 16}, {PFC_HANDLE_BYTES, 16}, {PFC_COMPACT_VERSION, 1}, {PFC_COMPACT_HEAD_BYTES, 18},
      {PFC_COMPACT_PLAIN_BYTES, 24}, {PFC_COMPACT_TAG_BYTES, 24}, {PFC_COMPACT_BYTES, 66},
      {PFC_COMPACT_TEXT_BYTES, 88}, {PFC_COMPACT_WINDOW_SECONDS, 60}, {PFC_COMPACT_COUNTS_KEPT, 64},
      {PFC_REPLAY_KEY_BYTES, 24}, {PFC_ACCOUNT_MAX, 128}, {PFC_BEACON_BYTES, 4}, {PFC_BEACON_MESSAGE_BYTES, 9},
      {PFC_BEACON_SECONDS, 300}, {PFC_BEACONS_VALID, 4}, {PFC_CHALLENGE_ID_BYTES, 60}, {PFC_PUZZLES, 16},
      {PFC_PUZZLE_SEED_BYTES, 28}, {PFC_PUZZLE_LEVEL_MAX, 24}, {PFC_PUZZLE_SOLUTION_BYTES, 64},
      {PFC_PAIRING_DIGIT_BITS, 18}, {PFC_PAIRING_ROUNDS, 4}, {PFC_PAIRING_LEAVES, 524288}, {PFC_PAIRING_CHOSEN, 16},
      {PFC_PAIRING_LEVEL_MAX, 7}, {PFC_PAIRING_SOLUTION_BYTES, 42}, {PFC_HTTP_METHOD_MAX, 32},
      {PFC_HTTP_AUTHORITY_MAX, 255}, {PFC_COMPACT_REQUEST, 1}, {PFC_COMPACT_BODY, 2}, {PFC_COMPACT_EVENT, 3},
      {PFC_COMPACT_ERROR, 1}, {PFC_COMPACT_YOUNG, 2}, {PFC_ERROR_NOT_STARTED, 1}, {PFC_ERROR_NOT_READY, 2},
      {PFC_ERROR_FAILED, 3}, {PFC_ERROR_MEASUREMENT, 4}, {PFC_ERROR_PAGE, 5}, {PFC_ERROR_INTERNAL, 6},
      {PFC_GATE_FAILED, 1}, {PFC_GATE_FORCED, 2},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/SPEC.md, section 10, *Rules for the hardware*, and the details of section 10.
static void rates_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_SESSION_OPENINGS_MAX, 4}, {PFC_SESSION_REFUSALS_MAX, 16}, {PFC_SESSION_WAIT_SECONDS, 5},
      {PFC_DETAIL_SEAL_REPLACED, 5}, {PFC_DETAIL_NO_CHANNEL, 6}, {PFC_DETAIL_SEALED_DEMANDED, 3},
      {PFC_DETAIL_GRANT_SPENT, 4}, {PFC_DETAIL_OWNER_CANNOT, 5}, {PFC_DETAIL_NOT_DELEGABLE, 9},
      {PFC_DETAIL_NO_MEMBER, 1}, {PFC_DETAIL_DAYS_MAX, 49711}, {PFC_LOG_GROUPS, 4}, {PFC_LOG_STARTED, 1},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// Bits and states of a log's reading, which callers store.
static void readings_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFC_LOG_ENTRY, 1}, {PFC_LOG_UNKNOWN, 2}, {PFC_LOG_UNDONE, 4}, {PFC_LOG_TORN, 8}, {PFC_LOG_MISSING, 16},
      {PFC_LOG_OVERWRITTEN, 32}, {PFC_LOG_UNCLEAR, 64}, {PFC_LOG_CHANGED, 128}, {PFC_LOG_FORKED, 256},
      {PFC_LOG_SHORTER, 512}, {PFC_LOG_WHOLE, 0}, {PFC_LOG_INCOMPLETE, 1}, {PFC_LOG_ALTERED, 2},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static const struct test tests[] = {
    TEST("results have their numbers", results_have_their_numbers),
    TEST("refusals have their numbers", refusals_have_their_numbers),
    TEST("messages and what they carry have the numbers of SPEC", messages_have_their_numbers),
    TEST("verdicts have the numbers of SPEC", verdicts_have_their_numbers),
    TEST("details of refusals have the numbers of SPEC", details_have_their_numbers),
    TEST("limits have the numbers of SPEC", limits_have_their_numbers),
    TEST("messages have the lengths of SPEC", messages_have_their_lengths),
    TEST("records, logs, sealed commands and grants have the lengths of SPEC", records_have_their_lengths),
    TEST("gates have the numbers of SPEC", gates_have_their_numbers),
    TEST("rate limits and further details have the numbers of SPEC", rates_have_their_numbers),
    TEST("readings of a log have their numbers", readings_have_their_numbers),
};

const struct suite numbers_suite = SUITE("numbers", tests);
