// SPDX-License-Identifier: Apache-2.0

/// IM, DM and DPK: what they depend on and what they do not.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "sample.h"

static struct sample sample;

static int measure_sample(struct pfc_measured *measured) {
  return measure(measured, sample.bytes, sample.size, &sample.key, sample.records, SAMPLE_RECORDS);
}

// The transcripts of docs/SPEC.md section 6, put together by hand.
static void transcripts_are_the_specs(void) {
  struct pfc_measured measured;
  struct pfc_hash hash;
  struct pfc_mac mac;
  uint8_t records[SAMPLE_RECORDS * 64], absent[32], ds[32], key[32], expected[32], mask[32], dpk[16], count[4];
  size_t at = 0, device_end = 0;
  sample_make(&sample, 1);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.absent.....", 16);
  pfc_hash_final(absent, &hash);
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
    const struct evidence *r = &sample.records[i];
    const uint8_t version = r->class_ == PFC_CLASS_APP && r->number == 1 ? 2 : r->number == 9 ? 5 : 1;
    const uint8_t head[5] = {r->class_, r->number, version, r->absent ? 0 : 1, (uint8_t)r->name_size};
    memcpy(records + at, head, 5);
    memcpy(records + at + 5, r->name, r->name_size);
    memcpy(records + at + 5 + r->name_size, r->absent ? absent : r->digest, 32);
    at += 5 + r->name_size + 32;
    if (r->class_ == PFC_CLASS_DEVICE) device_end = at;
  }
  REQUIRE(CHECK_NUMBER(measure_sample(&measured), PFC_OK));

  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.device-set.", 16);
  pfc_hash_update(&hash, records, device_end);
  put32(count, 3);
  pfc_hash_update(&hash, count, 4);
  pfc_hash_final(ds, &hash);
  pfc_hkdf(mask, (const uint8_t *)"pfc1.wrap-key...", 16, ds, 32, sample.config.salt, 16);
  for (unsigned i = 0; i < 16; i++) dpk[i] = sample.bytes[36 + i] ^ mask[i];
  CHECK_BYTES(measured.device_key, dpk, 16);
  pfc_key_device(expected, &sample.key, sample.config.salt);
  CHECK_BYTES(dpk, expected, 16);

  pfc_hkdf(key, (const uint8_t *)"pfc1.im-key.....", 16, sample.mpk, 16, sample.config.salt, 16);
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, "pfc1.integrity..", 16);
  put32(count, (uint32_t)sample.size);
  pfc_mac_update(&mac, count, 4);
  pfc_mac_update(&mac, sample.bytes, sample.size);
  pfc_mac_update(&mac, records, at);
  put32(count, SAMPLE_RECORDS);
  pfc_mac_update(&mac, count, 4);
  pfc_mac_final(expected, &mac);
  CHECK_BYTES(measured.integrity, expected, 32);

  pfc_hkdf(key, (const uint8_t *)"pfc1.dm-key.....", 16, dpk, 16, sample.config.salt, 16);
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, "pfc1.device.....", 16);
  pfc_mac_update(&mac, sample.bytes + 4, 3);
  pfc_mac_update(&mac, sample.bytes + 20, 32);
  pfc_mac_update(&mac, sample.bytes + 60, 8);
  pfc_mac_update(&mac, ds, 32);
  pfc_mac_final(expected, &mac);
  CHECK_BYTES(measured.device, expected, 32);
}

static void same_evidence_same_measurement(void) {
  struct pfc_measured first, again;
  sample_make(&sample, 2);
  REQUIRE(CHECK_NUMBER(measure_sample(&first), PFC_OK));
  for (unsigned i = 0; i < 100; i++) {
    test_case("round %u", i);
    memset(&again, (int)i, sizeof again);
    REQUIRE(CHECK_NUMBER(measure_sample(&again), PFC_OK));
    CHECK_BYTES(&again, &first, sizeof first);
  }
}

static void absent_is_not_present(void) {
  struct pfc_measured present, absent;
  struct pfc_hash hash;
  sample_make(&sample, 7);
  // The digest a present source would need to look like an absent one; only the state byte is left to differ.
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.absent.....", 16);
  pfc_hash_final(sample.records[9].digest, &hash);
  REQUIRE(CHECK_NUMBER(measure_sample(&present), PFC_OK));
  sample.records[9].absent = true;
  REQUIRE(CHECK_NUMBER(measure_sample(&absent), PFC_OK));
  CHECK_DIFFER(present.integrity, absent.integrity, 32);
  CHECK_BYTES(present.device, absent.device, 32);
}

