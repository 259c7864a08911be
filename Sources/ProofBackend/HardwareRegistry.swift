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
  /// Whether nothing is issued for it any more.
  public var isRevoked: Bool

  /// What the factory, or `proofctl hardware new`, wrote down.
  public init(
    _ identity: HardwareIdentity, mode: Mode, allowsLiteral: Bool = false, name: String = "",
    isRevoked: Bool = false
  ) {
    self.identity = identity
    self.mode = mode
    self.allowsLiteral = allowsLiteral
    self.name = name
    self.isRevoked = isRevoked
  }
}

/// Says which hardware there is. Called from several threads.
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
