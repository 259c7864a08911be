// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/machine.h"
#include "process/symbols.h"
#include "process/process.h"
#include "system/platform.h"
#include "evidence/transcript.h"

// Words that relocation fills and that must not change after it: the RELRO part, the PLT's slots, and GOT words
// wherever they stand. A word that names a symbol is told by the object it leads to, the symbol and its version; any
// other by the object and the offset in it. No load address changes either.
//
// Slots bound lazily change once in a lawful way, from "not bound" to what the loader finds. Both are told as what the
// loader finds; anything else is told as what it is.
//
// A function whose implementation is chosen at run time is told as its symbol, if the word holds what its resolver
// chooses.

#if PFP_HAS_LINKS

typedef uintptr_t word;

_Static_assert(sizeof(word) == 8, "64-bit ELF");

/// Words as the file has them: what an unbound slot of the PLT, or a relative word, holds before the load address is
/// added.
struct original {
  uintptr_t start;
  size_t size;
  uint8_t *bytes;
};

struct walk {
  struct pfp_object *object;
  struct pfp_scopes *scopes;
  const struct pfp_symbols *symbols;  ///< Symbols of the object
  struct pfp_transcript transcript;
  struct original unbound;  ///< Slots of the PLT
  struct original sealed;   ///< RELRO, of a system module whose relative words are packed
  uintptr_t slots, slots_end;  ///< Slots of the PLT
};

/// The kinds of word in the evidence; the kind comes first in a record.
enum { NOTHING = 0, OUTSIDE = 1, SYMBOL = 2, PLACE = 3, CHOSEN = 4 };

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

// Telling --------------------------------------------------------------------------------------------------------

/// Where the word is, what it is told as, and, unless there is none, the object it leads to.
static void tell(struct walk *walk, uintptr_t at, uint64_t as, const struct pfp_object *owner) {
  pfp_transcript_number(&walk->transcript, at - walk->object->bias);
  pfp_transcript_number(&walk->transcript, as);
  if (owner == NULL) return;
  pfp_transcript_text(&walk->transcript, owner->name);
  // A second object of a name is not the first.
  pfp_transcript_number(&walk->transcript, walk->scopes->namesakes[owner - walk->scopes->objects->items]);
}

/// Tells a word by the place it leads to. Returns the object there, or NULL.
static const struct pfp_object *tell_place(struct walk *walk, uintptr_t at, word value) {
  const struct pfp_object *owner = value != 0 ? pfp_objects_at(walk->scopes->objects, value) : NULL;
  tell(walk, at, value == 0 ? NOTHING : owner == NULL ? OUTSIDE : PLACE, owner);
  // The kernel may lay out its own object anew at each release: there the object alone counts.
  if (owner != NULL) pfp_transcript_number(&walk->transcript, owner->is_vdso ? 0 : value - owner->bias);
  return owner;
}

