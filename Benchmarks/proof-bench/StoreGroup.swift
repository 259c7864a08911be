// SPDX-License-Identifier: Apache-2.0

import ProofBench
import ProofKit
import ProofModel

/// Costs of a restart: the pair of configuration and tokens, onto the disk and back.
func storeGroup(_ sample: Sample) throws -> Group {
  let one = try StoredPair(sample, tokens: 1)
  let many = try StoredPair(sample, tokens: 256)
  return Group(
    name: "store",
    candidates: [
      .whole("persist.1") { _ in try one.persist() },
      .whole("persist.256") { _ in try many.persist() },
      .whole("load.1", count: 10) { count in for _ in 0..<count { try one.load() } },
      .whole("load.256", count: 10) { count in for _ in 0..<count { try many.load() } },
    ],
    ratios: [("persist.1", "load.1"), ("persist.256", "persist.1"), ("load.256", "load.1")])
}

/// A stored measurement in a folder of its own.
final class StoredPair {
  private let folder: String
  private let measurement: StoredMeasurement

  init(_ sample: Sample, tokens count: Int) throws {
    folder = try Workplace.folder("store-\(count)")
    let tokens = try (0..<count).map { number in
      let id = try HardwareID([UInt8(number)] + [UInt8](repeating: 1, count: 15))
      return try StoredToken(sample.token(for: id), for: id)
    }
    measurement = try StoredMeasurement(sample.config, of: sample.instance, tokens: tokens)
    try persist()
  }

  /// As an app that has just started: the folder is opened, locked, read and written.
  func persist() throws { try MeasurementStore(folder: folder).save(measurement) }

  func load() throws {
    guard try MeasurementStore(folder: folder).load() == measurement else {
      throw PeerError("the store gives back something else")
    }
  }
}
