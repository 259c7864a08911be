// SPDX-License-Identifier: Apache-2.0

/// The grant's message, its tag, and the record that the hardware keeps of it.

#include <string.h>

#include "ProofCore.h"
#include "flash.h"
#include "harness.h"
#include "suites.h"

#if PFC_GRANTS

static struct pfc_grant grant;
static struct pfc_secrets secrets;
static uint8_t digest[16], bytes[PFC_GRANT_BYTES];

static void begin(void) {
  struct dice dice = {210};
  dice_fill(&dice, &secrets, sizeof secrets);
  dice_fill(&dice, digest, sizeof digest);
  memset(&grant, 0, sizeof grant);
  dice_fill(&dice, grant.hardware_id, 16);
  dice_fill(&dice, grant.owner, 16);
  dice_fill(&dice, grant.member, 16);
  grant.generation = 7;
  grant.serial = 9;
  grant.classes = 0x0105;
  grant.uses = 65534;
  grant.end = UINT64_C(0x1122334455);
  CHECK_NUMBER(pfc_grant_create(bytes, &grant, &secrets, digest), PFC_OK);
}

/// Gives the bytes the tag that they need.
static void sign(void) { pfc_grant_tag(bytes + 64, bytes, &secrets, digest); }

static void fields_stand_where_the_page_says(void) {
  static const uint8_t head[] = {'P', 'D', 1, 1};
  uint8_t key[32], tag[32], full[32], short_name[16];
  begin();
  CHECK_BYTES(bytes, head, 4);
  CHECK_BYTES(bytes + 4, grant.hardware_id, 4);
  CHECK_BYTES(bytes + 8, grant.owner, 16);
  CHECK_BYTES(bytes + 24, grant.member, 16);
  CHECK_NUMBER(get32(bytes + 40), 7);
  CHECK_NUMBER(get32(bytes + 44), 9);
  CHECK_NUMBER(bytes[48] | bytes[49] << 8, 0x0105);
  CHECK_NUMBER(bytes[50] | bytes[51] << 8, 65534);
  CHECK_COUNT(get64(bytes + 52), grant.end);
  CHECK_ZEROS(bytes + 60, 4);
  pfc_derive(key, "pfc2.grant-key..", (const uint8_t *)&secrets, 96, digest, 16);
  pfc_mac_once(tag, key, 32, bytes, 64);
  CHECK_BYTES(bytes + 64, tag, 32);
  pfc_hash_once(full, "pfc2.grant-id...", bytes, 96);
  pfc_grant_digest(short_name, bytes);
  CHECK_BYTES(short_name, full, 16);
}

static void round_trip(void) {
  struct pfc_grant found;
  uint8_t id[16];
  begin();
  memcpy(id, grant.hardware_id, 16);
  CHECK_NUMBER(pfc_grant_decode(&found, bytes, 96, id), PFC_OK);
  CHECK_BYTES(&found, &grant, sizeof found);
  CHECK_NUMBER(pfc_grant_check(bytes, &secrets, digest), PFC_OK);
  CHECK_NUMBER(pfc_grant_read(&found, bytes, 96), PFC_OK);
  memset(grant.hardware_id + 4, 0, 12);
  CHECK_BYTES(&found, &grant, sizeof found);
  // Only the hint's four bytes tell other hardware here; the tag tells the rest.
  id[4] ^= 1;
  CHECK_NUMBER(pfc_grant_decode(&found, bytes, 96, id), PFC_OK);
  for (unsigned i = 0; i < 4; i++) {
    id[i] ^= 1;
    CHECK_NUMBER(pfc_grant_decode(&found, bytes, 96, id), PFC_E_RECIPIENT);
    CHECK_ZEROS(&found, sizeof found);
    id[i] ^= 1;
  }
  for (size_t size = 0; size <= 97; size++) {
    if (size != 96) CHECK_NUMBER(pfc_grant_read(&found, bytes, size), PFC_E_MALFORMED);
  }
}

static void every_bit_and_secret_is_under_the_tag(void) {
  begin();
  for (unsigned bit = 0; bit < 8 * 96; bit++) {
    test_case("bit %u", bit);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfc_grant_check(bytes, &secrets, digest), PFC_E_DIFFERS);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned i = 0; i < sizeof secrets; i++) {
    test_case("byte %u of the secrets", i);
    ((uint8_t *)&secrets)[i] ^= 1;
    CHECK_NUMBER(pfc_grant_check(bytes, &secrets, digest), PFC_E_DIFFERS);
    ((uint8_t *)&secrets)[i] ^= 1;
  }
  for (unsigned i = 0; i < sizeof digest; i++) {
    test_case("byte %u of the token's digest", i);
    digest[i] ^= 1;
    CHECK_NUMBER(pfc_grant_check(bytes, &secrets, digest), PFC_E_DIFFERS);
    digest[i] ^= 1;
  }
  CHECK_NUMBER(pfc_grant_check(bytes, &secrets, digest), PFC_OK);
}

