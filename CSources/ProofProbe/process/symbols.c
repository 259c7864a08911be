// SPDX-License-Identifier: Apache-2.0

#include "process/symbols.h"

#include <string.h>
#include <stdlib.h>

/// Versions of symbols, as the table of versions has them.
enum { VERSION_MASK = 0x7FFF, VERSION_HIDDEN = 0x8000, VERSION_FIRST = 2 };

/// Whether these bytes lie in one segment that can be read. Between segments, pages of an object may not be readable.
static int spans(const struct pfp_object *object, const void *at, size_t size) {
  uintptr_t start = (uintptr_t)at;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if ((segment->flags & PFP_READ) == 0 || start < segment->start) continue;
    if (start - segment->start <= segment->size && size <= segment->size - (start - segment->start)) return 1;
  }
  return 0;
}

static const char *string_at(const struct pfp_object *object, uint64_t offset) {
  return offset < object->strings_size ? object->strings + offset : "";
}

// Versions -------------------------------------------------------------------------------------------------------

/// Sets the name of a version; grows the table.
static int set_version(struct pfp_symbols *symbols, size_t index, const char *name) {
  if (index >= symbols->version_count) {
    size_t count = index + 1;
    const char **grown = realloc(symbols->version_names, count * sizeof *grown);
    if (grown == NULL) return -1;
    for (size_t i = symbols->version_count; i < count; i++) grown[i] = NULL;
    symbols->version_names = grown;
    symbols->version_count = count;
  }
  symbols->version_names[index] = name;
  return 0;
}

static int read_needed_versions(struct pfp_symbols *symbols) {
  const struct pfp_object *object = symbols->object;
  uintptr_t at = pfp_dynamic_address(object, DT_VERNEED);
  uint64_t count = pfp_dynamic_value(object, DT_VERNEEDNUM, 0);
  for (uint64_t i = 0; at != 0 && i < count; i++) {
    const ElfW(Verneed) *need = (const ElfW(Verneed) *)at;
    uintptr_t inner = at + need->vn_aux;
    for (unsigned j = 0; j < need->vn_cnt; j++) {
      const ElfW(Vernaux) *version = (const ElfW(Vernaux) *)inner;
      if (set_version(symbols, version->vna_other & VERSION_MASK, string_at(object, version->vna_name)) != 0) return -1;
      inner += version->vna_next;
    }
    at += need->vn_next;
  }
  return 0;
}

static int read_defined_versions(struct pfp_symbols *symbols) {
  const struct pfp_object *object = symbols->object;
  uintptr_t at = pfp_dynamic_address(object, DT_VERDEF);
  uint64_t count = pfp_dynamic_value(object, DT_VERDEFNUM, 0);
  for (uint64_t i = 0; at != 0 && i < count; i++) {
    const ElfW(Verdef) *definition = (const ElfW(Verdef) *)at;
    const ElfW(Verdaux) *version = (const ElfW(Verdaux) *)(at + definition->vd_aux);
    // The first is the object's own name, and no symbol's version.
    if ((definition->vd_flags & VER_FLG_BASE) == 0 &&
        set_version(symbols, definition->vd_ndx & VERSION_MASK, string_at(object, version->vda_name)) != 0) {
      return -1;
    }
    at += definition->vd_next;
  }
  return 0;
}

/// The version of an entry, or NULL.
static const char *version_of(const struct pfp_symbols *symbols, uint32_t index) {
  size_t version = symbols->versions != NULL ? symbols->versions[index] & VERSION_MASK : 0;
  return version < symbols->version_count ? symbols->version_names[version] : NULL;
}

// Tables ---------------------------------------------------------------------------------------------------------

int pfp_symbols_open(struct pfp_symbols *symbols, const struct pfp_object *object) {
  const uint32_t *gnu = (const uint32_t *)pfp_dynamic_address(object, DT_GNU_HASH);
  const uint32_t *old = (const uint32_t *)pfp_dynamic_address(object, DT_HASH);
  memset(symbols, 0, sizeof *symbols);
  symbols->object = object;
  // A name that has no end would be read beyond the table.
  if (!object->readable || object->strings == NULL || object->strings_size == 0 ||
      object->strings[object->strings_size - 1] != 0) {
    return 0;
  }
  symbols->symbols = (const ElfW(Sym) *)pfp_dynamic_address(object, DT_SYMTAB);
  if (symbols->symbols == NULL) return 0;
  symbols->versions = (const ElfW(Half) *)pfp_dynamic_address(object, DT_VERSYM);
  if (gnu != NULL && spans(object, gnu, 4 * sizeof *gnu) && gnu[0] != 0 && gnu[2] != 0) {
    symbols->gnu_hash = gnu;
  } else if (old != NULL && spans(object, old, 2 * sizeof *old) && old[0] != 0) {
    symbols->old_hash = old;
  }
  return read_needed_versions(symbols) == 0 && read_defined_versions(symbols) == 0 ? 0 : -1;
}

