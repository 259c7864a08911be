// SPDX-License-Identifier: Apache-2.0

/// The firmware that the fuzzer's hardware runs on. It fails on command.

#include "verifier_model.h"

static int platform_random(void *context, uint8_t *bytes, size_t size) {
  struct world *world = context;
  if (world->random_fails == 1) return -1;
  if (world->random_fails != 2) world->random_state++;
  for (size_t i = 0; i < size; i++) {
    uint32_t mixed = (world->random_state * 0x9E3779B1u) ^ ((uint32_t)i * 0x85EBCA6Bu);
    bytes[i] = (uint8_t)((mixed * 0xC2B2AE35u) >> 24);
  }
  return 0;
}

static uint32_t platform_seconds(void *context) { return ((const struct world *)context)->seconds; }

static int platform_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  struct world *world = context;
  REQUIRE(record <= PFC_SLOTS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX);
  if (world->read_fails) return -1;
  memcpy(bytes, world->areas[record][copy], size);
  return 0;
}

static int platform_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  struct world *world = context;
  REQUIRE(record <= PFC_SLOTS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX);
  int fails = world->write_countdown == 1;
  if (world->write_countdown > 0) world->write_countdown--;
  memcpy(world->areas[record][copy], bytes, fails && world->write_torn < size ? world->write_torn : size);
  world->uncertain[record] = (uint8_t)fails;
  return fails ? -1 : 0;
}

struct pfc_platform world_platform(struct world *world) {
  return (struct pfc_platform){
      .context = world,
      .random = platform_random,
      .seconds = platform_seconds,
      .storage = {.context = world, .read = platform_read, .write = platform_write},
  };
}
