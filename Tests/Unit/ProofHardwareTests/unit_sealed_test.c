// SPDX-License-Identifier: Apache-2.0

/// Sealed commands over the link: who gets a challenge with a key, what goes over the air, what is refused.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { SEALED_CHALLENGE = 72, UNLIKELY = 0x0e, NOT_PERMITTED = 0x02 };

static struct rig rig;
static struct owner owner;
static struct pfc_sealed_sent sent;
static uint8_t lock_key[PFC_PUBLIC_KEY_BYTES];
static uint8_t pdu[PFD_MTU_MAX];

static unsigned begin_with(uint16_t mtu, bool seals, bool keeps_log) {
  static const uint8_t log_key[PFC_LOG_KEY_BYTES] = {9};
  unsigned link;
  rig_make(&rig, 61, true);
  if (keeps_log) rig.nor.log_pages = NOR_LOG_PAGES;
  owner_make(&owner, &rig, 5, 1, 100);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  if (keeps_log) CHECK_NUMBER(pfd_unit_provision_log(&rig.port, &rig.hardware, 0, log_key), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  if (seals) CHECK_NUMBER(pfd_unit_seal(&rig.unit), PFC_OK);
  link = rig_connect(&rig, mtu);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  return link;
}

/// Hardware that seals, if `seals`, with a link on which the owner's token was presented.
static unsigned begin(uint16_t mtu, bool seals) { return begin_with(mtu, seals, false); }

/// Reads the challenge with a key, in as many pieces as it takes. 0, or the error that the link answers.
static uint8_t ask(unsigned link) {
  uint8_t value[SEALED_CHALLENGE + PFD_MTU_MAX];
  size_t size = 0, piece;
  do {
    uint8_t offset[2] = {(uint8_t)size, 0};
    uint8_t opcode = size == 0 ? PFD_ATT_READ_REQUEST : PFD_ATT_BLOB_REQUEST;
    CHECK_NUMBER(rig_put(&rig, link, opcode, PFD_HANDLE_SEALED_CHALLENGE, offset, size == 0 ? 0 : 2), PFD_LINK_OPEN);
    piece = rig_take(&rig, link, pdu);
    if (piece == 5 && pdu[0] == PFD_ATT_ERROR) return pdu[4];
    if (!CHECK(piece > 1 && size + piece <= sizeof value)) return 0;
    memcpy(value + size, pdu + 1, piece - 1);
    size += piece - 1;
  } while (size < SEALED_CHALLENGE);
  CHECK_NUMBER(pfc_sealed_challenge_decode(&owner.challenge, lock_key, value, size), PFC_OK);
  return 0;
}

static void seal(uint8_t class_, const char *command) {
  static uint8_t number;
  struct pfc_request request = {.kind = PFC_KIND_SEALED_INTEGRITY,
                                .command_class = class_,
                                .challenge = owner.challenge,
                                .command = (const uint8_t *)command,
                                .command_size = strlen(command)};
  struct pfc_seal_facts facts = {.hardware_id = rig.hardware.id,
                                 .instance_id = owner.token.instance_id,
                                 .token_digest = owner.digest,
                                 .device_key = owner.token.secrets.device_key,
                                 .lock_key = lock_key,
                                 .challenge = &owner.challenge};
  uint8_t ephemeral[PFC_SECRET_KEY_BYTES] = {3, ++number};
  memcpy(request.instance_id, owner.token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, rig.hardware.id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_sealed_create(owner.message, sizeof owner.message, &owner.size, &sent, &request, &facts,
                                 &owner.token.secrets, ephemeral),
               PFC_OK);
}

/// Sends what was sealed. The verdict, and in `*sealed` whether it came sealed.
static uint8_t send(unsigned link, bool *sealed) {
  struct pfc_reassembler answer;
  struct pfc_answer told = {0};
  uint64_t next;
  uint8_t type = rig_send(&rig, link, PFD_HANDLE_COMMAND, owner.message, owner.size, &answer);
  *sealed = type == PFC_MESSAGE_SEALED_DOWN;
  if (*sealed) {
    CHECK_NUMBER(pfc_sealed_down_open(&told, &next, answer.bytes, answer.size, owner.challenge.counter, sent.down),
                 PFC_OK);
  } else if (type == PFC_MESSAGE_VERDICT) {
    CHECK_NUMBER(pfc_answer_decode(&told, answer.bytes, answer.size), PFC_OK);
    CHECK_ZEROS(told.receipt, sizeof told.receipt);
  }
  return told.verdict;
}

static void a_sealed_command_is_done_at_every_mtu(void) {
  static const uint16_t mtus[] = {23, 60, 185, 517};
  for (unsigned i = 0; i < sizeof mtus / sizeof mtus[0]; i++) {
    unsigned link = begin(mtus[i], true);
    bool sealed;
    test_case("MTU %u", mtus[i]);
    for (unsigned round = 1; round <= 3; round++) {
      REQUIRE(CHECK_NUMBER(ask(link), 0));
      seal(PFD_CLASS_UNLOCK, "open");
      CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_ACCEPTED);
      CHECK(sealed);
      CHECK_NUMBER(rig.unit.device.done, round);
      // The next key, as the port's loop makes it.
      pfd_unit_tick(&rig.unit);
    }
    CHECK_NUMBER(rig.unit.device.open, 1);
    CHECK_NUMBER(rig.events[PFD_EVENT_DONE], 3);
  }
}

