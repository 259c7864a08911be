// SPDX-License-Identifier: Apache-2.0

/// The verifier's message loop: streams of messages to several links, with power cuts, torn writes, failing storage,
/// failing or stuttering randomness, and time. Some messages are the fuzzer's bytes; most are made by the harness
/// with right signatures and proofs and then, if the input says so, changed, replayed, or sent over another link.
///
/// An input that begins with 0xFF is played on hardware with a factory secret. Oracle: verifier_model.h.

#include "verifier_model.h"

enum { STEPS_MAX = 160, MEMORY = 8 };

/// The last messages, for replays.
struct memory {
  struct {
    uint8_t type;
    size_t size;
    uint8_t bytes[PFC_MESSAGE_MAX];
  } messages[MEMORY];
  unsigned next;
};

static void send(struct world *world, struct memory *memory, struct fuzz_input *input, uint8_t type, uint8_t *bytes,
                 size_t size) {
  struct link *link = &world->links[fuzz_u8(input) % LINKS];
  fuzz_flip(input, bytes, size);
  memory->messages[memory->next % MEMORY].type = type;
  memory->messages[memory->next % MEMORY].size = size;
  memcpy(memory->messages[memory->next % MEMORY].bytes, bytes, size);
  memory->next++;
  world_deliver(world, link, type, bytes, size);
}

static void make_token(struct world *world, struct memory *memory, struct fuzz_input *input) {
  const struct fuzz_fixture *fixture = fuzz_fixture();
  struct issued *issued = &world->issued[world->issued_count];
  uint8_t how = fuzz_u8(input), ephemeral[PFC_SECRET_KEY_BYTES];
  if (world->issued_count == TOKENS_MAX) return;
  issued->instance = how % INSTANCES;
  issued->token = fuzz_token((uint8_t)(issued->instance + 1));
  uint8_t bounds = fuzz_u8(input), time = fuzz_u8(input), classes = fuzz_u8(input);
  issued->token.generation = 1u + (bounds & 15u);
  issued->token.attempts = (uint16_t)(1 + (bounds >> 4 & 1));
  issued->token.uses = bounds >> 5 == 7 ? PFC_USES_UNLIMITED : 1u + (bounds >> 5);
  issued->token.issued = 1000u + (time & 15u);
  issued->token.not_after = time >> 4 == 0 ? 0 : issued->token.issued + (uint64_t)(time >> 4) - 1;
  issued->token.integrity_classes = (uint16_t)(0x8001 | classes);
  issued->token.device_classes = classes & 0x33;
  if (how / INSTANCES == 1) issued->token.mode = PFC_MODE_DEVELOPMENT;
  if (how / INSTANCES == 2) issued->token.form = PFC_FORM_LITERAL;
  if (how / INSTANCES == 3) issued->token.hardware_id[15] ^= 1;
  memset(&issued->token.secrets, issued->instance * 16 + (bounds & 15) + 1, sizeof issued->token.secrets);
  memset(ephemeral, (int)world->issued_count + 1, sizeof ephemeral);
  unsigned signer = how / INSTANCES == 4 ? FUZZ_ISSUERS - 1 : 0;
  const uint8_t *signing_key = fixture->signing_keys[signer];
  // Version 2 by suite 1, by suite 2 under a wrong secret, or version 1 where there is a factory secret; else suite 2
  // where there is one.
  uint8_t other[PFC_FACTORY_SECRET_BYTES] = {1};
  const uint8_t *secret = NULL;
  if (world->hardware.has_factory_secret != 0) secret = world->hardware.factory_secret;
  if (how / INSTANCES == 6) secret = other;
  if (how / INSTANCES == 2 || how / INSTANCES == 5 || how / INSTANCES == 7) secret = NULL;
  if (secret != NULL || how / INSTANCES == 5) {
    issued->token.version = PFC_TOKEN_VERSION_2;
    issued->token.base = issued->token.generation;
    issued->token.policy = (uint8_t)((bounds ^ time) % 3);
  }
  issued->fits = secret == (world->hardware.has_factory_secret != 0 ? world->hardware.factory_secret : NULL);
  REQUIRE(pfc_token_create(issued->bytes, &issued->token, world->hardware.public_key, secret, signing_key, ephemeral) ==
          PFC_OK);
  pfc_token_digest(issued->digest, issued->bytes);
  world->issued_count++;
  world_sign(world, issued->token.issued);
  uint8_t bytes[PFC_TOKEN_BYTES];
  memcpy(bytes, issued->bytes, sizeof bytes);
  send(world, memory, input, PFC_MESSAGE_TOKEN, bytes, sizeof bytes);
}

static const struct issued *pick_token(const struct world *world, struct fuzz_input *input) {
  uint8_t back = fuzz_u8(input);
  if (world->issued_count == 0) return NULL;
  return &world->issued[(world->issued_count - 1) - back % world->issued_count];
}

