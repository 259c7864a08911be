// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/symbols.h"
#include "process/process.h"
#include "evidence/transcript.h"

// One look at the whole process: what is mapped, whether it is what the objects say, what stands in it.

/// The path of a mapped file, as the kernel names it.
static void identify(struct pfp_object *object, const struct pfp_mappings *mappings) {
  const struct pfp_mapping *mapping = pfp_mappings_at(mappings, object->segments[0].start);
  const char *name;
  if (mapping == NULL) return;
  name = mappings->names + mapping->name;
  object->device = mapping->device;
  object->inode = mapping->inode;
  if (mapping->inode != 0 && name[0] == '/' && strlen(name) < sizeof object->path) strcpy(object->path, name);
}

struct span {
  uintptr_t start, end;
};

static struct span pages_of(const struct pfp_segment *segment) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct span span = {segment->start & ~(page - 1), (segment->start + segment->file_size + page - 1) & ~(page - 1)};
  return span;
}

static int is_constant(const struct pfp_segment *segment) {
  return (segment->flags & PFP_WRITE) == 0 && segment->file_size != 0;
}

/// Whether the mappings tile every segment with the object's own file, at the right offset, with the right permissions.
/// Returns 1 if every constant byte may be read. Adds to `misplaced`.
static int check_tiles(struct pfp_object *object, const struct pfp_mappings *mappings) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  int readable = 1;
  if (object->inode == 0) object->misplaced++;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    struct span span = pages_of(segment);
    uint64_t offset = segment->offset & ~(page - 1);
    uintptr_t at = span.start;
    if (segment->file_size == 0) continue;
    while (at < span.end) {
      const struct pfp_mapping *mapping = pfp_mappings_at(mappings, at);
      unsigned access;
      if (mapping == NULL) {
        object->misplaced++;
        if (is_constant(segment)) readable = 0;
        break;
      }
      access = mapping->flags & (PFP_READ | PFP_WRITE | PFP_EXECUTE);
      if (mapping->device != object->device || mapping->inode != object->inode || mapping->inode == 0 ||
          mapping->offset + (at - mapping->start) != offset + (at - span.start) ||
          (mapping->flags & PFP_SHARED) != 0 ||
          (is_constant(segment) ? access != segment->flags
                                : (access & PFP_EXECUTE & ~segment->flags) != 0)) {
        object->misplaced++;
      }
      if (is_constant(segment) && (access & PFP_READ) == 0) readable = 0;
      at = mapping->end;
    }
  }
  return readable;
}

/// The vdso's place is the kernel's to choose and its content the kernel's release: it is identified, not hashed. What
/// is written into it shows as a private page.
static void check_vdso(struct pfp_object *object, const struct pfp_mappings *mappings) {
  const struct pfp_mapping *mapping = pfp_mappings_at(mappings, object->low);
  if (mapping == NULL || mapping->inode != 0 || strcmp(mappings->names + mapping->name, "[vdso]") != 0 ||
      (mapping->flags & PFP_WRITE) != 0) {
    object->misplaced++;
  }
}

/// Adds the pages of a span, in ranges that two threads can share. Segments that lie side by side become one range:
/// most of what a question costs is asking it. Returns the number of ranges; with `ranges` NULL it only counts.
static size_t add_ranges(struct pfp_page_range *ranges, size_t count, struct span span, size_t owner) {
  struct pfp_page_range *last = ranges != NULL && count != 0 ? &ranges[count - 1] : NULL;
  if (last != NULL && last->owner == owner && last->end == span.start &&
      span.end - last->start <= PFP_PAGE_RANGE_BYTES) {
    last->end = span.end;
    return count;
  }
  while (span.start < span.end) {
    uintptr_t end = span.end - span.start > PFP_PAGE_RANGE_BYTES ? span.start + PFP_PAGE_RANGE_BYTES : span.end;
    if (ranges != NULL) ranges[count] = (struct pfp_page_range){.start = span.start, .end = end, .owner = owner};
    count++;
    span.start = end;
  }
  return count;
}

uintptr_t pfp_objects_code_end(const struct pfp_objects *objects, uintptr_t address) {
  for (size_t i = 0; i < objects->count; i++) {
    const struct pfp_object *object = &objects->items[i];
    for (size_t j = 0; j < object->segment_count; j++) {
      const struct pfp_segment *segment = &object->segments[j];
      struct span span = pages_of(segment);
      if (!is_constant(segment) || (segment->flags & PFP_EXECUTE) == 0) continue;
      if (address >= span.start && address < span.end) return span.end;
    }
  }
  return 0;
}

