import ProofModel

/// One of many devices that run the same app: its device sources are its own, all else is shared.
struct SimulatedDevice {
  let number: Int
  let records: Int

  /// What the device reports where these sources are asked for.
  func evidence(for sources: [Source]) throws(ProofError) -> EvidenceSet {
    var evidence: [EvidenceRecord] = []
    for source in sources.map(\.id) {
      switch source.evidenceClass {
      case .device:
        let seed = "device \(number) source \(source.number)"
        evidence.append(try record(source, name: "simulated", seed))
      case .app where source.number == Self.bundle:
        for file in 0..<records {
          evidence.append(try record(source, name: "share/file-\(file)", "file \(file)"))
        }
      case .app, .environment:
        evidence.append(try record(source, name: "simulated", "\(source)"))
      }
    }
    return try EvidenceSet(evidence)
  }

  /// The app source that is the files of the bundle: as many records as there are files.
  private static let bundle: UInt8 = 3

  /// The storage secret's source alone: what the device id follows from.
  func device(of account: String) throws(ProofError) -> DeviceID {
    let secret = try Source(SourceID(.device, DeviceID.secretSource))
    return DeviceID(of: try evidence(for: [secret]), account: account)
  }

  private func record(
    _ source: SourceID, name: String, _ seed: String
  ) throws(ProofError) -> EvidenceRecord {
    try EvidenceRecord(source, name: name, digest: Digest(hashing: Array(seed.utf8)))
  }
}
