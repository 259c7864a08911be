// SPDX-License-Identifier: Apache-2.0

@testable import ProofKit
import ProofModel

/// Pairs that a test can tell apart by their generation.
enum Sample {
  static let instance = ignoringErrors { try InstanceID([UInt8](repeating: 7, count: 16)) }

  static func hardware(_ number: UInt8) throws -> HardwareID {
    try HardwareID([UInt8](repeating: number, count: 16))
  }

  static func token(_ number: UInt8, filler: UInt8 = 0) throws -> StoredToken {
    let hardware = try hardware(number)
    let head = Array("PT".utf8) + [1, 1] + hardware.bytes.prefix(4)
    let body = [UInt8](repeating: filler, count: MeasurementToken.byteCount - head.count)
    return try StoredToken(MeasurementToken(head + body), for: hardware)
  }

  static func config(_ generation: UInt32, salt: UInt8 = 1) throws -> MeasurementConfig {
    let device = try Source(SourceID(.device, 1), version: 1, groupsLog2: 0)
    let app = try Source(SourceID(.app, 2), version: 1, groupsLog2: 1)
    let draft = try BaselineDraft(
      salt: Salt([UInt8](repeating: salt, count: 16)), sources: [device, app],
      generation: generation)
    let evidence = try EvidenceSet([
      EvidenceRecord(device.id, name: Array("board".utf8), digest: Digest(hashing: [1])),
      EvidenceRecord(app.id, name: Array("executable".utf8), digest: Digest(hashing: [2])),
    ])
    return try MeasurementConfig(baseline: evidence, draft, with: .sdk)
  }

  static func pair(_ generation: UInt32, tokens: [UInt8] = [1, 2]) throws -> StoredMeasurement {
    try StoredMeasurement(
      config(generation), of: instance, tokens: tokens.map { try token($0) })
  }

  private static func ignoringErrors<Value>(_ body: () throws -> Value) -> Value {
    do { return try body() } catch { preconditionFailure("\(error)") }
  }
}
