// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "process_made.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "process_place.h"

struct made made;
unsigned made_resolved;
uintptr_t made_choice;

uintptr_t made_resolver(void) {
  made_resolved++;
  return made_choice;
}

uint32_t made_string(size_t object, const char *text) {
  struct made_image *image = &made.images[object];
  uint32_t offset = (uint32_t)image->strings_size;
  (void)strcpy(image->strings + offset, text);
  image->strings_size += strlen(text) + 1;
  made.items[object].strings_size = image->strings_size;
  return offset;
}

void made_dynamic(size_t object, ElfW(Sxword) tag, uint64_t value) {
  struct made_image *image = &made.images[object];
  image->dynamic[image->dynamic_count++] = (ElfW(Dyn)){.d_tag = tag, .d_un.d_val = value};
}

void made_dynamic_at(size_t object, ElfW(Sxword) tag, const void *at) { made_dynamic(object, tag, (uintptr_t)at); }

static uint32_t hash_of(const char *name) {
  uint32_t hash = 5381;
  for (; *name != 0; name++) hash = 33 * hash + (uint8_t)*name;
  return hash;
}

/// One bucket, in which the symbols stand in their order.
static void hash_symbols(struct made_image *image) {
  uint32_t count = (uint32_t)image->symbol_count, *chain = image->hash + (image->is_gnu ? 7 : 3);
  if (image->is_gnu) {
    // Buckets, the first symbol, words of the filter, its shift; a filter that every name passes; the bucket.
    const uint32_t begin[] = {1, 1, 1, 6, UINT32_MAX, UINT32_MAX, count > 1 ? 1 : 0};
    memcpy(image->hash, begin, sizeof begin);
    for (uint32_t i = 1; i < count; i++) {
      uint32_t hash = hash_of(image->strings + image->symbols[i].st_name);
      chain[i - 1] = i + 1 < count ? hash & ~1u : hash | 1;
    }
    return;
  }
  image->hash[0] = 1;
  image->hash[1] = count;
  image->hash[2] = count > 1 ? 1 : 0;
  for (uint32_t i = 1; i < count; i++) chain[i] = i + 1 < count ? i + 1 : 0;
}

void made_gnu(size_t object) {
  struct made_image *image = &made.images[object];
  image->is_gnu = true;
  for (size_t i = 0; i < image->dynamic_count; i++) {
    if (image->dynamic[i].d_tag == DT_HASH) image->dynamic[i].d_tag = DT_GNU_HASH;
  }
  hash_symbols(image);
}

uint32_t made_symbol(size_t object, const char *name, unsigned type, uintptr_t address) {
  struct made_image *image = &made.images[object];
  ElfW(Sym) *symbol = &image->symbols[image->symbol_count];
  symbol->st_name = made_string(object, name);
  symbol->st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type);
  symbol->st_shndx = address != 0 ? 1 : SHN_UNDEF;
  symbol->st_value = address != 0 ? address - made.items[object].bias : 0;
  image->symbol_count++;
  hash_symbols(image);
  return (uint32_t)image->symbol_count - 1;
}

void made_version(size_t object, uint32_t symbol, const char *version) {
  struct made_image *image = &made.images[object];
  const size_t index = image->defined_count++;
  image->defined[index].definition = (ElfW(Verdef)){.vd_version = 1,
                                                    .vd_ndx = (ElfW(Half))(index + 2),
                                                    .vd_cnt = 1,
                                                    .vd_aux = sizeof(ElfW(Verdef)),
                                                    .vd_next = sizeof image->defined[0]};
  image->defined[index].name.vda_name = made_string(object, version);
  image->versions[symbol] = (ElfW(Half))(index + 2);
  if (index == 0) {
    made_dynamic_at(object, DT_VERSYM, image->versions);
    made_dynamic_at(object, DT_VERDEF, image->defined);
    made_dynamic(object, DT_VERDEFNUM, 1);
  }
  for (size_t i = 0; i < image->dynamic_count; i++) {
    if (image->dynamic[i].d_tag == DT_VERDEFNUM) image->dynamic[i].d_un.d_val = index + 1;
  }
}

void made_relocate(size_t object, unsigned type, size_t word, uint32_t symbol, uint64_t addend) {
  struct made_image *image = &made.images[object];
  ElfW(Rela) entry = {.r_offset = made_word_address(object, word) - made.items[object].bias,
                      .r_info = ELF64_R_INFO((uint64_t)symbol, type),
                      .r_addend = (ElfW(Sxword))addend};
  if (type == PFP_R_SLOT) {
    image->slots[image->slot_count++] = entry;
  } else {
    image->table[image->table_count++] = entry;
  }
}

void made_close_tables(size_t object) {
  struct made_image *image = &made.images[object];
  const uint64_t last = made_word_address(object, MADE_WORDS - 1) - made.items[object].bias;
  // Behind the end of each table stands an entry for the last word.
  image->table[image->table_count] = (ElfW(Rela)){.r_offset = last, .r_info = PFP_R_GLOBAL};
  image->slots[image->slot_count] = (ElfW(Rela)){.r_offset = last, .r_info = PFP_R_SLOT};
  if (image->table_count != 0) {
    made_dynamic_at(object, DT_RELA, image->table);
    made_dynamic(object, DT_RELASZ, image->table_count * sizeof image->table[0]);
  }
  if (image->slot_count != 0) {
    made_dynamic_at(object, DT_JMPREL, image->slots);
    made_dynamic(object, DT_PLTRELSZ, image->slot_count * sizeof image->slots[0]);
  }
}

