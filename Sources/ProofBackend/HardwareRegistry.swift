public import ProofModel

/// The registration of one piece of hardware.
public struct RegisteredHardware: Sendable, Hashable {
  /// Its name, and the key that its tokens are sealed to.
  public let identity: HardwareIdentity
  /// The hardware's mode. It refuses tokens that were made in the other mode.
  public let mode: Mode
  /// Whether it takes tokens in the literal form.
  public let allowsLiteral: Bool
  /// The name that people gave it.
  public let name: String
  /// The time when it was registered, in Unix seconds.
  public let added: Int64
  /// Whether it is revoked: nothing is issued for it any more.
  public var isRevoked: Bool

  /// Describes hardware as the factory, or `proofctl hardware new`, registered it.
  public init(
    _ identity: HardwareIdentity, mode: Mode, allowsLiteral: Bool = false, name: String = "",
    added: Int64 = 0, isRevoked: Bool = false
  ) {
    self.identity = identity
    self.mode = mode
    self.allowsLiteral = allowsLiteral
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
}

extension HardwareRegistry {
  /// The hardware that something may be issued for.
  func usable(_ id: HardwareID) throws(BackendError) -> RegisteredHardware {
    guard let hardware = try hardware(id) else { throw .unknownHardware(id) }
    guard !hardware.isRevoked else { throw .revokedHardware(id) }
    return hardware
  }
}
