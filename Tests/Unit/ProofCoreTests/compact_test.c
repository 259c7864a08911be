// SPDX-License-Identifier: Apache-2.0

/// The compact token of requests and events: made, checked, judged.

#include <string.h>

#include "ProofCore.h"
#include "gate_world.h"

static struct gate_world world;
static struct pfc_compact_subject subject;
static uint8_t made[PFC_COMPACT_BYTES];

static void make(uint8_t kind) {
  struct pfc_compact compact = compact_of(&world, kind, 5);
  subject = subject_of(kind);
  CHECK_NUMBER(pfc_compact_make(made, &compact, &subject, keys_of(&world, kind)), PFC_OK);
}

static void begin(uint64_t seed, uint8_t kind) {
  gate_world_make(&world, seed);
  make(kind);
}

/// Checking answers this, and after any refusal but an error state leaves zeros.
static struct pfc_compact checks(uint8_t kind, enum pfc_refusal expected) {
  struct pfc_compact compact;
  memset(&compact, 0xa5, sizeof compact);
  CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, kind, &subject, keys_of(&world, kind)), expected);
  if (expected != PFC_REFUSAL_NONE && expected != PFC_REFUSAL_ERROR_STATE) CHECK_ZEROS(&compact, sizeof compact);
  return compact;
}

static void what_is_made_is_checked(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    struct pfc_compact before, after;
    test_case("kind %u", kind);
    begin(1, kind);
    before = compact_of(&world, kind, 5);
    after = checks(kind, PFC_REFUSAL_NONE);
    CHECK_NUMBER(after.kind, before.kind);
    CHECK_NUMBER(after.account_key, before.account_key);
    CHECK_BYTES(after.handle, world.keys.compact.handle, PFC_HANDLE_BYTES);
    CHECK_COUNT(after.created, before.created);
    CHECK_NUMBER(after.event, before.event);
    CHECK_COUNT(after.start, before.start);
    CHECK_COUNT(after.count, before.count);
    CHECK_NUMBER(after.flags, before.flags);
    CHECK_NUMBER(after.measured, before.measured);
    CHECK_BYTES(after.beacon, before.beacon, PFC_BEACON_BYTES);
    CHECK_NUMBER(after.generation, 0x2345);
  }
}

static void forge_tag(uint8_t kind, const uint8_t plain[24], unsigned at, uint8_t change) {
  compact_forge(made, kind, plain, &subject, keys_of(&world, kind), at, change);
}

static void forge(uint8_t kind, const uint8_t plain[24]) { forge_tag(kind, plain, 0, 0); }

static void plain_of(uint8_t plain[24], uint8_t kind) {
  const struct pfc_compact compact = compact_of(&world, kind, 5);
  memset(plain, 0, 24);
  put32(plain, compact.created);
  put16(plain + 4, compact.event);
  if (kind == PFC_COMPACT_REQUEST) memcpy(plain + 4, subject.body, 2);
  put32(plain + 6, compact.start);
  put32(plain + 10, compact.count);
  plain[14] = compact.flags;
  plain[15] = compact.measured;
  plain[16] = subject.account[0];
  plain[17] = subject.digest[0];
  memcpy(plain + 18, compact.beacon, 4);
  put16(plain + 22, 0x2345);
}

static void bytes_are_the_specs(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    uint8_t plain[24], before[PFC_COMPACT_BYTES];
    test_case("kind %u", kind);
    begin(2, kind);
    memcpy(before, made, sizeof before);
    plain_of(plain, kind);
    forge(kind, plain);
    CHECK_BYTES(before, made, sizeof before);
  }
}

