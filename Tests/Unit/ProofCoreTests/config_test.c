// SPDX-License-Identifier: Apache-2.0

/// The measurement configuration's bytes.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "sample.h"

static struct sample sample;

/// A configuration with so many sources of one group each.
static void fill(struct pfc_config *config, unsigned sources, struct dice *dice) {
  memset(config, 0, sizeof *config);
  config->mode = PFC_MODE_DEVELOPMENT;
  config->policy = PFC_POLICY_INCREMENTAL;
  config->limit_log2 = 16;
  config->generation = 1;
  dice_fill(dice, config->key_id, sizeof config->key_id);
  config->key_id[0] = config->mode;
  dice_fill(dice, config->salt, sizeof config->salt);
  dice_fill(dice, config->wrapped_key, sizeof config->wrapped_key);
  dice_fill(dice, config->leaf_check, sizeof config->leaf_check);
  config->source_count = (uint8_t)sources;
  for (unsigned i = 0; i < sources; i++) {
    struct pfc_source *source = &config->sources[i];
    source->class_ = (uint8_t)(1 + 3 * i / sources);
    source->number = (uint8_t)(i + 1);
    source->version = (uint8_t)(255 - i);
  }
  config->leaf_count = (uint8_t)sources;
  dice_fill(dice, config->leaves, sources * sizeof config->leaves[0]);
}

static void round_trip(const struct pfc_config *config) {
  uint8_t bytes[PFC_CONFIG_BYTES_MAX], again[PFC_CONFIG_BYTES_MAX];
  struct pfc_config decoded;
  size_t size, size_again, expected = 76u + 4u * config->source_count + 4u * config->leaf_count;
  REQUIRE(CHECK_NUMBER(pfc_config_encode(bytes, sizeof bytes, &size, config), PFC_OK));
  CHECK_NUMBER(size, expected);
  memset(&decoded, 0xa5, sizeof decoded);
  REQUIRE(CHECK_NUMBER(pfc_config_decode(&decoded, bytes, size), PFC_OK));
  CHECK_NUMBER(decoded.generation, config->generation);
  CHECK_NUMBER(decoded.limit_log2, config->limit_log2);
  CHECK_BYTES(decoded.sources, config->sources, config->source_count * sizeof config->sources[0]);
  CHECK_BYTES(decoded.leaves, config->leaves, config->leaf_count * sizeof config->leaves[0]);
  CHECK_NUMBER(pfc_config_encode(again, sizeof again, &size_again, &decoded), PFC_OK);
  CHECK_NUMBER(size_again, size);
  CHECK_BYTES(again, bytes, size);
}

static void what_is_encoded_is_decoded(void) {
  struct dice dice = {100};
  struct pfc_config config;
  for (unsigned sources = 2; sources <= PFC_CONFIG_SOURCES_MAX; sources++) {
    test_case("%u sources", sources);
    fill(&config, sources, &dice);
    round_trip(&config);
  }
  test_case("128 leaves in two sources: the last generation, the largest limit");
  fill(&config, 2, &dice);
  config.sources[0].groups_log2 = config.sources[1].groups_log2 = 6;
  config.leaf_count = 128;
  config.generation = 0xFFFFFFFEu;
  config.limit_log2 = 50;
  dice_fill(&dice, config.leaves, sizeof config.leaves);
  round_trip(&config);
  test_case("24 sources and 128 leaves: the largest configuration");
  fill(&config, 24, &dice);
  config.sources[3].groups_log2 = config.sources[23].groups_log2 = 5;
  for (unsigned i = 4; i < 10; i++) config.sources[i].groups_log2 = 3;
  config.leaf_count = 16 + 2 * 32 + 6 * 8;
  dice_fill(&dice, config.leaves, sizeof config.leaves);
  round_trip(&config);
  CHECK_NUMBER(76 + 4 * 24 + 4 * 128, PFC_CONFIG_BYTES_MAX);
}