static void tell_symbol(struct walk *walk, uintptr_t at, const struct pfp_definition *definition,
                        const struct pfp_wanted *wanted, word addend) {
  tell(walk, at, SYMBOL, definition->object);
  pfp_transcript_text(&walk->transcript, wanted->name);
  pfp_transcript_text(&walk->transcript, definition->version);
  pfp_transcript_number(&walk->transcript, addend);
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

// Symbols --------------------------------------------------------------------------------------------------------

/// Whether a word is the file's plus the load address.
static int is_original(const struct original *original, const struct pfp_object *object, uintptr_t at) {
  word value;
  if (original->bytes == NULL || at < original->start || original->size < sizeof value ||
      at - original->start > original->size - sizeof value) {
    return 0;
  }
  memcpy(&value, original->bytes + (at - original->start), sizeof value);
  return load(at) == value + object->bias;
}

/// Whether the object at an address has an entry of the name for it.
static int named_there(struct pfp_definition *found, const struct walk *walk, const struct pfp_wanted *wanted,
                       word value) {
  const struct pfp_object *owner = pfp_objects_at(walk->scopes->objects, value);
  return owner != NULL && pfp_symbols_named(found, pfp_scopes_symbols(walk->scopes, owner), wanted, value);
}

/// A slot of the PLT that the loader fills at the first call: what it will find and what it has found are told alike.
static void lazy_slot(struct walk *walk, uintptr_t at, const struct pfp_wanted *wanted) {
  struct pfp_definition expected, there;
  word value = load(at);
  int finds = pfp_scopes_find(&expected, walk->scopes, walk->object, wanted);
  int lawful = is_original(&walk->unbound, walk->object, at);
  if (!lawful && finds) {
    // Only a word that was filled is asked for in this way: a resolver has been called for it before.
    lawful = pfp_objects_at(walk->scopes->objects, value) != NULL && pfp_scopes_lead(walk->scopes, &expected, value);
  }
  if (!lawful && finds && named_there(&there, walk, wanted, value)) {
    lawful = pfp_scopes_may_find(&there, walk->scopes, walk->object, wanted);
  }
  if (lawful && finds) {
    tell_symbol(walk, at, &expected, wanted, 0);
  } else if (lawful) {
    tell(walk, at, NOTHING, NULL);
  } else if (value != 0 && named_there(&there, walk, wanted, value)) {
    tell_symbol(walk, at, &there, wanted, 0);
    stray(walk, wanted->name, there.object, value);
  } else {
    const struct pfp_object *owner = tell_place(walk, at, value);
    if (value != 0) stray(walk, wanted->name, owner, value);
  }
}

/// A word with a symbol that the loader has filled before the program could run.
static void symbolic(struct walk *walk, uintptr_t at, const struct pfp_wanted *wanted, word addend) {
  struct pfp_definition found, expected;
  word value = load(at);
  int known = value != 0 && named_there(&found, walk, wanted, value - addend);
  int exactly = known && (wanted->version == NULL || strcmp(found.version, wanted->version) == 0);
  // Chosen by a resolver, which may lead to where another version is, or into the kernel's own object; or at the very
  // end of an object.
  if (!exactly && value != 0 && pfp_scopes_find(&expected, walk->scopes, walk->object, wanted) &&
      pfp_scopes_lead(walk->scopes, &expected, value - addend)) {
    found = expected;
    known = 1;
  }
  if (known) {
    tell_symbol(walk, at, &found, wanted, addend);
  } else {
    const struct pfp_object *owner = tell_place(walk, at, value);
    if (value != 0 && wanted->name[0] != 0) stray(walk, wanted->name, owner, value);
  }
}

/// A word that a resolver of this object's own chooses.
static void chosen(struct walk *walk, uintptr_t at, word resolver) {
  struct pfp_object *object = walk->object;
  word value = load(at);
  // A word that the loader has not filled yet leads nowhere.
  if (pfp_objects_at(walk->scopes->objects, value) != NULL &&
      pfp_scopes_choose(walk->scopes, object, object->bias + resolver) == value) {
    tell(walk, at, CHOSEN, object);
    pfp_transcript_number(&walk->transcript, resolver);
  } else {
    const struct pfp_object *owner = tell_place(walk, at, value);
    if (value != 0) stray(walk, "a chosen function", owner, value);
  }
}

// Relocations ----------------------------------------------------------------------------------------------------

static int is_slot(const struct walk *walk, uintptr_t at) { return at >= walk->slots && at < walk->slots_end; }

static void relocation(struct walk *walk, const ElfW(Rela) *entry) {
  struct pfp_object *object = walk->object;
  uintptr_t at = object->bias + entry->r_offset;
  uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
  uint32_t symbol = (uint32_t)ELF64_R_SYM(entry->r_info);
  word addend = (word)entry->r_addend;
  int sealed = in_relro(object, at);
  if (!in_data(object, at)) return;
  if (type == PFP_R_SLOT || type == PFP_R_GLOBAL || (type == PFP_R_WORD && sealed)) {
    struct pfp_wanted wanted = pfp_symbols_wanted(walk->symbols, symbol);
    wanted.is_call = type == PFP_R_SLOT;
    if (type == PFP_R_SLOT && !object->binds_now && !sealed) {
      lazy_slot(walk, at, &wanted);
    } else {
      symbolic(walk, at, &wanted, type == PFP_R_WORD ? addend : 0);
    }
  } else if (type == PFP_R_CHOSEN) {
    chosen(walk, at, addend);
  } else if (type == PFP_R_RELATIVE && sealed) {
    if (load(at) != object->bias + addend) object->moved++;
    (void)tell_place(walk, at, load(at));
  } else {
    return;
  }
  if (!sealed && !is_slot(walk, at)) object->loose++;
}

static void packed_word(struct walk *walk, uintptr_t at) {
  if (!in_relro(walk->object, at)) return;
  // The word itself had its place in it: only the file still has that.
  if (!is_original(&walk->sealed, walk->object, at)) walk->object->moved++;
  (void)tell_place(walk, at, load(at));
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
      packed_word(walk, at);
      next = at + sizeof(word);
      continue;
    }
    for (unsigned bit = 1; bit < 64; bit++) {
      uintptr_t at = next + (bit - 1) * sizeof(word);
      if ((entry >> bit & 1) != 0) packed_word(walk, at);
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

/// Reads what the file has at these addresses; nothing if that cannot be told. 0, or -1 for lack of memory or
/// descriptors: then a lawful word would be told as another one.
static int read_original(struct original *original, const struct pfp_object *object, uintptr_t start, uintptr_t end) {
  int descriptor;
  if (object->path[0] == 0 || end <= start) return 0;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if (start < segment->start || start - segment->start >= segment->file_size) continue;
    // RELRO may go on where the file does not.
    if (end > segment->start + segment->file_size) end = segment->start + segment->file_size;
    descriptor = open(object->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return pfp_error_is_resource(errno) ? -1 : 0;
    original->bytes = malloc(end - start);
    if (original->bytes == NULL) {
      (void)close(descriptor);
      return -1;
    }
    if (pread(descriptor, original->bytes, end - start, (off_t)(segment->offset + (start - segment->start))) ==
            (ssize_t)(end - start)) {
      original->start = start;
      original->size = end - start;
    } else {
      free(original->bytes);
      original->bytes = NULL;
    }
    (void)close(descriptor);
    return 0;
  }
  return 0;
}

int pfp_object_links(struct pfp_object *object, struct pfp_scopes *scopes) {
  struct walk walk = {.object = object, .scopes = scopes};
  uintptr_t table_pointer = pfp_dynamic_address(object, DT_PLTGOT);
  object->loose = 0;
  object->astray = 0;
  object->moved = 0;
  object->astray_first[0] = 0;
  if (object->is_vdso || object->dynamic == NULL) return 0;
  walk.symbols = pfp_scopes_symbols(scopes, object);
  if (walk.symbols->symbols == NULL) return 0;
  if (!slot_range(object, &walk.slots, &walk.slots_end)) walk.slots = walk.slots_end = 0;
  if (!object->binds_now && read_original(&walk.unbound, object, walk.slots, walk.slots_end) != 0) return -1;
  if (object->is_system_module && pfp_dynamic_address(object, DT_RELR) != 0 &&
      read_original(&walk.sealed, object, object->relro, object->relro_end) != 0) {
    free(walk.unbound.bytes);
    return -1;
  }
  pfp_transcript_init(&walk.transcript, PFP_LABEL_LINKS);
  table(&walk, pfp_dynamic_address(object, DT_RELA), pfp_dynamic_value(object, DT_RELASZ, 0));
  if (pfp_dynamic_value(object, DT_PLTREL, DT_RELA) == DT_RELA) {
    table(&walk, pfp_dynamic_address(object, DT_JMPREL), pfp_dynamic_value(object, DT_PLTRELSZ, 0));
  }
  packed(&walk);
  // The third word is the loader's resolver, through which every unbound slot goes.
  if (!object->binds_now && table_pointer != 0 && in_data(object, table_pointer + 2 * sizeof(word))) {
    word resolver = load(table_pointer + 2 * sizeof(word));
    const struct pfp_object *owner = resolver != 0 ? pfp_objects_at(scopes->objects, resolver) : NULL;
    // Zero where LD_BIND_NOW was set: then there is no lazy slot either, and both are told alike.
    if (resolver != 0 && (owner == NULL || strncmp(owner->name, "ld", 2) != 0)) {
      (void)tell_place(&walk, table_pointer + 2 * sizeof(word), resolver);
      stray(&walk, "the loader's resolver", owner, resolver);
    }
  }
  pfp_transcript_final(object->links, &walk.transcript);
  object->has_links = 1;
  free(walk.unbound.bytes);
  free(walk.sealed.bytes);
  return 0;
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

int pfp_object_links(struct pfp_object *object, struct pfp_scopes *scopes) {
  (void)scopes;
  object->has_links = 0;
  return 0;
}

int pfp_objects_links_raw(struct pfp_objects *objects, const struct pfp_hash *hash) {
  (void)objects;
  (void)hash;
  return 0;
}

#endif
