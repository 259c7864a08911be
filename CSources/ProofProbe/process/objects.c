// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "process/process.h"

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

uintptr_t pfp_dynamic_address(const struct pfp_object *object, ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == tag) {
      uintptr_t value = (uintptr_t)entry->d_un.d_ptr;
      if (value >= object->low && value < object->high) return value;
      return value + object->bias;
    }
  }
  return 0;
}

uint64_t pfp_dynamic_value(const struct pfp_object *object, ElfW(Sxword) tag, uint64_t otherwise) {
  for (const ElfW(Dyn) *entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == tag) return entry->d_un.d_val;
  }
  return otherwise;
}

/// The string at an offset of the object's string table, or NULL if it does not lie in it.
static const char *string_at(const struct pfp_object *object, uint64_t offset) {
  if (object->strings == NULL || offset >= object->strings_size) return NULL;
  if (memchr(object->strings + offset, 0, object->strings_size - offset) == NULL) return NULL;
  return object->strings + offset;
}

static void read_dynamic(struct pfp_object *object) {
  uintptr_t strings = pfp_dynamic_address(object, DT_STRTAB);
  uint64_t flags = pfp_dynamic_value(object, DT_FLAGS, 0);
  uint64_t flags_1 = pfp_dynamic_value(object, DT_FLAGS_1, 0);
  object->strings_size = (size_t)pfp_dynamic_value(object, DT_STRSZ, 0);
  if (strings >= object->low && strings < object->high && object->strings_size <= object->high - strings) {
    object->strings = (const char *)strings;
  }
  object->relocates_text =
      (flags & DF_TEXTREL) != 0 || pfp_dynamic_value(object, DT_TEXTREL, UINT64_MAX) != UINT64_MAX;
  object->binds_now = (flags & DF_BIND_NOW) != 0 || (flags_1 & DF_1_NOW) != 0 ||
                      pfp_dynamic_value(object, DT_BIND_NOW, UINT64_MAX) != UINT64_MAX;
}

static void read_note(struct pfp_object *object, uintptr_t start, size_t size) {
  size_t at = 0;
  while (size - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    size_t name, description;
    memcpy(&note, (const void *)(start + at), sizeof note);
    name = at + sizeof note;
    description = name + ((note.n_namesz + 3u) & ~3u);
    if (description > size || note.n_descsz > size - description) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp((const void *)(start + name), "GNU", 4) == 0) {
      object->build_id = (const uint8_t *)(start + description);
      object->build_id_size = note.n_descsz;
      return;
    }
    at = description + ((note.n_descsz + 3u) & ~3u);
    if (at > size) return;
  }
}

static void read_headers(struct pfp_object *object, const struct dl_phdr_info *info) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  object->low = UINTPTR_MAX;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t start = object->bias + header->p_vaddr;
    if (header->p_type == PT_LOAD) {
      struct pfp_segment *segment;
      if (start < object->low) object->low = start;
      if (start + header->p_memsz > object->high) object->high = start + header->p_memsz;
      if (object->segment_count == PFP_SEGMENTS_MAX) {
        // More than any linker makes: what is not looked at must not look clean.
        object->misplaced++;
        continue;
      }
      segment = &object->segments[object->segment_count++];
      segment->start = start;
      segment->size = header->p_memsz;
      segment->file_size = header->p_filesz;
      segment->offset = header->p_offset;
      segment->flags = ((header->p_flags & PF_R) != 0 ? PFP_READ : 0u) |
                       ((header->p_flags & PF_W) != 0 ? PFP_WRITE : 0u) |
                       ((header->p_flags & PF_X) != 0 ? PFP_EXECUTE : 0u);
    } else if (header->p_type == PT_DYNAMIC) {
      object->dynamic = (const ElfW(Dyn) *)start;
    } else if (header->p_type == PT_GNU_RELRO) {
      // The loader protects whole pages; the words behind the last whole one stay writable and may change.
      object->relro = start;
      object->relro_end = (start + header->p_memsz) & ~(page - 1);
      if (object->relro_end < object->relro) object->relro_end = object->relro;
    } else if (header->p_type == PT_NOTE && object->build_id == NULL) {
      read_note(object, start, header->p_memsz);
    }
  }
  if (object->low == UINTPTR_MAX) object->low = object->high = object->bias;
}

static void set_name(struct pfp_object *object, const char *loader_name) {
  uint64_t offset = pfp_dynamic_value(object, DT_SONAME, UINT64_MAX);
  const char *name = offset != UINT64_MAX ? string_at(object, offset) : NULL;
  if (object->is_executable) {
    name = "executable";
  } else if (name == NULL || *name == 0) {
    name = *loader_name != 0 ? base_name(loader_name) : "nameless";
  }
  (void)snprintf(object->name, sizeof object->name, "%.200s", name);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *context) {
  struct pfp_objects *objects = context;
  struct pfp_object *object;
  if (objects->count == objects->capacity) {
    size_t capacity = objects->capacity != 0 ? 2 * objects->capacity : 16;
    struct pfp_object *grown = realloc(objects->items, capacity * sizeof *grown);
    if (grown == NULL) {
      objects->failed = 1;
      return 1;
    }
    objects->items = grown;
    objects->capacity = capacity;
  }
  object = &objects->items[objects->count];
  memset(object, 0, sizeof *object);
  object->bias = (uintptr_t)info->dlpi_addr;
  read_headers(object, info);
  if (object->segment_count == 0) return 0;
  object->is_executable = objects->count == 0;
  object->is_vdso = object->low != 0 && object->low == (uintptr_t)getauxval(AT_SYSINFO_EHDR);
  if (object->dynamic != NULL) read_dynamic(object);
  set_name(object, info->dlpi_name != NULL ? info->dlpi_name : "");
  objects->count++;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
    objects->added = info->dlpi_adds;
    objects->removed = info->dlpi_subs;
  }
  return 0;
}

