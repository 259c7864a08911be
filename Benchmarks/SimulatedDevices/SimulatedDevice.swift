// SPDX-License-Identifier: Apache-2.0

internal import ProofKit
package import ProofModel
internal import Synchronization

/// One of many devices that run the same app, built with this SDK: its device sources are its own, all
/// else is shared. What it sees does not change from one attestation to the next.
package struct SimulatedDevice: Sendable {
  private let account: String
  private let evidence: EvidenceSet
  private let id: InstanceID

  private static let sdkVersion = "bench"

  /// - Parameters:
  ///   - number: Which of the devices.
  ///   - records: Files in the app's bundle.
  ///   - account: Whom it attests to.
  /// - Throws: What is no evidence.
  package init(_ number: Int, records: Int, account: String) throws(ProofError) {
    self.account = account
    evidence = try Self.evidence(number, records)
    id = InstanceID(of: evidence, account: account)
  }

  /// Asks for a challenge.
  package func question() -> AttestationQuestion {
    AttestationQuestion(
      keyID: MeasurementProofKey.sdk.id, device: id, purpose: .token, configSerial: 0,
      account: account, sdkVersion: Self.sdkVersion)
  }

  /// The report for a token for an API.
  package func report(
    for domain: String, answering challenge: AttestationChallenge
  ) throws(ProofError) -> [UInt8] {
    try AttestationReport.make(
      AttestationReport.Subject(.token, name: domain), of: evidence, answering: challenge,
      account: account, configSerial: 0, sdkVersion: Self.sdkVersion, with: .sdk
    ).bytes
  }

  /// The sources of PROBE.md: what a service asks for.
  private static let sources: [(EvidenceClass, ClosedRange<UInt8>)] = [
    (.device, 1...5), (.app, 1...4), (.environment, 1...10),
  ]

  /// The app source that is the files of the bundle: as many records as there are files.
  private static let bundle: UInt8 = 3

  private static func evidence(_ device: Int, _ records: Int) throws(ProofError) -> EvidenceSet {
    var own: [EvidenceRecord] = []
    for (evidenceClass, numbers) in sources where evidenceClass == .device {
      for number in numbers {
        own.append(
          try record(
            SourceID(evidenceClass, number), name: "simulated",
            "device \(device) source \(number)"))
      }
    }
    return try EvidenceSet(own + app(records))
  }

  /// The records that all devices share, in their order, by the number of files. To make them for each device would
  /// cost a load generator more than its requests.
  private static let apps = Mutex<[Int: [EvidenceRecord]]>([:])

  private static func app(_ records: Int) throws(ProofError) -> [EvidenceRecord] {
    if let known = apps.withLock({ $0[records] }) { return known }
    var shared: [EvidenceRecord] = []
    for (evidenceClass, numbers) in sources where evidenceClass != .device {
      for number in numbers {
        let source = try SourceID(evidenceClass, number)
        if evidenceClass == .app, number == bundle {
          for file in 0..<records {
            shared.append(try record(source, name: "share/file-\(file)", "file \(file)"))
          }
        } else {
          shared.append(try record(source, name: "simulated", "\(source)"))
        }
      }
    }
    let made = try EvidenceSet(shared).records
    apps.withLock { $0[records] = made }
    return made
  }

  private static func record(
    _ source: SourceID, name: String, _ seed: String
  ) throws(ProofError) -> EvidenceRecord {
    try EvidenceRecord(source, name: name, digest: Digest(hashing: Array(seed.utf8)))
  }
}
