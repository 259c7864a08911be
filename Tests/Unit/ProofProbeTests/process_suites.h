// SPDX-License-Identifier: Apache-2.0

/// Every suite about the process, its environment and its device.

#ifndef PROCESS_SUITES_H
#define PROCESS_SUITES_H

#include "harness.h"

extern const struct suite process_suite;
extern const struct suite process_storage_suite;
extern const struct suite process_probe_suite;
extern const struct suite process_bad_suite;
extern const struct suite process_cost_suite;
extern const struct suite process_cover_suite;
extern const struct suite process_links_suite;
extern const struct suite process_words_suite;
extern const struct suite process_sealed_suite;
extern const struct suite process_tables_suite;
extern const struct suite process_scopes_suite;
extern const struct suite process_symbols_suite;
extern const struct suite process_report_suite;
extern const struct suite process_objects_suite;
extern const struct suite process_view_suite;
extern const struct suite process_facts_suite;
extern const struct suite process_folders_suite;
extern const struct suite process_modules_suite;
extern const struct suite process_watch_suite;
extern const struct suite process_breakpoints_suite;
extern const struct suite process_release_suite;
extern const struct suite process_bundle_suite;
extern const struct suite process_kept_suite;
extern const struct suite process_memory_suite;
extern const struct suite process_variables_suite;
extern const struct suite process_numbers_suite;
extern const struct suite process_bounds_suite;
extern const struct suite process_index_suite;
extern const struct suite process_gone_suite;
extern const struct suite process_root_suite;
extern const struct suite process_headers_suite;
extern const struct suite process_again_suite;
extern const struct suite process_edges_suite;
extern const struct suite process_seen_suite;
extern const struct suite process_bytes_suite;
extern const struct suite process_gather_suite;
extern const struct suite process_kernel_suite;
extern const struct suite process_places_suite;
extern const struct suite process_told_suite;

#endif
