// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

public import ProofModel

extension StoreError: ProofFailure {
  /// `ACCOUNT-` and the number of the case.
  public var code: String { "ACCOUNT-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .missing: (1, .operator)
    case .foreign: (2, .operator)
    case .damaged: (3, .operator)
    case .tooNew: (4, .operator)
    case .busy: (5, .retry)
    case .full: (6, .operator)
    case .failed: (7, .operator)
    case .database: (8, .operator)
    case .alreadyThere: (9, .operator)
    case .changedMeanwhile: (10, .retry)
    case .moved: (11, .operator)
    }
  }
}

extension ServiceError: ProofFailure {
  /// `SERVICE-` and the number of the case.
  public var code: String { "SERVICE-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .store(let cause): (1, cause.whoCanMend)
    case .jose: (2, .operator)
    case .noAccount: (3, .operator)
    case .accountThere: (4, .operator)
    case .wrongPassphrase: (5, .operator)
    case .wrongKeyFile: (6, .operator)
    case .otherLock: (7, .operator)
    case .damaged: (8, .operator)
    case .unknown: (9, .operator)
    case .alreadyThere: (10, .operator)
    case .invalid: (11, .operator)
    case .inUse: (12, .operator)
    case .outOfTurn: (13, .operator)
    case .notConfirmed: (14, .operator)
    case .noMemory: (15, .operator)
    }
  }
}
