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

  /// Measures what a configuration asks for, now. Without an implementation of its own, a collector
  /// collects, and the evidence is measured.
  ///
  /// - Parameters:
  ///   - config: What is asked for.
  ///   - key: This build's key.
  /// - Returns: IM and DM.
  /// - Throws: As ``collect(for:)``, and what a ``/ProofModel/Measurement`` throws.
  func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement

  /// Looks again at what can watch the app, after the last MAC of a proof and before it leaves: if
  /// the answer is not that of this thread's last measurement, the proof becomes another one. Without
  /// an implementation of its own, a collector leaves it.
  ///
  /// - Parameters:
  ///   - proof: What was made of that measurement.
  ///   - previous: The proof of the same message that was released before; nil for the first. Then the
  ///     answer is compared with that release's: a message whose first proof became another one is
  ///     still of this device.
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)`` without memory or descriptors.
  func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError)

  /// Runs a closure that measures, proves and releases, and keeps other programs from setting
  /// hardware breakpoints in the calling thread meanwhile. Without an implementation of its own, a
  /// collector only runs it.
  ///
  /// - Parameter body: What to run.
  /// - Returns: What it returns.
  /// - Throws: What it throws.
  func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R
}

extension EvidenceCollector {
  /// Collects, and measures the evidence.
  public func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement {
    try Measurement(of: collect(for: config), under: config, with: key)
  }

  /// Leaves the proof as it is.
  public func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {}

  /// Runs the closure.
  public func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R {
    try body()
  }
}

extension EvidenceSet: EvidenceCollector {
  /// Evidence that is already there, for tests and tools: itself, whatever is asked for.
  public func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet { self }
}
