// SPDX-License-Identifier: Apache-2.0

/// The fold's discipline: which records it takes, which it refuses, and that nothing is left of it.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "sample.h"

static struct sample sample;

/// Begins a fold, takes `before`, expects `refusal` for `last`, and then nothing but refusal.
static void refused(const struct evidence *before, size_t count, const struct evidence *last, size_t last_size,
                    int refusal) {
  for (unsigned end = 0; end < 3; end++) {
    struct pfc_measurement fold;
    struct pfc_measured measured;
    struct pfc_difference difference;
    REQUIRE(
        CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, PFC_MEASURE_LEAVES), PFC_OK));
    REQUIRE(CHECK_NUMBER(add(&fold, before, count), PFC_OK));
    CHECK_NUMBER(pfc_measurement_update(&fold, last->class_, last->number, last->name, last_size,
                                        last->absent ? NULL : last->digest),
                 refusal);
    CHECK_ZEROS(&fold, sizeof fold);
    // The record that would have come next by right is refused as well.
    CHECK_NUMBER(add(&fold, &sample.records[count], 1), PFC_E_ARGUMENT);
    memset(&measured, 0xa5, sizeof measured);
    memset(&difference, 0xa5, sizeof difference);
    if (end == 0) {
      CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
      CHECK_ZEROS(&measured, sizeof measured);
    } else if (end == 1) {
      CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_E_ARGUMENT);
      CHECK_ZEROS(&difference, sizeof difference);
    }
    pfc_measurement_wipe(&fold);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

static void disorder_is_refused(void) {
  static const struct {
    const char *what;
    uint8_t class_, number;
    const char *name;
    int refusal;
  } cases[] = {
      // After the sample's fifth record: app, number 1, "a.so".
      {"the same record again", PFC_CLASS_APP, 1, "a.so", PFC_E_ORDER},
      {"a name that comes before", PFC_CLASS_APP, 1, "a.rs", PFC_E_ORDER},
      {"a prefix after its extension", PFC_CLASS_APP, 1, "a", PFC_E_ORDER},
      {"an earlier class", PFC_CLASS_DEVICE, 2, "zzz", PFC_E_ORDER},
      {"a source not asked for, in its place", PFC_CLASS_APP, 2, "x", PFC_E_SOURCE},
      {"a class not asked for", 4, 1, "x", PFC_E_SOURCE},
      {"class 0", 0, 1, "x", PFC_E_SOURCE},
      {"number 0", PFC_CLASS_APP, 0, "x", PFC_E_SOURCE},
  };
  sample_make(&sample, 3);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct evidence last = evidence_make(cases[i].class_, cases[i].number, cases[i].name, "x");
    test_case("%u. %s", i + 1, cases[i].what);
    refused(sample.records, 5, &last, last.name_size, cases[i].refusal);
    last.absent = true;
    refused(sample.records, 5, &last, last.name_size, cases[i].refusal);
  }
  test_case("an earlier number");
  struct evidence last = evidence_make(PFC_CLASS_APP, 1, "zz", "x");
  refused(sample.records, 8, &last, last.name_size, PFC_E_ORDER);
}

static void names_compare_as_bytes(void) {
  static const struct {
    const char *before, *after;
  } cases[] = {{"a", "aa"},      {"a", "b"},       {"aa", "b"},       {"Z", "a"},
               {"\x7f", "\x80"}, {"\x7f", "\xff"}, {"a\x01", "a\x80"}};
  sample_make(&sample, 4);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_measurement fold;
    struct evidence before = evidence_make(PFC_CLASS_APP, 1, cases[i].before, "x");
    struct evidence after = evidence_make(PFC_CLASS_APP, 1, cases[i].after, "x");
    for (unsigned swapped = 0; swapped < 2; swapped++) {
      test_case("%u.%s", i + 1, swapped != 0 ? " swapped" : "");
      REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
      REQUIRE(CHECK_NUMBER(add(&fold, sample.records, 3), PFC_OK));
      CHECK_NUMBER(add(&fold, swapped != 0 ? &after : &before, 1), PFC_OK);
      CHECK_NUMBER(add(&fold, swapped != 0 ? &before : &after, 1), swapped != 0 ? PFC_E_ORDER : PFC_OK);
      pfc_measurement_wipe(&fold);
    }
  }
}

static void names_have_bounds(void) {
  static uint8_t name[70000];
  struct pfc_measurement fold;
  struct evidence last = evidence_make(PFC_CLASS_APP, 1, "zz", "x");
  static const size_t refused_sizes[] = {0, 256, 257, 511, 65536, 65537};
  sample_make(&sample, 5);
  for (unsigned i = 0; i < sizeof refused_sizes / sizeof refused_sizes[0]; i++) {
    test_case("%zu bytes", refused_sizes[i]);
    REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, 7), PFC_OK));
    memset(name, 'z', sizeof name);
    CHECK_NUMBER(pfc_measurement_update(&fold, PFC_CLASS_APP, 1, name, refused_sizes[i], last.digest), PFC_E_ARGUMENT);
    CHECK_ZEROS(&fold, sizeof fold);
  }
  test_case("255 bytes, and again with the last one higher");
  REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
  REQUIRE(CHECK_NUMBER(add(&fold, sample.records, 7), PFC_OK));
  memset(name, 'z', 255);
  CHECK_NUMBER(pfc_measurement_update(&fold, PFC_CLASS_APP, 1, name, 255, last.digest), PFC_OK);
  name[254]++;
  CHECK_NUMBER(pfc_measurement_update(&fold, PFC_CLASS_APP, 1, name, 255, last.digest), PFC_OK);
  pfc_measurement_wipe(&fold);
}

