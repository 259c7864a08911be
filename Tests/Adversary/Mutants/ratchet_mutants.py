# SPDX-License-Identifier: Apache-2.0

"""The rules of the ratchet, each taken out once; as in mutants.py."""

JUDGEMENT = "verifier_judgement.c"
REVIEW = "verifier_review.c"
SLOT = "slot.c"

# The second look finds what the first has missed: it is taken out, too.
NO_REVIEW = (REVIEW, "  look(&review, STEP_RATCHET, ratchet_difference(judged, &command, nonce, verdict));",
             "  look(&review, STEP_RATCHET, 0 * ratchet_difference(judged, &command, nonce, verdict));")

RATCHET_MUTANTS = [
    # 21. Copies fork visibly: one that is out of step is told of, or refused by class.
    (21, "no copy is found", "ratchet",
     [(JUDGEMENT, "result = pfc_equal(expected, command->ratchet_tag, sizeof expected);", "result = 1;"), NO_REVIEW]),
    (21, "each command is a copy's", "ratchet",
     [(JUDGEMENT, "result = pfc_equal(expected, command->ratchet_tag, sizeof expected);", "result = 0;"), NO_REVIEW]),
    (21, "the tag does not depend on the ratchet", "ratchet",
     [("ratchet.c", "pfc_derive(key, PFC_LABEL_RATCHET_TAG, ratchet, PFC_RATCHET_BYTES, NULL, 0);",
       "pfc_derive(key, PFC_LABEL_RATCHET_TAG, nonce, PFC_RATCHET_BYTES, NULL, 0 * ratchet[0]);")]),
    (21, "the ratchet does not move", "ratchet",
     [(JUDGEMENT, "    pfc_ratchet_next(next, slot->ratchet, nonce);\n", "    (void)nonce;\n")]),
    (21, "a copy that is reported does not fork", "ratchet",
     [(JUDGEMENT, "    pfc_ratchet_fork(next, &slot->secrets, nonce);\n", "    (void)nonce;\n")]),
    (21, "a copy comes into step by unlocking, where copies are refused", "ratchet",
     [(JUDGEMENT, "} else if (ratchet_policy(slot) == PFC_RATCHET_REPORT) {", "} else {"),
      (JUDGEMENT, "    if (ratchet_policy(slot) != PFC_RATCHET_REPORT) pfc_slot_step(slot, before);\n", "")]),
    (21, "refused classes are open to copies", "ratchet",
     [(JUDGEMENT, "    return PFC_VERDICT_COPIED;\n  }\n  return integrity", "  }\n  return integrity"), NO_REVIEW]),
    (21, "copies are refused every class", "ratchet",
     [(JUDGEMENT, " && (slot->device_classes & (1u << command->command_class)) == 0) {", ") {")]),
    (21, "copies are not counted", "ratchet",
     [(JUDGEMENT, "  if (slot->copies < UINT8_MAX) slot->copies++;\n", "  (void)slot;\n")]),
    (21, "the count of copies wraps around", "ratchet",
     [(JUDGEMENT, "if (slot->copies < UINT8_MAX) slot->copies++;", "slot->copies++;")]),
    (21, "a refused copy wears the flash", "ratchet",
     [(JUDGEMENT, "  if ((verifier->noted & bit) != 0) return PFC_VERDICT_COPIED;\n", "")]),
    (21, "a refused copy is not stored", "ratchet",
     [(JUDGEMENT, "  if ((verifier->noted & bit) != 0) return", "  if (bit != 0) return")]),
    (21, "a slot with a ratchet takes kinds without", "ratchet",
     [(JUDGEMENT, "  if (has_other_kind(slot, command)) return PFC_VERDICT_NOT_PERMITTED;\n", ""),
      (JUDGEMENT, "  result = pfc_equal(expected, command->ratchet_tag",
       "  if (command->ratchet_tag == NULL) return 1;\n  result = pfc_equal(expected, command->ratchet_tag"),
      NO_REVIEW]),
    (21, "the other kinds are refused without their reason", "ratchet",
     [(JUDGEMENT, "return kind_detail(judged);", "return 0 * kind_detail(judged);")]),
    (21, "the device proof does not bind the tag", "ratchet",
     [("proof.c", "  memcpy(bytes + PFC_NONCE_BYTES, before, size);\n",
       "  memcpy(bytes + PFC_NONCE_BYTES, before, size);\n"
       "  memset(bytes + PFC_NONCE_BYTES + size - PFC_COMMAND_RATCHET_BYTES, 0, PFC_COMMAND_RATCHET_BYTES);\n")]),
    (21, "the same token launders a copy", "ratchet",
     [("verifier_admission.c", "  slot = holder_of(&verifier->ledger, digest);\n  if (slot == NULL) {",
       "  slot = holder_of(&verifier->ledger, digest);\n  if (slot != NULL) {\n"
       "    struct pfc_slot *own = &verifier->ledger.slots[slot - verifier->ledger.slots];\n"
       "    pfc_ratchet_begin(own->ratchet, &own->secrets, digest);\n    own->sum = pfc_slot_sum(own);\n  }\n"
       "  if (slot == NULL) {"),
      ("verifier_admission.c", '#include "order.h"\n', '#include "order.h"\n#include "ratchet.h"\n')]),
    (21, "a revoked slot keeps its ratchet", "ratchet",
     [(SLOT, "  pfc_wipe(slot->ratchet, sizeof slot->ratchet);\n  slot->policy = 0;\n", "")]),
    # 22. A lost answer does not look like a copy.
    (22, "the ratchet is not stored where uses are not counted", "ratchet",
     [(SLOT, "  if ((slot->policy & PFC_POLICY_RATCHET) != PFC_RATCHET_NONE) return 1;\n", "")]),
    (22, "the last command is forgotten at a restart", "ratchet",
     [("ledger.c", "!pfc_slot_stores_last(slot)", "slot->uses == PFC_USES_UNLIMITED")]),
    (22, "a ratchet whose write failed is kept in memory", "ratchet",
     [(JUDGEMENT, "    slot->copies = copies;\n    pfc_slot_step(slot, before);\n", "    (void)copies;\n")]),
    (22, "a recall denies a command whose write may have arrived", "ratchet",
     [(JUDGEMENT, "    verifier->unsure |= bit;\n", "")]),
    (22, "the air makes an owner look like a copy", "ratchet",
     [("message.c", "  escort(answered, nonce, command->kind, command->device_proof - "
       "before_device_proof(command->kind));",
       "  escort(answered, nonce, command->kind % 2 ? 1 : 2, command->integrity_proof);"),
      ("message.c", "  escort(answered, nonce, message[COMMAND_KIND], message + PFC_COMMAND_HEAD_BYTES);",
       "  escort(answered, nonce, message[COMMAND_KIND] % 2 ? 1 : 2, message + PFC_COMMAND_HEAD_BYTES);")]),
    (21, "the second look does not see the ratchet", "review", [NO_REVIEW]),
    (21, "an update begins the ratchet anew, and hides a copy", "ratchet",
     [(SLOT, "    candidate->copies = slot->copies;\n    pfc_slot_step(candidate, slot->ratchet);\n", ""),
      (REVIEW, "  look(&review, STEP_HEIR, is_no_heir(verifier, session, slot, judged, command.kind));",
       "  look(&review, STEP_HEIR, 0 * is_no_heir(verifier, session, slot, judged, command.kind));")]),
]
