// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofModel
import Testing

/// Keeps what is sent, as a proxy on the way would see it without TLS.
private final class Recorder: Transport {
  private let inner: CurlTransport
  private let seen = CoreLock<[String: [UInt8]]>([:])

  init(_ inner: CurlTransport) { self.inner = inner }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    seen.withLock { seen in
      seen[String(request.url.split(separator: "/").last ?? "")] = request.body
    }
    return try inner.send(request)
  }

  var report: [UInt8]? { seen.withLock { $0["report"] } }
}

/// The probe on this machine, a service over TLS, and what leaves the app between them.
@Suite("Withheld facts on a real way")
struct RealCollectionTests {
  private let service: ReferenceService
  private let folder: URL

  init() throws {
    service = try ReferenceService()
    folder = URL(fileURLWithPath: "/var/tmp/proofkit-collection-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  private func probe(_ mode: CollectionMode) throws -> Probe {
    try Probe(.init(storage: folder.path, hardens: false, collection: mode))
  }

  private func fetch(_ probe: Probe) throws -> (report: [UInt8], result: FetchResult) {
    let recorder = Recorder(CurlTransport(.init(authorities: service.greeting.authority)))
    let attestor = Attestor(observer: probe, over: recorder, appName: "door of ada")
    try attestor.initializeAndWait(service.shortForm())
    try attestor.setActivity("a stroll")
    let result = attestor.fetchTokenAndWait(for: "lock.example.com?measurement")
    #expect(result.status == .success, "\(result)")
    return (try #require(recorder.report), result)
  }

  /// The digest of a source's records under no mode: what must not leave.
  private func contains(_ report: [UInt8], _ part: [UInt8]) -> Bool {
    report.indices.contains { report[$0...].starts(with: part) }
  }

  @Test("a captured report has none of the withheld facts, as field, digest or text")
  func captured() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let (open, _) = try fetch(probe([]))
    let full = try AttestationReport(open)
    for mode in [
      CollectionMode.withoutBasicFacts, .withoutUniqueIdentifiers, .withoutExtras, .notGranted,
    ] {
      let (bytes, _) = try fetch(probe(mode))
      let report = try AttestationReport(bytes)
      #expect(report.withheld == mode)
      #expect(Int(mode.rawValue) == (try service.last()).withheld)
      for record in full.evidence.records where mode.withholds(record.source) {
        #expect(!report.evidence.records.contains { $0.source == record.source })
        if let digest = record.digest { #expect(!contains(bytes, digest.bytes)) }
      }
      for property in full.subject.properties {
        let isBasic = ["os", "kernel", "architecture", "app"].contains(property.name)
        let isWithheld = mode.contains(isBasic ? .withoutBasicFacts : .withoutExtras)
        if property.name.hasPrefix("finding.") || property.name == "upcoming" { continue }
        #expect(report.subject.properties.contains(property) == !isWithheld)
        if isWithheld, property.value.utf8.count > 6 {
          #expect(!contains(bytes, Array(property.value.utf8)), "\(property)")
        }
      }
    }
  }

  @Test("under a mode a measurement is the same after a restart, and opens no other enrolment")
  func restarts() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let (_, result) = try fetch(probe(.notGranted))
    let config = try #require(result.measurementConfig)
    let nonce = try ProofNonce([UInt8](repeating: 5, count: 16))
    func proof(_ mode: CollectionMode, _ config: MeasurementConfig) throws -> Proof {
      try Prover(config: config, collector: probe(mode)).integrityMeasurementProof(nonce: nonce)
    }
    let first = try proof(.notGranted, config)
    #expect(try proof(.notGranted, config) == first)
    let (_, other) = try fetch(probe([]))
    let whole = try #require(other.measurementConfig)
    #expect(try proof([], whole) != first)
    #expect(throws: ProofError.self) { _ = try proof(.notGranted, whole) }
  }
}
