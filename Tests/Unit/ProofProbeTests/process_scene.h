// SPDX-License-Identifier: Apache-2.0

/// An executable of code, constants, data and cleared data, and a vdso, made by hand and mapped as their headers say: a
/// look at the process finds these.

#ifndef PROCESS_SCENE_H
#define PROCESS_SCENE_H

#include "process_made.h"

enum { PAGE = 4096, DEVICE = 7, INODE = 5, CODE = 0, CONSTANTS = 3, DATA = 5, VDSO = 10, PAGES = 12 };

extern uint8_t scene_memory[PAGES * PAGE];

extern struct scene {
  struct pfp_object items[2];
  size_t by_address[2];
  struct pfp_objects objects;
  struct pfp_mapping maps[8];
  char names[128];
  struct pfp_mappings mappings;
  struct pfp_hash hash;
  struct pfp_process process;
  struct pfp_look look;
} scene;

uintptr_t scene_page(size_t page);
/// One more mapping, of the executable's file.
void scene_map(size_t page, size_t count, uint64_t offset, unsigned flags);
/// The code is two pages, the second one not full. Process and look: without descriptors, and of code alone.
void scene_begin(void);

#endif
