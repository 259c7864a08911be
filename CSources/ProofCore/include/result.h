// SPDX-License-Identifier: Apache-2.0

/// Results of the core's functions, other than verdicts.
///
/// Numbers are never reused. Words for people are made where people are: in `ProofError` and in `proofctl`.

#ifndef PFC_RESULT_H
#define PFC_RESULT_H

/// `PFC_OK` is 0; everything else is negative and leaves the caller's output as documented with the function.
enum pfc_result {
  PFC_OK = 0,
  PFC_E_ARGUMENT = -1,   ///< The caller broke the contract: a length, a kind or a state that is never valid.
  PFC_E_DAMAGED = -2,    ///< Stored bytes are not what was stored: length, tag or structure.
  PFC_E_FOREIGN = -3,    ///< Well made, but by or for another party: another SDK build, another product.
  PFC_E_TOO_NEW = -4,    ///< A version or suite that this build does not know.
  PFC_E_MALFORMED = -5,  ///< Received bytes do not parse, or a field is out of its range.
  PFC_E_ORDER = -6,      ///< An evidence record that repeats the one before, or should have come before it.
  PFC_E_SOURCE = -7,     ///< An evidence record not asked for, or an asked-for source without any record.
  PFC_E_RECIPIENT = -8,  ///< A token or order that is not for this hardware.
  PFC_E_SIGNATURE = -9,  ///< Not signed, not by an issuer this hardware knows, or altered.
  PFC_E_MODE = -10,      ///< A development key, configuration or token where production is required, or the reverse.
  PFC_E_DIFFERS = -11,   ///< A proof, receipt or tag that is not the expected one.
  PFC_E_STORAGE = -12,   ///< The persistence callback failed.
  PFC_E_RANDOM = -13,    ///< The randomness callback failed or repeats itself.
  PFC_E_SPACE = -14,     ///< The output does not fit the space offered.
  PFC_E_TOO_FAR = -15    ///< A number so far away that checking it takes more work than the caller permits.
};

/// An answer that is hard to ignore.
#if defined(__GNUC__)
#define PFC_MUST_USE __attribute__((warn_unused_result))
#else
#define PFC_MUST_USE
#endif

/// Not inlined: what it holds on the stack is gone before its caller calls the next.
#if defined(__GNUC__)
#define PFC_APART __attribute__((noinline))
#else
#define PFC_APART
#endif

#endif
