// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

public import ProofModel

extension SetupError: ProofFailure {
  /// `SETUP-` and the number of the case.
  public var code: String { "SETUP-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .malformedConfiguration: (1, .developer)
    case .untrustedConfiguration: (2, .developer)
    case .configurationOfAnotherAccount: (3, .developer)
    case .configurationTooOld: (4, .developer)
    case .alreadyInitialized: (5, .developer)
    case .fetchesInFlight: (6, .retry)
    case .storeUnusable: (7, .developer)
    case .malformedRoute: (8, .developer)
    case .notInitialized: (9, .developer)
    case .notMeasured(let cause): (10, cause.whoCanMend)
    case .outOfRange: (11, .developer)
    case .needsNewAttestor: (12, .developer)
    }
  }
}

extension MeasurementStoreError: ProofFailure {
  /// `STORE-` and the number of the case.
  public var code: String { "STORE-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .noPlace: (1, .developer)
    case .unusable: (2, .developer)
    case .inUse: (3, .retry)
    case .failed: (4, .retry)
    case .notDurable: (5, .retry)
    case .damaged: (6, .online)
    case .tooNew: (7, .developer)
    case .superseded: (8, .online)
    case .otherInstance: (9, .developer)
    case .empty: (10, .online)
    case .noMeasurement(let cause): (11, cause.whoCanMend)
    case .repeatedHardware: (12, .developer)
    case .tokenForOther: (13, .online)
    case .tooManyTokens: (14, .developer)
    case .notPaired: (15, .online)
    }
  }
}

extension EnrolmentError: ProofFailure {
  /// `ENROL-` and the number of the case.
  public var code: String { "ENROL-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .attestation(let cause): (1, cause.whoCanMend)
    case .transport(let cause): (2, cause.whoCanMend)
    case .backend: (3, .operator)
    case .issuing: (4, .developer)
    case .unusableToken(let cause): (5, cause.whoCanMend)
    case .store(let cause): (6, cause.whoCanMend)
    case .cancelled: (7, .retry)
    }
  }
}

extension MeasurementError: ProofFailure {
  /// `MEASURE-` and the number of the case.
  public var code: String { "MEASURE-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .notMeasured(let cause): (1, cause.whoCanMend)
    case .store(let cause): (2, cause.whoCanMend)
    case .cancelled: (3, .retry)
    }
  }
}

extension SecureStringError: ProofFailure {
  /// `STRING-` and the number of the case.
  public var code: String { "STRING-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .badName: (1, .developer)
    case .badValue: (2, .developer)
    case .notThere: (3, .developer)
    case .noRoom: (4, .developer)
    case .stringDamaged: (5, .developer)
    case .damaged: (6, .developer)
    case .tooNew: (7, .developer)
    case .storageUnusable: (8, .developer)
    case .notDurable: (9, .retry)
    case .attestation(let cause): (10, cause.whoCanMend)
    case .cancelled: (11, .retry)
    }
  }
}

extension TransportError: ProofFailure {
  /// `NET-` and the number of the case.
  public var code: String { "NET-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .unreachable: (1, .user)
    case .timedOut: (2, .retry)
    case .brokenOff: (3, .retry)
    case .untrusted: (4, .user)
    case .garbled: (5, .operator)
    case .cancelled: (6, .retry)
    case .refused: (7, .developer)
    }
  }
}

extension InstallationKeyError: ProofFailure {
  /// `KEY-` and the number of the case.
  public var code: String { "KEY-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .storage: (1, .developer)
    case .damaged: (2, .user)
    case .inUse: (3, .retry)
    case .tpmAbsent: (4, .user)
    case .tpmDenied: (5, .user)
    case .tpmBusy: (6, .retry)
    case .tpmLockedOut: (7, .user)
    case .tpmTimedOut: (8, .retry)
    case .tpmBrokenOff: (9, .retry)
    case .tpmHasOtherKey: (10, .user)
    case .tpmFailed: (11, .retry)
    case .libraryFailed: (12, .retry)
    }
  }
}

extension ChallengeError: ProofFailure {
  /// `CHALLENGE-` and the number of the case.
  public var code: String { "CHALLENGE-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .malformed: (1, .operator)
    case .tooHard: (2, .operator)
    case .outOfMemory: (3, .retry)
    case .presenterMissing: (4, .developer)
    case .page: (5, .user)
    case .bodyNotRepeatable: (6, .developer)
    case .unknownName: (7, .developer)
    case .rejected: (8, .retry)
    }
  }
}

extension GateError: ProofFailure {
  /// `GATE-` and the number of the case.
  public var code: String { "GATE-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .notStarted: (1, .developer)
    case .notReady: (2, .retry)
    case .attestation(let cause): (3, cause.whoCanMend)
    case .notMeasured: (4, .retry)
    case .environmentChanged: (5, .retry)
    case .storageUnusable: (6, .developer)
    case .malformedHost: (7, .developer)
    case .hostNotListed: (8, .operator)
    case .malformedMethod: (9, .developer)
    case .malformedRequest: (10, .developer)
    case .unknownEvent: (11, .operator)
    case .malformedAccount: (12, .developer)
    case .tokenRefused: (13, .retry)
    case .challenge(let cause): (14, cause.whoCanMend)
    case .transport(let cause): (15, cause.whoCanMend)
    case .timedOut: (16, .retry)
    case .cancelled: (17, .retry)
    case .installationKey(let cause): (18, cause.whoCanMend)
    }
  }
}

extension FetchStatus {
  /// `SDK-` and the number of the status.
  public var code: String { "SDK-\(rawValue)" }

  /// The party that can remove the cause of a failed fetch.
  public var whoCanMend: Mender {
    switch self {
    case .success: .user
    case .noNetwork: .user
    case .mitmDetected: .user
    case .poorNetwork: .user
    case .noService: .retry
    case .badURL: .developer
    case .unknownURL: .operator
    case .unprotectedURL: .operator
    case .notInitialized: .developer
    case .rejected: .operator
    case .disabled: .operator
    case .unknownKey: .operator
    case .badKey: .developer
    case .badPayload: .developer
    case .internalError: .developer
    case .keyUnavailable: .retry
    case .cancelled: .retry
    case .noMessageKey: .online
    }
  }
}
