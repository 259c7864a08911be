// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The reason why an app cannot prove a request to a gate.
public enum GateError: Error, Sendable, Hashable {
  /// ``GateSession/start(ready:)`` was not called, or ``GateSession/stop()`` was.
  case notStarted
  /// The session waits for the attestation service. The status is that of the last try, if one failed.
  case notReady(FetchStatus?)
  /// The service's answer is final: waiting does not help.
  case attestation(AttestationFailure)
  /// The app could not be measured.
  case notMeasured(reason: String)
  /// The app's environment is not the one that was attested. The session attests anew.
  case environmentChanged
  /// The folder cannot be used.
  case storageUnusable(reason: String)
  /// The session was made for a text that is no host.
  case malformedHost(String)
  /// The account does not list the host for this gate, or the URL is no `https` URL. No proof was made.
  case hostNotListed(String)
  /// The method cannot be used.
  case malformedMethod(String)
  /// The request cannot be signed as it is.
  case malformedRequest(reason: String)
  /// The gate has no event of this number.
  case unknownEvent(UInt16)
  /// The name of a user account has no bytes, or more than 128.
  case malformedAccount(byteCount: Int)
  /// The gate refused the gate token twice. The session asks the service for another one.
  case tokenRefused
  /// The gate set a challenge that was not answered.
  case challenge(ChallengeError)
  /// The request got no answer.
  case transport(TransportError)
  /// The time for the request is over.
  case timedOut
  /// The request was cancelled.
  case cancelled
  /// The installation's key cannot sign the request; nil if the attestor was made without one.
  case installationKey(InstallationKeyError?)
}

/// A fetch for a gate that failed.
public struct AttestationFailure: Sendable, Hashable {
  /// The status of the fetch.
  public let status: FetchStatus
  /// The failure, in words for people.
  public let reason: String
  let fault: ServiceFault?

  var whoCanMend: Mender { status.whoCanMend }

  init(_ result: FetchResult) {
    status = result.status
    reason = result.reason
    fault = result.fault
  }

  /// Whether another try may succeed with no change to the app or the account.
  var canHeal: Bool {
    switch status {
    case .noNetwork, .poorNetwork, .mitmDetected, .noService, .keyUnavailable: true
    default: false
    }
  }
}

extension GateError: CustomStringConvertible {
  /// The failure, its value and the next step.
  public var description: String {
    switch self {
    case .notStarted: "The gate session was not started. Call start() first."
    case .notReady(nil): "The gate session waits for the attestation service. Try again later."
    case .notReady(let status?):
      "The gate session waits for the attestation service (\(status)). Try again later."
    case .attestation(let failure):
      "The attestation service gives no admission (\(failure.status)): \(failure.reason)."
    case .notMeasured(let reason): "The app could not be measured: \(reason). Try again."
    case .environmentChanged:
      "The app's environment is not the one that was attested. The session attests anew: try again."
    case .storageUnusable(let reason):
      "The admission cannot be kept: \(reason). Name a folder that belongs to this user alone."
    case .malformedHost(let host):
      "\(host) is no host. Name the API's host, and its port unless it is 443, such as "
        + "api.example.com."
    case .hostNotListed(let host):
      "The account does not list \(host) for this gate, so no proof was made. Send the request "
        + "without a proof, or have the operator list the host."
    case .malformedMethod(let method):
      "\(method) is no HTTP method. Use one such as GET or POST."
    case .malformedRequest(let reason): "The request cannot be proved: \(reason)"
    case .unknownEvent(let number):
      "The gate has no event \(number). Use a number that the account lists."
    case .malformedAccount(let count):
      "The account's name has \(count) bytes of UTF-8; 1 to 128 are allowed."
    case .tokenRefused:
      "The gate refused the app's gate token twice. The session fetches another one: try again later."
    case .challenge(let error): error.description
    case .transport(let error): "The request got no answer: \(error)."
    case .timedOut: "The request took too long. Try again, or allow more time."
    case .cancelled: "The request was cancelled."
    case .installationKey(nil):
      "The attestor was made without an installation key. Give it one to sign requests."
    case .installationKey(let error?): "The installation's key cannot sign the request: \(error)"
    }
  }
}

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
    case .notReady(let status?): Self.code(status, nil)
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

extension AttestorError {
  /// The code of an initialisation, as a WAF's SDK has it: -1, -2, or -9 to -12.
  public var initializationCode: Int {
    switch self {
    case .notInitialized: -1
    case .notMeasured: -11
    case .storeUnusable: -2
    case .malformedConfiguration(let reason): reason == InitialConfiguration.emptyReason ? -9 : -10
    case .untrustedConfiguration, .configurationTooOld: -12
    case .configurationOfAnotherAccount, .alreadyInitialized, .fetchesInFlight, .malformedRoute: -10
    }
  }
}