static void make_command(struct world *world, struct memory *memory, struct fuzz_input *input) {
  static const uint8_t command[PFC_COMMAND_MAX] = "open the door";
  const struct issued *issued = pick_token(world, input);
  uint8_t how = fuzz_u8(input), message[PFC_MESSAGE_MAX];
  size_t command_size = fuzz_u8(input);
  if (issued == NULL) return;
  uint8_t kind = (how & 0x10) != 0 ? PFC_KIND_DEVICE : PFC_KIND_INTEGRITY;
  // Mostly the kind that the slot takes, and the ratchet that is in step.
  if ((issued->token.policy != PFC_RATCHET_NONE) != (command_size % 7 == 6)) kind = (uint8_t)(kind + 2);
  int changed = ((how & 0x20) != 0 ? 1 : 0) | (command_size % 5 == 4 ? 2 : 0);
  size_t size = world_command(world, message, &world->links[(how >> 6) % LINKS], issued, changed, kind, how & 15,
                              command, command_size);
  send(world, memory, input, PFC_MESSAGE_COMMAND, message, size);
}

static void make_order(struct world *world, struct memory *memory, struct fuzz_input *input) {
  const struct fuzz_fixture *fixture = fuzz_fixture();
  struct pfc_order order = {.type = PFC_ORDER_EPOCH};
  uint8_t how = fuzz_u8(input), bytes[PFC_ORDER_BYTES];
  order.type = (uint8_t)(PFC_ORDER_EPOCH + how % 3);
  order.issued = 1000u + (fuzz_u8(input) & 31u);
  memcpy(order.hardware_id, world->hardware.id, PFC_ID_BYTES);
  if (order.type == PFC_ORDER_REVOKE) {
    uint8_t whom = fuzz_u8(input);
    memset(order.instance_id, whom % INSTANCES + 1, PFC_ID_BYTES);
    order.generation = whom / INSTANCES == 0 ? PFC_GENERATION_ALL : whom / INSTANCES;
  }
  world_sign(world, order.issued);
  unsigned signer = (how & 0x60) == 0x60 ? FUZZ_ISSUERS - 1 : 1;
  REQUIRE(pfc_order_create(bytes, &order, fixture->signing_keys[signer]) == PFC_OK);
  send(world, memory, input, PFC_MESSAGE_ORDER, bytes, sizeof bytes);
}

static void make_recall(struct world *world, struct memory *memory, struct fuzz_input *input) {
  const struct issued *issued = pick_token(world, input);
  uint8_t back = fuzz_u8(input), message[PFC_RECALL_BYTES];
  if (issued == NULL || world->command_count == 0) return;
  const struct commanded *command = &world->commands[world->command_count - 1 - back % world->command_count];
  pfc_recall_create(message, issued->token.instance_id, command->counter, command->nonce,
                    issued->token.secrets.device_key);
  send(world, memory, input, PFC_MESSAGE_RECALL, message, sizeof message);
}

static void fail(struct world *world, struct fuzz_input *input) {
  uint8_t how = fuzz_u8(input);
  world->random_fails = how & 3;
  world->read_fails = (how & 4) != 0;
  world->write_countdown = how >> 4 & 3;
  world->write_torn = fuzz_u8(input);
}

static void step(struct world *world, struct memory *memory, struct fuzz_input *input) {
  uint8_t op = fuzz_u8(input), bytes[PFC_MESSAGE_MAX + 1];
  struct link *link;
  switch (op % 12) {
    case 0:
      bytes[0] = PFC_ASK_CHALLENGE;
      send(world, memory, input, PFC_MESSAGE_ASK, bytes, 1);
      break;
    case 1:
      make_command(world, memory, input);
      break;
    case 2:
      make_token(world, memory, input);
      break;
    case 3:
      make_order(world, memory, input);
      break;
    case 4:
      make_recall(world, memory, input);
      break;
    case 5: {  // A replay, over any link
      unsigned back = fuzz_u8(input) % MEMORY;
      link = &world->links[fuzz_u8(input) % LINKS];
      if (memory->next <= back) break;
      unsigned at = (memory->next - 1 - back) % MEMORY;
      world_deliver(world, link, memory->messages[at].type, memory->messages[at].bytes, memory->messages[at].size);
      break;
    }
    case 6: {  // The fuzzer's own bytes
      uint8_t type = fuzz_u8(input);
      size_t size = fuzz_u16(input) % sizeof bytes;
      if (size > input->left) size = input->left;
      fuzz_take(input, bytes, size);
      world_deliver(world, &world->links[type % LINKS], type / 16 == 0 ? type : type % 16, bytes, size);
      break;
    }
    case 7:
      fail(world, input);
      break;
    case 8:
      world_restart(world);
      break;
    case 9:
      world_disconnect(&world->links[fuzz_u8(input) % LINKS]);
      break;
    case 10:
      world->seconds += fuzz_u8(input);
      break;
    default:
      bytes[0] = PFC_ASK_STATUS;
      send(world, memory, input, PFC_MESSAGE_ASK, bytes, 1);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct world world;
  static struct memory memory;
  struct fuzz_input input = {data, size};
  memset(&memory, 0, sizeof memory);
  int has_factory_secret = size > 0 && data[0] == 0xFF;
  if (has_factory_secret) (void)fuzz_u8(&input);
  world_start(&world, has_factory_secret);
  for (int i = 0; i < STEPS_MAX && input.left > 0; i++) step(&world, &memory, &input);
  world_check_owners(&world);
  pfc_verifier_wipe(&world.verifier);
  REQUIRE(fuzz_all(&world.verifier, sizeof world.verifier, 0));
  return 0;
}