static size_t all_ranges(struct pfp_page_range *ranges, const struct pfp_objects *objects) {
  size_t count = 0;
  for (size_t i = 0; i < objects->count; i++) {
    const struct pfp_object *object = &objects->items[i];
    for (size_t j = 0; j < object->segment_count; j++) {
      if (!is_constant(&object->segments[j])) continue;
      count = add_ranges(ranges, count, pages_of(&object->segments[j]), i);
    }
  }
  return count;
}

/// Counts the private pages of all objects; more than were found before count, fewer do not. 0, or -1 for lack of
/// memory.
static int count_private(struct pfp_objects *objects, const struct pfp_process *process) {
  // Unmerged ranges are more than merged ones, so there is room.
  size_t count = all_ranges(NULL, objects);
  struct pfp_page_range *ranges = calloc(count + 1, sizeof *ranges);
  long *sums = calloc(objects->count + 1, sizeof *sums);
  int result = ranges != NULL && sums != NULL ? 0 : -1;
  if (result == 0) {
    count = all_ranges(ranges, objects);
    pfp_pages_count(ranges, count, process);
    for (size_t i = 0; i < count; i++) {
      long *sum = &sums[ranges[i].owner];
      *sum = *sum < 0 || ranges[i].pages < 0 ? -1 : *sum + ranges[i].pages;
    }
    for (size_t i = 0; i < objects->count; i++) {
      struct pfp_object *object = &objects->items[i];
      if (object->private_pages < 0) continue;
      if (sums[i] < 0 || sums[i] > object->private_pages) object->private_pages = sums[i];
    }
  }
  free(sums);
  free(ranges);
  return result;
}

/// 1 if the file behind a mapping still reaches as far as its segments: reading beyond it would raise SIGBUS.
static int file_reaches(const struct pfp_object *object) {
  struct stat status;
  if (object->path[0] == 0 || object->replaced || stat(object->path, &status) != 0) return 1;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if (is_constant(segment) && segment->offset + segment->file_size > (uint64_t)status.st_size) return 0;
  }
  return 1;
}

/// Whether the digest of a segment that was made earlier holds: of each segment of an object whose file is guarded, and
/// of constants otherwise. Code of a file that programs of this user can change is hashed at each measurement.
static int is_kept(const struct pfp_object *object, const struct pfp_segment *segment,
                   const struct pfp_code_cache *kept) {
  return kept != NULL && (object->guarded || (segment->flags & PFP_EXECUTE) == 0);
}

/// Hashes what does not change as it stands in memory, unless it is kept. 1 if something was hashed, 0, or -1 for lack
/// of memory.
static int hash_code(struct pfp_object *object, const struct pfp_code_cache *kept, const struct pfp_look *look) {
  struct pfp_content contents[PFP_SEGMENTS_MAX];
  size_t segments[PFP_SEGMENTS_MAX];
  struct pfp_transcript transcript;
  size_t count = 0;
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if (!is_constant(segment)) continue;
    if (is_kept(object, segment, kept)) {
      memcpy(object->contents[i], kept->contents[i], PFP_HASH_BYTES);
      continue;
    }
    contents[count].bytes = (const uint8_t *)segment->start;
    contents[count].size = segment->file_size;
    segments[count++] = i;
  }
  if (count != 0 && pfp_hash_memory(look->hash, contents, count) != 0) return -1;
  for (size_t i = 0; i < count; i++) memcpy(object->contents[segments[i]], contents[i].digest, PFP_HASH_BYTES);
  pfp_transcript_init(&transcript, PFP_LABEL_CODE);
  pfp_transcript_add(&transcript, object->build_id, object->build_id_size);
  for (size_t i = 0; i < object->segment_count; i++) {
    const struct pfp_segment *segment = &object->segments[i];
    if (!is_constant(segment)) continue;
    pfp_transcript_number(&transcript, segment->start - object->bias);
    pfp_transcript_number(&transcript, segment->size);
    pfp_transcript_number(&transcript, segment->flags);
    pfp_transcript_raw(&transcript, object->contents[i], PFP_HASH_BYTES);
  }
  pfp_transcript_final(object->code, &transcript);
  object->has_code = 1;
  return count != 0;
}

static uint64_t constant_bytes(const struct pfp_object *object) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < object->segment_count; i++) {
    if (is_constant(&object->segments[i])) bytes += object->segments[i].file_size;
  }
  return bytes;
}

