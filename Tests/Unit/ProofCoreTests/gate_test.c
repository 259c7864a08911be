// SPDX-License-Identifier: Apache-2.0

/// A gate's identity, the keys from one secret, accounts, beacons, and the classes of refusals.

#include <string.h>

#include "ProofCore.h"
#include "gate_world.h"

static struct gate_world world;

static void hkdf(uint8_t out[32], const char *label, const void *key, size_t key_size, const void *info, size_t size) {
  pfc_hkdf(out, (const uint8_t *)label, 16, key, key_size, info, size);
}

static void secret_is_the_specs(void) {
  uint8_t both[48], info[36], key[32], expected[32], secret[32];
  gate_world_make(&world, 1);
  hkdf(key, "pfc1.gate-key...", world.mpk, 16, world.gate.id, 16);
  memcpy(both, key, 16);
  hkdf(both + 16, "pfc1.gate-im....", world.integrity, 32, world.gate.id, 16);
  memcpy(info, world.gate.id, 16);
  memcpy(info + 16, world.token.instance_id, 16);
  put32(info + 32, world.token.generation);
  hkdf(expected, "pfc1.gate-secret", both, 48, info, 36);
  CHECK_BYTES(world.token.secret, expected, 32);
  for (unsigned i = 0; i < 2; i++) {
    memset(secret, 0xa5, sizeof secret);
    CHECK_NUMBER(pfc_gate_secret_make(secret, &world.key, world.integrity, world.gate.id, world.token.instance_id,
                                      i == 0 ? 0 : PFC_GENERATION_ALL),
                 PFC_E_ARGUMENT);
    CHECK_ZEROS(secret, sizeof secret);
  }
}

