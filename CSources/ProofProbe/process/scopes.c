// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "process/symbols.h"

// Choices --------------------------------------------------------------------------------------------------------

/// Calls a resolver as the loader does.
static uintptr_t call_resolver(uintptr_t resolver) {
#if defined(__x86_64__)
  uintptr_t (*call)(void);
  memcpy(&call, &resolver, sizeof call);
  return call();
#elif defined(__aarch64__)
  // sys/ifunc.h: the bit says that there is a second argument.
  const struct {
    unsigned long size, first, second;
  } capabilities = {sizeof capabilities, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  uintptr_t (*call)(uint64_t, const void *);
  memcpy(&call, &resolver, sizeof call);
  return call(capabilities.first | UINT64_C(1) << 62, &capabilities);
#else
  (void)resolver;
  return 0;
#endif
}

static int is_code(const struct pfp_object *object, uintptr_t address) {
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if ((segment->flags & PFP_EXECUTE) != 0 && address >= segment->start &&
        address - segment->start < segment->file_size) {
      return 1;
    }
  }
  return 0;
}

uintptr_t pfp_scopes_choose(struct pfp_scopes *scopes, const struct pfp_object *object, uintptr_t resolver) {
  struct pfp_choice *choice = &scopes->choices[(resolver >> 4) % PFP_CHOICES];
  if (!object->readable || !is_code(object, resolver)) return 0;
  if (choice->resolver != resolver) *choice = (struct pfp_choice){resolver, call_resolver(resolver)};
  return choice->answer;
}

int pfp_scopes_lead(struct pfp_scopes *scopes, const struct pfp_definition *definition, uintptr_t address) {
  uintptr_t at = pfp_definition_address(definition);
  if (ELF64_ST_TYPE(definition->symbol->st_info) != STT_GNU_IFUNC) return at == address;
  return pfp_scopes_choose(scopes, definition->object, at) == address;
}

// Lists ----------------------------------------------------------------------------------------------------------

/// Writes an object's list: itself, what it needs, what those need, each once. Returns the number.
static size_t make_list(size_t *list, const struct pfp_objects *objects, size_t root, uint8_t *listed) {
  size_t count = 0;
  memset(listed, 0, objects->count);
  list[count++] = root;
  listed[root] = 1;
  for (size_t i = 0; i < count; i++) {
    const struct pfp_object *object = &objects->items[list[i]];
    for (const ElfW(Dyn) *entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
      size_t needed = entry->d_tag == DT_NEEDED ? pfp_objects_needed(objects, object, entry->d_un.d_val) : SIZE_MAX;
      if (needed == SIZE_MAX || listed[needed]) continue;
      listed[needed] = 1;
      list[count++] = needed;
    }
  }
  return count;
}

static void add_global(struct pfp_scopes *scopes, size_t index) {
  if (scopes->is_global[index] || scopes->objects->items[index].is_vdso) return;
  scopes->is_global[index] = 1;
  scopes->global[scopes->global_count++] = index;
}

/// The objects that were loaded before the program began: those that the executable needs, those that stand before the
/// last of them in the order of loading (preloaded), and those that these need.
static void find_initial(struct pfp_scopes *scopes, size_t *list, uint8_t *needed, uint8_t *listed) {
  const struct pfp_objects *objects = scopes->objects;
  size_t count = make_list(list, objects, 0, needed), last = 0;
  for (size_t i = 0; i < count; i++) {
    if (list[i] > last) last = list[i];
  }
  for (size_t i = 0; i <= last; i++) {
    if (needed[i]) continue;
    count = make_list(list, objects, i, listed);
    for (size_t j = 0; j < count; j++) needed[list[j]] = 1;
  }
  for (size_t i = 0; i < objects->count; i++) {
    if (needed[i]) add_global(scopes, i);
  }
}

/// Whether the program's own scope has an opened object: asked by a name that no other object has. An object without
/// such a name is taken for one that was opened for itself.
static int is_opened_for_all(const struct pfp_scopes *scopes, size_t index, void *program) {
  enum { TRIES = 16 };
  uint32_t at = 0;
  for (unsigned tries = 0; tries < TRIES; tries++, at++) {
    struct pfp_wanted wanted = {.name = pfp_symbols_next(&scopes->symbols[index], &at)};
    struct pfp_definition found;
    size_t others = 0;
    if (wanted.name == NULL) return 0;
    wanted = pfp_symbols_wanted(&scopes->symbols[index], at);
    wanted.version = NULL;
    for (size_t i = 0; i < scopes->objects->count && others == 0; i++) {
      others += i != index && pfp_symbols_find(&found, &scopes->symbols[i], &wanted);
    }
    if (others == 0 && pfp_symbols_find(&found, &scopes->symbols[index], &wanted)) {
      return dlsym(program, wanted.name) != NULL;
    }
  }
  return 0;
}

/// Lists of the objects that dlopen was called for.
static void find_opened(struct pfp_scopes *scopes, uint8_t *covered) {
  const struct pfp_objects *objects = scopes->objects;
  void *program = NULL;
  for (size_t i = 0; i < objects->count; i++) {
    size_t *list = scopes->lists + scopes->list_count * objects->count;
    size_t count;
    if (scopes->is_global[i] || covered[i] || objects->items[i].is_vdso) continue;
    if (program == NULL) program = dlopen(NULL, RTLD_LAZY);
    count = make_list(list, objects, i, scopes->listed + scopes->list_count * objects->count);
    for (size_t j = 0; j < count; j++) covered[list[j]] = 1;
    scopes->list_counts[scopes->list_count++] = count;
    if (program != NULL && is_opened_for_all(scopes, i, program)) {
      for (size_t j = 0; j < count; j++) add_global(scopes, list[j]);
    }
  }
  if (program != NULL) (void)dlclose(program);
}

