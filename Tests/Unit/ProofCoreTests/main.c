// SPDX-License-Identifier: Apache-2.0

/// proofcore-tests [--vectors DIR] [--wycheproof DIR] [--emit] [--long] [--filter TEXT] [--hash portable|native]
///
/// Every test runs on both paths of SHA-256 (sha256.h), unless --hash names one. Where this build or this processor has
/// no native path, its tests are counted as skipped.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"

static const struct suite *const suites[] = {
    &crypto_suite, &crypto_curves_suite, &sha256_suite, &cavp_suite, &wycheproof_suite,
    &key_suite, &config_suite, &evidence_suite,
    &measurement_suite, &leaf_suite, &proof_suite,
    &token_suite, &version_suite, &upgrade_suite, &order_suite, &message_suite,
    &frame_suite, &frame_loss_suite, &record_suite,
    &slot_suite, &logbook_suite, &logbook_reader_suite, &logbook_ring_suite, &logbook_flash_suite,
    &verifier_suite, &verifier_review_suite,
    &verifier_rights_suite, &verifier_token_suite, &verifier_order_suite,
    &verifier_revocation_suite, &verifier_recall_suite, &verifier_ratchet_suite, &verifier_log_suite,
    &verifier_limit_suite,
    &verifier_candidate_suite, &verifier_detail_suite, &verifier_fault_suite, &powercut_suite, &updates_suite,
    &base64url_suite,
    &gate_suite, &gate_token_suite, &http_suite,
    &compact_suite, &kinds_suite, &numbers_suite, &reason_suite, &vectors_suite,
    &wire_vectors_suite, &hostile_vectors_suite, &gate_vectors_suite,
    &logbook_vectors_suite,
#if PFC_SEALS_COMMANDS
    &sealed_suite, &sealed_vectors_suite, &verifier_sealed_suite,
#endif
#if PFC_CHANNEL
    &channel_suite, &channel_vectors_suite, &verifier_channel_suite,
#endif
#if PFC_GRANTS
    &grant_suite, &grant_vectors_suite, &verifier_grant_suite, &verifier_loan_suite, &verifier_grant_cut_suite,
#endif
    &answer_suite,
    &script_suite,
};

static int usage(void) {
  (void)fprintf(stderr,
                "usage: proofcore-tests [--vectors DIR] [--wycheproof DIR] [--emit] [--long] [--filter TEXT]\n"
                "                       [--hash portable|native]\n");
  return 2;
}

/// Runs every suite on each path that is asked for.
static int run_on_paths(const char *asked) {
  const size_t count = sizeof suites / sizeof suites[0];
  unsigned passed = 0, failed = 0;
  if (asked == NULL || strcmp(asked, "portable") == 0) {
    if (pfc_hash_use(PFC_HASH_PORTABLE) != PFC_OK) return 2;
    harness_play(suites, count, &passed, &failed);
  }
  if (asked == NULL || strcmp(asked, "native") == 0) {
    if (options.native == PFC_HASH_PORTABLE) {
      printf("%u tests skipped: this build or this processor has no native SHA-256\n", harness_chosen(suites, count));
    } else {
      printf("-- on the native path of SHA-256 (%d)\n", options.native);
      if (pfc_hash_use((enum pfc_hash_path)options.native) != PFC_OK) return 2;
      harness_play(suites, count, &passed, &failed);
    }
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  const char *asked = NULL;
  for (int i = 1; i < argc; i++) {
    const char **value = NULL;
    if (strcmp(argv[i], "--vectors") == 0) value = &options.vectors;
    if (strcmp(argv[i], "--wycheproof") == 0) value = &options.wycheproof;
    if (strcmp(argv[i], "--filter") == 0) value = &options.filter;
    if (strcmp(argv[i], "--hash") == 0) value = &asked;
    if (value != NULL) {
      if (++i == argc) return usage();
      *value = argv[i];
    } else if (strcmp(argv[i], "--emit") == 0) {
      options.emit = true;
    } else if (strcmp(argv[i], "--long") == 0) {
      options.thorough = true;
    } else {
      return usage();
    }
  }
  if (asked != NULL && strcmp(asked, "portable") != 0 && strcmp(asked, "native") != 0) return usage();
  options.native = (int)pfc_hash_in_use();
  if (options.emit) return emit_all();
  return run_on_paths(asked);
}
