// SPDX-License-Identifier: Apache-2.0

/// Leaves: which group of evidence is not the baseline's, told without telling the evidence.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "sample.h"

static struct sample sample;

static int compare_sample(struct pfc_difference *difference) {
  return compare(difference, sample.bytes, sample.size, &sample.key, sample.records, SAMPLE_RECORDS);
}

static int group_of(const struct evidence *record) {
  return pfc_config_group(&sample.config, record->class_, record->number, record->name, record->name_size);
}

static bool has(const struct pfc_difference *difference, int group) {
  return (difference->groups[group / 8] >> (group % 8) & 1) != 0;
}

/// Exactly these groups differ.
static void check_groups(const struct pfc_difference *difference, const int *groups, size_t count) {
  for (int group = 0; group < PFC_CONFIG_LEAVES_MAX; group++) {
    bool expected = false;
    for (size_t i = 0; i < count; i++) expected = expected || groups[i] == group;
    if (has(difference, group) != expected) {
      CHECK_NUMBER(group, -1);
      return;
    }
  }
}

// docs/SPEC.md section 5, "Groups and leaves", for the group with one present record and for an empty one.
static void leaves_are_the_specs(void) {
  uint8_t ld[32], la[32], dpk[16], tag[32], expected[4], record[64];
  struct pfc_mac mac;
  sample_make(&sample, 1);
  pfc_key_device(dpk, &sample.key, sample.config.salt);
  pfc_hkdf(ld, (const uint8_t *)"pfc1.dleaf-key..", 16, sample.mpk, 16, sample.config.salt, 16);
  pfc_hkdf(la, (const uint8_t *)"pfc1.leaf-key...", 16, dpk, 16, sample.config.salt, 16);

  const uint8_t check[1] = {2};
  pfc_mac_init(&mac, la, 32);
  pfc_mac_update(&mac, "pfc1.leaf.......", 16);
  pfc_mac_update(&mac, check, 1);
  pfc_mac_final(tag, &mac);
  CHECK_BYTES(sample.config.leaf_check, tag, 4);

  const uint8_t empty[2] = {0, 0}, first[2] = {1, 0}, head[5] = {PFC_CLASS_DEVICE, 1, 1, 1, 10};
  pfc_mac_init(&mac, ld, 32);
  pfc_mac_update(&mac, "pfc1.leaf.......", 16);
  pfc_mac_update(&mac, empty, 2);
  pfc_mac_final(tag, &mac);
  memcpy(expected, tag, 4);
  memcpy(record, head, 5);
  memcpy(record + 5, "machine-id", 10);
  memcpy(record + 15, sample.records[0].digest, 32);
  pfc_mac_init(&mac, ld, 32);
  pfc_mac_update(&mac, "pfc1.leaf.......", 16);
  pfc_mac_update(&mac, first, 2);
  pfc_mac_update(&mac, record, 47);
  pfc_mac_final(tag, &mac);
  for (unsigned i = 0; i < 4; i++) expected[i] ^= tag[i];
  CHECK_BYTES(sample.config.leaves[0], expected, 4);

  int taken[SAMPLE_RECORDS], hole = -1;
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) taken[i] = group_of(&sample.records[i]);
  for (int group = 3; group < 11; group++) {
    bool used = false;
    for (unsigned i = 0; i < SAMPLE_RECORDS; i++) used = used || taken[i] == group;
    if (!used) hole = group;
  }
  REQUIRE(CHECK(hole >= 0));
  const uint8_t number[2] = {0, (uint8_t)hole};
  pfc_mac_init(&mac, la, 32);
  pfc_mac_update(&mac, "pfc1.leaf.......", 16);
  pfc_mac_update(&mac, number, 2);
  pfc_mac_final(tag, &mac);
  CHECK_BYTES(sample.config.leaves[hole], tag, 4);
}

