/// A measurement in progress: takes evidence record by record, in constant memory.
///
/// ``Measurement/init(of:under:with:)`` is the short way for evidence that is already a set. A fold
/// that refused a record has ended; so has one that was finished. It cannot be copied, because two
/// halves of one measurement must not end differently.
public struct MeasurementFold: ~Copyable, Sendable {
  private var core: CoreFold

  /// Begins a measurement.
  ///
  /// A key other than the configuration's is no error here: the integrity measurement then simply
  /// differs, and the device measurement does not.
  ///
  /// - Parameters:
  ///   - config: The configuration to measure under.
  ///   - key: This build's key.
  ///   - comparing: Whether ``difference(among:)`` will end the measurement.
  public init(
    under config: MeasurementConfig, with key: MeasurementProofKey, comparing: Bool = false
  ) {
    core = CoreFold(measuring: config, with: key, comparing: comparing)
  }

  /// Adds one record. Records come in their canonical order.
  ///
  /// - Parameter record: The next observation.
  /// - Throws: ``ProofError/evidenceRepeated(_:)``, ``ProofError/evidenceOutOfOrder(_:)``,
  ///   ``ProofError/evidenceNotAskedFor(_:)``; after any of them
  ///   ``ProofError/measurementEnded``.
  public mutating func update(_ record: EvidenceRecord) throws(ProofError) {
    try core.update(record)
  }

  /// Ends the measurement.
  ///
  /// - Returns: The measurement.
  /// - Throws: ``ProofError/evidenceMissing(_:)``, ``ProofError/measurementEnded``.
  public consuming func finish() throws(ProofError) -> Measurement {
    Measurement(core: try core.finish())
  }

  /// Ends the measurement, and tells what differs from the baseline instead.
  ///
  /// - Parameter evidence: The records that were added, to name candidates from.
  /// - Returns: The difference from the baseline.
  /// - Throws: ``ProofError/evidenceMissing(_:)``, ``ProofError/measurementEnded``. Traps if the
  ///   fold was not begun with `comparing`.
  public consuming func difference(among evidence: EvidenceSet) throws(ProofError) -> Difference {
    try core.difference(among: evidence)
  }
}
