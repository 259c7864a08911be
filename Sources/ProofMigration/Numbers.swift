// SPDX-License-Identifier: Apache-2.0

public import ProofApp
import ProofKit

// The numbers and texts of other vendors' SDKs, for apps that migrate. docs/MIGRATION.md names the vendors.

extension GateError {
  /// The code of an initialisation, as a WAF's SDK has it: -1 to -12.
  public var initializationCode: Int {
    switch self {
    case .notStarted: -1
    case .storageUnusable: -2
    case .transport, .timedOut: -4
    case .malformedHost, .hostNotListed, .malformedMethod, .malformedRequest, .unknownEvent,
      .malformedAccount:
      -10
    case .notMeasured, .environmentChanged, .installationKey: -11
    case .notReady(nil), .tokenRefused, .cancelled, .challenge: -3
    case .notReady(let failure?): Self.code(failure.status, nil)
    case .attestation(let failure): Self.code(failure.status, failure.fault)
    }
  }

  private static func code(_ status: FetchStatus, _ fault: ServiceFault?) -> Int {
    switch (status, fault) {
    case (.noNetwork, _), (.poorNetwork, _), (.mitmDetected, _): -4
    case (.noService, .empty): -5
    case (.noService, .garbled): -6
    case (.noService, .configuration): -7
    case (_, .route): -10
    case (.noService, _), (_, .status): -8
    case (.badURL, _), (.unknownURL, _), (.unprotectedURL, _), (.disabled, _): -10
    case (.keyUnavailable, _): -11
    case (.notInitialized, _): -1
    default: -3
    }
  }

  /// The text that a WAF's SDK gives in the place of a signature; nil if it has none for this error.
  public var signingText: String? {
    switch self {
    case .notStarted, .notReady: "you must call init first"
    case .malformedRequest, .hostNotListed, .malformedHost: "you must input correct data"
    case .malformedMethod: "you must input correct type"
    default: nil
    }
  }

  /// The number of an error of a challenge SDK: 1 not initialised, 2 not started, 3 unknown or used id, 4 timed out,
  /// 5 network, 6 rejected, 7 presenter missing, 8 cancelled, 9 internal.
  public var attestationCode: Int {
    switch self {
    case .attestation(let failure) where failure.status == .notInitialized: 1
    case .notStarted: 2
    case .timedOut: 4
    case .notReady, .transport: 5
    case .attestation(let failure) where failure.canHeal: 5
    case .tokenRefused: 6
    case .cancelled: 8
    case .challenge(let error): error.attestationCode
    default: 9
    }
  }
}

extension SetupError {
  /// The code of an initialisation, as a WAF's SDK has it: -1, -2, or -9 to -12.
  public var initializationCode: Int {
    switch self {
    case .notInitialized: -1
    case .notMeasured: -11
    case .storeUnusable: -2
    case .malformedConfiguration(let reason): reason == "it is empty" ? -9 : -10
    case .untrustedConfiguration, .configurationTooOld: -12
    case .configurationOfAnotherAccount, .alreadyInitialized, .fetchesInFlight, .malformedRoute,
      .outOfRange, .needsNewAttestor:
      -10
    }
  }
}
