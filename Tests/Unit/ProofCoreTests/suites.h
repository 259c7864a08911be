// SPDX-License-Identifier: Apache-2.0

/// Every suite, in the order in which data flows.

#ifndef SUITES_H
#define SUITES_H

#include "harness.h"

extern const struct suite crypto_suite;
extern const struct suite crypto_curves_suite;
extern const struct suite sha256_suite;
extern const struct suite cavp_suite;
extern const struct suite wycheproof_suite;
extern const struct suite key_suite;
extern const struct suite config_suite;
extern const struct suite evidence_suite;
extern const struct suite measurement_suite;
extern const struct suite leaf_suite;
extern const struct suite proof_suite;
extern const struct suite token_suite;
extern const struct suite version_suite;
extern const struct suite upgrade_suite;
extern const struct suite order_suite;
extern const struct suite message_suite;
extern const struct suite frame_suite;
extern const struct suite frame_loss_suite;
extern const struct suite record_suite;
extern const struct suite slot_suite;
extern const struct suite logbook_suite;
extern const struct suite logbook_reader_suite;
extern const struct suite logbook_ring_suite;
extern const struct suite logbook_flash_suite;
extern const struct suite logbook_vectors_suite;
extern const struct suite sealed_suite;
extern const struct suite sealed_vectors_suite;
extern const struct suite verifier_suite;
extern const struct suite verifier_review_suite;
extern const struct suite verifier_rights_suite;
extern const struct suite verifier_token_suite;
extern const struct suite verifier_order_suite;
extern const struct suite verifier_revocation_suite;
extern const struct suite verifier_detail_suite;
extern const struct suite verifier_recall_suite;
extern const struct suite verifier_ratchet_suite;
extern const struct suite verifier_log_suite;
extern const struct suite verifier_sealed_suite;
extern const struct suite channel_suite;
extern const struct suite channel_vectors_suite;
extern const struct suite verifier_channel_suite;
extern const struct suite verifier_limit_suite;
extern const struct suite verifier_candidate_suite;
extern const struct suite verifier_fault_suite;
extern const struct suite powercut_suite;
extern const struct suite updates_suite;
extern const struct suite base64url_suite;
extern const struct suite gate_suite;
extern const struct suite gate_token_suite;
extern const struct suite http_suite;
extern const struct suite compact_suite;
extern const struct suite kinds_suite;
extern const struct suite numbers_suite;
extern const struct suite reason_suite;
extern const struct suite vectors_suite;
extern const struct suite wire_vectors_suite;
extern const struct suite hostile_vectors_suite;
extern const struct suite gate_vectors_suite;
extern const struct suite grant_suite;
extern const struct suite grant_vectors_suite;
extern const struct suite verifier_grant_suite;
extern const struct suite verifier_loan_suite;
extern const struct suite verifier_grant_cut_suite;
extern const struct suite answer_suite;
extern const struct suite script_suite;

/// Prints structures made by the core, for Tests/Vectors/check.py. 0 if all were made.
int emit_all(void);

#endif