static void flipped_bits_never_verify(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    begin(3, kind);
    for (size_t bit = 0; bit < 8 * sizeof made; bit++) {
      struct pfc_compact compact;
      enum pfc_refusal refusal;
      test_case("kind %u, bit %zu", kind, bit);
      made[bit / 8] ^= (uint8_t)(1u << bit % 8);
      refusal = pfc_compact_check(&compact, made, sizeof made, kind, &subject, keys_of(&world, kind));
      if (bit < 4) CHECK_NUMBER(refusal, PFC_REFUSAL_COMPACT_KIND);
      if (bit >= 4 && bit < 8) CHECK_NUMBER(refusal, PFC_REFUSAL_COMPACT_VERSION);
      if (bit >= 16 && bit < 8 * 18) CHECK_NUMBER(refusal, PFC_REFUSAL_HANDLE);
      CHECK(refusal != PFC_REFUSAL_NONE && refusal != PFC_REFUSAL_ERROR_STATE);
      CHECK_ZEROS(&compact, sizeof compact);
      made[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
  }
}

/// The mask is made to fit, so that the tag alone is wrong.
static void every_byte_of_the_tag_counts(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    uint8_t plain[24];
    begin(16, kind);
    plain_of(plain, kind);
    for (unsigned at = 0; at < PFC_COMPACT_TAG_BYTES; at++) {
      test_case("kind %u, byte %u of the tag", kind, at);
      forge_tag(kind, plain, at, 0x80);
      (void)checks(kind, PFC_REFUSAL_TAG);
    }
  }
}

/// A hint whose neighbours no app writes is no hint: the tag is told, and no cause.
static void hints_of_impossible_tokens_are_not_believed(void) {
  static const struct {
    unsigned at;
    uint8_t change;
    bool is_believed;
  } rows[] = {{14, 0, true}, {14, 0x80, false}, {10, 5, false}, {10, 4, true}, {22, 1, false}};
  for (uint8_t kind = 1; kind <= 3; kind++) {
    enum pfc_refusal cause = kind == 1   ? PFC_REFUSAL_OTHER_REQUEST
                             : kind == 2 ? PFC_REFUSAL_OTHER_BODY
                                         : PFC_REFUSAL_OTHER_DATA;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      uint8_t plain[24];
      test_case("kind %u, byte %u changed by %u", kind, rows[i].at, rows[i].change);
      begin(21, kind);
      plain_of(plain, kind);
      plain[rows[i].at] ^= rows[i].change;
      forge_tag(kind, plain, 0, 0x80);
      subject.digest[0] ^= 1;
      (void)checks(kind, rows[i].is_believed ? cause : PFC_REFUSAL_TAG);
    }
  }
}

static void the_subject_is_bound(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    begin(4, kind);
    for (size_t bit = 0; bit < 256; bit++) {
      uint8_t flip = (uint8_t)(1u << bit % 8);
      enum pfc_refusal digest = kind == 1 ? PFC_REFUSAL_OTHER_REQUEST : PFC_REFUSAL_OTHER_BODY;
      if (kind == 3) digest = PFC_REFUSAL_OTHER_DATA;
      test_case("kind %u, bit %zu of the account", kind, bit);
      subject.account[bit / 8] ^= flip;
      (void)checks(kind, bit < 8 ? PFC_REFUSAL_OTHER_ACCOUNT : PFC_REFUSAL_TAG);
      subject.account[bit / 8] ^= flip;
      test_case("kind %u, bit %zu of the digest", kind, bit);
      subject.digest[bit / 8] ^= flip;
      (void)checks(kind, bit < 8 ? digest : PFC_REFUSAL_TAG);
      subject.digest[bit / 8] ^= flip;
    }
  }
}

static void the_word_says_what_differs(void) {
  begin(5, PFC_COMPACT_REQUEST);
  test_case("1. another body gives another request digest, too");
  subject.body[0] ^= 1;
  subject.digest[0] ^= 1;
  (void)checks(PFC_COMPACT_REQUEST, PFC_REFUSAL_OTHER_BODY);
  test_case("2. the account is told first");
  memset(subject.account, 0, sizeof subject.account);
  (void)checks(PFC_COMPACT_REQUEST, PFC_REFUSAL_OTHER_ACCOUNT);
  test_case("3. a body digest that the request digest does not hold is not accepted");
  begin(5, PFC_COMPACT_REQUEST);
  subject.body[0] ^= 1;
  (void)checks(PFC_COMPACT_REQUEST, PFC_REFUSAL_RESERVED);
  test_case("4. a body digest is not looked at in the other kinds");
  for (uint8_t kind = 2; kind <= 3; kind++) {
    begin(5, kind);
    memset(subject.body, 0xee, sizeof subject.body);
    (void)checks(kind, PFC_REFUSAL_NONE);
  }
}

