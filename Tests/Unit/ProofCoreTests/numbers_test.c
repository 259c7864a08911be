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

static const struct test tests[] = {
    TEST("results have their numbers", results_have_their_numbers),
    TEST("refusals have their numbers", refusals_have_their_numbers),
};

const struct suite numbers_suite = SUITE("numbers", tests);
