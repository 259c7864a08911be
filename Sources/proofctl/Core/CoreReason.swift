// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The meaning of a code with which ProofKit refuses (`docs/reasons.txt`).
struct Reason: Sendable {
  let code: String
  let condition: String
  let cause: String
  let step: String
  let mender: String
  let menderWords: String

  /// All of them, in the order of `docs/REASONS.md`.
  static let all: [Reason] = {
    var reasons: [Reason] = []
    var row = unsafe pfc_reason()
    while unsafe pfc_reason_at(&row, reasons.count) == PFC_OK.rawValue {
      unsafe reasons.append(Reason(row))
    }
    return reasons
  }()

  private init(_ row: pfc_reason) {
    code = unsafe String(cString: row.code)
    condition = unsafe String(cString: row.condition)
    cause = unsafe String(cString: row.cause)
    step = unsafe String(cString: row.step)
    mender = unsafe String(cString: row.mender_name)
    menderWords = unsafe String(cString: row.mender_words)
  }
}
