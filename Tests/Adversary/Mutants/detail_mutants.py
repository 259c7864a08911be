# SPDX-License-Identifier: Apache-2.0

"""Details of refusals, each rule taken out once; as in mutants.py. Rule 0: docs/SPEC.md, section 10, "Details"."""

JUDGEMENT = "verifier_judgement.c"
ADMISSION = "verifier_admission.c"
TOKEN = "token.c"
NOUN = "verifier details"

DETAIL_MUTANTS = [
    # Nothing is told before a proof.
    (0, "a stranger learns which classes a token permits", NOUN,
     [(JUDGEMENT, "  if (verdict != PFC_VERDICT_NOT_PERMITTED) return 0;",
       "  if (verdict != PFC_VERDICT_NOT_PERMITTED && verdict != PFC_VERDICT_DEVICE_DIFFERS) return 0;")]),
    (0, "a stranger learns the attempts of a token that has ended", NOUN,
     [(JUDGEMENT, "if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) return slot->attempts;",
       "if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS || verdict == PFC_VERDICT_EXPIRED) return slot->attempts;")]),
    (0, "a stranger learns whether an issuer is known", NOUN,
     [(ADMISSION, "  if (result != PFC_OK) return pfc_verdict_of(result);\n#if PFC_SEALS_COMMANDS\n",
       "  if (result == PFC_E_SIGNATURE) *detail = 1;\n  if (result != PFC_OK) return pfc_verdict_of(result);\n"
       "#if PFC_SEALS_COMMANDS\n")]),
    (0, "a token is told its form before its signature is checked", NOUN,
     [(TOKEN, "  *detail = 0;\n  memset(token, 0, sizeof *token);",
       "  *detail = PFC_TOLD(PFC_DETAIL_LITERAL_FORM);\n  memset(token, 0, sizeof *token);")]),
    # Each condition has its own detail.
    (0, "a stale command does not tell that its link has no challenge", NOUN,
     [(JUDGEMENT, "PFC_TOLD(PFC_DETAIL_NO_CHALLENGE)", "PFC_TOLD(PFC_DETAIL_OTHER_CHALLENGE)")]),
    (0, "a stale command does not tell that its challenge is another", NOUN,
     [(JUDGEMENT, "PFC_TOLD(PFC_DETAIL_OTHER_CHALLENGE)", "PFC_TOLD(PFC_DETAIL_NO_CHALLENGE)")]),
    (0, "a stale command does not tell that its time is over", NOUN,
     [(JUDGEMENT, "PFC_TOLD(PFC_DETAIL_CHALLENGE_TIMED_OUT)", "PFC_TOLD(PFC_DETAIL_NO_CHALLENGE)")]),
    (0, "a stale command does not tell that a recall ended it", NOUN,
     [(JUDGEMENT, "    *detail = PFC_TOLD(PFC_DETAIL_CHALLENGE_ENDED);\n", "")]),
    (0, "a class is told as if an integrity match would do", NOUN,
     [(JUDGEMENT, ": PFC_TOLD(PFC_DETAIL_CLASS_NOT_PERMITTED)", ": PFC_TOLD(PFC_DETAIL_INTEGRITY_DEMANDED)")]),
    (0, "a floor is told as a generation", NOUN,
     [(ADMISSION, "PFC_TOLD(PFC_DETAIL_BELOW_FLOOR)", "PFC_TOLD(PFC_DETAIL_OLDER_GENERATION)")]),
    (0, "a generation is told as a floor", NOUN,
     [(ADMISSION, "PFC_TOLD(PFC_DETAIL_OLDER_GENERATION)", "PFC_TOLD(PFC_DETAIL_BELOW_FLOOR)")]),
    (0, "the first day after a token's end is told as none", NOUN,
     [("verifier_clock.c", "(counted / 86400 + 1)", "(counted / 86400)")]),
    (0, "days since a token's end wrap around", NOUN,
     [("verifier_clock.c", "seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX", "(uint32_t)seconds")]),
    (0, "the literal form is told as another mode", NOUN,
     [(TOKEN, "  *detail = PFC_TOLD(PFC_DETAIL_LITERAL_FORM);\n", "")]),
    (0, "a later suite is told as a later version", NOUN,
     [(TOKEN, "? PFC_TOLD(PFC_DETAIL_LATER_SUITE)", "? PFC_TOLD(PFC_DETAIL_LATER_VERSION)")]),
    (0, "a random generator that failed is told as storage", NOUN,
     [("verifier.c", "PFC_TOLD(PFC_DETAIL_NOT_DRAWN)", "PFC_TOLD(PFC_DETAIL_NOT_STORED)")]),
    (0, "hardware that did not start does not tell so", NOUN,
     [("verifier.c", "    *detail = PFC_TOLD(PFC_DETAIL_NOT_STARTED);\n", "")]),
    (0, "full hardware does not tell its slots", "verifier",
     [("verifier_answer.c", "return verdict == PFC_VERDICT_NO_ROOM ? PFC_TOLD(PFC_SLOTS) : 0;", "return 0;")]),
]