static void untouched_is_equal(void) {
  struct pfc_difference difference;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    test_case("seed %u", (unsigned)seed);
    sample_make(&sample, seed);
    memset(&difference, 0xa5, sizeof difference);
    REQUIRE(CHECK_NUMBER(compare_sample(&difference), PFC_OK));
    CHECK_NUMBER(difference.device_comparable, 1);
    CHECK_NUMBER(difference.app_comparable, 1);
    check_groups(&difference, NULL, 0);
  }
}

static void exactly_the_changed_group_differs(void) {
  sample_make(&sample, 2);
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
    struct evidence kept = sample.records[i];
    struct pfc_difference difference;
    int group = group_of(&kept);
    test_case("record %u", i);
    if (kept.absent) {
      sample.records[i].absent = false;
    } else {
      sample.records[i].digest[7] ^= 4;
    }
    REQUIRE(CHECK_NUMBER(compare_sample(&difference), PFC_OK));
    CHECK_NUMBER(difference.device_comparable, 1);
    if (kept.class_ == PFC_CLASS_DEVICE) {
      // Another device: its own groups can be told, the others' blinding key is gone.
      CHECK_NUMBER(difference.app_comparable, 0);
    } else {
      CHECK_NUMBER(difference.app_comparable, 1);
    }
    check_groups(&difference, &group, 1);
    sample.records[i] = kept;
  }
}

static void renamed_record_shows_in_both_groups(void) {
  struct pfc_difference difference;
  int groups[2];
  sample_make(&sample, 3);
  groups[0] = group_of(&sample.records[6]);
  sample.records[6] = evidence_make(PFC_CLASS_APP, 1, "main2", "a3");
  groups[1] = group_of(&sample.records[6]);
  REQUIRE(CHECK_NUMBER(compare_sample(&difference), PFC_OK));
  check_groups(&difference, groups, 2);
}

static void added_and_removed_records_show(void) {
  struct evidence records[SAMPLE_RECORDS + 1];
  struct pfc_difference difference;
  int group;
  sample_make(&sample, 4);
  memcpy(records, sample.records, sizeof sample.records);
  records[SAMPLE_RECORDS] = evidence_make(PFC_CLASS_ENVIRONMENT, 9, "M", "new");
  group = group_of(&records[SAMPLE_RECORDS]);
  test_case("one more");
  REQUIRE(
      CHECK_NUMBER(compare(&difference, sample.bytes, sample.size, &sample.key, records, SAMPLE_RECORDS + 1), PFC_OK));
  check_groups(&difference, &group, 1);
  test_case("one less");
  group = group_of(&sample.records[SAMPLE_RECORDS - 1]);
  REQUIRE(
      CHECK_NUMBER(compare(&difference, sample.bytes, sample.size, &sample.key, records, SAMPLE_RECORDS - 1), PFC_OK));
  check_groups(&difference, &group, 1);
}

