// SPDX-License-Identifier: Apache-2.0

/// Results of ProofProbe's functions.
///
/// Numbers are never reused. Words for people are made where people are.

#ifndef PFP_PROBE_RESULT_H
#define PFP_PROBE_RESULT_H

/// `PFP_OK` is 0; everything else is negative.
enum pfp_result {
  PFP_OK = 0,
  PFP_E_ARGUMENT = -1,    ///< The caller broke the contract.
  PFP_E_RESOURCE = -2,    ///< No memory, no thread, no descriptor left. Says nothing about what was to be measured.
  PFP_E_CANCELLED = -3,   ///< The caller asked to stop.
  PFP_E_MISSING = -4,     ///< The named file does not exist.
  PFP_E_TYPE = -5,        ///< The named file is of another type: no folder, or no regular file.
  PFP_E_UNREADABLE = -6,  ///< The named file exists and cannot be read.
  PFP_E_LIMIT = -7,       ///< More bytes than the policy's limit allows.
  PFP_E_CHANGING = -8,    ///< Something changed or vanished while it was read, and again at the second attempt.
  PFP_E_DEEP = -9,        ///< A path that is too long or a folder nested too deep to be measured.

  // From here on of a whole probe (probe.h, storage.h), not of files.

  /// The configuration asks for a source, or a version of one, that this probe does not know (sources.h). Nothing was
  /// measured.
  PFP_E_UNSUPPORTED = -32,
  PFP_E_EXPOSED = -33,  ///< The storage folder, or the secret in it, is not this user's alone.
  /// The configuration, or a record, was refused by the core: `pfp_probe_failure` has its answer.
  PFP_E_CORE = -34
};

/// An answer that is hard to ignore.
#if defined(__GNUC__)
#define PFP_MUST_USE __attribute__((warn_unused_result))
#else
#define PFP_MUST_USE
#endif

#endif
