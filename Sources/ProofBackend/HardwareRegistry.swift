// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The registration of one piece of hardware.
public struct RegisteredHardware: Sendable, Hashable {
  /// Its name, and the key that its tokens are sealed to.
  public let identity: HardwareIdentity
  /// The hardware's mode. It refuses tokens that were made in the other mode.
  public let mode: Mode
  /// Whether it takes tokens in the literal form.
  public let allowsLiteral: Bool
  /// The features of the hardware. They choose the version of its tokens, and whether its factory
  /// secret seals them.
  public var features: HardwareFeatures
  /// The name that people gave it.
  public let name: String
  /// The time when it was registered.
  public let added: UnixTime
  /// Whether it is revoked: nothing is issued for it any more.
  public var isRevoked: Bool
  /// The drawn factory secret, sealed as the account keeps it; nil if the account has none, or if
  /// this came from a list.
  package var sealedFactorySecret: [UInt8]?

  /// Describes hardware as the factory, or `proofctl hardware new`, registered it.
  public init(
    _ identity: HardwareIdentity, mode: Mode, allowsLiteral: Bool = false,
    features: HardwareFeatures = [], name: String = "", added: UnixTime = 0, isRevoked: Bool = false
  ) {
    self.identity = identity
    self.mode = mode
    self.allowsLiteral = allowsLiteral
    self.features = features
    self.name = name
    self.added = added
    self.isRevoked = isRevoked
  }
}

/// Looks up registered hardware. Called from several threads.
///
/// It is asked each time something is issued, so revoked hardware gets nothing from then on. An
/// implementation reads the place where hardware is registered, and keeps no copy. That place is
/// the account of the attestation service; `ProofService.AccountHardware` reads it.
public protocol HardwareRegistry: Sendable {
  /// Looks hardware up.
  ///
  /// - Parameter id: The hardware's name.
  /// - Returns: The hardware's registration; nil if it is not registered.
  /// - Throws: ``BackendError/storage(path:reason:)``, ``BackendError/damaged(path:reason:)``.
  func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware?

  /// Looks up the factory secret of hardware whose features name one. Without this method a registry
  /// has none, and nothing is issued for such hardware.
  ///
  /// - Parameter hardware: The hardware's registration.
  /// - Returns: The secret; nil if this registry does not have it.
  /// - Throws: ``BackendError/storage(path:reason:)``, ``BackendError/damaged(path:reason:)``.
  func factorySecret(of hardware: RegisteredHardware) throws(BackendError) -> FactorySecret?
}

extension HardwareRegistry {
  /// Has no factory secrets.
  public func factorySecret(
    of hardware: RegisteredHardware
  ) throws(BackendError) -> FactorySecret? { nil }

  /// The hardware that something may be issued for.
  func usable(_ id: HardwareID) throws(BackendError) -> RegisteredHardware {
    guard let hardware = try hardware(id) else { throw .unknownHardware(id) }
    guard !hardware.isRevoked else { throw .revokedHardware(id) }
    return hardware
  }
}
