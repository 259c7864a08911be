// SPDX-License-Identifier: Apache-2.0

/// The relation of a token's secrets to the app's.
public enum TokenForm: UInt8, Sendable, CaseIterable {
  /// Derived for one piece of hardware; useless at any other.
  case diversified = 1
  /// The app's own keys and measurements: the compatibility mode. Hardware must allow it by name.
  case literal = 2
}

/// The secrets with which the app makes proofs for one piece of hardware, and the hardware checks
/// them. Secret.
public struct HardwareSecrets: Sendable {
  /// The relation of the secrets to the app's.
  public let form: TokenForm
  let core: CoreSecrets

  init(core: CoreSecrets, form: TokenForm) {
    self.core = core
    self.form = form
  }

  /// Makes a value from secrets that were stored separately.
  ///
  /// - Parameters:
  ///   - integrityKey: The key of integrity proofs, 16 bytes.
  ///   - integrity: The value that integrity proofs prove, 32 bytes.
  ///   - deviceKey: The key of device proofs, 16 bytes.
  ///   - device: The value that device proofs prove, 32 bytes.
  ///   - form: How these relate to the app's.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(
    integrityKey: borrowing SecretBytes, integrity: borrowing SecretBytes,
    deviceKey: borrowing SecretBytes, device: borrowing SecretBytes, form: TokenForm
  ) throws(ProofError) {
    core = try CoreSecrets(
      integrityKey: integrityKey, integrity: integrity, deviceKey: deviceKey, device: device)
    self.form = form
  }

  /// One of the four secrets.
  package enum Part: Sendable, CaseIterable {
    /// The key of integrity proofs, 16 bytes.
    case integrityKey
    /// The value that integrity proofs prove, 32 bytes.
    case integrity
    /// The key of device proofs, 16 bytes.
    case deviceKey
    /// The value that device proofs prove, 32 bytes.
    case device
  }

  /// Lends one of the four secrets, for as long as the closure runs: for tools and tests.
  package func withBytes<R: ~Copyable, E: Error>(
    of part: Part, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try core.withBytes(of: part, body)
  }
}

extension HardwareSecrets: CustomStringConvertible, CustomReflectable {
  /// A text that contains nothing of the secrets.
  public var description: String { "HardwareSecrets(secret, \(form))" }

  /// Shows nothing of the secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
