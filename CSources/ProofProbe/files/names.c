// SPDX-License-Identifier: Apache-2.0

#include "files/names.h"

#include <string.h>

#include "files.h"

// During a pass records grow from the front of the memory and places from its end; each place also keeps room for half
// a place between the two, which sorting needs.
enum { PLACE = sizeof(struct pfp_place), PLACE_AND_ROOM = PLACE + PLACE / 2 };

/// A name as bytes: the descent's with its slash, both ended by 0, which no name contains.
struct key {
  const char *name;
  bool descent;
};

static int compare(struct key a, struct key b) {
  size_t i = 0;
  while (a.name[i] != '\0' && a.name[i] == b.name[i]) i++;
  unsigned x = a.name[i] != '\0' ? (unsigned char)a.name[i] : a.descent ? '/' : 0;
  unsigned y = b.name[i] != '\0' ? (unsigned char)b.name[i] : b.descent ? '/' : 0;
  // Equal only if both names ended: a name has no slash.
  return (x > y) - (x < y);
}

static struct key key_of(const struct pfp_names *names, const struct pfp_place *place) {
  return (struct key){(const char *)names->memory + place->record + 2, place->descent != 0};
}

static bool before(const struct pfp_names *names, const struct pfp_place *a, const struct pfp_place *b) {
  if (a->prefix != b->prefix) return a->prefix < b->prefix;
  return compare(key_of(names, a), key_of(names, b)) < 0;
}

static uint64_t prefix_of(struct key key) {
  uint64_t prefix = 0;
  size_t i = 0;
  for (; i < 8 && key.name[i] != '\0'; i++) prefix |= (uint64_t)(unsigned char)key.name[i] << (56 - 8 * i);
  if (i < 8 && key.descent) prefix |= (uint64_t)'/' << (56 - 8 * i);
  return prefix;
}

// Sorting --------------------------------------------------------------------------------------------------------

/// By key, or by record where compaction needs that. Merge sort: no bad cases for an attacker to name files after.
static void sort(const struct pfp_names *names, struct pfp_place *places, uint32_t count, struct pfp_place *room,
                 bool by_record) {
  uint32_t half = count / 2;
  if (count < 2) return;
  sort(names, places, half, room, by_record);
  sort(names, places + half, count - half, room, by_record);
  memcpy(room, places, half * sizeof *places);
  uint32_t left = 0, right = half, out = 0;
  while (left < half && right < count) {
    bool take_right = by_record ? places[right].record < room[left].record : before(names, &places[right], &room[left]);
    places[out++] = take_right ? places[right++] : room[left++];
  }
  memcpy(places + out, room + left, (half - left) * sizeof *places);
}

static struct pfp_place *first_place(const struct pfp_names *names) {
  return (struct pfp_place *)(void *)(names->memory + names->size) - names->count;
}

/// Room for half as many places, right below them.
static struct pfp_place *room_below(const struct pfp_names *names) {
  return first_place(names) - (names->count + 1) / 2;
}

/// Memory is full: the higher half of the places is left out of this pass.
static void halve(struct pfp_names *names) {
  struct pfp_place *places = first_place(names);
  uint32_t kept = names->count / 2, records = 0, from = 0;
  sort(names, places, names->count, room_below(names), false);
  struct key lowest_left_out = key_of(names, &places[kept]);
  names->bounded = true;
  names->ceiling_descent = lowest_left_out.descent;
  (void)strcpy(names->ceiling, lowest_left_out.name);

  memmove(places + (names->count - kept), places, kept * sizeof *places);
  names->count = kept;
  places = first_place(names);
  sort(names, places, kept, room_below(names), true);
  for (uint32_t i = 0; i < kept; i++) {
    bool again = i > 0 && places[i].record == from;
    from = places[i].record;
    if (!again) {
      uint32_t size = names->memory[from + 1] + 3u;
      memmove(names->memory + records, names->memory + from, size);
      places[i].record = records;
      records += size;
    } else {
      places[i].record = places[i - 1].record;
    }
  }
  names->used = records;
}

// A pass ---------------------------------------------------------------------------------------------------------

static void pass(struct pfp_names *names) {
  names->used = names->count = names->next = 0;
  names->places = NULL;
  names->bounded = false;
}

void pfp_names_begin(struct pfp_names *names, void *memory, uint32_t size) {
  names->memory = memory;
  names->size = size / PLACE * PLACE;
  names->resumed = false;
  pass(names);
}

static void add_place(struct pfp_names *names, uint32_t record, bool descent) {
  struct key key = {(const char *)names->memory + record + 2, descent};
  names->count++;
  *first_place(names) = (struct pfp_place){.prefix = prefix_of(key), .record = record, .descent = descent};
}

/// Whether this pass hands the place out, as far as is known.
static bool wanted(const struct pfp_names *names, struct key key) {
  if (names->resumed && compare(key, (struct key){names->floor, names->floor_descent}) <= 0) return false;
  return !names->bounded || compare(key, (struct key){names->ceiling, names->ceiling_descent}) < 0;
}

static bool full(const struct pfp_names *names, size_t name_size) {
  return names->used + name_size + 3 + ((size_t)names->count + 2) * PLACE_AND_ROOM + PLACE > names->size;
}

void pfp_names_add(struct pfp_names *names, uint8_t type, const char *name) {
  size_t size = strlen(name);
  bool itself, descent;
  for (;;) {
    itself = wanted(names, (struct key){name, false});
    descent = type == PFP_TYPE_FOLDER && wanted(names, (struct key){name, true});
    if (!itself && !descent) return;
    if (!full(names, size)) break;
    halve(names);
  }
  uint8_t *record = names->memory + names->used;
  record[0] = type;
  record[1] = (uint8_t)size;
  memcpy(record + 2, name, size + 1);
  if (itself) add_place(names, names->used, false);
  if (descent) add_place(names, names->used, true);
  names->used += (uint32_t)size + 3;
}

uint32_t pfp_names_sort(struct pfp_names *names) {
  struct pfp_place *places = first_place(names);
  uint32_t begin = (names->used + PLACE - 1) / PLACE * PLACE;
  sort(names, places, names->count, room_below(names), false);
  names->places = (struct pfp_place *)(void *)(names->memory + begin);
  memmove(names->places, places, names->count * sizeof *places);
  return begin + names->count * PLACE;
}

bool pfp_names_more(struct pfp_names *names) {
  if (!names->bounded) return false;
  struct key last = key_of(names, &names->places[names->count - 1]);
  names->resumed = true;
  names->floor_descent = last.descent;
  (void)strcpy(names->floor, last.name);
  pass(names);
  return true;
}

bool pfp_names_next(struct pfp_names *names, struct pfp_name *name) {
  if (names->next == names->count) return false;
  const struct pfp_place *place = &names->places[names->next++];
  const uint8_t *record = names->memory + place->record;
  *name = (struct pfp_name){(const char *)record + 2, record[1], record[0], place->descent != 0};
  return true;
}