static void every_field_has_its_offset(void) {
  sample_make(&sample, 1);
  REQUIRE(CHECK_NUMBER(sample.size, 76 + 4 * 6 + 4 * 18));
  const uint8_t *b = sample.bytes;
  CHECK_BYTES(b, "PKMC\1\1\1\1", 8);
  CHECK_NUMBER(get32(b + 8), sample.config.generation);
  CHECK_BYTES(b + 12, sample.config.key_id, 8);
  CHECK_BYTES(b + 20, sample.config.salt, 16);
  CHECK_BYTES(b + 36, sample.config.wrapped_key, 16);
  CHECK_BYTES(b + 52, sample.config.leaf_check, 4);
  CHECK_NUMBER(b[56], 30);
  CHECK_NUMBER(b[57], 6);
  CHECK_NUMBER(b[58], 18);
  CHECK_NUMBER(b[59], 0);
  for (unsigned i = 0; i < 6; i++) {
    const struct pfc_source *s = &sample.config.sources[i];
    const uint8_t expected[4] = {s->class_, s->number, s->version, s->groups_log2};
    CHECK_BYTES(b + 60 + 4 * i, expected, 4);
  }
  CHECK_BYTES(b + 84, sample.config.leaves, 72);
}

/// Every refusal leaves zeros.
static void refused(const uint8_t *bytes, size_t size, int expected) {
  struct pfc_config config;
  memset(&config, 0xa5, sizeof config);
  CHECK_NUMBER(pfc_config_decode(&config, bytes, size), expected);
  CHECK_ZEROS(&config, sizeof config);
}