static void secret_depends_on_every_bit(void) {
  uint8_t generation[4], secret[32];
  gate_world_make(&world, 2);
  put32(generation, world.token.generation);
  const struct {
    const char *what;
    uint8_t *bytes;
    size_t size;
  } parts[] = {{"MPK", world.mpk, 16},
               {"IM", world.integrity, 32},
               {"gate id", world.gate.id, 16},
               {"instance id", world.token.instance_id, 16},
               {"generation", generation, 4}};
  for (unsigned part = 0; part < 5; part++) {
    for (size_t bit = 0; bit < 8 * parts[part].size; bit++) {
      test_case("bit %zu of the %s", bit, parts[part].what);
      parts[part].bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      CHECK_NUMBER(pfc_gate_secret_make(secret, &world.key, world.integrity, world.gate.id, world.token.instance_id,
                                        get32(generation)),
                   PFC_OK);
      CHECK_DIFFER(secret, world.token.secret, 32);
      parts[part].bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
  }
}

static void keys_are_the_specs(void) {
  const uint8_t *s;
  uint8_t expected[32];
  gate_world_make(&world, 3);
  s = world.token.secret;
  hkdf(expected, "pfc1.gate-handle", s, 32, NULL, 0);
  CHECK_BYTES(world.keys.compact.handle, expected, 16);
  CHECK_BYTES(world.event_keys.handle, expected, 16);
  hkdf(expected, "pfc1.request-key", s, 32, NULL, 0);
  CHECK_BYTES(world.keys.request, expected, 32);
  hkdf(expected, "pfc1.gproof-key.", s, 32, NULL, 0);
  CHECK_BYTES(world.keys.proof, expected, 32);
  hkdf(expected, "pfc1.compact-key", s, 32, NULL, 0);
  CHECK_BYTES(world.keys.compact.tag, expected, 32);
  hkdf(expected, "pfc1.mask-key...", s, 32, NULL, 0);
  CHECK_BYTES(world.keys.compact.mask, expected, 32);
  hkdf(expected, "pfc1.event-key..", s, 32, world.audience, 16);
  CHECK_BYTES(world.event_keys.tag, expected, 32);
  hkdf(expected, "pfc1.mask-key...", s, 32, world.audience, 16);
  CHECK_BYTES(world.event_keys.mask, expected, 32);
  CHECK_NUMBER(world.keys.compact.generation, 0x2345);
  CHECK_NUMBER(world.event_keys.generation, 0x2345);
  CHECK_NUMBER(world.keys.compact.event, 0);
  CHECK_NUMBER(world.event_keys.event, 1);
}

static void audiences_share_no_key(void) {
  struct pfc_compact_keys other;
  gate_world_make(&world, 4);
  for (unsigned bit = 0; bit < 128; bit++) {
    test_case("bit %u of the audience", bit);
    world.audience[bit / 8] ^= (uint8_t)(1u << bit % 8);
    pfc_gate_event_keys_make(&other, world.token.secret, world.token.generation, world.audience);
    CHECK_DIFFER(other.tag, world.event_keys.tag, 32);
    CHECK_DIFFER(other.mask, world.event_keys.mask, 32);
    CHECK_BYTES(other.handle, world.event_keys.handle, 16);
    world.audience[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

static void another_gate_shares_nothing(void) {
  uint8_t secret[32];
  struct pfc_gate_keys keys;
  gate_world_make(&world, 5);
  world.gate.id[15] ^= 1;
  REQUIRE(CHECK_NUMBER(pfc_gate_secret_make(secret, &world.key, world.integrity, world.gate.id,
                                            world.token.instance_id, world.token.generation),
                       PFC_OK));
  pfc_gate_keys_make(&keys, secret, world.token.generation);
  CHECK_DIFFER(keys.compact.handle, world.keys.compact.handle, 16);
  CHECK_DIFFER(keys.compact.tag, world.keys.compact.tag, 32);
  CHECK_DIFFER(keys.compact.mask, world.keys.compact.mask, 32);
  CHECK_DIFFER(keys.request, world.keys.request, 32);
  CHECK_DIFFER(keys.proof, world.keys.proof, 32);
}

static void accounts_are_the_specs(void) {
  uint8_t key[32], account[32], expected[32], message[16 + 128];
  struct pfc_mac mac;
  gate_world_make(&world, 6);
  dice_fill(&world.dice, key, sizeof key);
  memcpy(message, "pfc1.account....", 16);
  memset(message + 16, 'u', 128);
  for (size_t size = 0; size <= 129; size++) {
    test_case("%zu bytes", size);
    memset(account, 0xa5, sizeof account);
    if (size == 0 || size == 129) {
      CHECK_NUMBER(pfc_gate_account(account, key, (const char *)message, size), PFC_E_ARGUMENT);
      CHECK_ZEROS(account, sizeof account);
      continue;
    }
    pfc_mac_init(&mac, key, 32);
    pfc_mac_update(&mac, message, 16 + size);
    pfc_mac_final(expected, &mac);
    CHECK_NUMBER(pfc_gate_account(account, key, (const char *)message + 16, size), PFC_OK);
    CHECK_BYTES(account, expected, 32);
  }
}

static void beacons_are_the_specs(void) {
  uint8_t own[32], info[17], key[32], expected[32], message[20], made[9], beacon[4];
  uint32_t interval;
  struct pfc_mac mac;
  gate_world_make(&world, 7);
  dice_fill(&world.dice, own, sizeof own);
  pfc_beacon_key(key, own, world.gate.id, 5);
  memcpy(info, world.gate.id, 16);
  info[16] = 5;
  hkdf(expected, "pfc1.beacon-key.", own, 32, info, 17);
  CHECK_BYTES(key, expected, 32);
  memcpy(message, "pfc1.beacon.....", 16);
  put32(message + 16, (uint32_t)(GATE_NOW / 300));
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, message, 20);
  pfc_mac_final(expected, &mac);
  pfc_beacon_make(made, key, GATE_NOW);
  CHECK_NUMBER(made[0], 0x14);
  CHECK_COUNT(get32(made + 1), GATE_NOW / 300);
  CHECK_BYTES(made + 5, expected, 4);
  CHECK_NUMBER(pfc_beacon_read(beacon, &interval, made, sizeof made), PFC_OK);
  CHECK_BYTES(beacon, expected, 4);
  CHECK_COUNT(interval, GATE_NOW / 300);
}

static void beacons_of_zeros_do_not_exist(void) {
  uint8_t message[9] = {0x14, 1, 0, 0, 0, 0, 0, 0, 0}, beacon[4];
  uint32_t interval;
  CHECK_NUMBER(pfc_beacon_read(beacon, &interval, message, sizeof message), PFC_E_MALFORMED);
  message[8] = 1;
  CHECK_NUMBER(pfc_beacon_read(beacon, &interval, message, sizeof message), PFC_OK);
}

static void other_beacon_messages_are_refused(void) {
  uint8_t message[16] = {0}, beacon[4];
  uint32_t interval;
  gate_world_make(&world, 8);
  pfc_beacon_make(message, world.beacon_key, GATE_NOW);
  for (size_t size = 0; size <= sizeof message; size++) {
    test_case("%zu bytes", size);
    if (size != 9) CHECK_NUMBER(pfc_beacon_read(beacon, &interval, message, size), PFC_E_MALFORMED);
  }
  for (unsigned first = 0; first < 256; first++) {
    test_case("first byte %u", first);
    message[0] = (uint8_t)first;
    memset(beacon, 0xa5, sizeof beacon);
    interval = 7;
    CHECK_NUMBER(pfc_beacon_read(beacon, &interval, message, 9),
                 first == 0x14 ? PFC_OK : (first & 15) == 4 ? PFC_E_TOO_NEW : PFC_E_MALFORMED);
    if (first != 0x14) CHECK_ZEROS(beacon, sizeof beacon);
    if (first != 0x14) CHECK_COUNT(interval, 0);
  }
}

static void four_beacons_are_valid(void) {
  struct pfc_beacons beacons;
  struct pfc_compact compact;
  gate_world_make(&world, 9);
  pfc_beacons_at(&beacons, world.beacon_key, GATE_NOW);
  compact = compact_of(&world, PFC_COMPACT_REQUEST, 1);
  for (int away = -4; away <= 4; away++) {
    uint8_t message[9];
    test_case("%d intervals away", away);
    pfc_beacon_make(message, world.beacon_key, (uint64_t)((int64_t)GATE_NOW + 300 * away));
    memcpy(compact.beacon, message + 5, 4);
    CHECK_NUMBER(pfc_compact_is_anchored(&compact, &beacons), away >= -2 && away <= 1);
  }
  test_case("no beacon");
  memset(compact.beacon, 0, sizeof compact.beacon);
  memset(&beacons, 0, sizeof beacons);
  CHECK_NUMBER(pfc_compact_is_anchored(&compact, &beacons), 0);
}

/// The gate's configuration is refused once something is changed.
static void refuses(const char *what, const struct pfc_gate *gate) {
  test_case("%s", what);
  CHECK_NUMBER(pfc_gate_check(gate), PFC_E_ARGUMENT);
}

static void gates_out_of_range_are_refused(void) {
  struct pfc_gate gate;
  gate_world_make(&world, 10);
  CHECK_NUMBER(pfc_gate_check(&world.gate), PFC_OK);
  gate = world.gate, gate.mode = 0, refuses("mode 0", &gate);
  gate = world.gate, gate.mode = 3, refuses("mode 3", &gate);
  gate = world.gate, memset(gate.id, 0, 16), refuses("an id of zeros", &gate);
  gate = world.gate, gate.key_count = 0, refuses("no key", &gate);
  gate = world.gate, gate.key_count = 3, refuses("three keys", &gate);
  gate = world.gate, gate.keys[1].number = 7, refuses("two keys of one number", &gate);
  gate = world.gate, memset(gate.keys[1].secret_key, 0, 32), refuses("a secret key of zeros", &gate);
  gate = world.gate, gate.keys[1].public_key[3] ^= 4, refuses("a public key of another", &gate);
  gate = world.gate, gate.issuer_count = 0, refuses("no issuer", &gate);
  gate = world.gate, gate.issuer_count = PFC_ISSUERS_MAX + 1, refuses("too many issuers", &gate);
  gate = world.gate, gate.issuer_count = PFC_ISSUERS_MAX;
  for (unsigned i = 1; i < PFC_ISSUERS_MAX; i++) {
    gate.issuers[i] = world.gate.issuers[0];
    gate.issuers[i].public_key[0] ^= (uint8_t)i;
  }
  test_case("as many issuers as there can be");
  CHECK_NUMBER(pfc_gate_check(&gate), PFC_OK);
  gate = world.gate, memset(gate.issuers[0].public_key, 0, 32), refuses("an issuer of zeros", &gate);
  test_case("one key");
  gate = world.gate, gate.key_count = 1, memset(&gate.keys[1], 0, sizeof gate.keys[1]);
  CHECK_NUMBER(pfc_gate_check(&gate), PFC_OK);
}

static void classes_are_the_specs(void) {
  static const struct {
    enum pfc_refusal_class told;
    int from, to;
  } rows[] = {{PFC_TELL_TOKEN, 1, 8},    {PFC_TELL_TOKEN, 12, 16}, {PFC_TELL_TOKEN, 37, 37},
              {PFC_TELL_TOKEN, 65, 65},  {PFC_TELL_CLOCK, 67, 69}, {PFC_TELL_PROOF, 32, 33},
              {PFC_TELL_PROOF, 48, 52},  {PFC_TELL_PROOF, 70, 72}, {PFC_TELL_PASS, 0, 0}};
  for (int refusal = -3; refusal < 300; refusal++) {
    enum pfc_refusal_class expected = PFC_TELL_REFUSED;
    test_case("refusal %d", refusal);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      if (refusal >= rows[i].from && refusal <= rows[i].to) expected = rows[i].told;
    }
    CHECK_NUMBER(pfc_refusal_class((enum pfc_refusal)refusal), expected);
  }
}

static const struct test tests[] = {
    TEST("the secret is derived as the page says, and not for a generation out of range", secret_is_the_specs),
    TEST("the secret depends on every bit of key, measurement, gate, instance and generation",
         secret_depends_on_every_bit),
    TEST("each key has a label of its own", keys_are_the_specs),
    TEST("two audiences share no key, however alike", audiences_share_no_key),
    TEST("two gates share no key and no handle", another_gate_shares_nothing),
    TEST("an account is a labelled HMAC of 1 to 128 bytes", accounts_are_the_specs),
    TEST("a beacon is a labelled HMAC of the interval", beacons_are_the_specs),
    TEST("a beacon of zeros is refused", beacons_of_zeros_do_not_exist),
    TEST("a beacon's message of another length, kind or version is refused", other_beacon_messages_are_refused),
    TEST("four beacons are valid: the next, the present, two before; none is none", four_beacons_are_valid),
    TEST("a gate's configuration out of range is refused", gates_out_of_range_are_refused),
    TEST("a client is told the class in the page's table", classes_are_the_specs),
};

const struct suite gate_suite = SUITE("gate", tests);
