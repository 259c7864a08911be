import ProofModel

/// The attestation service: knows the measurement proof key of each SDK build, makes configurations.
struct Service {
  let key: MeasurementProofKey

  init(_ mode: Mode) throws {
    key = try MeasurementProofKey(.random(count: 16), mode: mode)
  }

  static func sources() throws -> [Source] {
    [
      try Source(SourceID(.device, 1)), try Source(SourceID(.device, 2)),
      try Source(SourceID(.app, 1), groupsLog2: 4), try Source(SourceID(.app, 2)),
      try Source(SourceID(.environment, 1)),
    ]
  }

  func configuration(from evidence: EvidenceSet, generation: UInt32) throws -> MeasurementConfig {
    let draft = try BaselineDraft(
      salt: .random(), sources: Self.sources(), generation: generation)
    return try MeasurementConfig(baseline: evidence, draft, with: key)
  }

  func measurement(
    of evidence: EvidenceSet, under config: MeasurementConfig
  ) throws -> Measurement {
    try Measurement(of: evidence, under: config, with: key)
  }
}