static void every_flipped_bit_is_refused(void) {
  sample_make(&sample, 2);
  for (size_t bit = 0; bit < 8 * sample.size; bit++) {
    test_case("bit %zu of byte %zu", bit % 8, bit / 8);
    sample.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    refused(sample.bytes, sample.size, bit < 32 ? PFC_E_FOREIGN : PFC_E_DAMAGED);
    sample.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

static void every_length_but_its_own_is_refused(void) {
  uint8_t longer[PFC_CONFIG_BYTES_MAX + 64];
  sample_make(&sample, 3);
  memset(longer, 0, sizeof longer);
  memcpy(longer, sample.bytes, sample.size);
  for (size_t size = 0; size <= sizeof longer; size++) {
    test_case("%zu bytes of %zu", size, sample.size);
    if (size != sample.size) refused(longer, size, PFC_E_DAMAGED);
  }
  for (unsigned byte = 0; byte < 256; byte++) {
    test_case("one byte %02x more", byte);
    longer[sample.size] = (uint8_t)byte;
    refused(longer, sample.size + 1, PFC_E_DAMAGED);
  }
}

static void foreign_is_told_from_damaged(void) {
  uint8_t other[128] = "PKMD";
  refused(NULL, 0, PFC_E_DAMAGED);
  refused((const uint8_t *)"PKM", 3, PFC_E_DAMAGED);
  refused((const uint8_t *)"XXX", 3, PFC_E_DAMAGED);
  refused((const uint8_t *)"PKMC", 4, PFC_E_DAMAGED);
  refused((const uint8_t *)"PKMD", 4, PFC_E_FOREIGN);
  refused(other, sizeof other, PFC_E_FOREIGN);
}

static void later_versions_are_too_new(void) {
  sample_make(&sample, 4);
  for (unsigned at = 4; at <= 5; at++) {
    for (unsigned value = 0; value < 256; value++) {
      if (value == 1) continue;
      test_case("%s %u", at == 4 ? "version" : "suite", value);
      sample.bytes[at] = (uint8_t)value;
      retag(sample.bytes, sample.size);
      refused(sample.bytes, sample.size, PFC_E_TOO_NEW);
    }
    sample.bytes[at] = 1;
  }
}

static void fields_out_of_range_are_malformed(void) {
  // Offsets of the sample: sources at 60 (device 1, device 2, app 1, app 3, environment 1, environment 9).
  static const struct {
    const char *what;
    size_t at;
    uint8_t bytes[4];
    size_t count;
  } cases[] = {
      {"mode 0", 6, {0}, 1},
      {"mode 3", 6, {3}, 1},
      {"a mode that is not the key id's", 6, {2}, 1},
      {"a key id whose mode is not the configuration's", 12, {2}, 1},
      {"policy 0", 7, {0}, 1},
      {"policy 4", 7, {4}, 1},
      {"generation 0", 8, {0, 0, 0, 0}, 4},
      {"generation 2^32 - 1", 8, {255, 255, 255, 255}, 4},
      {"limit 15", 56, {15}, 1},
      {"limit 51", 56, {51}, 1},
      {"no source", 57, {0}, 1},
      {"one source less than there are", 57, {5}, 1},
      {"one source more than there are", 57, {7}, 1},
      {"25 sources", 57, {25}, 1},
      {"255 sources", 57, {255}, 1},
      {"one leaf less than the groups", 58, {17}, 1},
      {"one leaf more than the groups", 58, {19}, 1},
      {"255 leaves", 58, {255}, 1},
      {"a zero that is not", 59, {1}, 1},
      {"class 0", 60, {0}, 1},
      {"class 4", 80, {4}, 1},
      {"number 0", 61, {0}, 1},
      {"version 0 of a source", 62, {0}, 1},
      {"2^7 groups", 63, {7}, 1},
      {"groups that do not sum up to the leaves", 63, {1}, 1},
      {"the same source twice", 64, {1, 1, 1, 1}, 4},
      {"sources out of order", 61, {3}, 1},
      {"an app source before a device source", 60, {2}, 1},
  };
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  sample_make(&sample, 5);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u. %s", i + 1, cases[i].what);
    memcpy(bytes, sample.bytes, sample.size);
    memcpy(bytes + cases[i].at, cases[i].bytes, cases[i].count);
    retag(bytes, sample.size);
    refused(bytes, sample.size, PFC_E_MALFORMED);
  }
  test_case("a salt of zeros");
  memcpy(bytes, sample.bytes, sample.size);
  memset(bytes + 20, 0, 16);
  retag(bytes, sample.size);
  refused(bytes, sample.size, PFC_E_MALFORMED);
  test_case("no device source");
  memcpy(bytes, sample.bytes, sample.size);
  bytes[60] = bytes[64] = PFC_CLASS_APP;
  bytes[61] = 1, bytes[65] = 2, bytes[69] = 4, bytes[73] = 5;
  retag(bytes, sample.size);
  refused(bytes, sample.size, PFC_E_MALFORMED);
  test_case("no app source");
  memcpy(bytes, sample.bytes, sample.size);
  bytes[68] = bytes[72] = PFC_CLASS_DEVICE;
  bytes[69] = 4, bytes[73] = 5;
  retag(bytes, sample.size);
  refused(bytes, sample.size, PFC_E_MALFORMED);
  // Salt and tag fit in 52 bytes, so a forger can put a right tag under less than a head as well.
  for (size_t size = 52; size <= PFC_CONFIG_BYTES_MAX; size++) {
    test_case("the right tag after %zu bytes", size);
    if (size == sample.size) continue;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, sample.bytes, size < sample.size ? size : sample.size);
    retag(bytes, size);
    refused(bytes, size, size < 76 ? PFC_E_DAMAGED : PFC_E_MALFORMED);
  }
}