static void heads_that_are_not_known(void) {
  static const struct {
    unsigned at;
    uint8_t value;
    int result, detail;
  } cases[] = {{0, 'Q', PFC_E_MALFORMED, 0}, {1, 'T', PFC_E_MALFORMED, 0},
               {2, 2, PFC_E_TOO_NEW, 1},     {2, 0, PFC_E_TOO_NEW, 1},
               {3, 2, PFC_E_TOO_NEW, 2},     {3, 0, PFC_E_TOO_NEW, 2},
               {60, 1, PFC_E_TOO_NEW, 3},    {63, 128, PFC_E_TOO_NEW, 3}};
  struct pfc_grant found;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    test_case("%u. byte %u is %u", i + 1, cases[i].at, cases[i].value);
    bytes[cases[i].at] = cases[i].value;
    sign();
    CHECK_NUMBER(pfc_grant_read(&found, bytes, 96), cases[i].result);
    CHECK_ZEROS(&found, sizeof found);
    if (cases[i].detail != 0) CHECK_NUMBER(pfc_grant_head_detail(bytes), cases[i].detail);
  }
}

static void ranges(void) {
  static const struct {
    const char *what;
    struct pfc_grant change;
    bool held;
  } cases[] = {{"the least", {.generation = 1, .serial = 1, .classes = 1, .uses = 1, .end = 1}, true},
               {"the most", {.generation = 0xffffffff, .serial = 0xffffffff, .classes = 0xffff, .uses = 65534,
                             .end = UINT64_MAX}, true},
               {"takes back", {.generation = 1, .serial = 1}, true},
               {"no generation", {.serial = 1, .classes = 1, .uses = 1, .end = 1}, false},
               {"no serial", {.generation = 1, .classes = 1, .uses = 1, .end = 1}, false},
               {"no uses", {.generation = 1, .serial = 1, .classes = 1, .end = 1}, false},
               {"uses without limit", {.generation = 1, .serial = 1, .classes = 1, .uses = 65535, .end = 1}, false},
               {"no end", {.generation = 1, .serial = 1, .classes = 1, .uses = 1}, false},
               {"takes back with uses", {.generation = 1, .serial = 1, .uses = 1}, false},
               {"takes back with an end", {.generation = 1, .serial = 1, .end = 1}, false}};
  struct pfc_grant found;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct pfc_grant *change = &cases[i].change;
    test_case("%u. %s", i + 1, cases[i].what);
    begin();
    put32(bytes + 40, change->generation);
    put32(bytes + 44, change->serial);
    put16(bytes + 48, change->classes);
    put16(bytes + 50, change->uses);
    put64(bytes + 52, change->end);
    CHECK_NUMBER(pfc_grant_read(&found, bytes, 96), cases[i].held ? PFC_OK : PFC_E_MALFORMED);
    CHECK_NUMBER(pfc_grant_create(bytes, change, &secrets, digest), cases[i].held ? PFC_OK : PFC_E_ARGUMENT);
    if (!cases[i].held) CHECK_ZEROS(bytes, sizeof bytes);
    if (!cases[i].held) CHECK_ZEROS(&found, sizeof found);
  }
}

static void records_round_trip(void) {
  struct dice dice = {211};
  struct pfc_grant_row row, found;
  uint8_t record[PFC_GRANT_RECORD_BYTES];
  memset(&row, 0, sizeof row);
  row.owner = PFC_SLOTS;
  row.classes = 0x1234;
  row.uses = 0x5678;
  row.end = UINT64_C(0x1122334455667788);
  dice_fill(&dice, row.digest, 8);
  dice_fill(&dice, row.owner_id, 8);
  dice_fill(&dice, row.member_id, 8);
  dice_fill(&dice, row.named, 8);
  dice_fill(&dice, row.serials, sizeof row.serials);
  pfc_grant_row_encode(record, &row);
  CHECK_NUMBER(record[0], PFC_SLOTS);
  CHECK_NUMBER(record[2] | record[3] << 8, 0x1234);
  CHECK_NUMBER(record[4] | record[5] << 8, 0x5678);
  CHECK_COUNT(get64(record + 8), row.end);
  CHECK_BYTES(record + 16, row.digest, 8);
  CHECK_BYTES(record + 24, row.owner_id, 8);
  CHECK_BYTES(record + 32, row.member_id, 8);
  CHECK_BYTES(record + 40, row.named, 8);
  for (unsigned i = 0; i < PFC_SLOTS; i++) CHECK_NUMBER(get32(record + 48 + 4 * i), row.serials[i]);
  CHECK_NUMBER(pfc_grant_row_decode(&found, record), PFC_OK);
  CHECK_BYTES(&found, &row, sizeof row);
  for (unsigned i = 0; i < 3; i++) {
    static const uint8_t reserved[] = {1, 6, 7};
    record[reserved[i]] = 1;
    CHECK_NUMBER(pfc_grant_row_decode(&found, record), PFC_E_TOO_NEW);
    CHECK_ZEROS(&found, sizeof found);
    record[reserved[i]] = 0;
  }
  record[0] = PFC_SLOTS + 1;
  CHECK_NUMBER(pfc_grant_row_decode(&found, record), PFC_E_DAMAGED);
  CHECK_ZEROS(&found, sizeof found);
}

