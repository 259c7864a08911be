// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

public import ProofModel

extension TokenRefusal: ProofFailure {
  /// `TOKEN-` and the number of the reason.
  public var code: String { "TOKEN-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch reason {
    case .missing: (1, .developer)
    case .malformed: (2, .developer)
    case .algorithm: (3, .operator)
    case .key: (4, .operator)
    case .signature: (5, .operator)
    case .expired: (6, .retry)
    case .early: (7, .operator)
    case .lifetime: (8, .operator)
    case .issuer: (9, .operator)
    case .audience: (10, .developer)
    case .binding: (11, .developer)
    case .claims: (12, .developer)
    case .unavailable: (13, .operator)
    }
  }
}

extension BackendError: ProofFailure {
  /// `BACKEND-` and the number of the case.
  public var code: String { "BACKEND-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .unknownHardware: (1, .operator)
    case .revokedHardware: (2, .operator)
    case .otherMode: (3, .developer)
    case .literalRefused: (4, .developer)
    case .factorySecretMissing: (5, .operator)
    case .downgraded: (6, .operator)
    case .superseded: (7, .online)
    case .revokedInstance: (8, .operator)
    case .clockAhead: (9, .operator)
    case .refused(let cause): (10, cause.whoCanMend)
    case .storage: (11, .operator)
    case .damaged: (12, .operator)
    case .inUse: (13, .retry)
    case .upcomingRefused: (14, .online)
    case .otherFetch: (15, .online)
    }
  }
}
