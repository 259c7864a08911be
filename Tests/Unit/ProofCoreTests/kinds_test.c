// SPDX-License-Identifier: Apache-2.0

/// All ordered pairs of kinds: what is one structure is never taken for another, also where all keys are the same.

#include <string.h>

#include "ProofCore.h"
#include "gate_world.h"

enum kind { LOCK_TOKEN, GATE_TOKEN, ORDER, REQUEST, BODY, EVENT, ERROR_STATE, BEACON, RECALL, STATUS, KINDS };

static const char *const names[KINDS] = {"lock token", "gate token",  "order",  "request", "body",
                                         "event",      "error state", "beacon", "recall",  "status"};

enum { LONGEST = PFC_TOKEN_BYTES };

struct specimen {
  uint8_t bytes[LONGEST];
  size_t size;
};

static struct gate_world world;
static struct pfc_hardware hardware;
static struct specimen specimens[KINDS];
static struct pfc_compact_subject subject;
static uint8_t device_key[PFC_KEY_BYTES];

/// A lock that has the gate's id, key, mode and issuer: the worst that a careless operator could do.
static void make_hardware(void) {
  memset(&hardware, 0, sizeof hardware);
  memcpy(hardware.id, world.gate.id, PFC_ID_BYTES);
  hardware.mode = world.gate.mode;
  hardware.allow_literal = 1;
  hardware.issuer_count = 1;
  hardware.issuers[0] = world.gate.issuers[0];
  memcpy(hardware.public_key, world.gate.keys[0].public_key, 32);
  memcpy(hardware.secret_key, world.gate.keys[0].secret_key, 32);
  CHECK_NUMBER(pfc_hardware_check(&hardware), PFC_OK);
}

static struct pfc_token lock_token(void) {
  struct pfc_token token;
  memset(&token, 0, sizeof token);
  token.version = PFC_VERSION;
  token.mode = PFC_MODE_PRODUCTION;
  token.form = PFC_FORM_DIVERSIFIED;
  token.integrity_classes = 3;
  token.attempts = 1;
  token.uses = 1;
  token.generation = 1;
  token.issued = GATE_NOW;
  memcpy(token.hardware_id, hardware.id, PFC_ID_BYTES);
  memset(token.instance_id, 0x49, PFC_ID_BYTES);
  memset(&token.secrets, 0x33, sizeof token.secrets);
  return token;
}

static void make_compact(enum kind at, uint8_t kind) {
  struct pfc_compact compact = compact_of(&world, kind, 1);
  CHECK_NUMBER(pfc_compact_make(specimens[at].bytes, &compact, &subject, keys_of(&world, kind)), PFC_OK);
  specimens[at].size = PFC_COMPACT_BYTES;
}

static void begin(uint64_t seed) {
  struct pfc_token token;
  struct pfc_order order;
  struct pfc_status status;
  uint8_t ephemeral[32] = {9}, random[48];
  gate_world_make(&world, seed);
  memset(specimens, 0, sizeof specimens);
  // One account and one digest for all kinds, so that nothing but the kind keeps them apart.
  memset(&subject, 0x77, sizeof subject);
  make_hardware();
  token = lock_token();
  CHECK_NUMBER(pfc_token_create(specimens[LOCK_TOKEN].bytes, &token, hardware.public_key, NULL,
                                world.issuer.signing_key, ephemeral),
               PFC_OK);
  specimens[LOCK_TOKEN].size = PFC_TOKEN_BYTES;
  CHECK_NUMBER(pfc_gate_token_create(specimens[GATE_TOKEN].bytes, &world.token, 7, world.gate.keys[0].public_key,
                                     world.issuer.signing_key, ephemeral),
               PFC_OK);
  specimens[GATE_TOKEN].size = PFC_GATE_TOKEN_BYTES;
  memset(&order, 0, sizeof order);
  order.type = PFC_ORDER_EPOCH;
  order.issued = GATE_NOW;
  memcpy(order.hardware_id, hardware.id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_order_create(specimens[ORDER].bytes, &order, world.issuer.signing_key), PFC_OK);
  specimens[ORDER].size = PFC_ORDER_BYTES;
  make_compact(REQUEST, PFC_COMPACT_REQUEST);
  make_compact(BODY, PFC_COMPACT_BODY);
  make_compact(EVENT, PFC_COMPACT_EVENT);
  dice_fill(&world.dice, random, sizeof random);
  CHECK_NUMBER(pfc_compact_make_error(specimens[ERROR_STATE].bytes, PFC_COMPACT_EVENT, 1, random), PFC_OK);
  specimens[ERROR_STATE].size = PFC_COMPACT_BYTES;
  pfc_beacon_make(specimens[BEACON].bytes, world.beacon_key, GATE_NOW);
  specimens[BEACON].size = PFC_BEACON_MESSAGE_BYTES;
  memcpy(device_key, world.keys.compact.tag, sizeof device_key);
  pfc_recall_create(specimens[RECALL].bytes, world.token.instance_id, 1, subject.account, device_key);
  specimens[RECALL].size = PFC_RECALL_BYTES;
  memset(&status, 0, sizeof status);
  status.mode = 1;
  pfc_status_encode(specimens[STATUS].bytes, &status);
  specimens[STATUS].size = PFC_STATUS_BYTES;
}