// Make and free --------------------------------------------------------------------------------------------------

static void count_namesakes(struct pfp_scopes *scopes) {
  const struct pfp_objects *objects = scopes->objects;
  for (size_t i = 0; i < objects->count; i++) {
    // Names are found by their first owner; only where that is another one there is something to count.
    if (pfp_objects_named(objects, objects->items[i].name) == i) continue;
    for (size_t j = 0; j < i; j++) scopes->namesakes[i] += strcmp(objects->items[j].name, objects->items[i].name) == 0;
  }
}

int pfp_scopes_make(struct pfp_scopes *scopes, const struct pfp_objects *objects) {
  size_t count = objects->count, opened = 0;
  uint8_t *marks = calloc(2 * count + 1, sizeof *marks);
  size_t *list = calloc(count + 1, sizeof *list);
  int result = -1;
  memset(scopes, 0, sizeof *scopes);
  scopes->objects = objects;
  scopes->symbols = calloc(count + 1, sizeof *scopes->symbols);
  scopes->global = calloc(count + 1, sizeof *scopes->global);
  scopes->is_global = calloc(count + 1, sizeof *scopes->is_global);
  scopes->list_counts = calloc(count + 1, sizeof *scopes->list_counts);
  scopes->namesakes = calloc(count + 1, sizeof *scopes->namesakes);
  if (marks == NULL || list == NULL || scopes->symbols == NULL || scopes->global == NULL ||
      scopes->is_global == NULL || scopes->list_counts == NULL || scopes->namesakes == NULL) {
    goto end;
  }
  for (size_t i = 0; i < count; i++) {
    if (pfp_symbols_open(&scopes->symbols[i], &objects->items[i]) != 0) goto end;
  }
  find_initial(scopes, list, marks, marks + count);
  for (size_t i = 0; i < count; i++) opened += !scopes->is_global[i];
  scopes->lists = calloc(opened * count + 1, sizeof *scopes->lists);
  scopes->listed = calloc(opened * count + 1, sizeof *scopes->listed);
  if (scopes->lists == NULL || scopes->listed == NULL) goto end;
  memset(marks, 0, count);
  find_opened(scopes, marks);
  count_namesakes(scopes);
  result = 0;
end:
  free(list);
  free(marks);
  if (result != 0) pfp_scopes_free(scopes);
  return result;
}

void pfp_scopes_free(struct pfp_scopes *scopes) {
  for (size_t i = 0; scopes->symbols != NULL && i < scopes->objects->count; i++) {
    pfp_symbols_close(&scopes->symbols[i]);
  }
  free(scopes->symbols);
  free(scopes->global);
  free(scopes->is_global);
  free(scopes->lists);
  free(scopes->listed);
  free(scopes->list_counts);
  free(scopes->namesakes);
  memset(scopes, 0, sizeof *scopes);
}

// Answers --------------------------------------------------------------------------------------------------------

static size_t index_of(const struct pfp_scopes *scopes, const struct pfp_object *object) {
  return (size_t)(object - scopes->objects->items);
}

const struct pfp_symbols *pfp_scopes_symbols(const struct pfp_scopes *scopes, const struct pfp_object *object) {
  return &scopes->symbols[index_of(scopes, object)];
}

static int find_in(struct pfp_definition *found, const struct pfp_scopes *scopes, const size_t *list, size_t count,
                   const struct pfp_wanted *wanted) {
  for (size_t i = 0; i < count; i++) {
    if (pfp_symbols_find(found, &scopes->symbols[list[i]], wanted)) return 1;
  }
  return 0;
}

static int binds_itself(const struct pfp_object *object) {
  return (pfp_dynamic_value(object, DT_FLAGS, 0) & DF_SYMBOLIC) != 0 ||
         pfp_dynamic_value(object, DT_SYMBOLIC, UINT64_MAX) != UINT64_MAX;
}

int pfp_scopes_find(struct pfp_definition *found, const struct pfp_scopes *scopes, const struct pfp_object *object,
                    const struct pfp_wanted *wanted) {
  size_t own = index_of(scopes, object);
  if (wanted->name[0] == 0) return 0;
  if (binds_itself(object) && pfp_symbols_find(found, &scopes->symbols[own], wanted)) return 1;
  if (find_in(found, scopes, scopes->global, scopes->global_count, wanted)) return 1;
  if (scopes->is_global[own]) return 0;
  for (size_t i = 0; i < scopes->list_count; i++) {
    const size_t *list = scopes->lists + i * scopes->objects->count;
    if (scopes->listed[i * scopes->objects->count + own] &&
        find_in(found, scopes, list, scopes->list_counts[i], wanted)) {
      return 1;
    }
  }
  return 0;
}

int pfp_scopes_may_find(const struct pfp_definition *definition, const struct pfp_scopes *scopes,
                        const struct pfp_object *object, const struct pfp_wanted *wanted) {
  size_t own = index_of(scopes, object);
  for (size_t i = 0; i < scopes->list_count; i++) {
    const size_t *list = scopes->lists + i * scopes->objects->count;
    struct pfp_definition found;
    if (scopes->listed[i * scopes->objects->count + own] &&
        find_in(&found, scopes, list, scopes->list_counts[i], wanted) && found.symbol == definition->symbol) {
      return 1;
    }
  }
  return 0;
}
