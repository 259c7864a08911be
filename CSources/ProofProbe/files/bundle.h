// SPDX-License-Identifier: Apache-2.0

/// A bundle measured: by walking it, or from what is known of it.

#ifndef PFP_FILES_BUNDLE_H
#define PFP_FILES_BUNDLE_H

#include "context/context.h"

// files/bundle.c
/// A bundle's root, open.
struct pfp_root {
  const char *path;  ///< As given
  int fd;
  struct pfp_identity identity;
  uint64_t before;  ///< The clock before it was identified
};

/// Measures a bundle by walking it. Closes the root.
int pfp_bundle_measure(struct pfp_files *files, const struct pfp_root *root, pfp_entry_fn entry, void *user,
                       struct pfp_bundle *bundle);

// files/warm.c
/// Whether everything known of the bundle still holds.
bool pfp_warm_holds(struct pfp_files *files, const struct pfp_root *root);
/// Reports every known entry.
int pfp_warm_report(struct pfp_files *files, pfp_entry_fn entry, void *user);

#endif