static void one_configuration_has_one_encoding(void) {
  struct dice dice = {6};
  unsigned intact = 0;
  sample_make(&sample, 6);
  for (unsigned round = 0; round < 20000; round++) {
    uint8_t bytes[PFC_CONFIG_BYTES_MAX], again[PFC_CONFIG_BYTES_MAX];
    struct pfc_config config;
    size_t size;
    test_case("round %u", round);
    memcpy(bytes, sample.bytes, sample.size);
    for (unsigned flips = 1 + dice_below(&dice, 3); flips > 0; flips--) {
      bytes[4 + dice_below(&dice, (uint32_t)sample.size - 20)] ^= (uint8_t)(1u << dice_below(&dice, 8));
    }
    retag(bytes, sample.size);
    if (pfc_config_decode(&config, bytes, sample.size) != PFC_OK) continue;
    intact++;
    REQUIRE(CHECK_NUMBER(pfc_config_encode(again, sizeof again, &size, &config), PFC_OK));
    REQUIRE(CHECK_NUMBER(size, sample.size));
    CHECK_BYTES(again, bytes, size);
  }
  CHECK(intact > 1000);
}

static void garbage_is_refused(void) {
  struct dice dice = {7};
  uint8_t bytes[PFC_CONFIG_BYTES_MAX + 100];
  for (unsigned round = 0; round < 20000; round++) {
    struct pfc_config config;
    size_t size = dice_below(&dice, sizeof bytes + 1);
    test_case("round %u", round);
    dice_fill(&dice, bytes, size);
    if (round % 2 != 0 && size >= 4) memcpy(bytes, "PKMC", 4);
    CHECK(pfc_config_decode(&config, bytes, size) != PFC_OK);
  }
}

static void encoder_keeps_the_ranges(void) {
  struct pfc_config config;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  sample_make(&sample, 8);
  for (unsigned i = 1; i <= 22; i++) {
    test_case("%u", i);
    config = sample.config;
    switch (i) {
      case 1: config.mode = 0; break;
      case 2: config.mode = 2; break;
      case 3: config.policy = 0; break;
      case 4: config.policy = 4; break;
      case 5: config.generation = 0; break;
      case 6: config.generation = 0xFFFFFFFFu; break;
      case 7: memset(config.salt, 0, 16); break;
      case 8: config.limit_log2 = 15; break;
      case 9: config.limit_log2 = 51; break;
      case 10: config.source_count = 0; break;
      case 11: config.source_count = 25; break;
      case 12: config.leaf_count = 17; break;
      case 13: config.leaf_count = 19; break;
      case 14: config.sources[0].class_ = 0; break;
      case 15: config.sources[5].class_ = 4; break;
      case 16: config.sources[0].number = 0; break;
      case 17: config.sources[0].version = 0; break;
      case 18: config.sources[0].groups_log2 = 7; break;
      case 19: config.sources[1].number = 1; break;
      case 20: config.sources[2].class_ = config.sources[3].class_ = PFC_CLASS_ENVIRONMENT; break;
      case 21: config.sources[0].class_ = config.sources[1].class_ = PFC_CLASS_APP; break;
      default: config.key_id[0] = 2; break;
    }
    size = 99;
    CHECK_NUMBER(pfc_config_encode(bytes, sizeof bytes, &size, &config), PFC_E_ARGUMENT);
    CHECK_NUMBER(size, 0);
  }
}

static void encoder_keeps_its_space(void) {
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  sample_make(&sample, 9);
  for (size_t capacity = 0; capacity < sample.size; capacity++) {
    test_case("%zu bytes of space", capacity);
    memset(bytes, 0xa5, sizeof bytes);
    size = 99;
    CHECK_NUMBER(pfc_config_encode(bytes, capacity, &size, &sample.config), PFC_E_SPACE);
    CHECK_NUMBER(size, 0);
    for (size_t i = capacity; i < sizeof bytes; i++) REQUIRE(CHECK(bytes[i] == 0xa5));
  }
  CHECK_NUMBER(pfc_config_encode(bytes, sample.size, &size, &sample.config), PFC_OK);
}

