/// proofcore-tests [--vectors DIR] [--wycheproof DIR] [--emit] [--long] [--filter TEXT]

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "suites.h"

static const struct suite *const suites[] = {
    &crypto_suite, &crypto_curves_suite, &wycheproof_suite,
    &key_suite, &config_suite, &evidence_suite,
    &measurement_suite, &leaf_suite, &proof_suite,
    &token_suite, &order_suite, &message_suite,
    &frame_suite, &frame_loss_suite, &record_suite,
    &slot_suite, &verifier_suite, &verifier_review_suite,
    &verifier_rights_suite, &verifier_token_suite, &verifier_order_suite,
    &verifier_revocation_suite, &verifier_recall_suite, &verifier_limit_suite,
    &verifier_fault_suite, &powercut_suite, &vectors_suite,
    &wire_vectors_suite, &hostile_vectors_suite, &script_suite,
};

static int usage(void) {
  (void)fprintf(stderr,
                "usage: proofcore-tests [--vectors DIR] [--wycheproof DIR] [--emit] [--long] [--filter TEXT]\n");
  return 2;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char **value = NULL;
    if (strcmp(argv[i], "--vectors") == 0) value = &options.vectors;
    if (strcmp(argv[i], "--wycheproof") == 0) value = &options.wycheproof;
    if (strcmp(argv[i], "--filter") == 0) value = &options.filter;
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
  if (options.emit) return emit_all();
  return harness_run(suites, sizeof suites / sizeof suites[0]);
}
