// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why an ``Attestor`` could not be made or configured: this machine, before anything runs.
/// An earlier configuration stays as it was.
public enum SetupError: Error, Sendable, Hashable {
  /// The text is neither `#ACCOUNT@HOST:PORT#FINGERPRINT` nor a signed configuration.
  case malformedConfiguration(reason: String)
  /// The configuration's key is not the one that the fingerprint names, or did not sign it.
  case untrustedConfiguration(reason: String)
  /// The configuration is of another account.
  case configurationOfAnotherAccount(expected: String, actual: String)
  /// The configuration is older than one that is already there.
  case configurationTooOld(serial: UInt32, held: UInt32)
  /// The calls of `ProofMigration` were initialised with another configuration, and the comment does
  /// not begin with `reinit`.
  case alreadyInitialized(account: String)
  /// Some fetches have not ended.
  case fetchesInFlight(count: Int)
  /// The storage folder cannot be used.
  case storeUnusable(reason: String)
  /// A region or endpoint is malformed.
  case malformedRoute(reason: String)
  /// The calls of `ProofMigration` are not initialised.
  case notInitialized
  /// The probe could not be made, or the app's storage could not be read.
  case notMeasured(ProofError)
  /// A value of a ``Configuration`` is out of range.
  case outOfRange(field: String, value: String, allowed: String)
  /// A setting that ``Attestor/reconfigure(_:)`` cannot change.
  case needsNewAttestor(setting: String)
}

extension SetupError: CustomStringConvertible {
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
    case .notMeasured(let error): "The app cannot be observed. \(error)"
    case .storeUnusable(let reason): "The storage folder cannot be used: \(reason)."
    case .outOfRange(let field, let value, let allowed):
      "The \(field) has \(value); allowed: \(allowed)."
    case .needsNewAttestor(let setting):
      "The setting \(setting) cannot be changed while the attestor is in use. Make another attestor."
    }
  }
}
