// SPDX-License-Identifier: Apache-2.0

/// A measurement in progress: takes evidence record by record, in constant memory.
///
/// Use ``Measurement/init(of:under:with:)`` for evidence that is already a set. A fold ends when it
/// refuses a record, and when it is finished. It cannot be copied, because two halves of one
/// measurement must not end differently.
public struct MeasurementFold: ~Copyable, Sendable {
  private var core: CoreFold

  /// Begins a measurement.
  ///
  /// A key other than the configuration's is no error: the integrity measurement then differs, and
  /// the device measurement does not.
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

  /// Ends the measurement, and returns the differences from the baseline instead.
  ///
  /// - Parameter evidence: The records that were added, to name candidates from.
  /// - Returns: The difference from the baseline.
  /// - Throws: ``ProofError/evidenceMissing(_:)``, ``ProofError/measurementEnded``. Traps if the
  ///   fold was not begun with `comparing`.
  public consuming func difference(among evidence: EvidenceSet) throws(ProofError) -> Difference {
    try core.difference(among: evidence)
  }
}
