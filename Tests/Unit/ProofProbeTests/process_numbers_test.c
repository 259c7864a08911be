// SPDX-License-Identifier: Apache-2.0

/// Numbers that callers and other languages know are those of docs/PROBE.md, written out.

#include "ProofProbe.h"
#include "process_suites.h"

static void results_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFP_OK, 0}, {PFP_E_ARGUMENT, -1}, {PFP_E_RESOURCE, -2}, {PFP_E_CANCELLED, -3}, {PFP_E_MISSING, -4},
      {PFP_E_TYPE, -5}, {PFP_E_UNREADABLE, -6}, {PFP_E_LIMIT, -7}, {PFP_E_CHANGING, -8}, {PFP_E_DEEP, -9},
      {PFP_E_UNSUPPORTED, -32}, {PFP_E_EXPOSED, -33}, {PFP_E_CORE, -34}, {PFP_FINDING_CHANGED, 1},
      {PFP_FINDING_SUSPICIOUS, 2}, {PFP_FINDING_ABSENT, 3}, {PFP_FINDING_GONE, 4}, {PFP_FINDINGS_MAX, 96},
      {PFP_FINDING_TEXT_MAX, 240},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/PROBE.md, the tables of sources.
static void sources_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFP_DEVICE_MACHINE, 1}, {PFP_DEVICE_PROCESSOR, 2}, {PFP_DEVICE_BOARD, 3}, {PFP_DEVICE_ROOT, 4},
      {PFP_DEVICE_SECRET, 5}, {PFP_APP_CODE, 1}, {PFP_APP_EXECUTABLE, 2}, {PFP_APP_BUNDLE, 3}, {PFP_APP_SDK, 4},
      {PFP_ENVIRONMENT_TRACER, 1}, {PFP_ENVIRONMENT_PRELOAD, 2}, {PFP_ENVIRONMENT_OBJECTS, 3},
      {PFP_ENVIRONMENT_MAPPINGS, 4}, {PFP_ENVIRONMENT_PAGES, 5}, {PFP_ENVIRONMENT_LINKS, 6},
      {PFP_ENVIRONMENT_INSTRUMENTATION, 7}, {PFP_ENVIRONMENT_OS, 8}, {PFP_ENVIRONMENT_KERNEL, 9},
      {PFP_ENVIRONMENT_VARIABLES, 10}, {PFP_BUNDLE_SHARDS, 64}, {PFP_BUNDLE_SHARD_FIRST, 48}, {PFP_SECRET_BYTES, 32},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/PROBE.md, *Files* and *Cost*.
static void files_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFP_PATH_MAX, 4095}, {PFP_DEPTH_MAX, 128}, {PFP_LIMIT_LOG2_MIN, 16}, {PFP_LIMIT_LOG2_MAX, 50},
      {PFP_CACHE_BYTES, 67108864}, {PFP_CACHE_ENTRY_BYTES, 80}, {PFP_FOLDERS_MAX, 8}, {PFP_FOLDER_NAME_MAX, 64},
      {PFP_POLICY_FULL, 1}, {PFP_POLICY_INCREMENTAL, 2}, {PFP_POLICY_TRUSTING, 3}, {PFP_TYPE_FILE, 1},
      {PFP_TYPE_FOLDER, 2}, {PFP_TYPE_LINK, 3}, {PFP_TYPE_FIFO, 4}, {PFP_TYPE_SOCKET, 5}, {PFP_TYPE_CHARACTER, 6},
      {PFP_TYPE_BLOCK, 7}, {PFP_LEAF_BYTES, 65536}, {PFP_HASH_BYTES, 32}, {PFP_HASH_KEY_BYTES, 32},
      {PFP_HASH_SALT_BYTES, 16}, {PFP_ROLE_BYTES, 16}, {PFP_CONTENT, 0}, {PFP_TREE, 1}, {PFP_LEAF, 2}, {PFP_LINK, 3},
      {PFP_ENTRY, 4}, {PFP_BUNDLE, 5}, {PFP_ROLES, 6}, {PFP_KERNEL_BEST, 0}, {PFP_KERNEL_PORTABLE, 1},
      {PFP_KERNEL_X4, 2}, {PFP_KERNEL_X8, 3},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static const struct test tests[] = {
    TEST("results and findings have their numbers", results_have_their_numbers),
    TEST("sources have the numbers of the page", sources_have_their_numbers),
    TEST("files, hashes and their limits have the numbers of the page", files_have_their_numbers),
};

const struct suite process_numbers_suite = SUITE("numbers", tests);