void pfp_symbols_close(struct pfp_symbols *symbols) {
  free(symbols->version_names);
  memset(symbols, 0, sizeof *symbols);
}

static uint32_t gnu_hash(const char *name) {
  uint32_t hash = 5381;
  for (; *name != 0; name++) hash = hash * 33 + (uint8_t)*name;
  return hash;
}

static uint32_t old_hash(const char *name) {
  uint32_t hash = 0;
  for (; *name != 0; name++) {
    uint32_t high;
    hash = (hash << 4) + (uint8_t)*name;
    high = hash & 0xF0000000u;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

/// Goes through the entries of one name, by whichever hash table the object has.
struct entries {
  const struct pfp_symbols *symbols;
  const struct pfp_wanted *wanted;
  const uint32_t *buckets, *chain;
  uint32_t at;  ///< The entry to look at next; 0 at the end
  uint32_t first;
};

static struct entries entries_of(const struct pfp_symbols *symbols, const struct pfp_wanted *wanted) {
  struct entries entries = {.symbols = symbols, .wanted = wanted};
  if (symbols->gnu_hash != NULL) {
    const uint32_t *table = symbols->gnu_hash;
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
    const unsigned bits = 8 * sizeof *bloom;
    ElfW(Addr) word = bloom[wanted->hash / bits & (table[2] - 1)];
    if ((word >> (wanted->hash % bits) & word >> (wanted->hash >> (table[3] & 31)) % bits & 1) == 0) return entries;
    entries.buckets = (const uint32_t *)(bloom + table[2]);
    entries.chain = entries.buckets + table[0];
    entries.first = table[1];
    entries.at = entries.buckets[wanted->hash % table[0]];
    if (entries.at < entries.first) entries.at = 0;
  } else if (symbols->old_hash != NULL) {
    const uint32_t *table = symbols->old_hash;
    entries.buckets = table + 2;
    entries.chain = entries.buckets + table[0];
    entries.at = entries.buckets[old_hash(wanted->name) % table[0]];
  }
  return entries;
}

/// The index of the next entry of the name, or 0.
static uint32_t next_entry(struct entries *entries) {
  const struct pfp_symbols *symbols = entries->symbols;
  while (entries->at != 0) {
    uint32_t index = entries->at;
    const ElfW(Sym) *symbol = &symbols->symbols[index];
    int fits = 1;
    if (symbols->gnu_hash != NULL) {
      const uint32_t *link = &entries->chain[index - entries->first];
      if (!spans(symbols->object, link, sizeof *link)) return 0;
      fits = (*link | 1) == (entries->wanted->hash | 1);
      entries->at = (*link & 1) != 0 ? 0 : index + 1;
    } else {
      const uint32_t *link = &entries->chain[index];
      if (!spans(symbols->object, link, sizeof *link)) return 0;
      entries->at = *link;
    }
    if (fits && strcmp(string_at(symbols->object, symbol->st_name), entries->wanted->name) == 0) return index;
  }
  return 0;
}

/// Whether an entry is something that a name can stand for.
static int defines(const ElfW(Sym) *symbol, int is_call) {
  unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
  if (symbol->st_value == 0 && symbol->st_shndx != SHN_ABS) return 0;
  if (is_call && symbol->st_shndx == SHN_UNDEF) return 0;
  if (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE) return 0;
  return type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_COMMON || type == STT_GNU_IFUNC;
}

// Answers --------------------------------------------------------------------------------------------------------

struct pfp_wanted pfp_symbols_wanted(const struct pfp_symbols *symbols, uint32_t index) {
  struct pfp_wanted wanted = {.name = ""};
  if (symbols->symbols == NULL) return wanted;
  wanted.name = string_at(symbols->object, symbols->symbols[index].st_name);
  wanted.version = version_of(symbols, index);
  wanted.hash = gnu_hash(wanted.name);
  return wanted;
}

static void set(struct pfp_definition *found, const struct pfp_symbols *symbols, const struct pfp_wanted *wanted,
                uint32_t index) {
  const char *version = wanted->version != NULL ? version_of(symbols, index) : NULL;
  found->object = symbols->object;
  found->symbol = &symbols->symbols[index];
  found->version = version != NULL ? version : "";
}

int pfp_symbols_find(struct pfp_definition *found, const struct pfp_symbols *symbols, const struct pfp_wanted *wanted) {
  struct entries entries = entries_of(symbols, wanted);
  uint32_t index, only = 0;
  unsigned versioned = 0;
  while ((index = next_entry(&entries)) != 0) {
    ElfW(Half) raw = symbols->versions != NULL ? symbols->versions[index] : 0;
    if (!defines(&symbols->symbols[index], wanted->is_call)) continue;
    if (symbols->versions == NULL) {
      // No versions at all: the name is enough.
    } else if (wanted->version != NULL) {
      const char *version = version_of(symbols, index);
      if (version == NULL ? (raw & VERSION_HIDDEN) != 0 : strcmp(version, wanted->version) != 0) continue;
    } else if ((raw & VERSION_MASK) > VERSION_FIRST) {
      // Asked for without a version: the first version there ever was, or the only one.
      if ((raw & VERSION_HIDDEN) == 0 && versioned++ == 0) only = index;
      continue;
    }
    set(found, symbols, wanted, index);
    return 1;
  }
  if (versioned != 1) return 0;
  set(found, symbols, wanted, only);
  return 1;
}

int pfp_symbols_named(struct pfp_definition *found, const struct pfp_symbols *symbols, const struct pfp_wanted *wanted,
                      uintptr_t address) {
  struct entries entries = entries_of(symbols, wanted);
  uint32_t index;
  int any = 0;
  while ((index = next_entry(&entries)) != 0) {
    struct pfp_definition other;
    int asked;
    // At the address of such a function is its resolver, which is another function.
    if (ELF64_ST_TYPE(symbols->symbols[index].st_info) == STT_GNU_IFUNC) continue;
    if (!defines(&symbols->symbols[index], 0)) continue;
    set(&other, symbols, wanted, index);
    if (pfp_definition_address(&other) != address) continue;
    asked = wanted->version != NULL && strcmp(other.version, wanted->version) == 0;
    if (!any || asked || strcmp(other.version, found->version) < 0) *found = other;
    any = 1;
    if (asked) break;
  }
  return any;
}

/// The index behind the last symbol of a GNU hash table: no table tells it, so it is where the last bucket's chain
/// ends.
static uint32_t end_of(const struct pfp_symbols *symbols) {
  const uint32_t *table = symbols->gnu_hash;
  const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(table + 4) + table[2]);
  const uint32_t *chain = buckets + table[0];
  uint32_t last = 0;
  for (uint32_t i = 0; i < table[0] && spans(symbols->object, &buckets[i], sizeof *buckets); i++) {
    if (buckets[i] > last) last = buckets[i];
  }
  if (last < table[1]) return 0;
  while (spans(symbols->object, &chain[last - table[1]], sizeof *chain)) {
    if ((chain[last++ - table[1]] & 1) != 0) return last;
  }
  return 0;
}

const char *pfp_symbols_next(const struct pfp_symbols *symbols, uint32_t *index) {
  uint32_t end = symbols->gnu_hash != NULL ? end_of(symbols) : 0;
  if (end != 0 && *index < symbols->gnu_hash[1]) *index = symbols->gnu_hash[1];
  while (*index < end) {
    const ElfW(Sym) *symbol = &symbols->symbols[*index];
    if (!spans(symbols->object, symbol, sizeof *symbol)) return NULL;
    if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
        symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0) {
      return string_at(symbols->object, symbol->st_name);
    }
    ++*index;
  }
  return NULL;
}

uintptr_t pfp_definition_address(const struct pfp_definition *definition) {
  uintptr_t bias = definition->symbol->st_shndx == SHN_ABS ? 0 : definition->object->bias;
  return bias + (uintptr_t)definition->symbol->st_value;
}