/// Every refusal that has its reason in the box comes sealed, with its detail in the hardware's own log.
static void refusals_are_sealed_and_logged(void) {
  unsigned link = begin(185, true);
  bool sealed;
  REQUIRE(CHECK_NUMBER(ask(link), 0));
  owner.token.secrets.integrity[0] ^= 1;
  seal(PFD_CLASS_UNLOCK, "open");
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK(sealed);
  CHECK_NUMBER(rig.event.kind, PFD_EVENT_JUDGED);
  CHECK_NUMBER(rig.event.b, PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(rig.event.detail, owner.token.attempts - 1u);
  CHECK_BYTES(rig.event.id, owner.token.instance_id, sizeof rig.event.id);
  CHECK_COUNT(get64(rig.event.message), owner.challenge.counter);
  CHECK_NUMBER(rig.unit.device.done, 0);
}

static void no_key_is_made_before_the_tick(void) {
  unsigned link = begin(185, true);
  bool sealed;
  REQUIRE(CHECK_NUMBER(ask(link), 0));
  seal(PFD_CLASS_UNLOCK, "open");
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(ask(link), UNLIKELY);
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(ask(link), 0);
  // A new start has its own key.
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_NUMBER(pfd_unit_seal(&rig.unit), PFC_OK);
  CHECK(memcmp(lock_key, rig.unit.verifier.seal.public_key, sizeof lock_key) != 0);
}

static void hardware_that_does_not_seal_says_so(void) {
  unsigned link = begin(185, false);
  bool sealed;
  CHECK_NUMBER(ask(link), NOT_PERMITTED);
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(ask(link), NOT_PERMITTED);
  // A command that was sealed for a key of the attacker's is too new.
  CHECK(owner_ask(&owner, &rig, link));
  memset(lock_key, 9, sizeof lock_key);
  seal(PFD_CLASS_UNLOCK, "open");
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_TOO_NEW);
  CHECK_NUMBER(rig.unit.device.done, 0);
  CHECK_NUMBER(owner_do(&owner, &rig, link, PFD_CLASS_UNLOCK, "open"), PFC_VERDICT_ACCEPTED);
}

static void a_challenge_without_a_key_takes_no_sealed_command(void) {
  unsigned link = begin(185, true);
  bool sealed;
  REQUIRE(CHECK_NUMBER(ask(link), 0));
  CHECK(owner_ask(&owner, &rig, link));
  seal(PFD_CLASS_UNLOCK, "open");
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_STALE);
  CHECK_NUMBER(rig.unit.device.done, 0);
}

