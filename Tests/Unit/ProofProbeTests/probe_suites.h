// SPDX-License-Identifier: Apache-2.0

/// Every suite about hashing and files.

#ifndef PROBE_SUITES_H
#define PROBE_SUITES_H

#include "harness.h"

extern const struct suite hash_suite;
extern const struct suite names_suite;
extern const struct suite known_suite;
extern const struct suite bundle_suite;
extern const struct suite files_bad_suite;
extern const struct suite files_cost_suite;
extern const struct suite files_moving_suite;
extern const struct suite files_warm_suite;
extern const struct suite files_attack_suite;
extern const struct suite files_trust_suite;
extern const struct suite files_again_suite;
extern const struct suite files_page_suite;
extern const struct suite system_suite;
extern const struct suite keep_suite;
extern const struct suite map_suite;
extern const struct suite files_edges_suite;
extern const struct suite files_turns_suite;
extern const struct suite files_singles_suite;
extern const struct suite files_given_back_suite;
extern const struct suite files_looks_suite;
extern const struct suite storage_suite;
extern const struct suite run_suite;

#endif