static void keys_of_another_do_not_serve(void) {
  struct pfc_compact compact;
  struct pfc_compact_keys keys;
  for (uint8_t kind = 1; kind <= 3; kind++) {
    begin(6, kind);
    const struct pfc_compact_keys *right = keys_of(&world, kind);
    const struct pfc_compact_keys *other = keys_of(&world, kind == 3 ? 1 : 3);
    test_case("kind %u: the keys of the other use", kind);
    CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, kind, &subject, other), PFC_REFUSAL_HANDLE);
    test_case("kind %u: the keys of the other use, renamed", kind);
    keys = *other;
    keys.event = right->event;
    CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, kind, &subject, &keys), PFC_REFUSAL_TAG);
    test_case("kind %u: another mask", kind);
    keys = *right;
    keys.mask[0] ^= 1;
    CHECK(pfc_compact_check(&compact, made, sizeof made, kind, &subject, &keys) != PFC_REFUSAL_NONE);
    test_case("kind %u: another generation of the same keys", kind);
    keys = *right;
    keys.generation++;
    CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, kind, &subject, &keys), PFC_REFUSAL_GENERATION);
    test_case("kind %u: keys with a handle of zeros", kind);
    keys = *right;
    memset(keys.handle, 0, sizeof keys.handle);
    CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, kind, &subject, &keys), PFC_REFUSAL_HANDLE);
  }
  test_case("another audience");
  begin(6, PFC_COMPACT_EVENT);
  world.audience[0] ^= 1;
  pfc_gate_event_keys_make(&keys, world.token.secret, world.token.generation, world.audience);
  CHECK_NUMBER(pfc_compact_check(&compact, made, sizeof made, PFC_COMPACT_EVENT, &subject, &keys), PFC_REFUSAL_TAG);
}

static void what_no_app_writes_is_refused(void) {
  for (uint8_t kind = 1; kind <= 3; kind++) {
    uint8_t plain[24];
    begin(7, kind);
    plain_of(plain, kind);
    forge(kind, plain);
    (void)checks(kind, PFC_REFUSAL_NONE);
    for (unsigned bit = 2; bit < 8; bit++) {
      test_case("kind %u: flag %u", kind, bit);
      plain[14] ^= (uint8_t)(1u << bit);
      forge(kind, plain);
      (void)checks(kind, PFC_REFUSAL_RESERVED);
      plain[14] ^= (uint8_t)(1u << bit);
    }
    test_case("kind %u: count 0", kind);
    put32(plain + 10, 0);
    forge(kind, plain);
    (void)checks(kind, PFC_REFUSAL_RESERVED);
    put32(plain + 10, 1);
    test_case("kind %u: created 0", kind);
    put32(plain, 0);
    forge(kind, plain);
    (void)checks(kind, PFC_REFUSAL_RESERVED);
    put32(plain, 1);
    test_case("kind %u: an event, or another body's beginning", kind);
    plain[5] ^= 1;
    forge(kind, plain);
    (void)checks(kind, kind == 3 ? PFC_REFUSAL_NONE : PFC_REFUSAL_RESERVED);
    test_case("kind %u: another generation, rightly tagged", kind);
    plain[5] ^= 1;
    plain[23] ^= 1;
    forge(kind, plain);
    (void)checks(kind, PFC_REFUSAL_GENERATION);
  }
}