static void nothing_is_skipped_in_silence(void) {
  sample_make(&sample, 6);
  for (unsigned source = 0; source < sample.config.source_count; source++) {
    struct evidence fewer[SAMPLE_RECORDS];
    struct pfc_measured measured;
    struct pfc_difference difference;
    struct pfc_config config;
    size_t count = 0;
    for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
      if (sample.records[i].class_ == sample.config.sources[source].class_ &&
          sample.records[i].number == sample.config.sources[source].number) {
        continue;
      }
      fewer[count++] = sample.records[i];
    }
    test_case("without source %u", source);
    memset(&measured, 0xa5, sizeof measured);
    memset(&difference, 0xa5, sizeof difference);
    memset(&config, 0xa5, sizeof config);
    CHECK_NUMBER(measure(&measured, sample.bytes, sample.size, &sample.key, fewer, count), PFC_E_SOURCE);
    CHECK_ZEROS(&measured, sizeof measured);
    CHECK_NUMBER(compare(&difference, sample.bytes, sample.size, &sample.key, fewer, count), PFC_E_SOURCE);
    CHECK_ZEROS(&difference, sizeof difference);
    CHECK_NUMBER(baseline(&config, &sample.draft, &sample.key, fewer, count), PFC_E_SOURCE);
    CHECK_ZEROS(&config, sizeof config);
  }
}

static void ends_wipe(void) {
  struct pfc_measurement fold;
  struct pfc_measured measured;
  struct pfc_difference difference;
  struct pfc_config config;
  sample_make(&sample, 15);
  for (unsigned way = 0; way < 5; way++) {
    test_case("%u", way + 1);
    memset(&fold, 0xa5, sizeof fold);
    if (way == 2) {
      REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &sample.draft, &sample.key), PFC_OK));
    } else {
      REQUIRE(CHECK_NUMBER(
          pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, way == 1 ? PFC_MEASURE_LEAVES : 0),
          PFC_OK));
    }
    // The fourth way leaves the last source out.
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, way == 3 ? 10 : SAMPLE_RECORDS), PFC_OK));
    if (way == 0) CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_OK);
    if (way == 1) CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_OK);
    if (way == 2) CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_OK);
    if (way == 3) CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_SOURCE);
    if (way == 4) pfc_measurement_wipe(&fold);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

static void wrong_use_is_refused(void) {
  struct pfc_measurement fold;
  struct pfc_measured measured;
  struct pfc_difference difference;
  struct pfc_config config;
  sample_make(&sample, 16);
  for (unsigned i = 1; i <= 7; i++) {
    bool is_baseline = i == 1 || i == 2;
    test_case("%u", i);
    memset(&fold, 0, sizeof fold);
    memset(&measured, 0xa5, sizeof measured);
    memset(&difference, 0xa5, sizeof difference);
    memset(&config, 0xa5, sizeof config);
    if (is_baseline) {
      REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &sample.draft, &sample.key), PFC_OK));
    } else if (i <= 4) {
      REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
    }
    if (i <= 4) REQUIRE(CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK));
    switch (i) {
      case 1:  // A baseline has no measurement.
      case 5:  // Nothing was begun.
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
        CHECK_ZEROS(&measured, sizeof measured);
        break;
      case 2:
      case 4:  // Begun without leaves.
      case 6:
        CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_E_ARGUMENT);
        CHECK_ZEROS(&difference, sizeof difference);
        break;
      default:  // A measurement has no baseline.
        CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_E_ARGUMENT);
        CHECK_ZEROS(&config, sizeof config);
        break;
    }
    CHECK_ZEROS(&fold, sizeof fold);
  }
  for (unsigned flags = 2; flags != 0; flags <<= 1) {
    test_case("flags %x", flags);
    CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, flags), PFC_E_ARGUMENT);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

static void fails_as_decoding_does(void) {
  struct pfc_measurement fold;
  sample_make(&sample, 17);
  for (unsigned i = 0; i < 4; i++) {
    uint8_t bytes[PFC_CONFIG_BYTES_MAX];
    static const size_t at[4] = {0, 30, 4, 7};
    static const int expected[4] = {PFC_E_FOREIGN, PFC_E_DAMAGED, PFC_E_TOO_NEW, PFC_E_MALFORMED};
    test_case("%u", i + 1);
    memcpy(bytes, sample.bytes, sample.size);
    bytes[at[i]] ^= 0x40;
    if (i >= 2) retag(bytes, sample.size);
    memset(&fold, 0xa5, sizeof fold);
    CHECK_NUMBER(pfc_measurement_init(&fold, bytes, sample.size, &sample.key, 0), expected[i]);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

static const struct test tests[] = {
    TEST("a record out of order, repeated or not asked for is refused, and the fold is dead", disorder_is_refused),
    TEST("names compare as bytes, a prefix before its extensions", names_compare_as_bytes),
    TEST("a name has 1 to 255 bytes", names_have_bounds),
    TEST("a source without any record is refused: nothing is skipped in silence", nothing_is_skipped_in_silence),
    TEST("every end of a fold wipes it", ends_wipe),
    TEST("a fold used for what it was not begun for is refused", wrong_use_is_refused),
    TEST("a configuration that does not decode begins no fold", fails_as_decoding_does),
};

const struct suite evidence_suite = SUITE("measurement evidence", tests);
