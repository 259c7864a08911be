// SPDX-License-Identifier: Apache-2.0

/// probe-process-tests [--long] [--filter TEXT]

#include "process_suites.h"

static const struct suite *const suites[] = {&process_suite, &process_storage_suite, &process_probe_suite,
                                             &process_bad_suite, &process_cost_suite,   &process_cover_suite,
                                             &process_links_suite, &process_modules_suite, &process_watch_suite,
                                             &process_breakpoints_suite, &process_release_suite,
                                             &process_bundle_suite, &process_kept_suite, &process_words_suite,
                                             &process_sealed_suite, &process_tables_suite,
                                             &process_scopes_suite, &process_symbols_suite,
                                             &process_report_suite, &process_objects_suite,
                                             &process_view_suite, &process_facts_suite,
                                             &process_folders_suite, &process_memory_suite,
                                             &process_variables_suite, &process_numbers_suite,
                                             &process_bounds_suite, &process_index_suite,
                                             &process_gone_suite, &process_root_suite,
                                             &process_headers_suite,
                                             &process_again_suite,
                                             &process_edges_suite,
                                             &process_seen_suite,
                                             &process_bytes_suite,
                                             &process_gather_suite,
                                             &process_kernel_suite,
                                             &process_places_suite,
                                             &process_told_suite};

int main(int argc, char **argv) {
  return harness_main(argc, argv, "probe-process-tests", suites, sizeof suites / sizeof suites[0]);
}