uintptr_t made_word_address(size_t object, size_t word) { return (uintptr_t)&made.images[object].words[word]; }
uintptr_t made_function(size_t object, size_t index) { return (uintptr_t)&made.images[object].functions[8 * index]; }

static void begin_object(size_t index, const char *name) {
  struct pfp_object *object = &made.items[index];
  struct made_image *image = &made.images[index];
  uintptr_t low = (uintptr_t)image, words = sizeof image->words;
  (void)snprintf(object->name, sizeof object->name, "%s", name);
  object->bias = low - 4096;
  object->low = low;
  object->high = low + sizeof *image;
  object->readable = 1;
  object->strings = image->strings;
  object->dynamic = image->dynamic;
  object->relro = low;
  object->relro_end = low + MADE_SLOT * sizeof(uintptr_t);
  object->segments[0] = (struct pfp_segment){low, words, words, MADE_FILE_OFFSET, PFP_READ | PFP_WRITE};
  object->segments[1] = (struct pfp_segment){low + words, sizeof *image - words, sizeof *image - words, 4096, PFP_READ};
  object->segments[2] = (struct pfp_segment){(uintptr_t)made_resolver, 1, 1, 8192, PFP_READ | PFP_EXECUTE};
  object->segment_count = 3;
  // Behind the last one stands one that would be over everything.
  object->segments[3] = (struct pfp_segment){0, SIZE_MAX, SIZE_MAX, 0, PFP_READ | PFP_WRITE | PFP_EXECUTE};
  image->symbol_count = 1;
  (void)made_string(index, "");
  hash_symbols(image);
  made_dynamic_at(index, DT_SYMTAB, image->symbols);
  made_dynamic_at(index, DT_HASH, image->hash);
  made.by_address[index] = index;
}

void made_begin(void) {
  static const char *const NAMES[MADE_OBJECTS] = {"executable", "libown.so",  "libother.so",
                                                  "ld-made.so", "linux-vdso", "libapart.so"};
  memset(&made, 0, sizeof made);
  made_resolved = 0;
  made.objects = (struct pfp_objects){.items = made.items, .count = MADE_OBJECTS, .by_address = made.by_address};
  for (size_t i = 0; i < MADE_OBJECTS; i++) begin_object(i, NAMES[i]);
  for (size_t i = MADE_OWN; i <= MADE_LOADER; i++) {
    made_dynamic(MADE_EXECUTABLE, DT_NEEDED, made_string(MADE_EXECUTABLE, NAMES[i]));
  }
  made.items[MADE_EXECUTABLE].is_executable = 1;
  made.items[MADE_VDSO].is_vdso = 1;
}

bool made_scopes(void) { return CHECK_NUMBER(pfp_scopes_make(&made.scopes, &made.objects), 0); }
void made_end(void) { pfp_scopes_free(&made.scopes); }

bool made_file(size_t object) {
  struct pfp_object *of = &made.items[object];
  uintptr_t words[MADE_WORDS];
  int file;
  bool written;
  for (size_t i = 0; i < MADE_WORDS; i++) {
    uintptr_t word = made.images[object].words[i];
    words[i] = word >= of->low && word < of->high ? word - of->bias : word;
  }
  (void)snprintf(of->path, sizeof of->path, "%s/made", place.folder);
  file = open(of->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (!CHECK(file >= 0)) return false;
  written = pwrite(file, words, sizeof words, MADE_FILE_OFFSET) == (ssize_t)sizeof words;
  return CHECK(close(file) == 0 && written);
}

/// Memory that is lost grows with each round. What malloc holds back for later calls changes by a few pieces and counts
/// as used, so less than the smallest piece in a round is none.
size_t made_left(void (*work)(void)) {
  enum { WARM = 12, ROUNDS = 64, SMALLEST = 16 };
  size_t before = 0, after, each;
  for (unsigned round = 0; round < WARM + ROUNDS; round++) {
    if (round == WARM) before = mallinfo2().uordblks;
    work();
  }
  after = mallinfo2().uordblks;
  each = after > before ? (after - before) / ROUNDS : 0;
  return each < SMALLEST ? 0 : each;
}

const struct pfp_objects *made_objects;
const struct pfp_mappings *made_mappings;

int made_copy_objects(struct pfp_objects *objects) {
  const size_t count = made_objects->count;
  *objects = *made_objects;
  objects->names = NULL;
  objects->items = calloc(count, sizeof *objects->items);
  objects->by_address = calloc(count, sizeof *objects->by_address);
  if (objects->items == NULL || objects->by_address == NULL) return -1;
  memcpy(objects->items, made_objects->items, count * sizeof *objects->items);
  memcpy(objects->by_address, made_objects->by_address, count * sizeof *objects->by_address);
  return 0;
}

int made_copy_mappings(struct pfp_mappings *mappings) {
  *mappings = (struct pfp_mappings){0};
  if (made_mappings->items == NULL) return -1;
  *mappings = *made_mappings;
  mappings->items = calloc(made_mappings->count + 1, sizeof *mappings->items);
  mappings->names = calloc(1, made_mappings->names_size + 1);
  if (mappings->items == NULL || mappings->names == NULL) return -1;
  memcpy(mappings->items, made_mappings->items, made_mappings->count * sizeof *mappings->items);
  memcpy(mappings->names, made_mappings->names, made_mappings->names_size);
  return 0;
}
