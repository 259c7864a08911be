// SPDX-License-Identifier: Apache-2.0

#include "rig.h"

#include <stdlib.h>
#include <string.h>

static int draw(void *context, uint8_t *bytes, size_t size) {
  struct rig *rig = context;
  dice_fill(&rig->dice, bytes, size);
  return 0;
}

static uint32_t seconds(void *context) { return ((struct rig *)context)->seconds; }

static int deliver(void *context, unsigned link, const uint8_t *pdu, size_t size) {
  struct rig *rig = context;
  struct inbox *inbox = &rig->inboxes[link];
  if (inbox->full || inbox->count == RIG_QUEUE) return -1;
  CHECK(size > 0 && size <= rig->unit.links[link].mtu);
  memcpy(inbox->pdus[inbox->count].bytes, pdu, size);
  inbox->pdus[inbox->count++].size = size;
  return 0;
}

static void hear(void *context, const struct pfd_event *event) {
  struct rig *rig = context;
  if (CHECK(event->kind < RIG_EVENTS)) rig->events[event->kind]++;
  rig->event = *event;
}

void rig_make(struct rig *rig, uint64_t seed, bool clock) {
  uint8_t issuer[32];
  memset(rig, 0, sizeof *rig);
  rig->dice.state = seed;
  nor_make(&rig->nor, seed);
  rig->hardware.mode = PFC_MODE_PRODUCTION;
  rig->hardware.issuer_count = 1;
  rig->hardware.challenge_seconds = 30;
  dice_fill(&rig->dice, rig->hardware.id, PFC_ID_BYTES);
  dice_fill(&rig->dice, rig->hardware.secret_key, PFC_SECRET_KEY_BYTES);
  pfc_public_key(rig->hardware.public_key, rig->hardware.secret_key);
  dice_fill(&rig->dice, issuer, sizeof issuer);
  pfc_signing_key(rig->hardware.issuers[0].public_key, rig->signing_key, issuer);
  rig->port.seconds = clock ? seconds : NULL;
}

static void attach(struct rig *rig) {
  nor_attach(&rig->nor);
  rig->port.context = rig;
  rig->port.random = draw;
  rig->port.flash = rig->nor.port;
  rig->port.send = deliver;
  rig->port.event = hear;
}

int rig_provision(struct rig *rig, uint64_t floor, uint64_t counter) {
  attach(rig);
  return pfd_unit_provision(&rig->port, &rig->hardware, 0, floor, counter);
}

int rig_start(struct rig *rig) {
  attach(rig);
  memset(rig->inboxes, 0, sizeof rig->inboxes);
  return pfd_unit_start(&rig->unit, &rig->port);
}

enum pfd_link_state rig_write(struct rig *rig, unsigned link, const uint8_t *pdu, size_t size) {
  return pfd_unit_receive(&rig->unit, link, pdu, size);
}

enum pfd_link_state rig_put(struct rig *rig, unsigned link, uint8_t opcode, uint16_t handle, const void *value,
                            size_t size) {
  uint8_t pdu[3 + PFD_MTU_MAX] = {opcode};
  put16(pdu + 1, handle);
  if (size != 0) memcpy(pdu + 3, value, size);
  return rig_write(rig, link, pdu, 3 + size);
}

size_t rig_take(struct rig *rig, unsigned link, uint8_t pdu[PFD_MTU_MAX]) {
  struct inbox *inbox = &rig->inboxes[link];
  size_t size;
  if (inbox->count == 0) return 0;
  size = inbox->pdus[0].size;
  memcpy(pdu, inbox->pdus[0].bytes, size);
  inbox->count--;
  memmove(&inbox->pdus[0], &inbox->pdus[1], inbox->count * sizeof inbox->pdus[0]);
  return size;
}

