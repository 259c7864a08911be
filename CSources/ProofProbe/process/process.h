// SPDX-License-Identifier: Apache-2.0

/// View of this process from inside: mappings, objects, pages, links. The platform's files fill it; no code above this
/// header knows how. Another platform is another set of files behind it.

#ifndef PFP_PROCESS_H
#define PFP_PROCESS_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "evidence/evidence.h"
#include "files.h"

/// Descriptors that stay open: some cannot be opened any more once the process is not dumpable.
struct pfp_process {
  int maps;      ///< /proc/self/maps, or -1
  int pagemap;   ///< /proc/self/pagemap, or -1
  int status;    ///< /proc/self/status, or -1
  int initial;   ///< /proc/self/environ, or -1
  pid_t owner;   ///< The process that opened them: a child must open its own.
  int no_query;  ///< 1: leave PROCMAP_QUERY and PAGEMAP_SCAN alone, as on kernels before 6.11
  struct pfp_code_cache *cache;
  size_t cache_count;
  unsigned long long cache_added, cache_removed;  ///< The loader's counters when `cache` was filled
  int knows_processor;  ///< `processor` was read in this process: no processor becomes another one while it runs.
  uint8_t processor[PFC_DIGEST_BYTES];
};

/// 0, or -1 if no descriptor or memory is left. What cannot be opened for another reason is -1.
int pfp_process_open(struct pfp_process *process);
void pfp_process_close(struct pfp_process *process);
/// In a child of the process that opened them: opens its own. They would go on showing the parent. As `_open`.
int pfp_process_renew(struct pfp_process *process);
/// 1 if /proc/self/exe is the kernel's link, 0 if not, -1 if no descriptor is left to ask with.
int pfp_process_executable(void);

// Mappings -------------------------------------------------------------------------------------------------------

enum { PFP_READ = 1, PFP_WRITE = 2, PFP_EXECUTE = 4, PFP_SHARED = 8 };

struct pfp_mapping {
  uintptr_t start;
  uintptr_t end;
  uint64_t offset;
  uint64_t inode;   ///< 0: no file
  uint64_t device;  ///< As the kernel shows it for mappings, which on some file systems is not what stat shows
  unsigned flags;   ///< PFP_READ and so on
  size_t name;      ///< Where in `names` it begins
};

struct pfp_mappings {
  struct pfp_mapping *items;
  size_t count;
  size_t capacity;
  char *names;
  size_t names_size;
  size_t names_capacity;
};

/// All mappings in the order of addresses. PFP_E_UNREADABLE if they cannot be read, PFP_E_RESOURCE for lack of memory.
int pfp_mappings_read(struct pfp_mappings *mappings, const struct pfp_process *process);
/// The mapping over `address`, or NULL.
const struct pfp_mapping *pfp_mappings_at(const struct pfp_mappings *mappings, uintptr_t address);
void pfp_mappings_free(struct pfp_mappings *mappings);

/// The one mapping over an address, without its name. 1, 0 if there is none, or as `pfp_mappings_read` fails.
int pfp_mapping_ask(struct pfp_mapping *answer, uintptr_t address, const struct pfp_process *process);

/// File identity as mappings show it, of a file named by path. PFP_E_UNREADABLE if it cannot be opened or mapped,
/// PFP_E_RESOURCE for lack of memory or descriptors.
int pfp_mapped_identity(uint64_t *device, uint64_t *inode, const char *path, const struct pfp_process *process);

/// The number of private copies among the pages from `start` to `end`, page aligned; -1 if it cannot be told.
long pfp_pages_private(uintptr_t start, uintptr_t end, const struct pfp_process *process);

/// Pages, page aligned, to be counted.
struct pfp_page_range {
  uintptr_t start, end;
  size_t owner;   ///< The caller's own
  long pages;  ///< Private copies: filled in, like `pfp_pages_private`.
};

/// Ranges longer than this are worth cutting: two threads share whole ranges.
#define PFP_PAGE_RANGE_BYTES ((uintptr_t)4 << 20)

/// Counts in all of them, on two threads where it is worth one.
void pfp_pages_count(struct pfp_page_range *ranges, size_t count, const struct pfp_process *process);