static bool is_compact(const uint8_t *bytes, size_t size, uint8_t kind) {
  struct pfc_compact compact;
  return pfc_compact_check(&compact, bytes, size, kind, &subject, keys_of(&world, kind)) == PFC_REFUSAL_NONE;
}

/// Whether the reader of this kind takes these bytes. An error state is taken where it is told as one.
static bool takes(enum kind reader, const uint8_t *bytes, size_t size) {
  struct pfc_token token;
  struct pfc_gate_token gate_token;
  struct pfc_order order;
  struct pfc_compact compact;
  struct pfc_status status;
  uint8_t beacon[4];
  uint32_t interval;
  switch (reader) {
    case LOCK_TOKEN: return pfc_token_open(&token, bytes, size, &hardware) == PFC_OK;
    case GATE_TOKEN: return pfc_gate_token_open(&gate_token, bytes, size, &world.gate, GATE_NOW) == PFC_REFUSAL_NONE;
    case ORDER: return pfc_order_open(&order, bytes, size, &hardware) == PFC_OK;
    case REQUEST: return is_compact(bytes, size, PFC_COMPACT_REQUEST);
    case BODY: return is_compact(bytes, size, PFC_COMPACT_BODY);
    case EVENT: return is_compact(bytes, size, PFC_COMPACT_EVENT);
    case ERROR_STATE:
      return pfc_compact_check(&compact, bytes, size, PFC_COMPACT_EVENT, &subject, &world.event_keys) ==
             PFC_REFUSAL_ERROR_STATE;
    case BEACON: return pfc_beacon_read(beacon, &interval, bytes, size) == PFC_OK;
    case RECALL: return size == PFC_RECALL_BYTES && pfc_recall_check(bytes, device_key) == PFC_OK;
    case STATUS: return pfc_status_decode(&status, bytes, size) == PFC_OK;
    case KINDS: break;
  }
  return false;
}

static void each_reader_takes_its_own_kind_alone(void) {
  unsigned pairs = 0;
  begin(1);
  for (unsigned reader = 0; reader < KINDS; reader++) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
      test_case("the reader of '%s' gets '%s'", names[reader], names[kind]);
      CHECK_NUMBER(takes((enum kind)reader, specimens[kind].bytes, specimens[kind].size), reader == kind);
      pairs++;
    }
  }
  test_note("kinds: %u ordered pairs", pairs);
}

/// The same with the length made right, so that it is not the length that refuses. A beacon, a status and an error
/// state are not authenticated: their first bytes make one.
static void no_length_is_needed_to_refuse(void) {
  begin(2);
  for (unsigned reader = 0; reader < KINDS; reader++) {
    if (reader == BEACON || reader == STATUS || reader == ERROR_STATE) continue;
    for (unsigned kind = 0; kind < KINDS; kind++) {
      if (reader == kind) continue;
      test_case("the reader of '%s' gets '%s' in its own length", names[reader], names[kind]);
      CHECK(!takes((enum kind)reader, specimens[kind].bytes, specimens[reader].size));
    }
  }
}