static void every_record_counts(void) {
  struct pfc_measured before, after;
  sample_make(&sample, 8);
  REQUIRE(CHECK_NUMBER(measure_sample(&before), PFC_OK));
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
    struct evidence kept = sample.records[i];
    for (unsigned way = 0; way < 3; way++) {
      test_case("record %u, %s", i, way == 0 ? "digest" : way == 1 ? "name" : "absence");
      if (way == 0) sample.records[i].digest[31] ^= 0x80;
      // One more zero byte at the name's end: the order stays.
      if (way == 1) sample.records[i].name_size++;
      if (way == 2 || (way == 0 && kept.absent)) sample.records[i].absent = !kept.absent;
      REQUIRE(CHECK_NUMBER(measure_sample(&after), PFC_OK));
      CHECK_DIFFER(after.integrity, before.integrity, 32);
      if (kept.class_ == PFC_CLASS_DEVICE) {
        CHECK_DIFFER(after.device, before.device, 32);
        CHECK_DIFFER(after.device_key, before.device_key, 16);
      } else {
        CHECK_BYTES(after.device, before.device, 32);
        CHECK_BYTES(after.device_key, before.device_key, 16);
      }
      sample.records[i] = kept;
    }
  }
}

static void one_record_more_or_less_counts(void) {
  struct evidence records[SAMPLE_RECORDS + 1];
  struct pfc_measured before, after;
  sample_make(&sample, 9);
  REQUIRE(CHECK_NUMBER(measure_sample(&before), PFC_OK));
  for (unsigned i = 0; i <= SAMPLE_RECORDS; i++) {
    test_case("one more at %u", i);
    memcpy(records, sample.records, i * sizeof records[0]);
    memcpy(records + i + 1, sample.records + i, (SAMPLE_RECORDS - i) * sizeof records[0]);
    if (i == SAMPLE_RECORDS) {
      records[i] = evidence_make(PFC_CLASS_ENVIRONMENT, 9, "M", "new");
    } else {
      // Just before record i: its name without the last byte would already stand there or break the order.
      records[i] = sample.records[i];
      records[i].name[0] = 1;
      if (i > 0 && sample.records[i - 1].class_ == records[i].class_ &&
          sample.records[i - 1].number == records[i].number) {
        records[i] = sample.records[i - 1];
        records[i].name[records[i].name_size++] = 0;
      }
    }
    REQUIRE(CHECK_NUMBER(measure(&after, sample.bytes, sample.size, &sample.key, records, SAMPLE_RECORDS + 1), PFC_OK));
    CHECK_DIFFER(after.integrity, before.integrity, 32);
  }
  for (unsigned i = 3; i < 7; i++) {
    test_case("without %u", i);
    memcpy(records, sample.records, i * sizeof records[0]);
    memcpy(records + i, sample.records + i + 1, (SAMPLE_RECORDS - 1 - i) * sizeof records[0]);
    REQUIRE(CHECK_NUMBER(measure(&after, sample.bytes, sample.size, &sample.key, records, SAMPLE_RECORDS - 1), PFC_OK));
    CHECK_DIFFER(after.integrity, before.integrity, 32);
    CHECK_BYTES(after.device, before.device, 32);
  }
}

/// Whether DM depends on this byte of the configuration: docs/SPEC.md section 5, "Device part". The sample's device
/// sources are the first two.
static bool in_device_part(size_t at) { return (at >= 4 && at < 7) || (at >= 20 && at < 52) || (at >= 60 && at < 68); }

static void every_configuration_byte_counts(void) {
  struct pfc_measured before, after;
  unsigned measured = 0, device = 0;
  sample_make(&sample, 10);
  REQUIRE(CHECK_NUMBER(measure_sample(&before), PFC_OK));
  for (size_t bit = 8 * 4; bit < 8 * (sample.size - 16); bit++) {
    uint8_t bytes[PFC_CONFIG_BYTES_MAX];
    int result;
    test_case("bit %zu of byte %zu", bit % 8, bit / 8);
    memcpy(bytes, sample.bytes, sample.size);
    bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    retag(bytes, sample.size);
    result = measure(&after, bytes, sample.size, &sample.key, sample.records, SAMPLE_RECORDS);
    // Some flips leave no configuration at all, or ask for other sources; the rest must show in IM.
    if (result != PFC_OK) {
      CHECK(result == PFC_E_MALFORMED || result == PFC_E_TOO_NEW || result == PFC_E_SOURCE);
      continue;
    }
    measured++;
    CHECK_DIFFER(after.integrity, before.integrity, 32);
    if (in_device_part(bit / 8)) {
      device++;
      CHECK_DIFFER(after.device, before.device, 32);
    } else {
      CHECK_BYTES(after.device, before.device, 32);
      CHECK_BYTES(after.device_key, before.device_key, 16);
    }
  }
  // Everything but ranges: generation, key id, salt, wrapped key, leaf check, leaves, most of the versions.
  CHECK(measured > 8 * (72 + 16 + 16 + 7 + 4));
  CHECK(device >= 8 * 32);
}