static void blank_records_are_empty_and_damaged_ones_are_not(void) {
  static struct flash flash;
  struct pfc_storage storage = flash_storage(&flash);
  struct pfc_grants grants;
  struct pfc_grant_row row;
  uint8_t secret[32] = {1}, key[32];
  pfc_record_key(key, secret);
  for (unsigned fill = 0; fill < 2; fill++) {
    test_case("blank: %u", fill);
    flash_erase(&flash, 212);
    if (fill == 0) memset(flash.areas, 0, sizeof flash.areas);
    CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_OK);
    CHECK_NUMBER(flash.writes, 2 * PFC_SLOTS);
    CHECK_ZEROS(grants.rows, sizeof grants.rows);
    CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_OK);
    CHECK_NUMBER(flash.writes, 2 * PFC_SLOTS);
  }
  memset(&row, 0, sizeof row);
  row.serials[0] = 5;
  CHECK_NUMBER(pfc_grants_put(&grants, 1, &row, &storage, key), PFC_OK);
  for (unsigned copy = 0; copy < 2; copy++) {
    static struct flash kept;
    unsigned record = 1 + PFC_SLOTS + 1;
    kept = flash;
    test_case("copy %u damaged", copy);
    flash.areas[record][copy][20] ^= 1;
    CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_OK);
    flash.areas[record][copy ^ 1][20] ^= 1;
    CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_E_DAMAGED);
    CHECK_ZEROS(&grants, sizeof grants);
    flash = kept;
    for (unsigned fill = 0; fill < 2; fill++) {
      // As the first write leaves them if power fails in it.
      test_case("copy %u torn, the other blank: %u", copy, fill);
      flash.areas[record][copy][20] ^= 1;
      memset(flash.areas[record][copy ^ 1], fill == 0 ? 0 : 0xff, PFC_RECORD_BYTES_MAX);
      CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_OK);
      CHECK_ZEROS(grants.rows, sizeof grants.rows);
      flash = kept;
    }
  }
  test_case("storage that does not answer");
  for (long i = 0; i < 2 * PFC_SLOTS; i++) {
    flash_power(&flash);
    flash.fail_read = flash.reads + i;
    CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_E_STORAGE);
    CHECK_ZEROS(&grants, sizeof grants);
  }
  test_case("provisioned anew");
  flash_power(&flash);
  CHECK_NUMBER(pfc_grants_format(&storage, secret), PFC_OK);
  CHECK_NUMBER(pfc_grants_load(&grants, &storage, key), PFC_OK);
  CHECK_ZEROS(grants.rows, sizeof grants.rows);
}

static void packets_carry_a_grant(void) {
  struct pfc_fragmenter out;
  static struct pfc_reassembler in;
  uint8_t packet[PFC_PACKET_MIN];
  unsigned count = 0;
  size_t size;
  begin();
  pfc_reassemble_init(&in);
  CHECK_NUMBER(pfc_fragment_init(&out, PFC_MESSAGE_GRANT, bytes, sizeof bytes, sizeof packet), PFC_OK);
  while ((size = pfc_fragment_next(&out, packet)) > 0) {
    enum pfc_frame_result result = pfc_reassemble(&in, packet, size);
    CHECK_NUMBER(result, ++count == 6 ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
  }
  CHECK_NUMBER(count, 6);
  CHECK_NUMBER(in.type, PFC_MESSAGE_GRANT);
  CHECK_BYTES(in.bytes, bytes, sizeof bytes);
}

static const struct test tests[] = {
    TEST("each field stands where the page says", fields_stand_where_the_page_says),
    TEST("what is made is read", round_trip),
    TEST("the tag covers every bit, every secret and the token", every_bit_and_secret_is_under_the_tag),
    TEST("other versions, suites and reserved bytes are told apart", heads_that_are_not_known),
    TEST("each field has its range, for maker and reader", ranges),
    TEST("packets carry a grant", packets_carry_a_grant),
    TEST("a record holds a row", records_round_trip),
    TEST("blank records are empty, damaged ones are an error", blank_records_are_empty_and_damaged_ones_are_not),
};

const struct suite grant_suite = SUITE("grant", tests);

#endif
