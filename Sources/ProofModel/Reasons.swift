// SPDX-License-Identifier: Apache-2.0

// Written by .ci/reasons from docs/reasons.txt: change that.

extension ProofError: ProofFailure {
  /// `PROOF-` and the number of the case.
  public var code: String { "PROOF-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .wrongLength: (1, .developer)
    case .allZeros: (2, .developer)
    case .outOfRange: (3, .developer)
    case .notHexadecimal: (4, .developer)
    case .configForeign: (5, .developer)
    case .configDamaged: (6, .online)
    case .configTooNew: (7, .developer)
    case .configMalformed: (8, .operator)
    case .configForOtherKey: (9, .online)
    case .configForOtherMode: (10, .developer)
    case .evidenceRepeated: (11, .developer)
    case .evidenceOutOfOrder: (12, .developer)
    case .evidenceNotAskedFor: (13, .developer)
    case .evidenceMissing: (14, .developer)
    case .evidenceWithheld: (15, .online)
    case .evidenceUnavailable: (16, .developer)
    case .resourcesExhausted: (17, .retry)
    case .measurementEnded: (18, .developer)
    case .malformed: (19, .operator)
    case .tooNew: (20, .developer)
    case .notForThisHardware: (21, .online)
    case .notSigned: (22, .operator)
    case .wrongMode: (23, .developer)
    case .unusablePublicKey: (24, .operator)
    case .unusableGateKey: (25, .operator)
    case .differs: (26, .online)
    case .unauthenticated: (27, .retry)
    case .answerToAnother: (28, .retry)
    case .answerToRecall: (29, .developer)
    case .storageFailed: (30, .retry)
    case .storageDamaged: (31, .operator)
    case .randomFailed: (32, .operator)
    }
  }
}