static void another_salt_is_unrelated(void) {
  struct sample other;
  struct pfc_measured a, b;
  sample_make(&sample, 11);
  other = sample;
  other.draft.salt[15] ^= 1;
  other.key = pfc_key_plain(other.mpk, PFC_MODE_PRODUCTION);
  REQUIRE(CHECK_NUMBER(baseline(&other.config, &other.draft, &other.key, other.records, SAMPLE_RECORDS), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_config_encode(other.bytes, sizeof other.bytes, &other.size, &other.config), PFC_OK));
  REQUIRE(CHECK_NUMBER(measure_sample(&a), PFC_OK));
  REQUIRE(CHECK_NUMBER(measure(&b, other.bytes, other.size, &other.key, other.records, SAMPLE_RECORDS), PFC_OK));
  int same = 0;
  for (unsigned i = 0; i < 32; i++) same += (a.integrity[i] == b.integrity[i]) + (a.device[i] == b.device[i]);
  CHECK(same < 8);
  CHECK_DIFFER(a.device_key, b.device_key, 16);
  CHECK_DIFFER(sample.config.wrapped_key, other.config.wrapped_key, 16);
}

static void sdk_update_keeps_the_device(void) {
  uint8_t new_mpk[16] = {77};
  struct pfc_key new_key = pfc_key_plain(new_mpk, PFC_MODE_PRODUCTION);
  struct pfc_measured before, after;
  sample_make(&sample, 12);
  REQUIRE(CHECK_NUMBER(measure_sample(&before), PFC_OK));
  // An update brings another key and other code.
  sample.records[4].digest[0] ^= 1;
  REQUIRE(CHECK_NUMBER(measure(&after, sample.bytes, sample.size, &new_key, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_DIFFER(after.integrity, before.integrity, 32);
  CHECK_BYTES(after.device, before.device, 32);
  CHECK_BYTES(after.device_key, before.device_key, 16);
  sample.records[4].digest[0] ^= 1;
  REQUIRE(CHECK_NUMBER(measure(&after, sample.bytes, sample.size, &new_key, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_DIFFER(after.integrity, before.integrity, 32);
}

static void copied_configuration_is_useless_elsewhere(void) {
  struct pfc_measured before, after;
  sample_make(&sample, 13);
  REQUIRE(CHECK_NUMBER(measure_sample(&before), PFC_OK));
  sample.records[0] = evidence_make(PFC_CLASS_DEVICE, 1, "machine-id", "another machine");
  REQUIRE(CHECK_NUMBER(measure_sample(&after), PFC_OK));
  CHECK_DIFFER(after.integrity, before.integrity, 32);
  CHECK_DIFFER(after.device, before.device, 32);
  CHECK_DIFFER(after.device_key, before.device_key, 16);
}

static void a_repeated_baseline_is_a_measurement(void) {
  struct pfc_measurement fold;
  struct pfc_measured whole, repeated;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  for (unsigned round = 0; round < 20; round++) {
    test_case("round %u", round);
    sample_make(&sample, 100 + round);
    REQUIRE(CHECK_NUMBER(measure_sample(&whole), PFC_OK));
    memset(&fold, 0xa5, sizeof fold);
    REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &sample.draft, &sample.key), PFC_OK));
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK));
    REQUIRE(CHECK_NUMBER(
        pfc_measurement_baseline_repeat(bytes, sample.size, &size, &fold, &sample.key), PFC_OK));
    CHECK_NUMBER((long)size, (long)sample.size);
    CHECK_BYTES(bytes, sample.bytes, sample.size);
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_measurement_final(&repeated, &fold), PFC_OK));
    CHECK_BYTES(&repeated, &whole, sizeof whole);
    CHECK_ZEROS(&fold, sizeof fold);
  }
}