/// Whether the file's content is what it was at the last measurement: asks before memory is hashed, so that a change
/// between the two shows at the next question.
static int ask_unchanged(const struct pfp_object *object, const struct pfp_look *look) {
  struct pfp_entry entry;
  if (look->files == NULL || object->path[0] == 0 || !pfp_files_may_keep(look->files, object->path)) return 0;
  if (pfp_files_digest_file(look->files, object->path, &entry) != PFP_OK) return 0;
  return pfp_files_statistics(look->files)->reused == 1;
}

static const struct pfp_code_cache *known(const struct pfp_process *process, const struct pfp_object *object) {
  for (size_t i = 0; i < process->cache_count; i++) {
    const struct pfp_code_cache *entry = &process->cache[i];
    if (entry->bias == object->bias && entry->device == object->device && entry->inode == object->inode &&
        strcmp(entry->name, object->name) == 0) {
      return entry;
    }
  }
  return NULL;
}

/// 1 if the kernel vouches that the object's memory holds what it held when it was hashed: its file is mapped where it
/// should be, its path leads to that file, none of its pages is a private copy, and the file did not change since.
static int is_vouched_for(const struct pfp_object *object, const struct pfp_code_cache *entry) {
  return entry != NULL && object->unchanged && !entry->replaced && object->misplaced == 0 &&
         object->private_pages == 0;
}

/// Interprets the words of objects that are new or whose words are not what they were. Where words lead is told by the
/// objects there are: when one came or went, all are new.
static int look_at_links(struct pfp_view *view, const struct pfp_process *process, const struct pfp_look *look) {
  int incremental = look->files != NULL;
  int as_before = process->cache_added == view->objects.added && process->cache_removed == view->objects.removed;
  struct pfp_scopes scopes = {0};
  int result = PFP_OK;
  if (incremental && pfp_objects_links_raw(&view->objects, look->hash) != 0) return PFP_E_RESOURCE;
  for (size_t i = 0; i < view->objects.count && result == PFP_OK; i++) {
    struct pfp_object *object = &view->objects.items[i];
    const struct pfp_code_cache *entry = incremental && as_before ? known(process, object) : NULL;
    if (!object->readable) continue;
    if (entry != NULL && entry->has_links &&
        memcmp(entry->links_raw, object->links_raw, sizeof object->links_raw) == 0) {
      memcpy(object->links, entry->links, sizeof object->links);
      object->astray = entry->astray;
      object->moved = entry->moved;
      memcpy(object->astray_first, entry->astray_first, sizeof object->astray_first);
      object->has_links = 1;
      continue;
    }
    if (scopes.objects == NULL && pfp_scopes_make(&scopes, &view->objects) != 0) result = PFP_E_RESOURCE;
    if (result == PFP_OK && pfp_object_links(object, &scopes) != 0) result = PFP_E_RESOURCE;
  }
  pfp_scopes_free(&scopes);
  return result;
}

static int look_at(struct pfp_object *object, struct pfp_view *view, const struct pfp_process *process,
                   const struct pfp_look *look, int *hashed) {
  int incremental = look->files != NULL;
  const struct pfp_code_cache *entry;
  if (object->is_vdso) {
    if (view->has_mappings) check_vdso(object, &view->mappings);
    pfp_fact(object->code, "vdso", 4);
    object->has_code = 1;
    return PFP_OK;
  }
  object->readable = view->has_mappings ? check_tiles(object, &view->mappings) : 1;
  object->unchanged = ask_unchanged(object, look);
  entry = incremental ? known(process, object) : NULL;
  if (!is_vouched_for(object, entry)) entry = NULL;
  if (entry != NULL) {
    object->replaced = entry->replaced;
  } else if (object->path[0] != 0) {
    uint64_t device, inode;
    int found = pfp_mapped_identity(&device, &inode, object->path, process);
    if (found == PFP_E_RESOURCE) return found;
    object->replaced = found != PFP_OK || device != object->device || inode != object->inode;
  }
  if (entry == NULL) *hashed = 1;
  if (look->wants_code && object->readable && !object->relocates_text && file_reaches(object)) {
    object->guarded = entry != NULL && pfp_files_is_guarded(look->files, object->path);
    int anew = hash_code(object, entry, look);
    if (anew < 0) return PFP_E_RESOURCE;
    if (anew != 0) *hashed = 1;
  }
  if (look->pace.step != NULL && look->pace.step(look->pace.context, constant_bytes(object)) != 0) {
    return PFP_E_CANCELLED;
  }
  return PFP_OK;
}