/// For qsort, which takes no context: the objects that `by_address` is sorted by. One thread at a time uses a probe,
/// but several probes may be used.
static _Thread_local const struct pfp_object *sorted_items;

static int compare_addresses(const void *left, const void *right) {
  const struct pfp_object *a = &sorted_items[*(const size_t *)left], *b = &sorted_items[*(const size_t *)right];
  return (a->low > b->low) - (a->low < b->low);
}

static void sort_by_address(struct pfp_objects *objects) {
  objects->by_address = calloc(objects->count + 1, sizeof *objects->by_address);
  if (objects->by_address == NULL) {
    objects->failed = 1;
    return;
  }
  for (size_t i = 0; i < objects->count; i++) objects->by_address[i] = i;
  sorted_items = objects->items;
  qsort(objects->by_address, objects->count, sizeof *objects->by_address, compare_addresses);
  sorted_items = NULL;
}

int pfp_objects_read(struct pfp_objects *objects) {
  memset(objects, 0, sizeof *objects);
  (void)dl_iterate_phdr(add_object, objects);
  if (!objects->failed) sort_by_address(objects);
  if (objects->failed) pfp_objects_free(objects);
  return objects->items == NULL ? -1 : 0;
}

static int read_counters(struct dl_phdr_info *info, size_t size, void *context) {
  struct pfp_objects *now = context;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
    now->added = info->dlpi_adds;
    now->removed = info->dlpi_subs;
  }
  return 1;
}

int pfp_objects_current(const struct pfp_objects *objects) {
  struct pfp_objects now = {0};
  (void)dl_iterate_phdr(read_counters, &now);
  return now.added == objects->added && now.removed == objects->removed;
}

// Names ----------------------------------------------------------------------------------------------------------

static int compare_names(const void *left, const void *right) {
  const struct pfp_object_name *a = left, *b = right;
  int order = strcmp(a->text, b->text);
  return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/// If there is no memory for it, names are looked for one by one.
static void sort_names(struct pfp_objects *objects) {
  free(objects->names);
  objects->names = calloc(2 * objects->count + 1, sizeof *objects->names);
  if (objects->names == NULL) return;
  for (size_t i = 0; i < objects->count; i++) {
    objects->names[2 * i] = (struct pfp_object_name){objects->items[i].name, i};
    objects->names[2 * i + 1] = (struct pfp_object_name){base_name(objects->items[i].path), i};
  }
  qsort(objects->names, 2 * objects->count, sizeof *objects->names, compare_names);
}

size_t pfp_objects_named(const struct pfp_objects *objects, const char *name) {
  size_t low = 0, high = 2 * objects->count;
  if (objects->names == NULL) {
    for (size_t i = 0; i < objects->count; i++) {
      const struct pfp_object *object = &objects->items[i];
      if (strcmp(object->name, name) == 0 || strcmp(base_name(object->path), name) == 0) return i;
    }
    return SIZE_MAX;
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(objects->names[middle].text, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 2 * objects->count || strcmp(objects->names[low].text, name) != 0) return SIZE_MAX;
  return objects->names[low].index;
}

size_t pfp_objects_needed(const struct pfp_objects *objects, const struct pfp_object *object, uint64_t offset) {
  const char *name = string_at(object, offset);
  return name != NULL ? pfp_objects_named(objects, base_name(name)) : SIZE_MAX;
}

/// Marks the first object of this name, and then what that one needs. Only the first: a second one of the same name is
/// not what anything asked for.
static void explain(struct pfp_objects *objects, size_t index, unsigned depth) {
  struct pfp_object *object;
  if (index == SIZE_MAX || objects->items[index].explained) return;
  object = &objects->items[index];
  object->explained = 1;
  if (depth == 0) return;
  for (const ElfW(Dyn) *entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_NEEDED) {
      explain(objects, pfp_objects_needed(objects, object, entry->d_un.d_val), depth - 1);
    }
  }
}

void pfp_objects_explain(struct pfp_objects *objects, const char *const *plugins, size_t plugin_count) {
  enum { DEPTH = 256 };  // Longer than any chain of libraries; each object is visited once.
  sort_names(objects);
  explain(objects, pfp_objects_named(objects, "executable"), DEPTH);
  for (size_t i = 0; i < plugin_count; i++) explain(objects, pfp_objects_named(objects, plugins[i]), DEPTH);
  for (size_t i = 0; i < objects->count; i++) {
    if (objects->items[i].is_vdso) objects->items[i].explained = 1;
  }
}

const struct pfp_object *pfp_objects_at(const struct pfp_objects *objects, uintptr_t address) {
  size_t low = 0, high = objects->count;
  // The last one that begins at or before the address.
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (objects->items[objects->by_address[middle]].low <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || address >= objects->items[objects->by_address[low - 1]].high) return NULL;
  return &objects->items[objects->by_address[low - 1]];
}

void pfp_objects_free(struct pfp_objects *objects) {
  free(objects->by_address);
  free(objects->names);
  free(objects->items);
  memset(objects, 0, sizeof *objects);
}