static void another_key_tells_the_app_only(void) {
  uint8_t new_mpk[16] = {66};
  struct pfc_key new_key = pfc_key_plain(new_mpk, PFC_MODE_PRODUCTION);
  struct pfc_difference difference;
  int group;
  sample_make(&sample, 5);
  sample.records[7].digest[0] ^= 1;
  group = group_of(&sample.records[7]);
  REQUIRE(
      CHECK_NUMBER(compare(&difference, sample.bytes, sample.size, &new_key, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_NUMBER(difference.device_comparable, 0);
  CHECK_NUMBER(difference.app_comparable, 1);
  check_groups(&difference, &group, 1);
}

static void another_key_and_device_tell_nothing(void) {
  uint8_t new_mpk[16] = {67};
  struct pfc_key new_key = pfc_key_plain(new_mpk, PFC_MODE_PRODUCTION);
  struct pfc_difference difference;
  sample_make(&sample, 6);
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) sample.records[i].digest[1] ^= 1;
  REQUIRE(
      CHECK_NUMBER(compare(&difference, sample.bytes, sample.size, &new_key, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_NUMBER(difference.device_comparable, 0);
  CHECK_NUMBER(difference.app_comparable, 0);
  check_groups(&difference, NULL, 0);
}

static void leaves_do_not_link_configurations(void) {
  struct sample other;
  unsigned same = 0;
  sample_make(&sample, 7);
  other = sample;
  other.key = pfc_key_plain(other.mpk, PFC_MODE_PRODUCTION);
  other.draft.salt[0] ^= 1;
  REQUIRE(CHECK_NUMBER(baseline(&other.config, &other.draft, &other.key, other.records, SAMPLE_RECORDS), PFC_OK));
  for (unsigned i = 0; i < 18; i++) same += memcmp(sample.config.leaves[i], other.config.leaves[i], 4) == 0;
  CHECK_NUMBER(same, 0);
  CHECK_DIFFER(sample.config.leaf_check, other.config.leaf_check, 4);
}

static void equal_records_have_unequal_leaves(void) {
  // The same content under every source and an empty group each: no leaf tells that they are alike.
  sample_make(&sample, 8);
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
    memset(sample.records[i].digest, 0x5a, 32);
    sample.records[i].absent = false;
  }
  REQUIRE(CHECK_NUMBER(baseline(&sample.config, &sample.draft, &sample.key, sample.records, SAMPLE_RECORDS), PFC_OK));
  for (unsigned i = 0; i < 18; i++) {
    for (unsigned j = 0; j < i; j++) {
      test_case("leaves %u and %u", i, j);
      CHECK_DIFFER(sample.config.leaves[i], sample.config.leaves[j], 4);
    }
  }
}

static void a_comparison_folds_no_measurement(void) {
  struct pfc_measurement fold;
  struct pfc_measured measured;
  sample_make(&sample, 9);
  REQUIRE(
      CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, PFC_MEASURE_LEAVES), PFC_OK));
  CHECK_ZEROS(&fold.integrity, sizeof fold.integrity);
  REQUIRE(CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_ZEROS(&fold.integrity, sizeof fold.integrity);
  memset(&measured, 0xa5, sizeof measured);
  CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
  CHECK_ZEROS(&measured, sizeof measured);
  CHECK_ZEROS(&fold, sizeof fold);
}

static void baseline_sets_what_the_draft_leaves_open(void) {
  uint8_t id[8];
  sample_make(&sample, 10);
  pfc_key_id(id, &sample.key);
  CHECK_NUMBER(sample.config.mode, PFC_MODE_PRODUCTION);
  CHECK_BYTES(sample.config.key_id, id, 8);
  CHECK_NUMBER(sample.config.leaf_count, 18);
  CHECK_NUMBER(sample.config.generation, 7);
  CHECK_BYTES(sample.config.salt, sample.draft.salt, 16);
  CHECK_ZEROS(sample.config.leaves[18], (PFC_CONFIG_LEAVES_MAX - 18) * 4);
}

static void draft_out_of_range_begins_no_baseline(void) {
  sample_make(&sample, 11);
  for (unsigned i = 1; i <= 14; i++) {
    struct pfc_measurement fold;
    struct pfc_config draft = sample.draft;
    test_case("%u", i);
    switch (i) {
      case 1: memset(draft.salt, 0, 16); break;
      case 2: draft.policy = 0; break;
      case 3: draft.policy = 4; break;
      case 4: draft.generation = 0; break;
      case 5: draft.generation = 0xFFFFFFFFu; break;
      case 6: draft.limit_log2 = 15; break;
      case 7: draft.limit_log2 = 51; break;
      case 8: draft.source_count = 0; break;
      case 9: draft.source_count = 255; break;
      case 10: draft.sources[3].groups_log2 = 255; break;
      case 11: draft.sources[1] = draft.sources[0]; break;
      case 12: draft.sources[0].class_ = draft.sources[1].class_ = PFC_CLASS_APP; break;
      case 13: draft.sources[0].groups_log2 = draft.sources[2].groups_log2 = 6; break;
      default: draft.source_count = 2; break;  // Device sources alone
    }
    memset(&fold, 0xa5, sizeof fold);
    CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &draft, &sample.key), PFC_E_ARGUMENT);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

/// A source has 64 groups at most, and all sources together 128.
static void drafts_at_their_bounds(void) {
  struct pfc_measurement fold;
  struct pfc_config draft;
  unsigned rest = 128;
  sample_make(&sample, 12);
  draft = sample.draft;
  for (unsigned i = 0; i < draft.source_count; i++) {
    uint8_t groups_log2 = 6;
    // Each source behind it has one group at least.
    while (1u << groups_log2 > rest - (draft.source_count - 1u - i)) groups_log2--;
    draft.sources[i].groups_log2 = groups_log2;
    rest -= 1u << groups_log2;
  }
  CHECK_NUMBER(rest, 0);
  CHECK_NUMBER(draft.sources[0].groups_log2, 6);
  REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &draft, &sample.key), PFC_OK));
  CHECK_NUMBER(fold.config.leaf_count, 128);
  for (unsigned i = 0; i < draft.source_count; i++) {
    test_case("one step more for source %u", i);
    draft.sources[i].groups_log2++;
    CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &draft, &sample.key), PFC_E_ARGUMENT);
    draft.sources[i].groups_log2--;
  }
  test_case("128 groups in one source, and 128 in all");
  draft = sample.draft;
  for (unsigned i = 0; i < draft.source_count; i++) draft.sources[i].groups_log2 = 0;
  draft.sources[0].groups_log2 = 7;
  CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &draft, &sample.key), PFC_E_ARGUMENT);
}

