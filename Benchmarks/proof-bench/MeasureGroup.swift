// SPDX-License-Identifier: Apache-2.0

import ProofBench
import ProofKit
import ProofModel

/// The ways of measuring.
enum Way: String, CaseIterable {
  /// Every byte is read and hashed.
  case cold
  /// The first measurement under the trusting policy, which also learns.
  case first
  /// Unchanged files are not read again; files are looked up by name.
  case warm
  /// The same, with files kept open in between.
  case kept
}

/// One bundle, proved through the SDK in one way: observed, folded, and proved for a nonce.
final class Proved {
  private let probe: Probe
  private let prover: Prover<Probe>
  private let forgets: Bool
  private let nonce = ProofNonce.random()

  /// - Parameters:
  ///   - bundle: The folder.
  ///   - way: How it is measured.
  ///   - isWhole: Whether this process and its device are measured too, or the files alone.
  /// - Throws: What the probe throws.
  init(_ bundle: String, _ way: Way, isWhole: Bool = false) throws {
    let options = Probe.Options(
      bundle: bundle, storage: isWhole ? try Workplace.folder("secret") : nil, hardens: false,
      keptDescriptorCount: way == .kept ? 20_000 : 0)
    probe = try Probe(options)
    // A configuration asks for something of the device; what has a file's cost is the least of it.
    let sources = Probe.sources.filter { isWhole || Self.files.contains($0.id) }
    let policy: MeasurementPolicy = way == .cold ? .full : .trusting
    let evidence = try probe.observe(
      sources, policy: policy, limitLog2: 40, cancellation: Cancellation()
    ).evidence
    let key = try MeasurementProofKey(.random(count: 16), mode: .development)
    let draft = try BaselineDraft(
      salt: .random(), sources: sources, policy: policy, limitLog2: 40)
    prover = Prover(
      config: try MeasurementConfig(baseline: evidence, draft, with: key), collector: probe,
      key: key)
    forgets = way == .first
    try prove()
  }

  private static let files = (try? [SourceID(.device, 1), SourceID(.app, 3)]) ?? []

  func prove() throws { _ = try prover.integrityMeasurementProof(nonce: nonce) }

  /// A candidate of this name.
  func candidate(_ name: String) -> Candidate {
    Candidate(name: name, count: 1) { _ in
      if self.forgets { self.probe.forget() }
      let start = ContinuousClock.now
      try self.prove()
      return ContinuousClock.now - start
    }
  }
}

/// A full proof of this process with an app's files: 2,000 of 100 KiB.
func appGroup(_ trees: Trees) throws -> Group {
  let bundle = try trees.tree("d")
  return Group(
    name: "measure.app",
    candidates: try Way.allCases.map { way in
      try Proved(bundle, way, isWhole: true).candidate(way.rawValue)
    },
    ratios: [("cold", "warm"), ("cold", "kept"), ("first", "cold"), ("warm", "kept")])
}

/// Cost against bytes: files of 1 MiB.
func sizeGroup(_ trees: Trees) throws -> Group {
  try curve("measure.size", trees.curve("bytes", size: 1 << 20, counts: [1, 4, 16, 64, 256]))
}

/// Cost against files: files of 4 KiB.
func filesGroup(_ trees: Trees) throws -> Group {
  try curve(
    "measure.files", trees.curve("files", size: 4 << 10, counts: [1, 10, 100, 1_000, 10_000]))
}

private func curve(_ name: String, _ points: [(count: Int, folder: String)]) throws -> Group {
  let ways: [Way] = [.cold, .warm, .kept]
  let largest = points.map(\.count).max() ?? 0
  return Group(
    name: name,
    candidates: try points.flatMap { count, folder in
      try ways.map { try Proved(folder, $0).candidate("\(count).\($0.rawValue)") }
    },
    ratios: [("\(largest).cold", "\(largest).warm"), ("\(largest).cold", "\(largest).kept")])
}