static void a_key_is_told_from_another(void) {
  uint8_t other_bytes[16] = {1};
  struct pfc_key other = pfc_key_plain(other_bytes, PFC_MODE_PRODUCTION);
  struct pfc_key development;
  sample_make(&sample, 10);
  development = pfc_key_plain(sample.mpk, PFC_MODE_DEVELOPMENT);
  CHECK_NUMBER(pfc_config_check_key(&sample.config, &sample.key), PFC_OK);
  CHECK_NUMBER(pfc_config_check_key(&sample.config, &other), PFC_E_FOREIGN);
  CHECK_NUMBER(pfc_config_check_key(&sample.config, &development), PFC_E_MODE);
}

// FNV-1a, 32 bits: values from the FNV authors' own test suite (draft-eastlake-fnv, section "Test Vectors").
static void groups_follow_fnv(void) {
  static const struct {
    const char *name;
    uint32_t hash;
  } cases[] = {{"a", 0xe40c292cu}, {"b", 0xe70c2de5u}, {"foobar", 0xbf9cf968u}, {"foob", 0x3f5076efu}};
  struct pfc_config config;
  sample_make(&sample, 11);
  config = sample.config;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const uint8_t *name = (const uint8_t *)cases[i].name;
    size_t size = strlen(cases[i].name);
    for (uint8_t log2 = 0; log2 <= 6; log2++) {
      test_case("\"%s\" in 2^%u groups", cases[i].name, log2);
      config.sources[2].groups_log2 = log2;
      // Before it: device 1 with one group, device 2 with two.
      CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_APP, 1, name, size), 3 + (long)(cases[i].hash % (1u << log2)));
    }
  }
  CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_APP, 2, (const uint8_t *)"a", 1), -1);
  CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_DEVICE, 1, (const uint8_t *)"a", 1), 0);
  static const uint8_t longest[PFC_NAME_MAX + 1] = {'a'};
  test_case("a name has 1 to 255 bytes");
  CHECK_NUMBER(PFC_NAME_MAX, 255);
  CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_DEVICE, 1, longest, 0), -1);
  CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_DEVICE, 1, longest, PFC_NAME_MAX), 0);
  CHECK_NUMBER(pfc_config_group(&config, PFC_CLASS_DEVICE, 1, longest, PFC_NAME_MAX + 1), -1);
}

static void sources_are_found(void) {
  sample_make(&sample, 12);
  for (unsigned class_ = 0; class_ < 6; class_++) {
    for (unsigned number = 0; number < 256; number++) {
      int expected = -1;
      for (int i = 0; i < sample.config.source_count; i++) {
        if (sample.config.sources[i].class_ == class_ && sample.config.sources[i].number == number) expected = i;
      }
      test_case("class %u number %u", class_, number);
      CHECK_NUMBER(pfc_config_find(&sample.config, (uint8_t)class_, (uint8_t)number), expected);
    }
  }
}

static const struct test tests[] = {
    TEST("an encoded configuration is decoded, from the smallest to the largest", what_is_encoded_is_decoded),
    TEST("every field stands at its offset", every_field_has_its_offset),
    TEST("every flipped bit is refused", every_flipped_bit_is_refused),
    TEST("every truncation and every extension is refused", every_length_but_its_own_is_refused),
    TEST("another product's file is told from a damaged one", foreign_is_told_from_damaged),
    TEST("an intact configuration of another version or suite is too new, not damaged", later_versions_are_too_new),
    TEST("an intact configuration with a field out of range is malformed", fields_out_of_range_are_malformed),
    TEST("one configuration has one encoding", one_configuration_has_one_encoding),
    TEST("garbage of any length is refused", garbage_is_refused),
    TEST("the encoder refuses what the decoder would", encoder_keeps_the_ranges),
    TEST("the encoder keeps to the space it was given", encoder_keeps_its_space),
    TEST("a configuration knows its key from another, and from its own in the other mode", a_key_is_told_from_another),
    TEST("groups follow FNV-1a of the name", groups_follow_fnv),
    TEST("a source is found by class and number, and nothing else is", sources_are_found),
};

const struct suite config_suite = SUITE("config", tests);
