// SPDX-License-Identifier: Apache-2.0

// Prints what the probe records here, one line a record: class, number, name, digest or "-". A program of its own and
// linked statically, so that it runs in a root file system that has nothing else.
//
//   root_listing STORAGE

#include <stdio.h>

#include "ProofProbe.h"

static int print(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                 const uint8_t *digest) {
  (void)context;
  printf("%u %u %.*s ", class_, number, (int)name_size, (const char *)name);
  for (unsigned i = 0; digest != NULL && i < PFC_DIGEST_BYTES; i++) printf("%02x", digest[i]);
  puts(digest == NULL ? "-" : "");
  return 0;
}

int main(int count, char **arguments) {
  struct pfp_probe_options options = {.storage = count > 1 ? arguments[1] : NULL};
  struct pfc_config draft = {.policy = PFC_POLICY_FULL, .limit_log2 = 34};
  struct pfp_probe *probe;
  int result;
  if (pfp_probe_create(&probe, &options) != PFP_OK) return 1;
  pfp_sources_propose(&draft);
  result = pfp_probe_collect(probe, &draft, print, NULL);
  if (result != PFP_OK) fprintf(stderr, "root_listing: %d\n", result);
  pfp_probe_free(probe);
  return result != PFP_OK;
}
