// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why an ``Attestor`` could not be initialised or read. An earlier initialisation stays
/// as it was.
public enum AttestorError: Error, Sendable, Hashable {
  /// The text is neither `#ACCOUNT@HOST:PORT#FINGERPRINT` nor a signed configuration.
  case malformedConfiguration(reason: String)
  /// The configuration's key is not the one that the fingerprint names, or did not sign it.
  case untrustedConfiguration(reason: String)
  /// The configuration is of another account.
  case configurationOfAnotherAccount(expected: String, actual: String)
  /// The configuration is older than one that is already there.
  case configurationTooOld(serial: UInt32, held: UInt32)
  /// The attestor is initialised with another configuration, and the comment does not begin with
  /// `reinit`.
  case alreadyInitialized(account: String)
  /// Some fetches have not ended.
  case fetchesInFlight(count: Int)
  /// The folder for updates cannot be used.
  case storeUnusable(reason: String)
  /// A part of a ``ServiceRoute`` is malformed.
  case malformedRoute(reason: String)
  /// The attestor is not initialised.
  case notInitialized
  /// The app's storage could not be read.
  case notMeasured(ProofError)
}

extension AttestorError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .malformedConfiguration(let reason):
      "The configuration cannot be read: \(reason). Copy the string that `proofctl sdk "
        + "config-string` prints."
    case .untrustedConfiguration(let reason):
      "The configuration is not to be trusted: \(reason). Use one of this account's service."
    case .configurationOfAnotherAccount(let expected, let actual):
      "The configuration is of account \(actual), not of \(expected). Use one of this account."
    case .configurationTooOld(let serial, let held):
      "The configuration has serial \(serial), one with serial \(held) is there. Use the newer one."
    case .alreadyInitialized(let account):
      "The SDK was initialised before, for account \(account). To change it, pass a comment that "
        + "begins with reinit."
    case .fetchesInFlight(let count):
      "\(count) fetches have not ended. Reinitialise once they have."
    case .malformedRoute(let reason): "The way to the service cannot be used: \(reason)."
    case .notInitialized: "The SDK is not initialised. Call `initialize` first."
    case .notMeasured(let error): "This installation's name cannot be read. \(error)"
    case .storeUnusable(let reason):
      "Configuration updates cannot be kept: \(reason)."
    }
  }
}
