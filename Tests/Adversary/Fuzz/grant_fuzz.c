// SPDX-License-Identifier: Apache-2.0

/// Grants with any bytes; rows with any bytes; and a lock with three phones that lend, take back, borrow, are revoked
/// and come again, over restarts and writes that fail.
///
/// Oracles: a second reading of docs/SPEC.md, sections 12 and 19. A command of the lent class is done exactly if the
/// model's account says so. No phone ever has more commands of it than it was lent, and no owner lends more than its
/// own uses. A grant that is changed in one bit changes nothing.

#include <stdlib.h>

#include "fuzz.h"

enum { PHONES = 3, LENT_CLASS = 0 };

static const struct fuzz_fixture *fixture;
static uint8_t areas[2 * PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];
static uint32_t drawn;
static unsigned writes_left;  ///< A write fails when it is 1. 0: none

static int read_area(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  REQUIRE(record <= 2 * PFC_SLOTS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX);
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int write_area(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  REQUIRE(record <= 2 * PFC_SLOTS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX);
  if (writes_left > 0 && --writes_left == 0) return -1;
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

static int draw(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  drawn++;
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(((drawn * 0x9E3779B1u) ^ ((uint32_t)i * 0x85EBCA6Bu)) >> 13);
  return 0;
}

// Shapes ---------------------------------------------------------------------------------------------------------

/// The page's result for these bytes; the hint is that of zeros.
static int shape_of(const uint8_t *bytes, size_t size) {
  int back;
  if (size != 96 || bytes[0] != 'P' || bytes[1] != 'D') return PFC_E_MALFORMED;
  if (bytes[2] != 1 || bytes[3] != 1 || fuzz_get32(bytes + 60) != 0) return PFC_E_TOO_NEW;
  if (fuzz_get32(bytes + 40) == 0 || fuzz_get32(bytes + 44) == 0) return PFC_E_MALFORMED;
  back = fuzz_get16(bytes + 48) == 0;
  if (back != (fuzz_get16(bytes + 50) == 0) || back != (fuzz_get64(bytes + 52) == 0)) return PFC_E_MALFORMED;
  if (fuzz_get16(bytes + 50) == 65535) return PFC_E_MALFORMED;
  return fuzz_get32(bytes + 4) == 0 ? PFC_OK : PFC_E_RECIPIENT;
}

static void check_shape(struct fuzz_input *input, int whole) {
  static const uint8_t id[PFC_ID_BYTES] = {0};
  struct pfc_grant grant;
  struct pfc_secrets secrets;
  uint8_t digest[16] = {3}, again[PFC_GRANT_BYTES], bytes[PFC_GRANT_BYTES] = "PD\1\1";
  size_t size = whole ? sizeof bytes : input->left;
  uint8_t *exact;
  int result;
  bytes[40] = bytes[44] = bytes[48] = bytes[50] = bytes[52] = 1;
  if (whole) fuzz_xor(input, bytes, sizeof bytes);
  exact = fuzz_copy(whole ? bytes : input->bytes, size);
  result = pfc_grant_decode(&grant, exact, size, id);
  REQUIRE(result == shape_of(exact, size));
  if (result != PFC_OK) {
    REQUIRE(fuzz_all(&grant, sizeof grant, 0));
  } else {
    memset(&secrets, 7, sizeof secrets);
    REQUIRE(pfc_grant_create(again, &grant, &secrets, digest) == PFC_OK);
    REQUIRE(memcmp(again, exact, 64) == 0);
    REQUIRE(pfc_grant_check(again, &secrets, digest) == PFC_OK);
    REQUIRE((pfc_grant_check(exact, &secrets, digest) == PFC_OK) == (memcmp(again, exact, sizeof again) == 0));
  }
  free(exact);
}

static void check_row(struct fuzz_input *input) {
  struct pfc_grant_row row;
  uint8_t bytes[PFC_GRANT_RECORD_BYTES] = {0}, again[PFC_GRANT_RECORD_BYTES];
  int expected = PFC_OK, result;
  fuzz_xor(input, bytes, sizeof bytes);
  if ((bytes[1] | bytes[6] | bytes[7]) != 0) expected = PFC_E_TOO_NEW;
  if (bytes[0] > PFC_SLOTS) expected = PFC_E_DAMAGED;
  result = pfc_grant_row_decode(&row, bytes);
  REQUIRE(result == expected);
  if (result != PFC_OK) {
    REQUIRE(fuzz_all(&row, sizeof row, 0));
  } else {
    pfc_grant_row_encode(again, &row);
    REQUIRE(memcmp(again, bytes, sizeof again) == 0);
  }
}

// A lock ---------------------------------------------------------------------------------------------------------

static struct {
  struct pfc_token token;
  uint8_t digest[16];
  int held;
  uint32_t uses;  ///< Its own, by the account
  // Its loan, by the account.
  int owner;  ///< -1: none
  uint32_t left, serials[PHONES];
  uint64_t end;
  uint8_t last[8], named[16];  ///< The grant's and the token's digests
} phones[PHONES];

static struct pfc_verifier verifier;
static struct pfc_session session;
static struct pfc_outcome outcome;
static uint64_t now;
static int failed;  ///< A write has failed: the account is an upper bound from here on

static void start(void) {
  struct pfc_platform platform = {.random = draw, .storage = {NULL, read_area, write_area}};
  writes_left = 0;
  REQUIRE(pfc_verifier_init(&verifier, &fixture->hardware, &platform) == PFC_OK);
  REQUIRE(pfc_verifier_take_grants(&verifier) == PFC_OK);
  pfc_session_init(&session);
}

static void receive(uint8_t type, const uint8_t *message, size_t size) {
  if (session.refusals > 8 || session.openings > 2) pfc_session_init(&session);
  pfc_verifier_receive(&verifier, &session, type, message, size, &outcome);
  if (outcome.verdict == PFC_VERDICT_FAULT) failed = 1;
}

static void forget(int who) {
  phones[who].owner = -1;
  phones[who].left = 0;
  memset(phones[who].serials, 0, sizeof phones[who].serials);
  for (int i = 0; i < PHONES; i++) {
    phones[i].serials[who] = 0;
    if (phones[i].owner == who) {
      phones[i].owner = -1;
      phones[i].left = 0;
    }
  }
}

/// The backend issues the phone's next token, and the phone presents it.
static void hold(int who) {
  struct pfc_token *token = &phones[who].token;
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[32] = {5};
  int was_held = phones[who].held;
  token->generation++;
  token->base = token->generation;
  token->issued = now;
  ephemeral[1] = (uint8_t)token->generation;
  ephemeral[2] = (uint8_t)who;
  REQUIRE(pfc_token_create(bytes, token, fixture->hardware.public_key, NULL, fixture->signing_keys[0], ephemeral) ==
          PFC_OK);
  receive(PFC_MESSAGE_TOKEN, bytes, sizeof bytes);
  if (outcome.verdict != PFC_VERDICT_HELD) {
    REQUIRE(failed);
    // Nothing of it is lent in any case; the slot is as it was.
    if (!was_held) forget(who);
    return;
  }
  if (!was_held) forget(who);
  pfc_token_digest(phones[who].digest, bytes);
  phones[who].held = 1;
  phones[who].uses = token->uses;
}

static void begin(struct fuzz_input *input) {
  struct pfc_platform platform = {.random = draw, .storage = {NULL, read_area, write_area}};
  memset(areas, 0, sizeof areas);
  memset(phones, 0, sizeof phones);
  drawn = writes_left = 0;
  failed = 0;
  now = 1000;
  fixture = fuzz_fixture();
  REQUIRE(pfc_verifier_provision(&fixture->hardware, &platform, 0, 0, 1) == PFC_OK);
  start();
  for (int i = 0; i < PHONES; i++) {
    struct pfc_token *token = &phones[i].token;
    uint8_t rights = fuzz_u8(input);
    *token = fuzz_token((uint8_t)(0x31 + i));
    token->secrets.integrity[0] ^= (uint8_t)i;
    token->version = PFC_TOKEN_VERSION_2;
    token->generation = 0;
    token->not_after = 0;
    // By default the first phone may do and lend everything, and the others ring.
    token->integrity_classes = i == (rights & 1) ? 7 : 2;
    token->device_classes = 0;
    token->delegable_classes = token->integrity_classes & (rights & 2 ? 6 : 7);
    token->uses = rights & 4 ? (uint32_t)(rights >> 4) + 1 : PFC_USES_UNLIMITED;
    phones[i].owner = -1;
    hold(i);
  }
}

static int may_send(int who) { return phones[who].held && phones[who].uses != 0; }

static int may_lend(int who) {
  const struct pfc_token *token = &phones[who].token;
  return (token->integrity_classes & token->delegable_classes & 1u << LENT_CLASS) != 0;
}

static void grant(struct fuzz_input *input, int from, int to, int back) {
  struct pfc_grant made;
  uint8_t bytes[PFC_GRANT_BYTES], sent[PFC_GRANT_BYTES], digest[16];
  uint32_t *last = &phones[to].serials[from];
  int changed, known, again, taken;
  memset(&made, 0, sizeof made);
  memcpy(made.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
  memcpy(made.owner, phones[from].token.instance_id, PFC_ID_BYTES);
  memcpy(made.member, phones[to].digest, sizeof made.member);
  made.generation = phones[from].token.generation;
  made.serial = 1u + fuzz_u8(input) % 8;
  if (!back) {
    made.classes = 1u << LENT_CLASS;
    made.uses = 1 + fuzz_u8(input) % 4;
    made.end = 1000 + 8 * (uint64_t)(fuzz_u8(input) % 16);
  }
  if (back && phones[to].owner == from) memcpy(made.member, phones[to].named, sizeof made.member);
  REQUIRE(pfc_grant_create(bytes, &made, &phones[from].token.secrets, phones[from].digest) == PFC_OK);
  pfc_grant_digest(digest, bytes);
  memcpy(sent, bytes, sizeof sent);
  changed = fuzz_flip(input, sent, sizeof sent);
  receive(PFC_MESSAGE_GRANT, sent, sizeof sent);
  if (changed || !phones[from].held || failed) {
    // Nothing that its owner did not make, and nothing of an owner without a slot.
    if (changed || !phones[from].held) REQUIRE(outcome.verdict != PFC_VERDICT_DONE);
    if (outcome.verdict != PFC_VERDICT_DONE && outcome.verdict != PFC_VERDICT_FAULT) return;
  }
  known = phones[to].held;
  again = made.serial <= *last && (back ? phones[to].owner != from || phones[to].left == 0
                                        : made.serial == *last && phones[to].owner == from &&
                                              memcmp(phones[to].last, digest, 8) == 0);
  taken = known && made.serial > *last && (back || (may_send(from) && may_lend(from) && now <= made.end));
  if (!failed) REQUIRE((outcome.verdict == PFC_VERDICT_DONE) == (known && (again || taken)));
  // After a write that failed the row may have it or not: the account takes the higher.
  if (!taken || outcome.verdict == PFC_VERDICT_FAULT) {
    if (taken && !back) phones[to].left += made.uses;
    return;
  }
  *last = made.serial;
  if (back) {
    if (phones[to].owner == from) phones[to].left = 0;
    return;
  }
  phones[to].left = failed && phones[to].left > made.uses ? phones[to].left : made.uses;
  phones[to].owner = from;
  phones[to].end = made.end;
  memcpy(phones[to].last, digest, 8);
  memcpy(phones[to].named, made.member, sizeof made.member);
}

static void command(int who) {
  static const uint8_t what[1] = {PFC_ASK_CHALLENGE};
  struct pfc_request request;
  uint8_t message[PFC_MESSAGE_MAX], nonce[16];
  int owner = phones[who].owner, own, lent;
  size_t size;
  memset(&request, 0, sizeof request);
  receive(PFC_MESSAGE_ASK, what, 1);
  if (pfc_challenge_decode(&request.challenge, outcome.reply, outcome.reply_size) != PFC_OK) return;
  request.kind = PFC_KIND_INTEGRITY;
  memcpy(request.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
  memcpy(request.instance_id, phones[who].token.instance_id, PFC_ID_BYTES);
  REQUIRE(pfc_command_create(message, sizeof message, &size, nonce, &request, &phones[who].token.secrets) == PFC_OK);
  receive(PFC_MESSAGE_COMMAND, message, size);
  own = may_send(who) && (phones[who].token.integrity_classes & 1u << LENT_CLASS) != 0;
  lent = !own && may_send(who) && owner >= 0 && phones[who].left > 0 && now <= phones[who].end && may_send(owner) &&
         may_lend(owner);
  if (!failed) REQUIRE((outcome.execute == PFC_EXECUTE) == (own || lent));
  if (outcome.execute != PFC_EXECUTE) return;
  REQUIRE(phones[who].held);
  REQUIRE(own || phones[who].left > 0 || failed);
  if (!own) {
    if (phones[who].left > 0) phones[who].left--;
    if (owner >= 0 && phones[owner].uses != PFC_USES_UNLIMITED && phones[owner].uses > 0) phones[owner].uses--;
  }
  if (phones[who].uses != PFC_USES_UNLIMITED && phones[who].uses > 0) phones[who].uses--;
}

static void order(uint8_t type, int who) {
  struct pfc_order made;
  uint8_t bytes[PFC_ORDER_BYTES];
  memset(&made, 0, sizeof made);
  made.type = type;
  made.issued = now;
  memcpy(made.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
  if (type == PFC_ORDER_REVOKE) {
    memcpy(made.instance_id, phones[who].token.instance_id, PFC_ID_BYTES);
    made.generation = phones[who].token.generation;
  }
  REQUIRE(pfc_order_create(bytes, &made, fixture->signing_keys[0]) == PFC_OK);
  receive(PFC_MESSAGE_ORDER, bytes, sizeof bytes);
  if (outcome.verdict == PFC_VERDICT_DONE && type == PFC_ORDER_REVOKE) phones[who].held = 0;
}

/// No row has more than the account. Uses of owners only fall.
static void check_rows(void) {
  for (int i = 0; i < PHONES; i++) {
    int index = pfc_ledger_find(&verifier.ledger, phones[i].token.instance_id);
    if (index < 0 || verifier.ledger.slots[index].state != PFC_SLOT_HELD || !phones[i].held || failed) continue;
    REQUIRE(verifier.ledger.slots[index].uses == phones[i].uses);
    REQUIRE((verifier.grants.rows[index].owner != 0 ? verifier.grants.rows[index].uses : 0) == phones[i].left);
  }
}

static void live(struct fuzz_input *input) {
  begin(input);
  for (unsigned steps = 0; input->left > 0 && steps < 48 && !failed; steps++) {
    uint8_t what = fuzz_u8(input);
    int one = (what >> 3) % PHONES, other = (what >> 5) % PHONES;
    switch (what & 7) {
      case 0: grant(input, one, other, 0); break;
      case 1: grant(input, one, other, 1); break;
      case 2: command(one); break;
      case 3: hold(one); break;
      case 4: order(PFC_ORDER_REVOKE, one); break;
      case 5:
        now += what >> 3;
        order(PFC_ORDER_EPOCH, 0);
        break;
      case 6: start(); break;
      default: writes_left = 1 + (what >> 3) % 6; break;
    }
    check_rows();
  }
  // After a write that failed: whatever arrived, no phone has more than it was lent.
  for (int i = 0; i < PHONES && failed; i++) {
    unsigned done = 0, most = phones[i].left;
    if ((phones[i].token.integrity_classes & 1u << LENT_CLASS) != 0) continue;
    start();
    for (unsigned tries = 0; tries < 12; tries++) {
      command(i);
      done += outcome.execute == PFC_EXECUTE;
    }
    REQUIRE(done <= most);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  switch (fuzz_u8(&input) % 4) {
    case 0: live(&input); break;
    case 1: check_shape(&input, 0); break;
    case 2: check_shape(&input, 1); break;
    default: check_row(&input); break;
  }
  return 0;
}
