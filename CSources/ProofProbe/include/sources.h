// SPDX-License-Identifier: Apache-2.0

/// Every source of evidence on Linux: class, number, version, name. The one place where these numbers stand.
///
/// A number is never reused, and a version never changes its meaning: a source that is collected in another way gets a
/// new version, and the old one goes. A configuration that asks
/// for a source or version which is not here is answered by PFP_E_UNSUPPORTED, before anything is measured.

#ifndef PFP_SOURCES_H
#define PFP_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the SDK this probe belongs to, as source PFP_APP_SDK reports it.
#define PFP_SDK_VERSION PROOFKIT_VERSION

/// PFC_CLASS_DEVICE. One record each, except the board, which has one for each place a serial may stand.
enum pfp_device_source {
  PFP_DEVICE_MACHINE = 1,    ///< /etc/machine-id
  PFP_DEVICE_PROCESSOR = 2,  ///< Maker, family, model, stepping: nothing that microcode, kernel or load may change
  PFP_DEVICE_BOARD = 3,      ///< DMI or device-tree serials, as far as this user may read them
  PFP_DEVICE_ROOT = 4,       ///< Type and UUID of the root file system
  PFP_DEVICE_SECRET = 5      ///< 32 random bytes made at installation, in the app's own storage
};

/// PFC_CLASS_APP.
enum pfp_app_source {
  PFP_APP_CODE = 1,        ///< One record for each loaded object: its code and constants as they stand in memory
  PFP_APP_EXECUTABLE = 2,  ///< The executable's bytes on disk
  PFP_APP_BUNDLE = 3,      ///< PFP_BUNDLE_SHARDS records over every entry of the bundle folder
  PFP_APP_SDK = 4          ///< PFP_SDK_VERSION
};

/// PFC_CLASS_ENVIRONMENT.
enum pfp_environment_source {
  PFP_ENVIRONMENT_TRACER = 1,           ///< Tracers of any thread, hardware breakpoints, personality
  PFP_ENVIRONMENT_PRELOAD = 2,          ///< LD_PRELOAD, LD_AUDIT, LD_LIBRARY_PATH, /etc/ld.so.preload
  PFP_ENVIRONMENT_OBJECTS = 3,          ///< Loaded objects that nothing the executable needs explains
  PFP_ENVIRONMENT_MAPPINGS = 4,         ///< Executable memory that no object on disk explains
  PFP_ENVIRONMENT_PAGES = 5,            ///< Pages of code that are private copies, not the file's
  PFP_ENVIRONMENT_LINKS = 6,            ///< Where the words that relocation filled lead: GOT, PLT, tables of constants
  PFP_ENVIRONMENT_INSTRUMENTATION = 7,  ///< valgrind, emulation in user space
  PFP_ENVIRONMENT_OS = 8,               ///< os-release
  PFP_ENVIRONMENT_KERNEL = 9,           ///< The kernel's release
  PFP_ENVIRONMENT_VARIABLES = 10        ///< Variables that bring code or options into interpreters and libraries
};

/// Records of PFP_APP_BUNDLE, named by one character from PFP_BUNDLE_SHARD_FIRST on. An entry belongs to shard
/// FNV-1a(path) mod PFP_BUNDLE_SHARDS. The names are chosen so that 64 groups hold one shard each, hence a bundle of
/// any size costs the same fold, and a difference still names one entry in 64.
///
/// A further folder of the app is one record more, named PFP_FOLDER_RECORD and the folder's name.
#define PFP_FOLDER_RECORD "folder:"
#define PFP_BUNDLE_SHARDS 64
#define PFP_BUNDLE_SHARD_FIRST '0'

/// One source this probe can collect.
struct pfp_source {
  uint8_t class_;       ///< enum pfc_class
  uint8_t number;       ///< One of the enums above
  uint8_t version;      ///< How it is collected
  uint8_t groups_log2;  ///< Groups proposed for a new configuration
  const char *name;     ///< For people; not part of any digest
};

/// All of them, in the order in which records arrive; `*count` is set.
const struct pfp_source *pfp_sources(size_t *count);

/// The source of this class, number and version, or NULL: this probe cannot collect it so.
const struct pfp_source *pfp_source_find(uint8_t class_, uint8_t number, uint8_t version);

/// The source's name, whatever the version; a phrase that says so where there is none.
const char *pfp_source_name(uint8_t class_, uint8_t number);

/// Fills `config->sources` and `source_count` with every source in its newest version, for a new configuration.
void pfp_sources_propose(struct pfc_config *config);

/// PFC_OK if every source asked for can be collected in the version asked for. Otherwise PFC_E_SOURCE, and `*index` is
/// the first that cannot.
PFC_MUST_USE int pfp_sources_check(const struct pfc_config *config, size_t *index);

#ifdef __cplusplus
}
#endif

#endif
