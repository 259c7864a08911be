# SPDX-License-Identifier: Apache-2.0

"""The rules of upcoming tokens, each taken out once; as in mutants.py. Both looks lose a rule that both have."""

TOKEN = "token.c"
SLOT = "slot.c"
ADMISSION = "verifier_admission.c"
JUDGEMENT = "verifier_judgement.c"
REVIEW = "verifier_review.c"

UPCOMING_MUTANTS = [
    # 20. A newer generation replaces the older when it first proves itself, and not before.
    (20, "an upcoming token takes the slot when it is presented", "candidate",
     [(ADMISSION, "(token->policy & PFC_POLICY_UPCOMING) != 0) {", "0) {"),
      (REVIEW, "waits = (uint32_t)((again.policy & PFC_POLICY_UPCOMING) != 0) &", "waits = 0u &")]),
    (20, "the second look lets an upcoming token take the slot", "candidate",
     [(ADMISSION, "(token->policy & PFC_POLICY_UPCOMING) != 0) {", "0) {")]),
    (20, "uses are not shared", "candidate",
     [(SLOT, "  if (slot->uses < candidate->uses) candidate->uses = slot->uses;\n", ""),
      (REVIEW, " |\n                   (judged->uses > slot->uses);", ";")]),
    (20, "attempts are not shared", "candidate",
     [(SLOT, "  if (slot->attempts < candidate->attempts) candidate->attempts = slot->attempts;\n", ""),
      (REVIEW, " | (judged->attempts > slot->attempts)", "")]),
    (20, "the commit forgets what is revoked", "candidate", [(SLOT, "  candidate->revoked = slot->revoked;\n", "")]),
    (20, "the commit forgets when it was revoked", "candidate",
     [(SLOT, "  candidate->revoked_at = slot->revoked_at;\n", "")]),
    (20, "a candidate below the floor is committed", "candidate",
     [(JUDGEMENT, "if (candidate->issued < verifier->ledger.floor) return PFC_VERDICT_SUPERSEDED;", "(void)verifier;"),
      (REVIEW, "(judged->issued < verifier->ledger.floor) | ", "")]),
    (20, "a revoked candidate is committed", "candidate",
     [(JUDGEMENT, "  if (candidate->generation <= slot->revoked) return PFC_VERDICT_REVOKED;\n", ""),
      (REVIEW, " | (judged->generation <= slot->revoked)", "")]),
    (20, "an older candidate is committed over a newer slot", "candidate",
     [(JUDGEMENT, "  if (candidate->generation <= slot->generation) return PFC_VERDICT_SUPERSEDED;\n", ""),
      (JUDGEMENT, "if (candidate->generation <= verifier->ledger.slots[index].generation)", "if (0)"),
      (REVIEW, "(judged->generation <= slot->generation) | ", "")]),
    (20, "a candidate serves another instance", "candidate",
     [(JUDGEMENT, "  if (memcmp(candidate->instance_id, slot->instance_id, PFC_ID_BYTES) != 0) return NULL;\n", ""),
      (REVIEW, "                   difference(judged->instance_id, slot->instance_id, PFC_ID_BYTES) |\n", "")]),
    (20, "a device match is judged under the candidate", "candidate",
     [(JUDGEMENT, "candidate->state != PFC_SLOT_HELD || !pfc_kind_is_integrity(command->kind)",
       "candidate->state != PFC_SLOT_HELD"),
      (REVIEW, "                   (~(uint32_t)kind & 1u) |\n", "                   (0u * kind) |\n")]),
    (20, "the slot's own token is judged as a candidate", "candidate",
     [(JUDGEMENT, "if (memcmp(candidate->token_digest, slot->token_digest, PFC_TOKEN_DIGEST_BYTES) == 0)", "if (0)")]),
    (20, "the candidate's device proof is not asked for", "candidate",
     [(JUDGEMENT, "candidate->secrets.device) !=\n      PFC_OK) {\n    return NULL;\n  }",
       "candidate->secrets.device) !=\n      PFC_OK) {\n  }")]),
    (20, "a candidate costs no opening", "candidate",
     [(ADMISSION, "session->openings++;\n    pfc_answer_signed(outcome, cand", "pfc_answer_signed(outcome, cand")]),
    (20, "an upcoming token does not tell the time", "candidate",
     [(ADMISSION, "  review ^= PFC_REVIEW_READY ^ PFC_REVIEW_PASSED;\n"
       "  result = pfc_verifier_raise(verifier, &review, token->issued, 0, &changed);",
       "  result = changed + (int)(0u * review);\n  (void)verifier;")]),
    (20, "the commit is not stored", "candidate",
     [(JUDGEMENT, "  result = pfc_ledger_put(&verifier->ledger, index, candidate);",
       "  result = PFC_OK;\n  verifier->ledger.slots[index] = *candidate;")]),
    (20, "a committed candidate stays on its link", "candidate",
     [(JUDGEMENT, "  pfc_wipe(candidate, sizeof *candidate);\n  return result", "  return result")]),
    (20, "the use that commits is not counted", "candidate",
     [(JUDGEMENT, "  if (candidate->uses != PFC_USES_UNLIMITED) candidate->uses--;\n", "")]),
    (20, "the command that commits cannot be recalled", "candidate",
     [(JUDGEMENT, "  candidate->last.counter = command->counter;\n", "  (void)command;\n")]),
    (20, "a candidate whose secrets were overwritten is committed", "candidate",
     [(REVIEW, "pfc_slot_sum(judged) ^ judged->sum", "pfc_slot_sum(slot) ^ slot->sum"),
      ("ledger.c", "uint32_t wrong = pfc_slot_sum(slot) ^ slot->sum;", "uint32_t wrong = 0u * pfc_slot_sum(slot);")]),
    (20, "a refusal under a candidate has the slot's receipt", "candidate",
     [(JUDGEMENT, "pfc_answer_signed(outcome, judged, nonce,", "pfc_answer_signed(outcome, slot, nonce,")]),
    (20, "literal secrets may be upcoming", "hostile",
     [(TOKEN, "token->form == PFC_FORM_LITERAL && (token->policy & PFC_POLICY_UPCOMING) != 0) return PFC_E_MODE;",
       "0) return PFC_E_MODE;")]),
    (20, "the creator makes a literal upcoming token", "candidate",
     [(TOKEN, "  if (token->form == PFC_FORM_LITERAL && (token->policy & PFC_POLICY_UPCOMING) != 0) return "
       "PFC_E_ARGUMENT;\n", "")]),
    (20, "capabilities do not name upcoming tokens", "candidate",
     [("verifier.c", "PFC_FEATURE_TOKEN_2 | PFC_FEATURE_UPCOMING | (", "PFC_FEATURE_TOKEN_2 | (")]),
]