/// The same with the clear head of the kind that the reader expects, too.
static void no_head_is_needed_to_refuse(void) {
  static const size_t heads[KINDS] = {8, 8, 8, 18, 18, 18, 18, 1, 0, 1};
  begin(3);
  for (unsigned reader = 0; reader < KINDS; reader++) {
    if (reader == BEACON || reader == STATUS || reader == ERROR_STATE) continue;
    for (unsigned kind = 0; kind < KINDS; kind++) {
      struct specimen mixed = specimens[kind];
      if (reader == kind) continue;
      memcpy(mixed.bytes, specimens[reader].bytes, heads[reader]);
      test_case("the reader of '%s' gets '%s' behind its own head", names[reader], names[kind]);
      CHECK(!takes((enum kind)reader, mixed.bytes, specimens[reader].size));
    }
  }
}

/// An issuer that both trust signs a body under the label of the other kind, or with the other kind's form.
static void label_and_form_keep_tokens_apart(void) {
  uint8_t head[8], body[168], bytes[288];
  struct pfc_token token;
  const uint8_t *recipient;
  begin(4);
  recipient = hardware.public_key;
  token = lock_token();
  test_case("1. a gate's body with a gate's form under a lock's head and label: the form");
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  memcpy(head, specimens[LOCK_TOKEN].bytes, 8);
  gate_forge(bytes, head, body, "pfc1.token-sign.", recipient, recipient, &world.issuer);
  CHECK(!takes(LOCK_TOKEN, bytes, sizeof bytes));
  test_case("2. a gate's body under a gate's head and a lock's label: the label");
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  gate_forge(bytes, head, body, "pfc1.token-sign.", recipient, recipient, &world.issuer);
  CHECK(!takes(GATE_TOKEN, bytes, sizeof bytes));
  CHECK(!takes(LOCK_TOKEN, bytes, sizeof bytes));
  test_case("3. a lock's body under a lock's head and a gate's label: the label");
  forge_parts(head, body, &token, &world.issuer);
  gate_forge(bytes, head, body, "pfc1.gate-sign..", recipient, recipient, &world.issuer);
  CHECK(!takes(LOCK_TOKEN, bytes, sizeof bytes));
  CHECK(!takes(GATE_TOKEN, bytes, sizeof bytes));
  test_case("4. a lock's body under a gate's head and label: the form");
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  forge_parts(bytes, body, &token, &world.issuer);
  gate_forge(bytes, head, body, "pfc1.gate-sign..", recipient, recipient, &world.issuer);
  {
    struct pfc_gate_token opened;
    CHECK_NUMBER(pfc_gate_token_open(&opened, bytes, sizeof bytes, &world.gate, GATE_NOW), PFC_REFUSAL_TOKEN_FORM);
  }
}

/// A tag that one kind's label makes, behind another kind's first byte.
static void labels_keep_compact_kinds_apart(void) {
  begin(5);
  for (unsigned from = REQUEST; from <= EVENT; from++) {
    for (unsigned to = REQUEST; to <= EVENT; to++) {
      struct specimen mixed = specimens[from];
      struct pfc_compact_keys keys = *keys_of(&world, (uint8_t)(from - REQUEST + 1));
      struct pfc_compact compact;
      uint8_t kind = (uint8_t)(to - REQUEST + 1);
      if (from == to) continue;
      test_case("'%s' as '%s', under its own keys", names[from], names[to]);
      mixed.bytes[0] = (uint8_t)(0x10 + kind);
      keys.event = kind == PFC_COMPACT_EVENT;
      CHECK(pfc_compact_check(&compact, mixed.bytes, mixed.size, kind, &subject, &keys) != PFC_REFUSAL_NONE);
    }
  }
}

static const struct test tests[] = {
    TEST("each reader takes its own kind alone", each_reader_takes_its_own_kind_alone),
    TEST("another kind of the right length is refused", no_length_is_needed_to_refuse),
    TEST("another kind behind the right head is refused", no_head_is_needed_to_refuse),
    TEST("label and form each keep the two tokens apart", label_and_form_keep_tokens_apart),
    TEST("labels keep the compact kinds apart", labels_keep_compact_kinds_apart),
};

const struct suite kinds_suite = SUITE("kinds", tests);
