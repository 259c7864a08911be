// SPDX-License-Identifier: Apache-2.0

/// Reasons: cause, mender and next step of each code with which ProofKit refuses. For tools and logs on a host.
///
/// The table takes about 110 KiB. Firmware does not link it, and `-Wl,--gc-sections` drops it from a program that
/// calls none of these functions. docs/REASONS.md lists the codes.

#ifndef PFC_REASON_H
#define PFC_REASON_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The party that can remove the cause.
enum pfc_mender {
  PFC_MENDER_RETRY = 1,  ///< Call again: the cause was momentary.
  PFC_MENDER_WAIT,       ///< Call again after the time that the error names.
  PFC_MENDER_USER,       ///< The person in front of the app.
  PFC_MENDER_ONLINE,     ///< A new measurement or token over the network.
  PFC_MENDER_OPERATOR,   ///< The operator of account, backend, gate or hardware.
  PFC_MENDER_DEVELOPER,  ///< The developer of the app.
  PFC_MENDER_CAUSE       ///< The error behind it says who.
};

/// The meaning of a code. All texts are constant.
struct pfc_reason {
  const char *code;          ///< Such as "LOCK-18"; "LOCK-34.N" for a detail that is a number
  const char *condition;     ///< The condition, in a few words
  const char *cause;         ///< The cause, in sentences
  const char *step;          ///< The next step, in a sentence
  enum pfc_mender mender;    ///< The party that can remove the cause
  const char *mender_name;   ///< The same as docs/REASONS.md names it, such as "online"
  const char *mender_words;  ///< The same for people
};

/// The meaning of a code of `size` characters; upper and lower case differ. A detail that is a number has one meaning
/// for all numbers: "LOCK-34.7" finds "LOCK-34.N". PFC_E_ARGUMENT if there is no such code:
/// `*reason` is unchanged then.
PFC_MUST_USE int pfc_reason_find(struct pfc_reason *reason, const char *code, size_t size);
/// The meaning of a failed result of this library, code "CORE-N". PFC_E_ARGUMENT for PFC_OK and for a number that is
/// none.
PFC_MUST_USE int pfc_reason_of_result(struct pfc_reason *reason, int result);
/// The meaning of the verdict in an answer of hardware, code "LOCK-N". PFC_E_ARGUMENT for a number that is none.
PFC_MUST_USE int pfc_reason_of_verdict(struct pfc_reason *reason, uint8_t verdict);
/// The meaning of a refusal's detail in an answer of hardware, code "LOCK-N.N"; that of the verdict where the detail
/// has none. PFC_E_ARGUMENT for a verdict that is none.
PFC_MUST_USE int pfc_reason_of_detail(struct pfc_reason *reason, uint8_t verdict, uint16_t detail);
/// The meaning number `index`, in the order of docs/REASONS.md. PFC_E_ARGUMENT behind the last one.
PFC_MUST_USE int pfc_reason_at(struct pfc_reason *reason, size_t index);

#ifdef __cplusplus
}
#endif

#endif
