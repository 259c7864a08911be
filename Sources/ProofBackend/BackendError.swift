// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why no measurement token or order was issued.
public enum BackendError: Error, Sendable, Hashable {
  /// No such hardware is registered.
  case unknownHardware(HardwareID)
  /// The hardware was revoked.
  case revokedHardware(HardwareID)
  /// The app was measured in one mode, and the hardware is of the other.
  case otherMode(app: Mode, hardware: Mode)
  /// The hardware's registration does not name the literal form.
  case literalRefused(HardwareID)
  /// The hardware has a factory secret, and the registry does not have it. No token is sealed
  /// without it.
  case factorySecretMissing(HardwareID)
  /// A token for this hardware was sealed with a factory secret before, and its registration names
  /// none any more.
  case downgraded(HardwareID)
  /// A newer measurement of the app has a token for this hardware already.
  case superseded(issued: UInt32, offered: UInt32)
  /// The app's tokens for this hardware were revoked up to a generation.
  case revokedInstance(InstanceID, through: UInt32)
  /// The issuer's clock is too far beyond the ledger's latest record.
  case clockAhead(of: UnixTime, by: Int)
  /// Permissions out of range, or a public key that nothing can be sealed to.
  case refused(ProofError)
  /// A file of the backend could not be read or written. Nothing was issued.
  case storage(path: String, reason: String)
  /// A file of the backend is damaged. Nothing is issued until an operator has repaired it.
  case damaged(path: String, reason: String)
  /// Another process holds the file's lock for too long.
  case inUse(path: String, processID: Int32?)
  /// The hardware takes no token for a measurement to come.
  case upcomingRefused(HardwareID)
  /// A measurement to come is not of the fetch that gave the present one.
  case otherFetch(InstanceID)
}

extension BackendError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .unknownHardware(let id):
      "No hardware \(id) is registered with the account. Register it: proofctl hardware new."
    case .revokedHardware(let id):
      "Hardware \(id) is revoked; nothing is issued for it."
    case .otherMode(let app, let hardware):
      "The app was measured in \(app) mode, the hardware is for \(hardware). Use a build of the "
        + "hardware's mode."
    case .literalRefused(let id):
      "Hardware \(id) is not registered for literal tokens, which carry the app's own keys. Issue "
        + "the diversified form."
    case .factorySecretMissing(let id):
      "Hardware \(id) takes only tokens that are sealed with its factory secret, which this backend "
        + "cannot open. Give it the account's factory key: proofctl hardware factory-key."
    case .downgraded(let id):
      "Hardware \(id) got tokens that were sealed with its factory secret, and its registration "
        + "names none any more. Restore the registration, or renew the hardware under another id."
    case .superseded(let issued, let offered):
      "A token of generation \(issued) was issued for this hardware; generation \(offered) is older. "
        + "The app must use its newest measurement."
    case .revokedInstance(let id, let through):
      "Instance \(id) is revoked at this hardware"
        + (through == .max ? " for good." : " up to generation \(through). It must measure anew.")
    case .clockAhead(let latest, let seconds):
      "The clock is \(seconds / 86_400) days beyond the ledger's latest record (\(latest)). Nothing was "
        + "signed, because hardware never forgets a time. If the clock is right, sign once with "
        + "--trust-clock; if not, set it."
    case .refused(let error): error.description
    case .storage(let path, let reason):
      "\(path) could not be read or written: \(reason). Nothing was issued."
    case .damaged(let path, let reason):
      "\(path) is damaged: \(reason). Nothing is issued until it is restored, or moved away."
    case .inUse(let path, let processID):
      "\(path) is in use by "
        + (processID.map { "process \($0)" } ?? "another process")
        + ", which did not let go of it within 10 seconds. Nothing was issued: look at that process."
    case .upcomingRefused(let id):
      "Hardware \(id) takes no tokens for a measurement to come: its registration does not name the "
        + "feature \"upcoming\". Present the token of the present measurement."
    case .otherFetch(let id):
      "A measurement to come of instance \(id) is not of the fetch that gave its present one. Send "
        + "the tokens of one fetch together."
    }
  }
}
