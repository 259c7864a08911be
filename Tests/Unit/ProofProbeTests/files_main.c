// SPDX-License-Identifier: Apache-2.0

/// probe-files-tests --scratch DIR [--long] [--filter TEXT]

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

static const struct suite *const suites[] = {
    &hash_suite,       &names_suite,        &known_suite,      &bundle_suite,       &files_bad_suite,
    &files_cost_suite, &files_moving_suite, &files_warm_suite, &files_attack_suite,
    &files_trust_suite, &files_again_suite,  &files_page_suite,
    &system_suite,     &keep_suite,         &map_suite,        &files_edges_suite,
    &files_turns_suite, &files_singles_suite, &files_given_back_suite, &files_looks_suite,
    &storage_suite,    &run_suite,
};

static int usage(void) {
  (void)fprintf(stderr, "usage: probe-files-tests --scratch DIR [--long] [--filter TEXT]\n");
  return 2;
}

int main(int argc, char **argv) {
  const char *scratch = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0) {
      options.thorough = true;
    } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (strcmp(argv[i], "--scratch") == 0 && i + 1 < argc) {
      scratch = argv[++i];
    } else {
      return usage();
    }
  }
  if (scratch == NULL) return usage();
  tree_scratch(scratch);
  faults_reset();
  return harness_run(suites, sizeof suites / sizeof suites[0]);
}
