// SPDX-License-Identifier: Apache-2.0

/// Loaded objects that a test makes by hand: each word, symbol and relocation is the test's, and no loader has seen
/// them. The executable needs MADE_OWN, MADE_OTHER and MADE_LOADER. Nothing needs MADE_APART.

#ifndef PROCESS_MADE_H
#define PROCESS_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/machine.h"
#include "process/symbols.h"

enum { MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_LOADER, MADE_VDSO, MADE_APART, MADE_OBJECTS };
/// The words of an image: RELRO ends before MADE_SLOT, the slots of the PLT before MADE_LOOSE.
enum { MADE_SEALED = 0, MADE_SLOT = 16, MADE_LOOSE = 24, MADE_WORDS = 32, MADE_SYMBOLS = 24, MADE_RELOCATIONS = 8 };
/// Where the words stand in the file.
enum { MADE_FILE_OFFSET = 512 };

/// Tables of one object and the memory it has. Its bias is 4096 before it.
struct made_image {
  uintptr_t words[MADE_WORDS];
  ElfW(Sym) symbols[MADE_SYMBOLS];
  ElfW(Half) versions[MADE_SYMBOLS];
  char strings[256];
  _Alignas(8) uint32_t hash[8 + MADE_SYMBOLS];
  ElfW(Rela) table[MADE_RELOCATIONS + 1], slots[MADE_RELOCATIONS + 1];
  uint64_t packed[4];
  ElfW(Dyn) dynamic[24];
  uint8_t functions[64];
  struct {
    ElfW(Verdef) definition;
    ElfW(Verdaux) name;
  } defined[4];
  bool is_gnu;  ///< The hash table is of the newer format.
  size_t symbol_count, strings_size, dynamic_count, table_count, slot_count, defined_count;
};

struct made {
  struct pfp_objects objects;
  struct pfp_object items[MADE_OBJECTS + 1];  ///< The last one stands behind the list.
  size_t by_address[MADE_OBJECTS];
  struct pfp_scopes scopes;
  struct made_image images[MADE_OBJECTS];
};

extern struct made made;

/// The resolver of every object, how often it was called, and the answer it gives.
extern unsigned made_resolved;
extern uintptr_t made_choice;
uintptr_t made_resolver(void);

void made_begin(void);
/// After the tables are filled: scopes, which `made_end` frees.
bool made_scopes(void);
void made_end(void);
/// Offset of a new string of the object's.
uint32_t made_string(size_t object, const char *text);
void made_dynamic(size_t object, ElfW(Sxword) tag, uint64_t value);
void made_dynamic_at(size_t object, ElfW(Sxword) tag, const void *at);
/// The index of a new symbol. `address` 0: it is asked for only.
uint32_t made_symbol(size_t object, const char *name, unsigned type, uintptr_t address);
/// Gives a symbol this version, which the object's table has from then on. A definition's own, or the one asked for.
void made_version(size_t object, uint32_t symbol, const char *version);
/// Gives the object a hash table of the newer format.
void made_gnu(size_t object);
void made_relocate(size_t object, unsigned type, size_t word, uint32_t symbol, uint64_t addend);
/// Adds the tables of relocations to the dynamic section; before that, tests may change them.
void made_close_tables(size_t object);
uintptr_t made_word_address(size_t object, size_t word);
uintptr_t made_function(size_t object, size_t index);
/// Writes the words as they stand, less the bias where they lead into the object, into a file and names it the
/// object's.
bool made_file(size_t object);

/// Bytes that a piece of work leaves allocated each time.
size_t made_left(void (*work)(void));

/// A look at the process finds these instead of the loader's objects and the kernel's mappings; NULL: those.
extern const struct pfp_objects *made_objects;
extern const struct pfp_mappings *made_mappings;
/// Copies that the look may free. 0, or -1 without memory, or if there are to be no mappings: `items` NULL.
int made_copy_objects(struct pfp_objects *objects);
int made_copy_mappings(struct pfp_mappings *mappings);

#endif
