import Foundation
import ProofKit
import ProofModel

extension Story {
  /// No part is played here: this very process is measured, with a bundle of two files.
  static func liveApp() async throws -> [Line] {
    var section = Section("this process, measured")
    let folder = URL(fileURLWithPath: "/var/tmp/proof-demo-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let bundle = folder.appendingPathComponent("bundle")
    let storage = folder.appendingPathComponent("storage")
    for path in [bundle, storage] {
      try FileManager.default.createDirectory(
        at: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    let rules = bundle.appendingPathComponent("rules")
    try Data("doors stay shut\n".utf8).write(to: rules)
    try Data("a view\n".utf8).write(to: bundle.appendingPathComponent("view"))

    let service = try Service(.production)
    let probe = try Probe(.init(bundle: bundle.path, storage: storage.path, hardens: false))
    let evidence = try await probe.evidence(of: Probe.sources, policy: .incremental)
    let draft = try BaselineDraft(
      salt: .random(), sources: Probe.sources, policy: .incremental, generation: 1)
    let config = try MeasurementConfig(baseline: evidence, draft, with: service.key)
    let prover = Prover(config: config, collector: probe, key: service.key)
    let nonce = ProofNonce.random()

    let first = try prover.integrityMeasurementProof(nonce: nonce)
    section.add(
      "the app measures its own code, files, environment and device", must: "the service's proof",
      happened: try first
        == service.measurement(of: evidence, under: config)
        .proof(of: .integrity, for: nonce, with: service.key)
        ? "the service's proof" : "another proof",
      "\(evidence.records.count) records of \(Probe.sources.count) sources")
    section.add(
      "does anything differ?", must: "nothing differs",
      happened: try await probe.diagnose(config, key: service.key).description)

    try Data("doors stand open\n".utf8).write(to: rules)
    section.add(
      "one file of its bundle is changed", must: "another proof",
      happened: try prover.integrityMeasurementProof(nonce: nonce) == first
        ? "the same proof" : "another proof")
    let diagnosis = try await probe.diagnose(config, key: service.key)
    section.add(
      "what changed? asked offline, of the configuration alone", must: "bundle",
      happened: Set(diagnosis.findings.map(\.sourceName)).sorted().joined(separator: ", "),
      diagnosis.description)
    return section.lines
  }
}
