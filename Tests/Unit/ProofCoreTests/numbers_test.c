// SPDX-License-Identifier: Apache-2.0

/// Numbers that callers store and other languages know: none is ever reused.

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"

struct number {
  int is, expected;
};

static void check_numbers(const struct number *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    test_case("%d", numbers[i].expected);
    CHECK_NUMBER(numbers[i].is, numbers[i].expected);
  }
}

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

static const struct test tests[] = {
    TEST("results have their numbers", results_have_their_numbers),
    TEST("refusals have their numbers", refusals_have_their_numbers),
    TEST("messages and what they carry have the numbers of SPEC", messages_have_their_numbers),
    TEST("verdicts have the numbers of SPEC", verdicts_have_their_numbers),
    TEST("details of refusals have the numbers of SPEC", details_have_their_numbers),
};

const struct suite numbers_suite = SUITE("numbers", tests);
