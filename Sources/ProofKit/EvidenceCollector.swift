public import ProofModel

/// Something that observes the running app, its environment and its device.
public protocol EvidenceCollector: Sendable {
  /// Observes what a configuration asks for, now.
  ///
  /// - Parameter config: What is asked for.
  /// - Returns: At least one record for each source asked for; what cannot be read is recorded as
  ///   absent.
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)``, and what an
  ///   ``/ProofModel/EvidenceSet`` throws.
  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet
}

extension EvidenceSet: EvidenceCollector {
  /// Evidence that is already there, for tests and tools: itself, whatever is asked for.
  public func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet { self }
}