/// Looks once more where hashing took time: the worse of both looks counts.
static int look_again(struct pfp_view *view, const struct pfp_process *process) {
  struct pfp_mappings later;
  if (!view->has_mappings) return PFP_OK;
  if (pfp_mappings_read(&later, process) != 0) return PFP_E_RESOURCE;
  for (size_t i = 0; i < view->objects.count; i++) {
    struct pfp_object *object = &view->objects.items[i];
    if (!object->is_vdso) (void)check_tiles(object, &later);
  }
  pfp_mappings_free(&view->mappings);
  view->mappings = later;
  return count_private(&view->objects, process) == 0 ? PFP_OK : PFP_E_RESOURCE;
}

/// Drops what is kept of objects. A measurement that failed may have asked for files that changed since the entries
/// were made; the next one would take them for unchanged.
static void forget(struct pfp_process *process) {
  free(process->cache);
  process->cache = NULL;
  process->cache_count = 0;
}

static void remember(struct pfp_process *process, const struct pfp_objects *objects) {
  struct pfp_code_cache *cache = calloc(objects->count, sizeof *cache);
  forget(process);
  process->cache = cache;
  process->cache_added = objects->added;
  process->cache_removed = objects->removed;
  if (cache == NULL) return;  // Then the next measurement reads everything.
  for (size_t i = 0; i < objects->count; i++) {
    const struct pfp_object *object = &objects->items[i];
    struct pfp_code_cache *entry = &cache[process->cache_count];
    if (object->is_vdso || !object->has_code || object->misplaced != 0 || object->private_pages != 0) continue;
    memcpy(entry->name, object->name, sizeof entry->name);
    entry->bias = object->bias;
    entry->device = object->device;
    entry->inode = object->inode;
    entry->replaced = object->replaced;
    memcpy(entry->contents, object->contents, sizeof entry->contents);
    entry->has_links = object->has_links && object->loose == 0;
    memcpy(entry->links, object->links, sizeof entry->links);
    memcpy(entry->links_raw, object->links_raw, sizeof entry->links_raw);
    entry->astray = object->astray;
    entry->moved = object->moved;
    memcpy(entry->astray_first, object->astray_first, sizeof entry->astray_first);
    process->cache_count++;
  }
}

static int take_once(struct pfp_view *view, struct pfp_process *process, const struct pfp_look *look) {
  int hashed = 0;
  int result;
  memset(view, 0, sizeof *view);
  if (pfp_objects_read(&view->objects) != 0) return PFP_E_RESOURCE;
  result = pfp_mappings_read(&view->mappings, process);
  if (result == PFP_E_RESOURCE) return result;
  view->has_mappings = result == PFP_OK;
  result = PFP_OK;
  for (size_t i = 0; i < view->objects.count && view->has_mappings; i++) {
    identify(&view->objects.items[i], &view->mappings);
  }
  for (size_t i = 0; i < view->objects.count; i++) view->objects.items[i].private_pages = view->has_mappings ? 0 : -1;
  if (view->has_mappings && count_private(&view->objects, process) != 0) return PFP_E_RESOURCE;
  pfp_objects_explain(&view->objects, look->plugins, look->plugin_count);
  pfp_objects_find_modules(&view->objects);
  for (size_t i = 0; i < view->objects.count && result == PFP_OK; i++) {
    result = look_at(&view->objects.items[i], view, process, look, &hashed);
  }
  if (result == PFP_OK && look->wants_links) result = look_at_links(view, process, look);
  if (result == PFP_OK && hashed) result = look_again(view, process);
  if (result == PFP_OK && !pfp_objects_current(&view->objects)) result = PFP_E_CHANGING;
  return result;
}

int pfp_view_take(struct pfp_view *view, struct pfp_process *process, const struct pfp_look *look) {
  int result = take_once(view, process, look);
  if (result == PFP_E_CHANGING) {
    pfp_view_free(view);
    forget(process);
    result = take_once(view, process, look);
  }
  if (result != PFP_OK) {
    pfp_view_free(view);
    forget(process);
    return result;
  }
  if (look->files != NULL) remember(process, &view->objects);
  return PFP_OK;
}

void pfp_view_free(struct pfp_view *view) {
  pfp_objects_free(&view->objects);
  pfp_mappings_free(&view->mappings);
  view->has_mappings = 0;
}