static void a_baseline_is_repeated_whole(void) {
  static const struct evidence last = {PFC_CLASS_ENVIRONMENT, 9, true, 1, {'x'}, {0}};
  struct pfc_measurement fold;
  struct pfc_measured measured;
  struct pfc_difference difference;
  struct pfc_config config;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  sample_make(&sample, 15);
  for (unsigned i = 1; i <= 9; i++) {
    test_case("%u", i);
    memset(&measured, 0xa5, sizeof measured);
    REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &sample.draft, &sample.key), PFC_OK));
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, i == 1 ? 9 : SAMPLE_RECORDS), PFC_OK));
    if (i <= 2) {  // A source without any record; a configuration that does not fit.
      CHECK_NUMBER(pfc_measurement_baseline_repeat(bytes, sample.size - (i == 2), &size, &fold, &sample.key),
                   i == 1 ? PFC_E_SOURCE : PFC_E_SPACE);
      CHECK_NUMBER((long)size, 0);
      CHECK_ZEROS(&fold, sizeof fold);
      continue;
    }
    REQUIRE(CHECK_NUMBER(
        pfc_measurement_baseline_repeat(bytes, sizeof bytes, &size, &fold, &sample.key), PFC_OK));
    switch (i) {
      case 3:  // Nothing, a record less, a record more.
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_SOURCE);
        break;
      case 4:
        CHECK_NUMBER(add(&fold, sample.records, 3), PFC_OK);
        CHECK_NUMBER(add(&fold, sample.records + 4, SAMPLE_RECORDS - 4), PFC_OK);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ORDER);
        break;
      case 5:
        CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK);
        CHECK_NUMBER(add(&fold, &last, 1), PFC_OK);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ORDER);
        break;
      case 6:
        CHECK_NUMBER(add(&fold, sample.records, 2), PFC_OK);
        CHECK_NUMBER(add(&fold, sample.records, 1), PFC_E_ORDER);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
        break;
      case 7:  // Ends of other folds.
        CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK);
        CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_E_ARGUMENT);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
        break;
      case 8:
        CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK);
        CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_E_ARGUMENT);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
        break;
      default:
        CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK);
        CHECK_NUMBER(pfc_measurement_baseline_repeat(bytes, sizeof bytes, &size, &fold, &sample.key), PFC_E_ARGUMENT);
        CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_E_ARGUMENT);
        break;
    }
    CHECK_ZEROS(&measured, sizeof measured);
    CHECK_ZEROS(&fold, sizeof fold);
  }
  // A measurement has no baseline to repeat.
  REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
  REQUIRE(CHECK_NUMBER(add(&fold, sample.records, SAMPLE_RECORDS), PFC_OK));
  CHECK_NUMBER(pfc_measurement_baseline_repeat(bytes, sizeof bytes, &size, &fold, &sample.key), PFC_E_ARGUMENT);
  CHECK_ZEROS(&fold, sizeof fold);
}

static void memory_is_constant(void) {
  static const struct evidence last = {PFC_CLASS_ENVIRONMENT, 9, true, 1, {'x'}, {0}};
  struct pfc_measurement fold;
  struct pfc_measured measured, again;
  CHECK(sizeof fold <= 2048);
  test_note("a fold has %zu bytes", sizeof fold);
  sample_make(&sample, 14);
  for (unsigned round = 0; round < 2; round++) {
    REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, sample.bytes, sample.size, &sample.key, 0), PFC_OK));
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records, 7), PFC_OK));
    for (uint32_t i = 0; i < 100000; i++) {
      const uint8_t name[7] = {'s', 'o', (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i, 0};
      uint8_t digest[32] = {0};
      put32(digest, i);
      REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, PFC_CLASS_APP, 3, name, sizeof name, digest), PFC_OK));
    }
    REQUIRE(CHECK_NUMBER(add(&fold, sample.records + 9, 3), PFC_OK));
    // One more, which comes after "LD_PRELOAD".
    REQUIRE(CHECK_NUMBER(add(&fold, &last, round), PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_measurement_final(round == 0 ? &measured : &again, &fold), PFC_OK));
  }
  CHECK_DIFFER(measured.integrity, again.integrity, 32);
  CHECK_BYTES(measured.device, again.device, 32);
}

static const struct test tests[] = {
    TEST("IM, DPK and DM are the transcripts of the specification", transcripts_are_the_specs),
    TEST("the same evidence gives the same measurement", same_evidence_same_measurement),
    TEST("absent is never taken for present", absent_is_not_present),
    TEST("every record's digest, name and state counts; app and environment never count for DM", every_record_counts),
    TEST("one record more or less counts", one_record_more_or_less_counts),
    TEST("IM depends on every byte of the configuration, DM on its device part alone", every_configuration_byte_counts),
    TEST("another salt gives unrelated values", another_salt_is_unrelated),
    TEST("an SDK update with another key changes IM and leaves DM and DPK as they were", sdk_update_keeps_the_device),
    TEST("a configuration copied to another device gives another IM, DM and DPK",
         copied_configuration_is_useless_elsewhere),
    TEST("a baseline that is repeated gives its configuration's bytes, and the measurement under them",
         a_repeated_baseline_is_a_measurement),
    TEST("a baseline is repeated whole, in its order, and ends as a measurement alone", a_baseline_is_repeated_whole),
    TEST("100,000 records fold in the memory of one", memory_is_constant),
};

const struct suite measurement_suite = SUITE("measurement", tests);
