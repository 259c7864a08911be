#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux_machine.h"
#include "process.h"
#include "transcript.h"

// Words that relocation fills and that nobody may change after it: the RELRO part, the PLT's slots, and GOT words
// wherever they stand. A word is told by the object it leads to and the offset in it, which no load address changes.
//
// Slots bound lazily change once in a lawful way, from "not bound" to what the loader finds. Both count as the same
// observation; anything else is told as what it is.

#if PFP_HAS_LINKS

typedef uintptr_t word;

_Static_assert(sizeof(word) == 8, "64-bit ELF");

/// Slots of the PLT as the file has them: what an unbound one holds, before the load address is added.
struct unbound {
  uintptr_t start;
  size_t size;
  uint8_t *bytes;
};

struct walk {
  struct pfp_object *object;
  const struct pfp_objects *objects;
  struct pfp_transcript transcript;
  struct unbound unbound;
  const ElfW(Sym) *symbols;
  const ElfW(Half) *versions;
};

static word load(uintptr_t at) {
  word value;
  memcpy(&value, (const void *)at, sizeof value);
  return value;
}

static int in_relro(const struct pfp_object *object, uintptr_t at) {
  return at >= object->relro && at + sizeof(word) <= object->relro_end;
}

static int in_data(const struct pfp_object *object, uintptr_t at) {
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if ((segment->flags & PFP_WRITE) != 0 && at >= segment->start && segment->size >= sizeof(word) &&
        at - segment->start <= segment->size - sizeof(word)) {
      return 1;
    }
  }
  return 0;
}

static const char *symbol_name(const struct walk *walk, uint32_t index) {
  const ElfW(Sym) *symbol = &walk->symbols[index];
  if (walk->object->strings == NULL || symbol->st_name >= walk->object->strings_size) return "";
  return walk->object->strings + symbol->st_name;
}

/// The version that the object asks of a symbol, or NULL.
static const char *symbol_version(const struct walk *walk, uint32_t index) {
  const struct pfp_object *object = walk->object;
  uintptr_t needs = pfp_dynamic_address(object, DT_VERNEED);
  uint64_t count = pfp_dynamic_value(object, DT_VERNEEDNUM, 0);
  ElfW(Half) wanted;
  if (walk->versions == NULL || needs == 0) return NULL;
  wanted = walk->versions[index] & 0x7FFF;
  for (uint64_t i = 0; i < count; i++) {
    const ElfW(Verneed) *need = (const ElfW(Verneed) *)needs;
    uintptr_t at = needs + need->vn_aux;
    for (unsigned j = 0; j < need->vn_cnt; j++) {
      const ElfW(Vernaux) *aux = (const ElfW(Vernaux) *)at;
      if (aux->vna_other == wanted && aux->vna_name < object->strings_size) return object->strings + aux->vna_name;
      at += aux->vna_next;
    }
    needs += need->vn_next;
  }
  return NULL;
}

