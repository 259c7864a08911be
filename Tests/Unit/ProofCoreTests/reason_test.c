// SPDX-License-Identifier: Apache-2.0

/// The table of reasons: each code is found by its text, and results and verdicts by their numbers.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"

static void every_code_finds_its_own_reason(void) {
  struct pfc_reason listed, found;
  size_t count = 0;
  for (; pfc_reason_at(&listed, count) == PFC_OK; count += 1) {
    test_case("%s", listed.code);
    CHECK_NUMBER(pfc_reason_find(&found, listed.code, strlen(listed.code)), PFC_OK);
    CHECK(found.code == listed.code && found.cause == listed.cause);
    CHECK(found.cause[0] != 0 && found.step[0] != 0 && found.condition[0] != 0);
    CHECK(found.mender >= PFC_MENDER_RETRY && found.mender <= PFC_MENDER_CAUSE);
  }
  CHECK(count > 200);
}

static void a_text_that_is_no_code_finds_none(void) {
  static const struct {
    const char *text;
    size_t size;
  } texts[] = {{"", 0}, {"LOCK-1", 0}, {"LOCK-", 5}, {"lock-18", 7}, {"LOCK-180", 8}, {"LOCK-18", 8}, {"LOCK-18", 4},
               {"LOCK-18, with a text longer than any code", 41}, {"CORE-0", 6}};
  struct pfc_reason reason;
  memset(&reason, 0, sizeof reason);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i += 1) {
    test_case("%s", texts[i].text);
    CHECK_NUMBER(pfc_reason_find(&reason, texts[i].text, texts[i].size), PFC_E_ARGUMENT);
    CHECK(reason.code == NULL);
  }
  CHECK_NUMBER(pfc_reason_at(&reason, (size_t)-1), PFC_E_ARGUMENT);
}

static void results_and_verdicts_have_reasons_by_their_numbers(void) {
  struct pfc_reason reason;
  for (int result = PFC_E_ARGUMENT; result >= PFC_E_TOO_FAR; result -= 1) {
    test_case("%d", result);
    CHECK_NUMBER(pfc_reason_of_result(&reason, result), PFC_OK);
  }
  CHECK(strcmp(reason.code, "CORE-15") == 0);
  static const int none[] = {PFC_OK, 1, PFC_E_TOO_FAR - 1, -100, -1000, -2147483647 - 1};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i += 1) {
    test_case("%d", none[i]);
    CHECK_NUMBER(pfc_reason_of_result(&reason, none[i]), PFC_E_ARGUMENT);
  }
  CHECK_NUMBER(pfc_reason_of_verdict(&reason, PFC_VERDICT_STALE), PFC_OK);
  CHECK(strcmp(reason.code, "LOCK-18") == 0);
  CHECK_NUMBER((int)reason.mender, PFC_MENDER_ONLINE);
  CHECK(strcmp(reason.mender_name, "online") == 0 && reason.mender_words[0] != 0);
  CHECK_NUMBER(pfc_reason_of_verdict(&reason, PFC_VERDICT_NONE), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_reason_of_verdict(&reason, 255), PFC_E_ARGUMENT);
}

static void details_have_reasons_by_both_numbers(void) {
  static const struct {
    uint8_t verdict;
    uint16_t detail;
    const char *code;
  } cases[] = {{PFC_VERDICT_STALE, PFC_DETAIL_OTHER_CHALLENGE, "LOCK-18.2"},
               {PFC_VERDICT_STALE, PFC_DETAIL_SEAL_REPLACED, "LOCK-18.5"},
               {PFC_VERDICT_STALE, PFC_DETAIL_NO_CHANNEL, "LOCK-18.6"},
               {PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_SEALED_DEMANDED, "LOCK-19.3"},
               {PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_GRANT_SPENT, "LOCK-19.4"},
               {PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_OWNER_CANNOT, "LOCK-19.5"},
               {PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_NOT_DELEGABLE, "LOCK-19.9"},
               {PFC_VERDICT_UNKNOWN, PFC_DETAIL_NO_MEMBER, "LOCK-22.1"},
               {PFC_VERDICT_STALE, 9, "LOCK-18"},
               {PFC_VERDICT_STALE, 0, "LOCK-18"},
               {PFC_VERDICT_INTEGRITY_DIFFERS, 0, "LOCK-16.N"},
               {PFC_VERDICT_EXPIRED, 1, "LOCK-34.N"},
               {PFC_VERDICT_EXPIRED, PFC_DETAIL_DAYS_MAX, "LOCK-34.N"},
               {PFC_VERDICT_EXPIRED, PFC_DETAIL_AHEAD, "LOCK-34.65535"},
               {PFC_VERDICT_NOT_SIGNED, 1, "LOCK-33"}};
  struct pfc_reason reason;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += 1) {
    test_case("verdict %u, detail %u", cases[i].verdict, cases[i].detail);
    CHECK_NUMBER(pfc_reason_of_detail(&reason, cases[i].verdict, cases[i].detail), PFC_OK);
    CHECK(strcmp(reason.code, cases[i].code) == 0);
  }
  CHECK_NUMBER(pfc_reason_of_detail(&reason, 255, 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_reason_find(&reason, "LOCK-34.7", 9), PFC_OK);
  CHECK(strcmp(reason.code, "LOCK-34.N") == 0);
  CHECK_NUMBER(pfc_reason_find(&reason, "LOCK-18.9", 9), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_reason_find(&reason, ".7", 2), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_reason_find(&reason, "a text longer than any code.7", 29), PFC_E_ARGUMENT);
}

static const struct test tests[] = {
    TEST("every code finds its own reason", every_code_finds_its_own_reason),
    TEST("a text that is no code finds none", a_text_that_is_no_code_finds_none),
    TEST("results and verdicts have reasons by their numbers", results_and_verdicts_have_reasons_by_their_numbers),
    TEST("details have reasons by both numbers", details_have_reasons_by_both_numbers),
};

const struct suite reason_suite = SUITE("reason", tests);