static void an_error_state_is_never_valid(void) {
  static const uint8_t nothing[48] = {0};
  for (uint8_t kind = 1; kind <= 3; kind++) {
    struct pfc_compact compact;
    struct pfc_compact_rules rules;
    begin(8, kind);
    test_case("kind %u: with keys", kind);
    compact = compact_of(&world, kind, 6);
    compact.flags = PFC_COMPACT_ERROR;
    compact.measured = PFC_ERROR_MEASUREMENT;
    CHECK_NUMBER(pfc_compact_make(made, &compact, &subject, keys_of(&world, kind)), PFC_OK);
    compact = checks(kind, PFC_REFUSAL_ERROR_STATE);
    CHECK_NUMBER(compact.measured, PFC_ERROR_MEASUREMENT);
    CHECK_COUNT(compact.count, 6);
    rules = rules_of(&world, kind);
    CHECK_NUMBER(pfc_compact_judge(&compact, &rules), PFC_REFUSAL_ERROR_STATE);
    test_case("kind %u: without keys", kind);
    for (unsigned cause = 0; cause < 256; cause++) {
      uint8_t random[48];
      dice_fill(&world.dice, random, sizeof random);
      memset(made, 0xa5, sizeof made);
      CHECK_NUMBER(pfc_compact_make_error(made, kind, (uint8_t)cause, random), cause == 0 ? PFC_E_ARGUMENT : PFC_OK);
      if (cause == 0) {
        CHECK_ZEROS(made, sizeof made);
        continue;
      }
      CHECK_ZEROS(made + 1, 17);
      CHECK_BYTES(made + 19, random + 1, 47);
      compact = checks(kind, PFC_REFUSAL_ERROR_STATE);
      CHECK_NUMBER(compact.measured, cause);
      CHECK_NUMBER(pfc_compact_judge(&compact, &rules), PFC_REFUSAL_ERROR_STATE);
      CHECK_NUMBER(pfc_compact_read_head(&compact, made, sizeof made, kind), PFC_REFUSAL_ERROR_STATE);
      CHECK_NUMBER(compact.measured, cause);
    }
  }
  CHECK_NUMBER(pfc_compact_make_error(made, 4, 1, nothing), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_compact_make_error(made, 0, 1, nothing), PFC_E_ARGUMENT);
}

static void heads_are_read(void) {
  struct pfc_compact compact;
  uint8_t longer[PFC_COMPACT_BYTES + 8] = {0};
  begin(9, PFC_COMPACT_EVENT);
  CHECK_NUMBER(pfc_compact_read_head(&compact, made, sizeof made, PFC_COMPACT_EVENT), PFC_REFUSAL_NONE);
  CHECK_BYTES(compact.handle, world.event_keys.handle, 16);
  CHECK_NUMBER(compact.account_key, 3);
  memcpy(longer, made, sizeof made);
  for (size_t size = 0; size <= sizeof longer; size++) {
    test_case("%zu bytes", size);
    if (size == PFC_COMPACT_BYTES) continue;
    CHECK_NUMBER(pfc_compact_read_head(&compact, longer, size, PFC_COMPACT_EVENT), PFC_REFUSAL_COMPACT_LENGTH);
    CHECK_ZEROS(&compact, sizeof compact);
  }
  for (unsigned first = 0; first < 256; first++) {
    for (unsigned asked = 0; asked < 256; asked++) {
      enum pfc_refusal expected = PFC_REFUSAL_NONE;
      if ((first & 15) != asked || asked < 1 || asked > 3) expected = PFC_REFUSAL_COMPACT_KIND;
      if (first >> 4 != 1) expected = PFC_REFUSAL_COMPACT_VERSION;
      test_case("first byte %u, asked for kind %u", first, asked);
      made[0] = (uint8_t)first;
      CHECK_NUMBER(pfc_compact_read_head(&compact, made, sizeof made, (uint8_t)asked), expected);
    }
  }
}

