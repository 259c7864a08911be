// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Something that observes the running app, its environment and its device.
public protocol EvidenceCollector: Sendable {
  /// The facts that it withholds: it collects none of their sources, whatever a configuration asks
  /// for. The default implementation withholds nothing.
  var collection: CollectionMode { get }

  /// Observes the sources that a configuration asks for, now.
  ///
  /// - Parameter config: The configuration that names the sources.
  /// - Returns: At least one record for each source asked for. A source that cannot be read is
  ///   recorded as absent.
  /// - Throws: ``/ProofModel/ProofError/evidenceWithheld(_:)``,
  ///   ``/ProofModel/ProofError/evidenceUnavailable(reason:)``,
  ///   ``/ProofModel/ProofError/resourcesExhausted(reason:)``, and the errors of an
  ///   ``/ProofModel/EvidenceSet``.
  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet

  /// Measures under a configuration, now. The default implementation calls ``collect(for:)`` and
  /// measures the evidence.
  ///
  /// - Parameters:
  ///   - config: The configuration to measure under.
  ///   - key: This build's key.
  /// - Returns: IM and DM.
  /// - Throws: As ``collect(for:)``, and the errors of a ``/ProofModel/Measurement``.
  func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement

  /// Checks again for debuggers and tracers, after the last MAC of a proof and before the proof is
  /// sent. If the result differs from this thread's last measurement, the proof is replaced by a
  /// different one. The default implementation leaves the proof as it is.
  ///
  /// - Parameters:
  ///   - proof: The proof that was made from that measurement.
  ///   - previous: The proof of the same message that was released before; nil for the first. If it
  ///     is given, the check compares with that release: a message whose first proof was replaced
  ///     can still prove this device.
  /// - Throws: ``/ProofModel/ProofError/resourcesExhausted(reason:)``.
  func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError)

  /// Empties caches, so that the next measurement reads everything. The default implementation has
  /// none.
  func forget()

  /// Runs a closure that measures, proves and releases. Meanwhile it keeps other programs from
  /// setting hardware breakpoints in the calling thread. The default implementation only runs the
  /// closure.
  ///
  /// - Parameter body: The closure to run.
  /// - Returns: The result of the closure.
  /// - Throws: The error of the closure.
  func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R
}

extension EvidenceCollector {
  /// Nothing is withheld.
  public var collection: CollectionMode { [] }

  /// Refuses sources that are withheld.
  func checkWithheld(_ sources: [Source]) throws(ProofError) {
    let withheld = sources.map(\.id).filter(collection.withholds)
    guard withheld.isEmpty else { throw .evidenceWithheld(withheld) }
  }

  /// Collects, and measures the evidence.
  public func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement {
    try Measurement(of: collect(for: config), under: config, with: key)
  }

  /// Nothing is cached.
  public func forget() {}

  /// Leaves the proof as it is.
  public func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {}

  /// Runs the closure.
  public func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R {
    try body()
  }
}

extension EvidenceSet: EvidenceCollector {
  /// Returns itself, whatever the configuration asks for: existing evidence, for tests and tools.
  public func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet { self }
}
