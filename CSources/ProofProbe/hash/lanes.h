// SPDX-License-Identifier: Apache-2.0

/// Messages of any lengths and roles, as many at once as the kernel has lanes. A lane whose message ends is given the
/// next one at once, so that lanes stay full whatever the lengths.

#ifndef PFP_HASH_LANES_H
#define PFP_HASH_LANES_H

#include <stdbool.h>

#include "hash.h"
#include "hash/kernel.h"

/// One message to hash. Owned by the caller; it and its bytes stay where they are until it is done.
struct pfp_job {
  const uint8_t *bytes;
  size_t size;
  uint8_t role;  ///< enum pfp_role
  uint8_t digest[PFP_HASH_BYTES];
};

/// Where messages come from and where digests go.
struct pfp_source_of_jobs {
  /// The next message for this lane, or NULL when there is none at the moment. The job done last in this lane is over.
  struct pfp_job *(*next)(void *user, unsigned lane);
  /// The job's digest is there. May make further jobs, which `next` then hands out.
  void (*done)(void *user, struct pfp_job *job);
  void *user;
};

/// Lanes at work.
struct pfp_lanes {
  struct pfp_states states;
  struct {
    struct pfp_job *job;       ///< NULL: idle
    const uint8_t *message;    ///< Next bytes to hash
    size_t blocks;             ///< From there on without a break
    uint8_t tail;              ///< Bytes of the message's final block, 1 to 128
    uint8_t ends;              ///< The message ends with these blocks
  } lane[PFP_LANES_MAX];
  uint8_t final[PFP_LANES_MAX][PFP_BLOCK_BYTES];  ///< A final block that is not full, padded
};

/// Hashes until `next` has nothing for any lane and every lane is idle. May be called again.
void pfp_lanes_run(struct pfp_lanes *lanes, const struct pfp_hash *hash, const struct pfp_source_of_jobs *source);

/// Lanes of a kernel that this machine can run.
unsigned pfp_kernel_width(enum pfp_kernel kernel);

/// The kernel's compression; NULL for the portable one.
pfp_compress_fn pfp_kernel_compress(enum pfp_kernel kernel);

/// The kernel for a machine that can run these.
enum pfp_kernel pfp_kernel_best(bool has_x4, bool has_x8);

#endif
