// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// The key that signs the configuration. Apps are built with its fingerprint, so the earlier key
// hands over to a new one; see SERVICE.md, section 6.

extension Management {
  /// The most handovers of the key before ``retireConfigurationKeys(confirmation:)``.
  public static var handoversMax: Int { AttestationWire.handoversMax }

  /// Signs the configuration with a fresh key from now on. Apps that know the earlier key accept
  /// it, because that key signs the fresh key's name.
  ///
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)`` after ``handoversMax`` changes.
  public func changeConfigurationKey() throws(ServiceError) {
    let place = AccountDocument.configuration
    try changeConfiguration { settings, key throws(ServiceError) in
      guard settings.handovers.count < Self.handoversMax else {
        throw .outOfTurn(
          "the configuration carries \(settings.handovers.count) changes of its key already",
          instead:
            "When no app with an earlier initial configuration is left: “config retire-keys”.")
      }
      let fresh = try account.vault.freshKey(32, for: place)
      func opened(_ sealed: [UInt8]) throws(ServiceError) -> JSONWebKey {
        try account.key(sealed, at: place.rawValue, .edDSA, id: nil).key
      }
      settings.handovers.append(
        try AccountConfiguration.handover(
          of: account.name, from: opened(key), to: opened(fresh)))
      key = fresh
    }
  }

  /// Drops the statements that lead apps from earlier keys to the present one. Apps that were built
  /// with an earlier key's fingerprint get no configuration any more.
  ///
  /// - Parameter confirmation: `YES`.
  /// - Throws: ``ServiceError/notConfirmed``.
  public func retireConfigurationKeys(confirmation: String) throws(ServiceError) {
    guard confirmation == "YES" else { throw .notConfirmed }
    try changeConfiguration { $0.handovers = [] }
  }
}
