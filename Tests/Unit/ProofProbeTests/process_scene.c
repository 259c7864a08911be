// SPDX-License-Identifier: Apache-2.0

#include "process_scene.h"

#include <string.h>

#include "harness.h"

_Alignas(PAGE) uint8_t scene_memory[PAGES * PAGE];
struct scene scene = {.by_address = {0, 1}};

uintptr_t scene_page(size_t page) { return (uintptr_t)scene_memory + page * PAGE; }

void scene_map(size_t page, size_t count, uint64_t offset, unsigned flags) {
  scene.maps[scene.mappings.count++] =
      (struct pfp_mapping){scene_page(page), scene_page(page + count), offset, INODE, DEVICE, flags, 0};
}

void scene_begin(void) {
  static const uint8_t KEY[PFP_HASH_KEY_BYTES] = {1}, SALT[PFP_HASH_SALT_BYTES] = {2};
  struct pfp_objects loaded;
  made_objects = NULL;
  made_mappings = NULL;
  CHECK_NUMBER(pfp_hash_init(&scene.hash, KEY, SALT, PFP_KERNEL_BEST), PFP_OK);
  memset(scene.items, 0, sizeof scene.items);
  for (size_t i = 0; i < sizeof scene_memory; i++) scene_memory[i] = (uint8_t)(i * 7 + i / PAGE);
  (void)strcpy(scene.items[0].name, "executable");
  scene.items[0].is_executable = 1;
  scene.items[0].bias = scene_page(0) - 0x10000;
  scene.items[0].low = scene_page(0);
  scene.items[0].high = scene_page(9);
  scene.items[0].build_id = (const uint8_t *)"identity";
  scene.items[0].build_id_size = 8;
  scene.items[0].segments[0] =
      (struct pfp_segment){scene_page(CODE), 2 * PAGE - 99, 2 * PAGE - 100, PAGE, PFP_READ | PFP_EXECUTE};
  scene.items[0].segments[1] = (struct pfp_segment){scene_page(CONSTANTS) + 16, 64, 64, 4 * PAGE + 16, PFP_READ};
  scene.items[0].segments[2] = (struct pfp_segment){scene_page(DATA), PAGE, 100, 6 * PAGE, PFP_READ | PFP_WRITE};
  scene.items[0].segments[3] = (struct pfp_segment){scene_page(7), PAGE, 0, 7 * PAGE, PFP_READ | PFP_WRITE};
  scene.items[0].segment_count = 4;
  // Behind the last one stands one that is mapped nowhere.
  scene.items[0].segments[4] = (struct pfp_segment){scene_page(8), PAGE, PAGE, 8 * PAGE, PFP_READ | PFP_EXECUTE};
  (void)strcpy(scene.items[1].name, "linux-vdso.so.1");
  scene.items[1].is_vdso = 1;
  scene.items[1].low = scene.items[1].bias = scene_page(VDSO);
  scene.items[1].high = scene_page(VDSO + 1);
  scene.items[1].segments[0] = (struct pfp_segment){scene_page(VDSO), 64, 64, 0, PFP_READ | PFP_EXECUTE};
  scene.items[1].segment_count = 1;
  scene.items[1].segments[1] = scene.items[0].segments[4];
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&loaded), 0));
  scene.objects = (struct pfp_objects){.items = scene.items, .count = 2, .capacity = 2, .by_address = scene.by_address};
  scene.objects.added = loaded.added;
  scene.objects.removed = loaded.removed;
  pfp_objects_free(&loaded);
  // No name begins like a path's: no file is asked.
  (void)memcpy(scene.names, "file\0[vdso]", 12);
  scene.mappings = (struct pfp_mappings){.items = scene.maps, .names = scene.names, .names_size = sizeof scene.names};
  scene_map(CODE, 2, PAGE, PFP_READ | PFP_EXECUTE);
  scene_map(CONSTANTS, 1, 4 * PAGE, PFP_READ);
  scene_map(DATA, 1, 6 * PAGE, PFP_READ | PFP_WRITE);
  scene_map(VDSO, 1, 0, PFP_READ | PFP_EXECUTE);
  scene.maps[3].inode = scene.maps[3].device = 0;
  scene.maps[3].name = 5;
  scene.process = (struct pfp_process){.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  scene.look = (struct pfp_look){.hash = &scene.hash, .wants_code = 1};
  made_objects = &scene.objects;
  made_mappings = &scene.mappings;
}