static void texts_are_read(void) {
  char text[PFC_COMPACT_TEXT_BYTES + 1];
  uint8_t bytes[PFC_COMPACT_BYTES];
  begin(10, PFC_COMPACT_REQUEST);
  pfc_compact_encode(text, made);
  CHECK_NUMBER(strlen(text), 88);
  CHECK_NUMBER(pfc_compact_decode(bytes, text, 88), PFC_REFUSAL_NONE);
  CHECK_BYTES(bytes, made, sizeof made);
  for (size_t size = 0; size < 88; size++) {
    test_case("%zu characters", size);
    memset(bytes, 0xa5, sizeof bytes);
    CHECK_NUMBER(pfc_compact_decode(bytes, text, size), PFC_REFUSAL_TEXT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
  test_case("89 characters");
  CHECK_NUMBER(pfc_compact_decode(bytes, text, 89), PFC_REFUSAL_TEXT);
  test_case("a character of the other alphabet at the end");
  text[87] = '+';
  CHECK_NUMBER(pfc_compact_decode(bytes, text, 88), PFC_REFUSAL_TEXT);
  CHECK_ZEROS(bytes, sizeof bytes);
}

static void what_is_never_valid_is_not_made(void) {
  struct pfc_compact compact;
  struct pfc_compact_keys keys;
  begin(11, PFC_COMPACT_EVENT);
  for (unsigned wrong = 0; wrong < 9; wrong++) {
    test_case("%u", wrong);
    compact = compact_of(&world, wrong < 5 ? PFC_COMPACT_EVENT : PFC_COMPACT_REQUEST, 1);
    keys = *keys_of(&world, compact.kind);
    if (wrong == 0) compact.kind = 0;
    if (wrong == 1) compact.kind = 4;
    if (wrong == 2) compact.count = 0;
    if (wrong == 3) compact.created = 0;
    if (wrong == 4) compact.flags = 4;
    if (wrong == 5) compact.event = 1;
    if (wrong == 6) keys.event = 1;
    if (wrong == 7) memset(keys.handle, 0, sizeof keys.handle);
    if (wrong == 8) keys = world.event_keys;
    memset(made, 0xa5, sizeof made);
    CHECK_NUMBER(pfc_compact_make(made, &compact, &subject, &keys), PFC_E_ARGUMENT);
    CHECK_ZEROS(made, sizeof made);
  }
}

static void judges(const char *what, const struct pfc_compact *compact, const struct pfc_compact_rules *rules,
                   enum pfc_refusal expected) {
  test_case("%s", what);
  CHECK_NUMBER(pfc_compact_judge(compact, rules), expected);
}

static void rules_are_judged_at_their_edges(void) {
  struct pfc_compact c, before;
  struct pfc_compact_rules r, strict;
  begin(12, PFC_COMPACT_EVENT);
  before = checks(PFC_COMPACT_EVENT, PFC_REFUSAL_NONE);
  strict = rules_of(&world, PFC_COMPACT_EVENT);
  judges("the control", &before, &strict, PFC_REFUSAL_NONE);
  r = strict, r.event++, judges("another event", &before, &r, PFC_REFUSAL_EVENT);
  c = before, c.created += 60, judges("60 s ahead", &c, &strict, PFC_REFUSAL_NONE);
  c = before, c.created += 61, judges("61 s ahead", &c, &strict, PFC_REFUSAL_AHEAD);
  c = before, c.created -= 60, judges("60 s ago", &c, &strict, PFC_REFUSAL_NONE);
  c = before, c.created -= 61, judges("61 s ago", &c, &strict, PFC_REFUSAL_STALE);
  c = before, c.created = UINT32_MAX, judges("the last second", &c, &strict, PFC_REFUSAL_AHEAD);
  r = strict, r.now = UINT64_MAX, judges("the end of time", &before, &r, PFC_REFUSAL_STALE);
  r = strict, r.now = 0, r.window = UINT32_MAX, judges("a wide window", &before, &r, PFC_REFUSAL_NONE);
  c = before, memset(c.beacon, 0, 4), judges("no beacon", &c, &strict, PFC_REFUSAL_UNANCHORED);
  c = before, c.beacon[3] ^= 1, judges("another beacon", &c, &strict, PFC_REFUSAL_UNANCHORED);
  r = strict, r.unanchored = 1, judges("another beacon, allowed", &c, &r, PFC_REFUSAL_NONE);
  r = strict, r.unanchored = 2, judges("a rule out of range allows nothing", &c, &r, PFC_REFUSAL_UNANCHORED);
  r = strict, r.measured_max = 8, judges("measured 9 s ago, 8 allowed", &before, &r, PFC_REFUSAL_MEASURED);
  r = strict, r.measured_max = 9, judges("measured 9 s ago, 9 allowed", &before, &r, PFC_REFUSAL_NONE);
  c = before, c.measured = 255, r.measured_max = 255, judges("any age", &c, &r, PFC_REFUSAL_NONE);
  r = strict, r.newest = 5 + 63, judges("63 counts behind", &before, &r, PFC_REFUSAL_NONE);
  r = strict, r.newest = 5 + 64, judges("64 counts behind", &before, &r, PFC_REFUSAL_KEPT);
  r = strict, r.newest = 1, judges("ahead of the newest", &before, &r, PFC_REFUSAL_NONE);
  c = before, c.count = UINT32_MAX, judges("the last count", &c, &r, PFC_REFUSAL_NONE);
}

static void a_token_made_ahead_has_no_beacon(void) {
  struct pfc_compact c;
  struct pfc_compact_rules r;
  uint8_t message[PFC_BEACON_MESSAGE_BYTES];
  begin(13, PFC_COMPACT_EVENT);
  c = checks(PFC_COMPACT_EVENT, PFC_REFUSAL_NONE);
  // The app's clock was set an hour ahead, and the token is used an hour later, with the beacon of when it was made.
  c.created += 3600;
  r = rules_of(&world, PFC_COMPACT_EVENT);
  r.now += 3600;
  pfc_beacons_at(&r.beacons, world.beacon_key, r.now);
  judges("made ahead of time", &c, &r, PFC_REFUSAL_UNANCHORED);
  pfc_beacon_make(message, world.beacon_key, r.now);
  memcpy(c.beacon, message + 5, 4);
  judges("made now", &c, &r, PFC_REFUSAL_NONE);
}

static void replay_keys_name_what_is_used_once(void) {
  struct pfc_compact c;
  uint8_t key[24], expected[24], other[24];
  begin(14, PFC_COMPACT_EVENT);
  c = checks(PFC_COMPACT_EVENT, PFC_REFUSAL_NONE);
  pfc_compact_replay_key(key, &c);
  memcpy(expected, c.handle, 16);
  put32(expected + 16, c.start);
  put32(expected + 20, c.count);
  CHECK_BYTES(key, expected, 24);
  c.start++;
  pfc_compact_replay_key(other, &c);
  CHECK_DIFFER(key, other, 24);
  c.start--;
  c.count++;
  pfc_compact_replay_key(other, &c);
  CHECK_DIFFER(key, other, 24);
  test_case("the same count over other data is the same use");
  c = compact_of(&world, PFC_COMPACT_EVENT, 5);
  subject.digest[9] ^= 1;
  REQUIRE(CHECK_NUMBER(pfc_compact_make(made, &c, &subject, &world.event_keys), PFC_OK));
  c = checks(PFC_COMPACT_EVENT, PFC_REFUSAL_NONE);
  pfc_compact_replay_key(other, &c);
  CHECK_BYTES(other, key, 24);
}

static void nothing_but_the_head_is_readable(void) {
  struct pfc_compact c;
  uint8_t other[PFC_COMPACT_BYTES];
  begin(15, PFC_COMPACT_EVENT);
  memcpy(other, made, sizeof other);
  c = compact_of(&world, PFC_COMPACT_EVENT, 6);
  REQUIRE(CHECK_NUMBER(pfc_compact_make(made, &c, &subject, &world.event_keys), PFC_OK));
  CHECK_BYTES(made, other, PFC_COMPACT_HEAD_BYTES);
  for (unsigned i = 0; i < 48; i += 8) {
    test_case("bytes from %u", PFC_COMPACT_HEAD_BYTES + i);
    CHECK_DIFFER(made + PFC_COMPACT_HEAD_BYTES + i, other + PFC_COMPACT_HEAD_BYTES + i, 8);
  }
}

static const struct test tests[] = {
    TEST("a compact token that is made is checked, and says what it was made of", what_is_made_is_checked),
    TEST("a compact token's bytes are the page's", bytes_are_the_specs),
    TEST("no flipped bit of a compact token verifies", flipped_bits_never_verify),
    TEST("every byte of a compact token's tag is compared", every_byte_of_the_tag_counts),
    TEST("a compact token binds every bit of account and digest", the_subject_is_bound),
    TEST("a hint is believed where the rest could be an app's", hints_of_impossible_tokens_are_not_believed),
    TEST("a compact token's refusal says what differs", the_word_says_what_differs),
    TEST("a compact token verifies under its own keys alone", keys_of_another_do_not_serve),
    TEST("a field that no app writes into a compact token is refused", what_no_app_writes_is_refused),
    TEST("a compact token of an app in error state is never valid, and says why", an_error_state_is_never_valid),
    TEST("a compact token's head is read before keys are known", heads_are_read),
    TEST("a compact token's text has 88 characters and no other form", texts_are_read),
    TEST("a compact token that can never be valid is not made", what_is_never_valid_is_not_made),
    TEST("a compact token is judged at the edges of its rules", rules_are_judged_at_their_edges),
    TEST("a compact token made ahead of time is unanchored", a_token_made_ahead_has_no_beacon),
    TEST("a compact token's replay key is handle, start and count", replay_keys_name_what_is_used_once),
    TEST("two compact tokens of one moment share nothing but the head", nothing_but_the_head_is_readable),
};

const struct suite compact_suite = SUITE("compact", tests);
