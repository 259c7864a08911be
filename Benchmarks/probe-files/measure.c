// SPDX-License-Identifier: Apache-2.0

/// Measures one folder and prints its digest: the whole process that is compared with other digest programs.
///
///     probe-measure FOLDER [--workers 1|2] [--statistics]
///
/// Full policy: every byte is read and hashed. `--statistics` adds what was read, and the growth of the peak of
/// resident memory over an empty measurement.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "peak.h"

int main(int argc, char **argv) {
  struct pfp_files_options options = {.policy = PFP_POLICY_FULL, .limit_log2 = 40};
  struct pfp_files *files;
  struct pfp_bundle bundle;
  const char *folder = NULL;
  int wants_statistics = 0, result;
  long before;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--workers") == 0 && i + 1 < argc) {
      options.workers = (uint8_t)strtoul(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--statistics") == 0) {
      wants_statistics = 1;
    } else {
      folder = argv[i];
    }
  }
  if (folder == NULL) {
    (void)fprintf(stderr, "usage: probe-measure FOLDER [--workers 1|2] [--statistics]\n");
    return 2;
  }
  before = wants_statistics ? peak_kib() : 0;
  if (pfp_files_create(&files, &options) != PFP_OK) return 1;
  result = pfp_files_digest_bundle(files, folder, NULL, NULL, &bundle);
  if (result != PFP_OK) {
    const struct pfp_failure *failure = pfp_files_failure(files);
    (void)fprintf(stderr, "probe-measure: %s: error %d (%s)\n", failure->path, result, strerror(failure->error));
    return 1;
  }
  for (size_t i = 0; i < sizeof bundle.digest; i++) (void)printf("%02x", bundle.digest[i]);
  (void)printf("\n");
  if (wants_statistics) {
    const struct pfp_files_statistics *statistics = pfp_files_statistics(files);
    (void)printf("{\"entries\": %llu, \"bytes_read\": %llu, \"peak_kib\": %ld}\n", (unsigned long long)bundle.entries,
                 (unsigned long long)statistics->bytes_read, peak_kib() - before);
  }
  pfp_files_free(files);
  return 0;
}