/// Whether the loader itself would bind the symbol to this. It takes the first definition that has the version asked
/// for, or none: an app's own `malloc` has none, and stands before libc's. dlvsym looks for the version alone.
static int expected(const struct walk *walk, uint32_t index, uintptr_t value) {
  const char *version = symbol_version(walk, index);
  const char *name = symbol_name(walk, index);
  return (version != NULL && value == (uintptr_t)dlvsym(RTLD_DEFAULT, name, version)) ||
         value == (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

/// Whether an object exports this very name at this very address: the answer for symbols outside the global scope.
static int exported_as(const char *name, uintptr_t value) {
  Dl_info info;
  return dladdr((const void *)value, &info) != 0 && info.dli_sname != NULL && (uintptr_t)info.dli_saddr == value &&
         strcmp(info.dli_sname, name) == 0;
}

/// Tells where a word leads. Returns the object, or NULL if it leads to none.
static const struct pfp_object *tell(struct walk *walk, uintptr_t at, word value) {
  const struct pfp_object *owner = value != 0 ? pfp_objects_at(walk->objects, value) : NULL;
  pfp_transcript_number(&walk->transcript, at - walk->object->bias);
  if (value == 0) {
    pfp_transcript_text(&walk->transcript, "nothing");
  } else if (owner == NULL) {
    pfp_transcript_text(&walk->transcript, "outside");
  } else {
    // The kernel may lay out its own object anew at each release: there the object alone counts.
    pfp_transcript_text(&walk->transcript, owner->name);
    pfp_transcript_number(&walk->transcript, owner->is_vdso ? 0 : value - owner->bias);
  }
  return owner;
}

static void stray(struct walk *walk, const char *name, const struct pfp_object *owner, word value) {
  struct pfp_object *object = walk->object;
  if (object->astray++ != 0) return;
  if (owner != NULL) {
    (void)snprintf(object->astray_first, sizeof object->astray_first, "%.80s leads to %.60s+0x%llx", name, owner->name,
                   (unsigned long long)(value - owner->bias));
  } else {
    (void)snprintf(object->astray_first, sizeof object->astray_first, "%.80s leads outside every object", name);
  }
}

/// A slot of the PLT. `eager`: bound before the program began, so it has one value for good.
static void slot(struct walk *walk, uintptr_t at, uint32_t symbol, int eager) {
  const char *name = symbol_name(walk, symbol);
  word value = load(at);
  int lawful = 0;
  const struct unbound *unbound = &walk->unbound;
  if (unbound->bytes != NULL && at >= unbound->start && at - unbound->start <= unbound->size - sizeof value) {
    word original;
    memcpy(&original, unbound->bytes + (at - unbound->start), sizeof original);
    lawful = value == original + walk->object->bias;
  }
  if (!lawful) lawful = expected(walk, symbol, value) || exported_as(name, value);
  if (lawful && !eager) {
    pfp_transcript_number(&walk->transcript, at - walk->object->bias);
    pfp_transcript_text(&walk->transcript, "as the loader binds it");
    return;
  }
  {
    const struct pfp_object *owner = tell(walk, at, value);
    if (!lawful && value != 0) stray(walk, name, owner, value);
  }
}

static void relocation(struct walk *walk, const ElfW(Rela) *entry) {
  struct pfp_object *object = walk->object;
  uintptr_t at = object->bias + entry->r_offset;
  uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
  uint32_t symbol = (uint32_t)ELF64_R_SYM(entry->r_info);
  if (!in_data(object, at)) return;
  if (type == PFP_R_SLOT) {
    slot(walk, at, symbol, object->binds_now || in_relro(object, at));
  } else if (type == PFP_R_GLOBAL) {
    word value = load(at);
    const struct pfp_object *owner = tell(walk, at, value);
    unsigned kind = ELF64_ST_TYPE(walk->symbols[symbol].st_info);
    if (!in_relro(object, at)) object->loose++;
    if (value != 0 && owner == NULL && kind == STT_FUNC) stray(walk, symbol_name(walk, symbol), owner, value);
  } else if (type == PFP_R_CHOSEN || (in_relro(object, at) && (type == PFP_R_WORD || type == PFP_R_RELATIVE))) {
    if (!in_relro(object, at)) object->loose++;
    (void)tell(walk, at, load(at));
  }
}

/// Packed relative relocations: an address, then bitmaps of the 63 words behind it.
static void packed(struct walk *walk) {
  struct pfp_object *object = walk->object;
  uintptr_t table = pfp_dynamic_address(object, DT_RELR);
  uint64_t size = pfp_dynamic_value(object, DT_RELRSZ, 0);
  uintptr_t next = 0;
  if (table == 0) return;
  for (uint64_t i = 0; i < size / sizeof(word); i++) {
    word entry = load(table + i * sizeof entry);
    if ((entry & 1) == 0) {
      uintptr_t at = object->bias + entry;
      if (in_relro(object, at)) (void)tell(walk, at, load(at));
      next = at + sizeof(word);
      continue;
    }
    for (unsigned bit = 1; bit < 64; bit++) {
      uintptr_t at = next + (bit - 1) * sizeof(word);
      if ((entry >> bit & 1) != 0 && in_relro(object, at)) (void)tell(walk, at, load(at));
    }
    next += 63 * sizeof(word);
  }
}

static void table(struct walk *walk, uintptr_t start, uint64_t size) {
  if (start == 0) return;
  for (uint64_t i = 0; i < size / sizeof(ElfW(Rela)); i++) {
    relocation(walk, (const ElfW(Rela) *)(start + i * sizeof(ElfW(Rela))));
  }
}

/// First and last slot of the PLT. 0 if there is none.
static int slot_range(const struct pfp_object *object, uintptr_t *start, uintptr_t *end) {
  uintptr_t slots = pfp_dynamic_address(object, DT_JMPREL);
  uint64_t count = pfp_dynamic_value(object, DT_PLTRELSZ, 0) / sizeof(ElfW(Rela));
  *start = UINTPTR_MAX;
  *end = 0;
  if (slots == 0 || pfp_dynamic_value(object, DT_PLTREL, DT_RELA) != DT_RELA) return 0;
  for (uint64_t i = 0; i < count; i++) {
    uintptr_t at = object->bias + ((const ElfW(Rela) *)slots)[i].r_offset;
    if (!in_data(object, at)) continue;
    if (at < *start) *start = at;
    if (at + sizeof(word) > *end) *end = at + sizeof(word);
  }
  return *end > *start;
}

static void read_unbound(struct unbound *unbound, const struct pfp_object *object) {
  uintptr_t start, end;
  int descriptor;
  memset(unbound, 0, sizeof *unbound);
  if (object->binds_now || object->path[0] == 0 || !slot_range(object, &start, &end)) return;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if (start < segment->start || end > segment->start + segment->file_size) continue;
    descriptor = open(object->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return;
    unbound->bytes = malloc(end - start);
    if (unbound->bytes != NULL &&
        pread(descriptor, unbound->bytes, end - start, (off_t)(segment->offset + (start - segment->start))) ==
            (ssize_t)(end - start)) {
      unbound->start = start;
      unbound->size = end - start;
    } else {
      free(unbound->bytes);
      unbound->bytes = NULL;
    }
    (void)close(descriptor);
    return;
  }
}

void pfp_object_links(struct pfp_object *object, const struct pfp_objects *objects) {
  struct walk walk = {.object = object, .objects = objects};
  uintptr_t table_pointer = pfp_dynamic_address(object, DT_PLTGOT);
  object->loose = 0;
  object->astray = 0;
  object->astray_first[0] = 0;
  if (object->is_vdso || object->dynamic == NULL) return;
  walk.symbols = (const ElfW(Sym) *)pfp_dynamic_address(object, DT_SYMTAB);
  walk.versions = (const ElfW(Half) *)pfp_dynamic_address(object, DT_VERSYM);
  if (walk.symbols == NULL) return;
  read_unbound(&walk.unbound, object);
  pfp_transcript_init(&walk.transcript, PFP_LABEL_LINKS);
  table(&walk, pfp_dynamic_address(object, DT_RELA), pfp_dynamic_value(object, DT_RELASZ, 0));
  if (pfp_dynamic_value(object, DT_PLTREL, DT_RELA) == DT_RELA) {
    table(&walk, pfp_dynamic_address(object, DT_JMPREL), pfp_dynamic_value(object, DT_PLTRELSZ, 0));
  }
  packed(&walk);
  // The third word is the loader's resolver, through which every unbound slot goes.
  if (!object->binds_now && table_pointer != 0 && in_data(object, table_pointer + 2 * sizeof(word))) {
    word resolver = load(table_pointer + 2 * sizeof(word));
    const struct pfp_object *owner = resolver != 0 ? pfp_objects_at(objects, resolver) : NULL;
    // Zero where LD_BIND_NOW was set: then there is no lazy slot either, and both are told alike.
    if (resolver != 0 && (owner == NULL || strncmp(owner->name, "ld", 2) != 0)) {
      (void)tell(&walk, table_pointer + 2 * sizeof(word), resolver);
      stray(&walk, "the loader's resolver", owner, resolver);
    }
  }
  pfp_transcript_final(object->links, &walk.transcript);
  object->has_links = 1;
  free(walk.unbound.bytes);
}

enum { PARTS_MAX = 3 };

/// Where the words stand. The number of parts.
static size_t raw_parts(struct pfp_content parts[PARTS_MAX], const struct pfp_object *object) {
  size_t count = 0;
  uintptr_t start, end;
  uintptr_t words = pfp_dynamic_address(object, DT_PLTGOT);
  if (object->relro_end > object->relro) {
    parts[count].bytes = (const uint8_t *)object->relro;
    parts[count++].size = object->relro_end - object->relro;
  }
  if (slot_range(object, &start, &end) && !(in_relro(object, start) && in_relro(object, end - sizeof(word)))) {
    parts[count].bytes = (const uint8_t *)start;
    parts[count++].size = end - start;
  }
  if (words != 0 && in_data(object, words + 2 * sizeof(word))) {
    parts[count].bytes = (const uint8_t *)words;
    parts[count++].size = 3 * sizeof(word);
  }
  return count;
}

int pfp_objects_links_raw(struct pfp_objects *objects, const struct pfp_hash *hash) {
  struct pfp_content *parts = calloc(objects->count * PARTS_MAX, sizeof *parts);
  size_t count = 0, at = 0;
  if (parts == NULL) return -1;
  for (size_t i = 0; i < objects->count; i++) {
    if (objects->items[i].readable) count += raw_parts(parts + count, &objects->items[i]);
  }
  if (pfp_hash_memory(hash, parts, count) != 0) {
    free(parts);
    return -1;
  }
  for (size_t i = 0; i < objects->count; i++) {
    struct pfp_object *object = &objects->items[i];
    struct pfp_transcript transcript;
    struct pfp_content own[PARTS_MAX];
    if (!object->readable) continue;
    pfp_transcript_init(&transcript, PFP_LABEL_RAW);
    for (size_t part = raw_parts(own, object); part != 0; part--) {
      pfp_transcript_raw(&transcript, parts[at++].digest, PFP_HASH_BYTES);
    }
    pfp_transcript_final(object->links_raw, &transcript);
  }
  free(parts);
  return 0;
}

#else

void pfp_object_links(struct pfp_object *object, const struct pfp_objects *objects) {
  (void)objects;
  object->has_links = 0;
}

int pfp_objects_links_raw(struct pfp_objects *objects, const struct pfp_hash *hash) {
  (void)objects;
  (void)hash;
  return 0;
}

#endif