/// Each byte of the message, changed on the way.
static void no_changed_byte_is_done(void) {
  unsigned link = begin(185, true);
  bool sealed;
  REQUIRE(CHECK_NUMBER(ask(link), 0));
  seal(PFD_CLASS_UNLOCK, "open");
  for (size_t at = 0; at < owner.size; at++) {
    if (at % 16 == 0) link = begin(185, true);
    pfd_unit_tick(&rig.unit);
    REQUIRE(CHECK_NUMBER(ask(link), 0));
    seal(PFD_CLASS_UNLOCK, "open");
    owner.message[at] ^= (uint8_t)(1u << (at % 8));
    CHECK(send(link, &sealed) != PFC_VERDICT_ACCEPTED);
    CHECK(!sealed);
    CHECK_NUMBER(rig.unit.device.done, 0);
    // Wrong device proofs are counted on a link.
    if (at % 16 == 15) pfd_unit_disconnect(&rig.unit, link);
  }
}

/// A message that was heard, sent again: on its link, on another one, and under a later challenge.
static void no_replay_is_done(void) {
  unsigned link = begin(185, true), other;
  bool sealed;
  uint8_t heard[PFC_MESSAGE_MAX];
  size_t size;
  REQUIRE(CHECK_NUMBER(ask(link), 0));
  seal(PFD_CLASS_UNLOCK, "open");
  memcpy(heard, owner.message, sizeof heard);
  size = owner.size;
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(send(link, &sealed), PFC_VERDICT_STALE);
  other = rig_connect(&rig, 185);
  CHECK_NUMBER(send(other, &sealed), PFC_VERDICT_STALE);
  pfd_unit_tick(&rig.unit);
  REQUIRE(CHECK_NUMBER(ask(other), 0));
  CHECK_NUMBER(send(other, &sealed), PFC_VERDICT_STALE);
  REQUIRE(CHECK_NUMBER(ask(other), 0));
  for (unsigned i = 0; i < 8; i++) heard[9 + i] = (uint8_t)(owner.challenge.counter >> (8 * i));
  memcpy(owner.message, heard, size);
  CHECK_NUMBER(send(other, &sealed), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(rig.unit.device.done, 1);
}

/// Opens a channel on the link by a sealed command. The counter of its next command, 0 if there is none.
static uint64_t open_channel(unsigned link) {
  struct pfc_reassembler answer;
  struct pfc_answer told;
  uint64_t next = 0;
  CHECK_NUMBER(pfd_unit_keep_channels(&rig.unit), PFC_OK);
  rig.unit.verifier.ledger.slots[0].policy = PFC_POLICY_CHANNEL;
  if (!CHECK_NUMBER(ask(link), 0)) return 0;
  seal(PFD_CLASS_UNLOCK, "open");
  CHECK_NUMBER(rig_send(&rig, link, PFD_HANDLE_COMMAND, owner.message, owner.size, &answer), PFC_MESSAGE_SEALED_DOWN);
  CHECK_NUMBER(pfc_sealed_down_open(&told, &next, answer.bytes, answer.size, owner.challenge.counter, sent.down),
               PFC_OK);
  CHECK_NUMBER(told.verdict, PFC_VERDICT_ACCEPTED);
  return next;
}

/// Makes the channel's next command.
static void seal_next(uint64_t next) {
  uint8_t chain[PFC_CHANNEL_KEY_BYTES];
  memcpy(chain, sent.chain, sizeof chain);
  CHECK_NUMBER(pfc_channel_up_create(owner.message, sizeof owner.message, &owner.size, &sent, chain, next,
                                     PFD_CLASS_UNLOCK, (const uint8_t *)"open", 4), PFC_OK);
}

/// Sends it. The verdict, and the counter of the command after it.
static uint8_t send_next(unsigned link, uint64_t *next) {
  struct pfc_reassembler answer;
  struct pfc_answer told = {0};
  uint8_t type = rig_send_type(&rig, link, PFD_HANDLE_COMMAND, PFC_MESSAGE_SEALED_UP, owner.message, owner.size,
                               &answer);
  if (type == PFC_MESSAGE_SEALED_DOWN) {
    CHECK_NUMBER(pfc_sealed_down_open(&told, next, answer.bytes, answer.size, *next, sent.down), PFC_OK);
  } else if (CHECK_NUMBER(type, PFC_MESSAGE_VERDICT)) {
    CHECK_NUMBER(pfc_answer_decode(&told, answer.bytes, answer.size), PFC_OK);
  }
  return told.verdict;
}

/// Further commands come where COMMAND does, at every MTU; other characteristics do not take them.
static void a_channel_goes_on(void) {
  static const uint16_t mtus[] = {23, 60, 185, 517};
  for (unsigned i = 0; i < sizeof mtus / sizeof mtus[0]; i++) {
    unsigned link = begin(mtus[i], true);
    struct pfc_reassembler answer;
    struct pfc_capabilities capabilities;
    uint64_t next;
    test_case("MTU %u", mtus[i]);
    pfc_verifier_capabilities(&rig.unit.verifier, &capabilities);
    CHECK((capabilities.features & PFC_FEATURE_CHANNEL) == 0);
    REQUIRE(CHECK((next = open_channel(link)) != 0));
    pfc_verifier_capabilities(&rig.unit.verifier, &capabilities);
    CHECK((capabilities.features & PFC_FEATURE_CHANNEL) != 0);
    for (unsigned round = 2; round <= 4; round++) {
      seal_next(next);
      // The recall's characteristic does not take it, and the channel stands.
      CHECK_NUMBER(rig_send_type(&rig, link, PFD_HANDLE_RECALL, PFC_MESSAGE_SEALED_UP, owner.message, owner.size,
                                 &answer), 0);
      CHECK_NUMBER(send_next(link, &next), PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(rig.unit.device.done, round);
    }
  }
}

static uint8_t ask_for_log(unsigned link) {
  static const uint8_t nonce[PFC_NONCE_BYTES] = {1};
  uint8_t message[PFC_LOG_ASK_BYTES];
  struct pfc_reassembler answer;
  pfc_log_ask_encode(message, 0, nonce);
  return rig_send(&rig, link, PFD_HANDLE_LOG, message, sizeof message, &answer);
}

/// Hardware that keeps a log answers a LOG-ASK beside the channel, and refuses one too many beside it, too.
static void a_log_ask_leaves_the_channel(void) {
  unsigned link = begin_with(185, true, true);
  uint64_t next;
  REQUIRE(CHECK((next = open_channel(link)) != 0));
  for (unsigned i = 0; i < PFD_LOGS_MAX; i++) CHECK_NUMBER(ask_for_log(link), PFC_MESSAGE_LOG);
  seal_next(next);
  CHECK_NUMBER(send_next(link, &next), PFC_VERDICT_ACCEPTED);
  test_case("a LOG-ASK too many");
  for (unsigned i = 0; i < PFD_LOGS_MAX; i++) CHECK_NUMBER(ask_for_log(link), PFC_MESSAGE_LOG);
  CHECK_NUMBER(ask_for_log(link), PFC_MESSAGE_VERDICT);
  seal_next(next);
  CHECK_NUMBER(send_next(link, &next), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(rig.unit.device.done, 3);
  test_case("hardware without a log");
  link = begin(185, true);
  REQUIRE(CHECK((next = open_channel(link)) != 0));
  CHECK_NUMBER(ask_for_log(link), PFC_MESSAGE_VERDICT);
  seal_next(next);
  CHECK_NUMBER(send_next(link, &next), PFC_VERDICT_STALE);
  CHECK_NUMBER(rig.unit.device.done, 1);
}

static const struct test tests[] = {
    TEST("a sealed command is done at every MTU", a_sealed_command_is_done_at_every_mtu),
    TEST("refusals are sealed and logged", refusals_are_sealed_and_logged),
    TEST("no key is made before the tick", no_key_is_made_before_the_tick),
    TEST("hardware that does not seal says so", hardware_that_does_not_seal_says_so),
    TEST("a challenge without a key takes no sealed command", a_challenge_without_a_key_takes_no_sealed_command),
    TEST("no changed byte is done", no_changed_byte_is_done),
    TEST("no replay is done", no_replay_is_done),
    TEST("a channel goes on where commands are written, at every MTU", a_channel_goes_on),
    TEST("a LOG-ASK to hardware with a log leaves the channel", a_log_ask_leaves_the_channel),
};

const struct suite unit_sealed_suite = SUITE("unit-sealed", tests);
