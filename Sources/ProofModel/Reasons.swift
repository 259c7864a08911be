// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

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
    case .logTooFar: (33, .operator)
    }
  }
}

extension RefusalDetail {
  /// The detail of a verdict with this number; nil where it has none, or none that this build knows.
  public init?(of verdict: Verdict, number: UInt16) {
    if number == 0 && verdict != .integrityDiffers { return nil }
    switch (verdict.rawValue, number) {
    case (18, 1): self = .noChallenge
    case (18, 2): self = .otherChallenge
    case (18, 3): self = .challengeTimedOut
    case (18, 4): self = .challengeEnded
    case (18, 5): self = .sealReplaced
    case (18, 6): self = .noChannel
    case (19, 1): self = .classNotPermitted
    case (19, 2): self = .integrityDemanded
    case (19, 3): self = .sealedDemanded
    case (19, 4): self = .grantSpent
    case (19, 5): self = .ownerCannot
    case (19, 9): self = .notDelegable
    case (22, 1): self = .noMember
    case (34, 65535): self = .ahead
    case (35, 1): self = .belowFloor
    case (35, 2): self = .olderGeneration
    case (37, 1): self = .otherMode
    case (37, 2): self = .literalForm
    case (37, 3): self = .suite
    case (39, 1): self = .laterVersion
    case (39, 2): self = .laterSuite
    case (39, 3): self = .reservedBit
    case (39, 4): self = .unknownKind
    case (50, 1): self = .notStored
    case (50, 2): self = .notDrawn
    case (50, 3): self = .notStarted
    case (16, _): self = .attemptsLeft(number)
    case (34, _): self = .daysPast(number)
    case (38, _): self = .slots(number)
    case (49, _): self = .seconds(number)
    default: return nil
    }
  }

  /// The numbers of verdict and detail.
  var numbers: (verdict: UInt8, detail: UInt16) {
    switch self {
    case .attemptsLeft(let value): (16, value)
    case .noChallenge: (18, 1)
    case .otherChallenge: (18, 2)
    case .challengeTimedOut: (18, 3)
    case .challengeEnded: (18, 4)
    case .sealReplaced: (18, 5)
    case .noChannel: (18, 6)
    case .classNotPermitted: (19, 1)
    case .integrityDemanded: (19, 2)
    case .sealedDemanded: (19, 3)
    case .grantSpent: (19, 4)
    case .ownerCannot: (19, 5)
    case .notDelegable: (19, 9)
    case .noMember: (22, 1)
    case .daysPast(let value): (34, value)
    case .ahead: (34, 65535)
    case .belowFloor: (35, 1)
    case .olderGeneration: (35, 2)
    case .otherMode: (37, 1)
    case .literalForm: (37, 2)
    case .suite: (37, 3)
    case .slots(let value): (38, value)
    case .laterVersion: (39, 1)
    case .laterSuite: (39, 2)
    case .reservedBit: (39, 3)
    case .unknownKind: (39, 4)
    case .seconds(let value): (49, value)
    case .notStored: (50, 1)
    case .notDrawn: (50, 2)
    case .notStarted: (50, 3)
    }
  }

  /// The party that can remove the cause; nil if the error itself says it.
  package var mender: Mender? {
    switch self {
    case .attemptsLeft: .online
    case .noChallenge: .retry
    case .otherChallenge: .retry
    case .challengeTimedOut: .retry
    case .challengeEnded: .retry
    case .sealReplaced: .retry
    case .noChannel: .retry
    case .classNotPermitted: .operator
    case .integrityDemanded: .online
    case .sealedDemanded: .developer
    case .grantSpent: .user
    case .ownerCannot: .user
    case .notDelegable: .operator
    case .noMember: .online
    case .daysPast: .online
    case .ahead: .operator
    case .belowFloor: .online
    case .olderGeneration: .online
    case .otherMode: .developer
    case .literalForm: .operator
    case .suite: .operator
    case .slots: .operator
    case .laterVersion: .operator
    case .laterSuite: .operator
    case .reservedBit: .operator
    case .unknownKind: .operator
    case .seconds: nil
    case .notStored: .operator
    case .notDrawn: .operator
    case .notStarted: .operator
    }
  }
}
