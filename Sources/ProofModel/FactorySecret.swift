// SPDX-License-Identifier: Apache-2.0

/// The factory secret of one piece of hardware, as it stands in the hardware. Secret.
///
/// The factory draws 32 random bytes for each piece of hardware, and the backend keeps them. Tokens
/// that are sealed with it stay closed to an attacker who can break X25519 and Ed25519.
public struct FactorySecret: Sendable {
  /// The length of what the factory draws, in bytes.
  public static var byteCount: Int { CoreFactorySecret.byteCount }

  /// The hardware whose secret it is.
  public let hardware: HardwareID

  let core: CoreFactorySecret

  /// Derives the secret of one piece of hardware.
  ///
  /// - Parameters:
  ///   - hardware: The hardware's name.
  ///   - drawn: What the factory drew for it: 32 bytes, not all zeros.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, ``ProofError/allZeros(of:)``.
  public init(of hardware: HardwareID, drawn: borrowing SecretBytes) throws(ProofError) {
    core = try CoreFactorySecret(of: hardware, drawn: drawn)
    self.hardware = hardware
  }
}

extension FactorySecret: CustomStringConvertible, CustomReflectable {
  /// The hardware's public name. It never contains the secret.
  public var description: String { "FactorySecret(\(hardware))" }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["hardware": hardware]) }
}
