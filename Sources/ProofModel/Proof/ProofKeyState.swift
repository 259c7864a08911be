// SPDX-License-Identifier: Apache-2.0

/// A key expanded for many proofs: both states of the HMAC are computed once, so that a proof costs
/// two compressions of SHA-256 and allocates nothing. Secret.
///
/// Any number of tasks may use one state at the same time.
public struct ProofKeyState: Sendable {
  /// The kind of proof that the key makes.
  public let kind: ProofKind
  let core: CoreProofKey

  /// Expands the measurement proof key, for integrity proofs.
  ///
  /// - Parameter key: This build's key.
  public init(integrity key: MeasurementProofKey) {
    kind = .integrity
    core = CoreProofKey(key.core)
  }

  /// Expands a measurement's device proof key, for device proofs.
  ///
  /// - Parameter measurement: A measurement.
  public init(device measurement: Measurement) {
    kind = .device
    core = CoreProofKey(measurement.core)
  }

  /// Expands one of the keys that the app shares with one piece of hardware.
  ///
  /// - Parameters:
  ///   - kind: The kind of proof, which selects the key.
  ///   - secrets: The secrets that app and hardware share.
  public init(_ kind: ProofKind, _ secrets: HardwareSecrets) {
    self.kind = kind
    core = CoreProofKey(kind, secrets.core)
  }

  /// Proves a measurement.
  ///
  /// - Parameters:
  ///   - nonce: A nonce that no proof answered before.
  ///   - measurement: The measurement to prove: its IM or DM, by this state's kind.
  /// - Returns: The proof.
  public func proof(for nonce: ProofNonce, of measurement: Measurement) -> Proof {
    core.proof(for: nonce, of: kind, in: measurement.core)
  }

  /// Proves the secrets that the app shares with one piece of hardware.
  ///
  /// - Parameters:
  ///   - nonce: A nonce that no proof answered before.
  ///   - secrets: The secrets to prove, by this state's kind.
  /// - Returns: The proof.
  public func proof(for nonce: ProofNonce, of secrets: HardwareSecrets) -> Proof {
    core.proof(for: nonce, of: kind, in: secrets.core)
  }

  /// Checks a proof, in constant time.
  ///
  /// - Parameters:
  ///   - proof: The proof.
  ///   - nonce: The nonce it should answer.
  ///   - measurement: The measurement that the proof should prove.
  /// - Throws: ``ProofError/differs(_:)``.
  public func check(
    _ proof: Proof, for nonce: ProofNonce, of measurement: Measurement
  ) throws(ProofError) {
    try core.check(proof, for: nonce, of: kind, in: measurement.core)
  }

  /// Checks a proof, in constant time.
  ///
  /// - Parameters:
  ///   - proof: The proof.
  ///   - nonce: The nonce it should answer.
  ///   - secrets: The secrets that the proof should prove.
  /// - Throws: ``ProofError/differs(_:)``.
  public func check(
    _ proof: Proof, for nonce: ProofNonce, of secrets: HardwareSecrets
  ) throws(ProofError) {
    try core.check(proof, for: nonce, of: kind, in: secrets.core)
  }
}

extension ProofKeyState: CustomStringConvertible, CustomReflectable {
  /// A text that contains nothing of the key.
  public var description: String { "ProofKeyState(secret, \(kind))" }

  /// Shows nothing of the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