unsigned rig_connect(struct rig *rig, uint16_t mtu) {
  uint8_t pdu[PFD_MTU_MAX];
  uint8_t exchange[3] = {PFD_ATT_MTU_REQUEST};
  static const uint8_t on[2] = {1, 0};
  int found = pfd_unit_connect(&rig->unit);
  unsigned link = found < 0 ? 0 : (unsigned)found;
  CHECK(found >= 0);
  memset(&rig->inboxes[link], 0, sizeof rig->inboxes[link]);
  put16(exchange + 1, mtu);
  if (mtu != PFD_MTU_MIN) (void)rig_write(rig, link, exchange, sizeof exchange);
  (void)rig_put(rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_CHALLENGE_CCCD, on, sizeof on);
  (void)rig_put(rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_VERDICT_CCCD, on, sizeof on);
  while (rig_take(rig, link, pdu) != 0) continue;
  return link;
}

unsigned rig_serve(struct rig *rig, uint64_t seed, uint16_t mtu) {
  rig_make(rig, seed, true);
  CHECK_NUMBER(rig_provision(rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(rig), PFC_OK);
  return rig_connect(rig, mtu);
}

void rig_expect(struct rig *rig, unsigned link, const char *request, const char *response) {
  uint8_t pdu[PFD_MTU_MAX], expected[PFD_MTU_MAX], answer[PFD_MTU_MAX];
  size_t size = unhex(pdu, sizeof pdu, request), wanted = unhex(expected, sizeof expected, response);
  uint8_t *exact = malloc(size);
  test_case("%s", request);
  REQUIRE(CHECK(exact != NULL));
  memcpy(exact, pdu, size);
  CHECK_NUMBER(rig_write(rig, link, exact, size), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(rig, link, answer), wanted);
  if (wanted != 0) CHECK_BYTES(answer, expected, wanted);
  CHECK_NUMBER(rig->inboxes[link].count, 0);
  free(exact);
}

uint8_t rig_send(struct rig *rig, unsigned link, uint16_t handle, const uint8_t *message, size_t size,
                 struct pfc_reassembler *answer) {
  return rig_send_type(rig, link, handle, pfd_gatt_message_type(handle), message, size, answer);
}

uint8_t rig_send_type(struct rig *rig, unsigned link, uint16_t handle, uint8_t sent, const uint8_t *message,
                      size_t size, struct pfc_reassembler *answer) {
  struct pfc_fragmenter fragmenter;
  uint8_t packet[PFC_PACKET_MAX], pdu[PFD_MTU_MAX];
  size_t count;
  uint8_t type = 0;
  uint16_t told = handle == PFD_HANDLE_CHALLENGE ? PFD_HANDLE_CHALLENGE : PFD_HANDLE_VERDICT;
  if (!CHECK_NUMBER(pfc_fragment_init(&fragmenter, sent, message, size, rig->unit.links[link].mtu - 3u), PFC_OK)) {
    return 0;
  }
  while ((count = pfc_fragment_next(&fragmenter, packet)) != 0) {
    CHECK_NUMBER(rig_put(rig, link, PFD_ATT_WRITE_COMMAND, handle, packet, count), PFD_LINK_OPEN);
  }
  pfc_reassemble_init(answer);
  while ((count = rig_take(rig, link, pdu)) != 0) {
    CHECK_NUMBER(pdu[0], PFD_ATT_NOTIFICATION);
    CHECK_NUMBER(pdu[1], told);
    if (pfc_reassemble(answer, pdu + 3, count - 3) == PFC_FRAME_COMPLETE) type = answer->type;
  }
  return type;
}

uint8_t rig_verdict(struct rig *rig, unsigned link, uint16_t handle, const uint8_t *message, size_t size) {
  struct pfc_reassembler answer;
  return rig_send(rig, link, handle, message, size, &answer) == PFC_MESSAGE_VERDICT ? answer.bytes[0] : 0;
}

// Apps -----------------------------------------------------------------------------------------------------------

void owner_sign(struct owner *owner, const struct rig *rig) {
  struct dice dice = {owner->token.issued};
  uint8_t ephemeral[32];
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  CHECK_NUMBER(pfc_token_create(owner->bytes, &owner->token, rig->hardware.public_key,
                                rig->hardware.has_factory_secret == 1 ? rig->hardware.factory_secret : NULL,
                                rig->signing_key, ephemeral),
               PFC_OK);
  pfc_token_digest(owner->digest, owner->bytes);
}

void owner_make(struct owner *owner, const struct rig *rig, uint64_t seed, uint32_t generation, uint32_t uses) {
  struct dice dice = {seed};
  memset(owner, 0, sizeof *owner);
  owner->token.version = PFC_VERSION;
  owner->token.mode = rig->hardware.mode;
  owner->token.form = PFC_FORM_DIVERSIFIED;
  owner->token.integrity_classes = owner->token.device_classes = 0xF;
  owner->token.attempts = 3;
  owner->token.uses = uses;
  owner->token.generation = generation;
  owner->token.issued = 1700000000 + generation;
  memcpy(owner->token.hardware_id, rig->hardware.id, PFC_ID_BYTES);
  dice_fill(&dice, owner->token.instance_id, PFC_ID_BYTES);
  dice_fill(&dice, &owner->token.secrets, sizeof owner->token.secrets);
  if (rig->hardware.has_factory_secret == 1) {
    owner->token.version = PFC_TOKEN_VERSION_2;
    owner->token.base = generation;
  }
  owner_sign(owner, rig);
}

uint8_t owner_present(struct owner *owner, struct rig *rig, unsigned link) {
  return rig_verdict(rig, link, PFD_HANDLE_TOKEN, owner->bytes, sizeof owner->bytes);
}

bool owner_ask(struct owner *owner, struct rig *rig, unsigned link) {
  static const uint8_t what = PFC_ASK_CHALLENGE;
  struct pfc_reassembler answer;
  if (rig_send(rig, link, PFD_HANDLE_CHALLENGE, &what, 1, &answer) != PFC_MESSAGE_CHALLENGE) return false;
  return pfc_challenge_decode(&owner->challenge, answer.bytes, answer.size) == PFC_OK;
}

void owner_prepare(struct owner *owner, const struct rig *rig, uint8_t class_, const char *command) {
  struct pfc_request request = {.kind = PFC_KIND_INTEGRITY, .command_class = class_};
  memcpy(request.instance_id, owner->token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, rig->hardware.id, PFC_ID_BYTES);
  request.challenge = owner->challenge;
  request.command = (const uint8_t *)command;
  request.command_size = strlen(command);
  CHECK_NUMBER(pfc_command_create(owner->message, sizeof owner->message, &owner->size, owner->nonce, &request,
                                  &owner->token.secrets),
               PFC_OK);
}

uint8_t owner_send(struct owner *owner, struct rig *rig, unsigned link) {
  return rig_verdict(rig, link, PFD_HANDLE_COMMAND, owner->message, owner->size);
}

uint8_t owner_do(struct owner *owner, struct rig *rig, unsigned link, uint8_t class_, const char *command) {
  if (!owner_ask(owner, rig, link)) return PFC_VERDICT_FAULT;
  owner_prepare(owner, rig, class_, command);
  return owner_send(owner, rig, link);
}

uint8_t rig_order(struct rig *rig, unsigned link, uint8_t type, uint64_t issued, const struct owner *owner,
                  uint32_t generation) {
  struct pfc_order order = {.type = type, .issued = issued, .generation = generation};
  uint8_t bytes[PFC_ORDER_BYTES];
  memcpy(order.hardware_id, rig->hardware.id, PFC_ID_BYTES);
  if (owner != NULL) memcpy(order.instance_id, owner->token.instance_id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_order_create(bytes, &order, rig->signing_key), PFC_OK);
  return rig_verdict(rig, link, PFD_HANDLE_ORDER, bytes, sizeof bytes);
}

void rig_cut_each(struct rig *rig, const struct life *life) {
  const unsigned operations = rig->nor.operations;
  unsigned cuts = 0;
  for (unsigned at = 1; at <= operations; at++) {
    for (unsigned turn = 0; turn < life->turns; turn++) {
      test_case("operation %u of %u, turn %u", at, operations, turn);
      life->begin();
      rig->nor.dice.state = 100 * at + turn;
      rig->nor.tear = (enum nor_tear)(turn % NOR_TEARS);
      rig->nor.cut = at;
      life->live();
      CHECK(rig->nor.dark);
      nor_power(&rig->nor);
      life->check();
      cuts++;
    }
  }
  test_note("%s: %u flash operations, %u cuts\n", life->name, operations, cuts);
}
