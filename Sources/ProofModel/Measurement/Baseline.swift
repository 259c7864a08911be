// SPDX-License-Identifier: Apache-2.0

/// The service's decisions for a measurement configuration that is still to be made.
public struct BaselineDraft: Sendable, Hashable {
  /// A fresh salt. One salt is used for one configuration only.
  public let salt: Salt
  /// The sources to measure.
  public let sources: [Source]
  /// The way the app may measure.
  public let policy: MeasurementPolicy
  /// The generation. It is higher than that of every earlier configuration of this app instance.
  public let generation: UInt32
  /// The app reads at most 2 to this power bytes of files.
  public let limitLog2: UInt8

  /// Checks and takes the service's decisions.
  ///
  /// - Parameters:
  ///   - salt: A fresh salt.
  ///   - sources: 1 to 24 sources, in any order, at least one of the device and one of the app, with
  ///     at most 128 groups together.
  ///   - policy: How the app may measure.
  ///   - generation: 1 to 2^32 - 2.
  ///   - limitLog2: 16 to 50.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(
    salt: Salt, sources: [Source], policy: MeasurementPolicy = .full, generation: UInt32 = 1,
    limitLog2: UInt8 = 33
  ) throws(ProofError) {
    try Self.check(sources)
    guard generation > 0, generation < .max else {
      throw .outOfRange(
        field: "generation", value: "\(generation)", allowed: "1 to \(UInt32.max - 1)")
    }
    guard CoreWire.limitsLog2.contains(limitLog2) else {
      throw .outOfRange(
        field: "limit on bytes read", value: "2^\(limitLog2)", allowed: "2^16 to 2^50")
    }
    self.salt = salt
    self.sources = sources.sorted { $0.id < $1.id }
    self.policy = policy
    self.generation = generation
    self.limitLog2 = limitLog2
  }

  private static func check(_ sources: [Source]) throws(ProofError) {
    guard (1...CoreWire.sourcesMax).contains(sources.count) else {
      throw .outOfRange(
        field: "number of sources", value: "\(sources.count)", allowed: "1 to 24")
    }
    let groups = sources.reduce(0) { $0 + $1.groupCount }
    guard groups <= CoreWire.leavesMax else {
      throw .outOfRange(
        field: "number of groups of all sources", value: "\(groups)", allowed: "at most 128")
    }
    let ids = sources.map(\.id).sorted()
    guard zip(ids, ids.dropFirst()).allSatisfy({ $0 != $1 }) else {
      throw .outOfRange(
        field: "list of sources", value: "one with a source twice", allowed: "each source once")
    }
    guard
      [EvidenceClass.device, .app].allSatisfy({ asked in
        ids.contains { $0.evidenceClass == asked }
      })
    else {
      throw .outOfRange(
        field: "list of sources", value: "one without device or app sources",
        allowed: "at least one source of each of these two classes")
    }
  }
}

/// A baseline in progress, on the service's side. It takes evidence that the service has accepted,
/// and gives the configuration under which the app measures itself from then on.
public struct Baseline: ~Copyable, Sendable {
  private var core: CoreFold

  /// Begins a baseline.
  ///
  /// - Parameters:
  ///   - draft: The service's decisions.
  ///   - key: The key of the app's SDK build.
  public init(_ draft: BaselineDraft, with key: MeasurementProofKey) {
    core = CoreFold(baseline: draft, with: key)
  }

  /// Adds one record. Records come in their canonical order.
  ///
  /// - Parameter record: The next observation.
  /// - Throws: As ``MeasurementFold/update(_:)``.
  public mutating func update(_ record: EvidenceRecord) throws(ProofError) {
    try core.update(record)
  }

  /// Ends the baseline.
  ///
  /// - Returns: The configuration. A measurement under it gives the known good values.
  /// - Throws: ``ProofError/evidenceMissing(_:)``, ``ProofError/measurementEnded``.
  public consuming func finish() throws(ProofError) -> MeasurementConfig {
    MeasurementConfig(core: try core.finishBaseline())
  }
}

extension MeasurementConfig {
  /// Makes a configuration from evidence that the service has accepted.
  ///
  /// - Parameters:
  ///   - evidence: The app's evidence at the time of the service's review.
  ///   - draft: The service's decisions.
  ///   - key: The key of the app's SDK build.
  /// - Throws: ``ProofError/evidenceNotAskedFor(_:)``, ``ProofError/evidenceMissing(_:)``.
  public init(
    baseline evidence: EvidenceSet, _ draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) {
    var baseline = Baseline(draft, with: key)
    for record in evidence.records { try baseline.update(record) }
    self = try baseline.finish()
  }
}
