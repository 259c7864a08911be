// SPDX-License-Identifier: Apache-2.0

/// Names in loaded objects, looked up in the objects' own tables: what an object defines, and which definition the
/// loader takes for a name that an object asks for.
///
/// The rules are the loader's (glibc's elf/dl-lookup.c): the same answer can be computed from the files alone. No
/// function of the loader is called for a name, because dlsym and dladdr answer for the caller's scope and with one of
/// several names.

#ifndef PFP_LINUX_SYMBOLS_H
#define PFP_LINUX_SYMBOLS_H

#include "process/process.h"

/// The symbol table of one object. All zeros: the object has none that can be read.
struct pfp_symbols {
  const struct pfp_object *object;
  const ElfW(Sym) *symbols;
  const ElfW(Half) *versions;  ///< One for each symbol, or NULL
  const char **version_names;  ///< By index: versions that the object defines, and versions that it asks for
  size_t version_count;
  const uint32_t *gnu_hash;  ///< DT_GNU_HASH, or NULL
  const uint32_t *old_hash;  ///< DT_HASH where there is no other, or NULL
};

/// A relocation's request.
struct pfp_wanted {
  const char *name;
  const char *version;  ///< NULL: none
  uint32_t hash;        ///< The GNU hash of `name`
  int is_call;  ///< 1: for a slot of the PLT. An executable's own PLT entry, which stands for a function's address, is
                ///< no answer to that.
};

/// A definition. `object` NULL: none.
struct pfp_definition {
  const struct pfp_object *object;
  const ElfW(Sym) *symbol;
  const char *version;  ///< The version of the definition; "" if it has none or none was asked for
};

/// Reads where an object's tables are. 0, or -1 for lack of memory.
int pfp_symbols_open(struct pfp_symbols *symbols, const struct pfp_object *object);
void pfp_symbols_close(struct pfp_symbols *symbols);

/// The definition that the relocation with this symbol asks for. The name is "" for a symbol without one.
struct pfp_wanted pfp_symbols_wanted(const struct pfp_symbols *symbols, uint32_t index);
/// The definition that the loader would take in this object. 1, or 0 if it has none.
int pfp_symbols_find(struct pfp_definition *found, const struct pfp_symbols *symbols, const struct pfp_wanted *wanted);
/// The entry of this name, of whichever version, whose value is the address: the version asked for if it is one of
/// them, else the first in the order of bytes. 1, or 0 if there is none.
int pfp_symbols_named(struct pfp_definition *found, const struct pfp_symbols *symbols, const struct pfp_wanted *wanted,
                      uintptr_t address);
/// A name that this object defines: the one at `*index`, or the next one behind it, which `*index` then is. NULL at the
/// end.
const char *pfp_symbols_next(const struct pfp_symbols *symbols, uint32_t *index);

/// Where a definition is. Of a function whose implementation is chosen at run time: where its resolver is.
uintptr_t pfp_definition_address(const struct pfp_definition *definition);

// Scopes ---------------------------------------------------------------------------------------------------------

/// A resolver's answer.
struct pfp_choice {
  uintptr_t resolver, answer;
};

#define PFP_CHOICES 256

/// Where the loader looks names up, for every object there is.
///
/// The *global* scope is that of the executable: what was loaded at the start, in order, and then each list that was
/// opened with RTLD_GLOBAL. An object that dlopen brought in is besides in the list of each object that was opened and
/// that needs it, directly or not. Which objects were opened is not public; an object that no earlier one needs was.
struct pfp_scopes {
  const struct pfp_objects *objects;
  struct pfp_symbols *symbols;  ///< One for each object
  size_t *global;               ///< Indexes of objects
  size_t global_count;
  uint8_t *is_global;      ///< One for each object
  size_t *lists;           ///< Every opened object's list, one behind the other, `object count` apart
  uint8_t *listed;         ///< For each list and object: whether the list has it
  size_t *list_counts;     ///< One for each list
  size_t list_count;
  unsigned *namesakes;     ///< For each object: how many before it have its name
  struct pfp_choice choices[PFP_CHOICES];
};

/// 0, or -1 for lack of memory. `objects` must stay as they are. Objects that are not `readable` have no symbols.
int pfp_scopes_make(struct pfp_scopes *scopes, const struct pfp_objects *objects);
void pfp_scopes_free(struct pfp_scopes *scopes);

const struct pfp_symbols *pfp_scopes_symbols(const struct pfp_scopes *scopes, const struct pfp_object *object);
/// The definition that the loader takes for what `object` asks for. 1, or 0 if there is none.
int pfp_scopes_find(struct pfp_definition *found, const struct pfp_scopes *scopes, const struct pfp_object *object,
                    const struct pfp_wanted *wanted);
/// 1 if a list that has `object` in it gives this definition first: lawful, whatever else there is (RTLD_DEEPBIND).
int pfp_scopes_may_find(const struct pfp_definition *definition, const struct pfp_scopes *scopes,
                        const struct pfp_object *object, const struct pfp_wanted *wanted);
/// 1 if calling or reading through this definition leads to `address`: it is there, or its resolver chooses it.
///
/// Asks the resolver, which the loader has called before it put such an address anywhere; `address` must be a word that
/// relocation has filled.
int pfp_scopes_lead(struct pfp_scopes *scopes, const struct pfp_definition *definition, uintptr_t address);
/// The choice of the resolver at this address of `object`, or 0 if it is not code of that object.
uintptr_t pfp_scopes_choose(struct pfp_scopes *scopes, const struct pfp_object *object, uintptr_t resolver);

#endif