// Objects --------------------------------------------------------------------------------------------------------

#define PFP_SEGMENTS_MAX 16

struct pfp_segment {
  uintptr_t start;   ///< First byte in memory
  size_t size;       ///< In memory
  size_t file_size;  ///< Bytes of it that come from the file
  uint64_t offset;   ///< In the file
  unsigned flags;    ///< PFP_READ, PFP_WRITE, PFP_EXECUTE
};

struct pfp_object {
  char name[PFC_NAME_MAX + 1];  ///< Canonical: "executable", else SONAME, else the file's name
  char path[4096];              ///< Path of the mapped file as the kernel names it; empty if unknown
  int is_executable;
  int is_vdso;
  int explained;  ///< Something the executable needs needs it.
  int is_system_module;  ///< A system library opened it, or may have: process/modules.c has the rule.
  uintptr_t bias, low, high;
  struct pfp_segment segments[PFP_SEGMENTS_MAX];
  size_t segment_count;
  uintptr_t relro, relro_end;  ///< Range that the loader protects after relocation; equal if none
  const ElfW(Dyn) *dynamic;    ///< NULL if there is none
  const uint8_t *build_id;
  size_t build_id_size;
  // From the dynamic section
  const char *strings;
  size_t strings_size;
  int relocates_text;
  int binds_now;
  // Findings
  uint64_t device, inode;
  unsigned misplaced;   ///< Mappings that are not what the program headers say
  int readable;         ///< Every constant byte is mapped and may be read.
  int replaced;         ///< The path now leads to another file than the one mapped.
  long private_pages;   ///< Private pages of code and constants; -1 unknown
  int unchanged;        ///< The file's content is what it was at the last measurement.
  int guarded;          ///< No program of this process's user can change the file's bytes unseen.
  int has_code;
  uint8_t code[PFC_DIGEST_BYTES];
  uint8_t contents[PFP_SEGMENTS_MAX][PFP_HASH_BYTES];  ///< Digests of the parts of `code`, by segment
  int has_links;
  uint8_t links[PFC_DIGEST_BYTES];
  uint8_t links_raw[PFC_DIGEST_BYTES];  ///< Digest of the same bytes, uninterpreted
  unsigned loose;                       ///< Words that `links_raw` does not cover
  unsigned astray;                      ///< Words that lead where they should not
  unsigned moved;                       ///< Words that are not their place in the file plus the load address
  char astray_first[192];               ///< The first of them, in words
};

/// A name of an object: its own, or its file's.
struct pfp_object_name {
  const char *text;
  size_t index;
};

struct pfp_objects {
  struct pfp_object *items;  ///< In the order of loading
  size_t count;
  size_t capacity;
  size_t *by_address;             ///< Indexes, in the order of `low`
  struct pfp_object_name *names;  ///< Sorted; two for each object. NULL before `pfp_objects_explain`
  unsigned long long added, removed;  ///< The loader's counters when the list was taken
  int failed;
};

/// Everything the loader has loaded. 0 or -1 for lack of memory.
int pfp_objects_read(struct pfp_objects *objects);
/// 1 if the loader has loaded or unloaded nothing since.
int pfp_objects_current(const struct pfp_objects *objects);
/// Follows DT_NEEDED from the executable and from `plugins` (SONAMEs the app opens itself), and sets `explained`.
void pfp_objects_explain(struct pfp_objects *objects, const char *const *plugins, size_t plugin_count);
/// Sets `is_system_module` where it holds. After `pfp_objects_explain`.
void pfp_objects_find_modules(struct pfp_objects *objects);
/// 1 if this is a system module whose code is what root installed: it is then no observation whether it is open.
int pfp_object_is_quiet(const struct pfp_object *object);
/// The index of the first object with this name, its own or its file's, or SIZE_MAX.
size_t pfp_objects_named(const struct pfp_objects *objects, const char *name);
/// The index of the object that a DT_NEEDED entry of `object` asks for, or SIZE_MAX.
size_t pfp_objects_needed(const struct pfp_objects *objects, const struct pfp_object *object, uint64_t offset);
/// The object over an address, or NULL.
const struct pfp_object *pfp_objects_at(const struct pfp_objects *objects, uintptr_t address);
/// Where an object's code ends that has its place at this address, in pages that are compared with the object's file
/// and hashed. 0 if there is none.
uintptr_t pfp_objects_code_end(const struct pfp_objects *objects, uintptr_t address);
void pfp_objects_free(struct pfp_objects *objects);

