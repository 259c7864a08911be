// SPDX-License-Identifier: Apache-2.0

/// The result of one measurement: integrity measurement (IM), device measurement (DM) and device
/// proof key (DPK). Secret.
///
/// It suffices to make proofs, so keep it no longer than a proof takes.
public struct Measurement: Sendable {
  /// The length of IM and of DM, in bytes.
  public static var byteCount: Int { 32 }

  let core: CoreMeasurement

  init(core: CoreMeasurement) { self.core = core }

  /// Measures.
  ///
  /// A key other than the configuration's is no error: the integrity measurement then differs.
  /// ``MeasurementConfig/check(_:)`` finds that beforehand.
  ///
  /// - Parameters:
  ///   - evidence: The app's evidence now.
  ///   - config: The configuration to measure under.
  ///   - key: This build's key.
  /// - Throws: ``ProofError/evidenceNotAskedFor(_:)``, ``ProofError/evidenceMissing(_:)``.
  public init(
    of evidence: EvidenceSet, under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) {
    var fold = MeasurementFold(under: config, with: key)
    for record in evidence.records { try fold.update(record) }
    self = try fold.finish()
  }

  /// Makes a measurement from the values that a service sent to a backend.
  ///
  /// - Parameters:
  ///   - integrity: IM, 32 bytes.
  ///   - device: DM, 32 bytes.
  ///   - deviceKey: DPK, 16 bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(
    integrity: borrowing SecretBytes, device: borrowing SecretBytes,
    deviceKey: borrowing SecretBytes
  ) throws(ProofError) {
    core = try CoreMeasurement(integrity: integrity, device: device, deviceKey: deviceKey)
  }

  /// One of the three secrets that a measurement gives.
  public enum Part: Sendable, CaseIterable {
    /// IM, 32 bytes.
    case integrity
    /// DM, 32 bytes.
    case device
    /// DPK, 16 bytes.
    case deviceKey
  }

  /// Lends one of the three secrets, for as long as the closure runs. The service sends them to the
  /// backend, encrypted.
  ///
  /// - Parameters:
  ///   - part: Which one.
  ///   - body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withBytes<R: ~Copyable, E: Error>(
    of part: Part, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try core.withBytes(of: part, body)
  }

  /// Proves this measurement under a nonce of the caller's, by the formula for literal secrets.
  ///
  /// - Parameters:
  ///   - kind: Integrity is proved with `key` and IM, the device with DPK and DM.
  ///   - nonce: A nonce that no proof answered before.
  ///   - key: This build's key.
  /// - Returns: The proof.
  public func proof(
    of kind: ProofKind, for nonce: ProofNonce, with key: MeasurementProofKey
  ) -> Proof {
    core.proof(of: kind, for: nonce, with: key.core)
  }

  /// Makes the secrets with which one piece of hardware checks proofs, and the app makes them.
  ///
  /// - Parameters:
  ///   - hardware: The hardware.
  ///   - key: The key of the app's SDK build.
  ///   - form: ``TokenForm/literal`` only for hardware that allows it.
  /// - Returns: The secrets, useless at any other hardware unless they are literal.
  public func secrets(
    for hardware: HardwareID, with key: MeasurementProofKey, form: TokenForm = .diversified
  ) -> HardwareSecrets {
    HardwareSecrets(core: core.secrets(for: hardware, with: key.core, form: form), form: form)
  }
}

extension Measurement: CustomStringConvertible, CustomReflectable {
  /// A text that contains nothing of the measurement.
  public var description: String { "Measurement(secret)" }

  /// Shows nothing of the measurement.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
