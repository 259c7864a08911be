// SPDX-License-Identifier: Apache-2.0

import ProofModel

@testable import ProofService

/// An app on a device, as the SDK would report it: real measurements, of evidence that tests choose.
struct TestApp {
  var key: MeasurementProofKey
  var account = "door"
  var sdkVersion = "0.1.0"
  /// The facts that it withholds.
  var withheld: CollectionMode = []
  /// Digests by source and name; nil for absent.
  var evidence: [Name: Digest?] = TestApp.clean

  struct Name: Hashable {
    var evidenceClass: EvidenceClass
    var number: UInt8
    var name: String

    init(_ evidenceClass: EvidenceClass, _ number: UInt8, _ name: String) {
      self.evidenceClass = evidenceClass
      self.number = number
      self.name = name
    }
  }

  /// Digest of “nothing special”, made by another implementation of BLAKE2b (Python's hashlib).
  static let factNone = "1a2bdea002aa8b9ef8b2d5cfee20762ac9f5e601a0c9e27a705b290a77c87b85"
  static let factContained = "da215a3056ac4a1e35446b21ecf291338f6b2f1f99ab9e908b6fecffc185ddec"
  static let factAgree = "4f0f22aa9bf81eea04fd494d392b5362f3444afbebdf21ae4309dd32e7b6e362"
  static let unset = "c9af8ed296b128cf9e8daf53045b24d2cd2b16fadfc1ef949456f6643aad1fbe"
  static let factUnasked = "100f5d28204f5e8e2b7f7f22c1b5bf8d416a6899b90cf1b12a1a9622bd2c2837"
  static let nothingFound = "24b9ca00c3b000d8f5d97df89eaa00a02170c4672600b16f1553e88062863154"

  static let clean: [Name: Digest?] = {
    var evidence: [Name: Digest?] = [:]
    for (number, name) in [
      (1, "machine-id"), (2, "processor"), (3, "product uuid"), (4, "root"), (5, "secret"),
    ] as [(UInt8, String)] {
      evidence[Name(.device, number, name)] = Digest(hashing: Array("device \(name)".utf8))
    }
    evidence[Name(.device, 3, "board serial")] = .some(nil)
    for (number, name) in [(1, "executable"), (1, "libc.so.6"), (2, "executable"), (4, "sdk")]
      as [(UInt8, String)]
    {
      evidence[Name(.app, number, name)] = Digest(hashing: Array("app \(number) \(name)".utf8))
    }
    for shard in 0x30..<0x70 as Range<UInt8> {
      let name = String(UnicodeScalar(shard))
      evidence[Name(.app, 3, name)] = Digest(hashing: Array("shard \(name)".utf8))
    }
    for (number, name, digest) in [
      (1, "tracer", factNone), (1, "hardware breakpoints", factNone),
      (1, "personality", factNone), (2, "LD_AUDIT", unset), (2, "LD_LIBRARY_PATH", unset),
      (2, "LD_PRELOAD", unset), (2, "ld.so.preload", factNone), (3, "unexplained", nothingFound),
      (4, "anonymous", nothingFound), (4, "deleted", nothingFound), (4, "foreign", nothingFound),
      (4, "memfd", nothingFound), (4, "misplaced", nothingFound), (4, "replaced", nothingFound),
      (4, "writable", nothingFound), (5, "private", nothingFound), (7, "translator", factNone),
      (7, "valgrind", factNone), (7, "views", factAgree),
    ] as [(UInt8, String, String)] {
      evidence[Name(.environment, number, name)] = try! Digest(hex(digest))
    }
    for (number, name) in [
      (6, "executable"), (8, "os-release"), (9, "kernel"), (10, "variables"),
    ] as [(UInt8, String)] {
      evidence[Name(.environment, number, name)] = Digest(hashing: Array("env \(name)".utf8))
    }
    return evidence
  }()

  var set: EvidenceSet {
    try! EvidenceSet(
      evidence.map { name, digest in
        try! EvidenceRecord(
          SourceID(name.evidenceClass, name.number), name: name.name, digest: digest)
      })
  }

  var device: InstanceID { InstanceID(of: set, account: account) }
  var digest: AppDigest { AppDigest(of: set) }

  func question(
    _ purpose: AttestationPurpose = .token, host: String = "", hasKey: Bool = false,
    endorsement: Endorsement? = nil
  ) -> AttestationQuestion {
    AttestationQuestion(
      keyID: key.id, device: device, purpose: purpose, configSerial: 0, account: account,
      sdkVersion: sdkVersion, host: host, hasKey: hasKey, endorsement: endorsement,
      withholding: withheld)
  }

  func report(
    _ subject: AttestationReport.Subject, answering challenge: AttestationChallenge,
    signedBy installation: InstallationClaim.Signer? = nil
  ) throws -> [UInt8] {
    let asked = Set(challenge.draft.sources.map(\.id))
    let observed = try EvidenceSet(set.records.filter { asked.contains($0.source) })
    return try made(subject, of: observed, answering: challenge, signedBy: installation).bytes
  }

  /// A measurement under the configuration that a report was made with: what the app keeps it for.
  func measured(
    _ subject: AttestationReport.Subject, answering challenge: AttestationChallenge
  ) throws -> (report: [UInt8], measurement: Measurement) {
    let asked = Set(challenge.draft.sources.map(\.id))
    let observed = try EvidenceSet(set.records.filter { asked.contains($0.source) })
    let made = try made(subject, of: observed, answering: challenge, signedBy: nil)
    return (made.bytes, try Measurement(of: observed, under: made.config, with: key))
  }

  private func made(
    _ subject: AttestationReport.Subject, of observed: EvidenceSet,
    answering challenge: AttestationChallenge, signedBy installation: InstallationClaim.Signer?
  ) throws -> (bytes: [UInt8], config: MeasurementConfig) {
    try AttestationReport.make(
      subject, of: observed, answering: challenge, account: account, configSerial: 0,
      sdkVersion: sdkVersion, with: key, withholding: withheld, signedBy: installation)
  }
}
