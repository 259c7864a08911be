// SPDX-License-Identifier: Apache-2.0

/// The inside of a probe. probe.c (measurements) and diagnosis.c call gather.c, and all call context.c.

#ifndef PFP_PROBE_PARTS_H
#define PFP_PROBE_PARTS_H

#include <stdatomic.h>

#include "evidence/bundle_index.h"
#include "evidence/evidence.h"
#include "probe.h"
#include "process/process.h"
#include "sources.h"

/// The key of each digest of evidence: see probe/context.c.
extern const uint8_t pfp_evidence_key[PFP_HASH_KEY_BYTES];

struct pfp_probe {
  struct pfp_probe_options options;  ///< Its strings are this probe's own copies.
  struct pfp_process process;
  struct pfp_files *files;         ///< Context of the bundle and the executable; NULL before the first measurement
  struct pfp_files *folder_files[PFP_FOLDERS_MAX];  ///< Contexts of further folders
  struct pfp_files *object_files;  ///< Context of loaded objects, incremental policy only
  uint8_t policy, limit_log2;      ///< Those the two above were made for
  struct pfp_hash hash;
  int knows_shards;  ///< `shards` are those of the bundle whose digest is `shards_of`.
  uint8_t shards_of[PFP_HASH_BYTES];
  uint8_t shards[PFP_BUNDLE_SHARDS][PFC_DIGEST_BYTES];
  atomic_int cancelled;
  struct pfp_progress done;  ///< Before the step in progress
  struct pfp_probe_failure failure;
  char failure_path[4096];
};

/// Collects everything that `evidence->asked` asks for, sorted. `look` gets the bundle's entries; it may be NULL.
int pfp_probe_gather(struct pfp_probe *probe, struct pfp_evidence *evidence, struct pfp_bundle_look *look);

/// Forgets what was kept of files. The next measurement begins anew.
void pfp_probe_free_files(struct pfp_probe *probe);

/// Sets the failure and returns the result.
int pfp_probe_fail(struct pfp_probe *probe, int result, int core, int error, const char *path);

#endif
