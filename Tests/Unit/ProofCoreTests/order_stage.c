// SPDX-License-Identifier: Apache-2.0

#include "order_stage.h"

struct world world;
struct app app;

void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 6000);
}

uint8_t hold(uint32_t generation, uint64_t issued) {
  app.token.generation = generation;
  app.token.issued = issued;
  app_issue(&app, &world);
  return app_present(&app, &world);
}

uint8_t revoke(uint32_t generation, uint64_t issued) {
  return world_order(&world, PFC_ORDER_REVOKE, issued, app.token.instance_id, generation);
}

uint8_t floor_at(uint64_t issued) { return world_order(&world, PFC_ORDER_FLOOR, issued, NULL, 0); }

uint8_t act(void) { return app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"); }

void new_link(void) { pfc_session_init(world.link); }
