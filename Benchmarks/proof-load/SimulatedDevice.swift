import ProofModel

/// One of many devices that run the same app: its device sources are its own, all else is shared.
struct SimulatedDevice {
  let number: Int
  let records: Int

  /// The sources of PROBE.md: what a service asks for.
  private static let sources: [(EvidenceClass, ClosedRange<UInt8>)] = [
    (.device, 1...5), (.app, 1...4), (.environment, 1...9),
  ]

  /// What the device reports.
  func evidence() throws(ProofError) -> EvidenceSet {
    var evidence: [EvidenceRecord] = []
    for (evidenceClass, numbers) in Self.sources {
      for number in numbers {
        let source = try SourceID(evidenceClass, number)
        switch evidenceClass {
        case .device:
          let seed = "device \(self.number) source \(number)"
          evidence.append(try record(source, name: "simulated", seed))
        case .app where number == Self.bundle:
          for file in 0..<records {
            evidence.append(try record(source, name: "share/file-\(file)", "file \(file)"))
          }
        case .app, .environment:
          evidence.append(try record(source, name: "simulated", "\(source)"))
        }
      }
    }
    return try EvidenceSet(evidence)
  }

  /// The app source that is the files of the bundle: as many records as there are files.
  private static let bundle: UInt8 = 3

  private func record(
    _ source: SourceID, name: String, _ seed: String
  ) throws(ProofError) -> EvidenceRecord {
    try EvidenceRecord(source, name: name, digest: Digest(hashing: Array(seed.utf8)))
  }
}