static void one_of_many_is_found(void) {
  enum { MANY = 20000 };
  struct pfc_measurement fold;
  struct pfc_config config;
  struct pfc_difference difference;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size = 0;
  sample_make(&sample, 12);
  for (unsigned round = 0; round < 2; round++) {
    int group = -1;
    test_case("round %u", round);
    if (round == 0) {
      REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &sample.draft, &sample.key), PFC_OK));
    } else {
      REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, bytes, size, &sample.key, PFC_MEASURE_LEAVES), PFC_OK));
    }
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, 7), PFC_OK));
    for (uint32_t i = 0; i < MANY; i++) {
      const uint8_t name[4] = {'f', (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
      uint8_t digest[32] = {0};
      put32(digest, i * 7);
      if (round == 1 && i == MANY / 2) {
        digest[20] = 1;
        group = pfc_config_group(&config, PFC_CLASS_APP, 3, name, 4);
      }
      REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, PFC_CLASS_APP, 3, name, 4, digest), PFC_OK));
    }
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records + 9, 3), PFC_OK));
    if (round == 0) {
      REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_OK));
      REQUIRE(CHECK_NUMBER(pfc_config_encode(bytes, sizeof bytes, &size, &config), PFC_OK));
    } else {
      REQUIRE(CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_OK));
      check_groups(&difference, &group, 1);
    }
  }
}

static const struct test tests[] = {
    TEST("leaves and leaf check are those of the specification", leaves_are_the_specs),
    TEST("an untouched app differs in no group", untouched_is_equal),
    TEST("a changed record differs in exactly its group", exactly_the_changed_group_differs),
    TEST("a renamed record shows where it was and where it is", renamed_record_shows_in_both_groups),
    TEST("a record more or less shows in its group", added_and_removed_records_show),
    TEST("after an SDK update the app's groups can still be told, the device's not", another_key_tells_the_app_only),
    TEST("with another key on another device nothing can be told, and no bit is set",
         another_key_and_device_tell_nothing),
    TEST("leaves under two salts cannot be linked", leaves_do_not_link_configurations),
    TEST("equal contents have unequal leaves, empty groups included", equal_records_have_unequal_leaves),
    TEST("a comparison folds no measurement and ends in none", a_comparison_folds_no_measurement),
    TEST("a baseline sets mode, key id and leaf count", baseline_sets_what_the_draft_leaves_open),
    TEST("a draft out of range begins no baseline", draft_out_of_range_begins_no_baseline),
    TEST("a draft has up to 64 groups in a source and 128 in all", drafts_at_their_bounds),
    TEST("one changed record among 20,000 is found in its group", one_of_many_is_found),
};

const struct suite leaf_suite = SUITE("measurement leaf", tests);