/// The value of a dynamic entry as an address in memory, or 0 if the entry is not there. Some loaders relocate these
/// entries in place and some do not: the object's own span tells which.
uintptr_t pfp_dynamic_address(const struct pfp_object *object, ElfW(Sxword) tag);
/// The value of a dynamic entry as a number, or `otherwise`.
uint64_t pfp_dynamic_value(const struct pfp_object *object, ElfW(Sxword) tag, uint64_t otherwise);

struct pfp_scopes;

/// Reads every relocated word that must not change after loading and fills `links`, `astray`, and so on. 0, or -1 for
/// lack of memory or descriptors.
int pfp_object_links(struct pfp_object *object, struct pfp_scopes *scopes);
/// Digests, for all readable objects, of the bytes those words stand in, as they are: same bytes, same links. All at
/// once, because many small contents are hashed side by side. 0, or -1 for lack of memory.
int pfp_objects_links_raw(struct pfp_objects *objects, const struct pfp_hash *hash);

// Code -----------------------------------------------------------------------------------------------------------

/// Findings of a clean object, kept for the next measurement.
struct pfp_code_cache {
  char name[PFC_NAME_MAX + 1];
  uintptr_t bias;
  uint64_t device, inode;
  uint8_t contents[PFP_SEGMENTS_MAX][PFP_HASH_BYTES];
  int replaced;
  int has_links;
  uint8_t links[PFC_DIGEST_BYTES];
  uint8_t links_raw[PFC_DIGEST_BYTES];
  unsigned astray, moved;
  char astray_first[192];
};

/// Called now and then with the bytes just hashed; anything but 0 cancels.
struct pfp_pace {
  int (*step)(void *context, uint64_t bytes);
  void *context;
};

struct pfp_view {
  struct pfp_objects objects;
  struct pfp_mappings mappings;
  int has_mappings;
};

/// How to look.
struct pfp_look {
  struct pfp_files *files;  ///< Incremental: tells which files did not change. NULL: everything is hashed.
  const struct pfp_hash *hash;
  const char *const *plugins;  ///< SONAMEs the app opens itself
  size_t plugin_count;
  int wants_code;   ///< 0: digests of code were not asked for.
  int wants_links;  ///< 0: links were not asked for.
  struct pfp_pace pace;
};

/// Looks at everything. PFP_E_RESOURCE, PFP_E_CHANGING, PFP_E_CANCELLED.
int pfp_view_take(struct pfp_view *view, struct pfp_process *process, const struct pfp_look *look);
/// Turns what was seen into records.
void pfp_view_report(struct pfp_evidence *evidence, const struct pfp_view *view);
void pfp_view_free(struct pfp_view *view);

/// `pfp_hash_contents` of memory that holds a program rather than its variables. 0, or -1 for lack of memory.
int pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count);

// Facts ----------------------------------------------------------------------------------------------------------

void pfp_environment_report(struct pfp_evidence *evidence, const struct pfp_process *process);
/// Source PFP_ENVIRONMENT_VARIABLES.
void pfp_variables_report(struct pfp_evidence *evidence, const struct pfp_process *process);
void pfp_device_report(struct pfp_evidence *evidence, const char *storage, struct pfp_process *process,
                       int incremental);

#define PFP_ROOT_TEXT_MAX 64

/// The identity of the file system that holds the folder `path`: type and UUID, as text. Its size; 0 if the type has no
/// UUID that each kernel tells alike; -1 with `errno` if it cannot be asked.
int pfp_root_identity(char text[PFP_ROOT_TEXT_MAX], const char *path);

/// Reads at most `capacity` bytes of a file. The number of bytes, or -1 with `errno` if it cannot be read or is longer.
ssize_t pfp_read_file(void *bytes, size_t capacity, const char *path);
/// The same from an open descriptor, from its start.
ssize_t pfp_read_descriptor(void *bytes, size_t capacity, int descriptor);

#endif
