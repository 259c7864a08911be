public import ProofModel

/// What a backend knows about one piece of hardware.
public struct RegisteredHardware: Sendable, Hashable {
  /// Its name, and the key that its tokens are sealed to.
  public let identity: HardwareIdentity
  /// What was made in the other mode is refused.
  public let mode: Mode
  /// Whether it takes tokens in the literal form.
  public let allowsLiteral: Bool
  /// What people call it.
  public let name: String
  /// When it was registered, in Unix seconds.
  public let added: Int64
  /// Whether nothing is issued for it any more.
  public var isRevoked: Bool

  /// What the factory, or `proofctl hardware new`, told the account.
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

/// Says which hardware there is. Called from several threads.
///
/// It is asked each time something is issued, so hardware that was revoked gets nothing from then on:
/// whoever implements it looks at the place where hardware is registered, and keeps no copy. That
/// place is the account of the attestation service; `ProofService.AccountHardware` looks there.
public protocol HardwareRegistry: Sendable {
  /// Looks hardware up.
  ///
  /// - Parameter id: The hardware's name.
  /// - Returns: What is known about it, or nil.
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
