// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

/// A probe of this very process.
func probeProbing() async throws {
  var options = Probe.Options()
  options.bundle = nil
  options.storage = nil
  options.plugins = []
  options.hardens = false
  options.keptDescriptorCount = 1
  options.cacheByteLimit = 1 << 20
  var further = options
  further.folders = [Probe.Folder("data", path: "/nowhere")]
  try expect(further.folders[0].name == "data" && further.folders[0].path == "/nowhere")
  let probe = try Probe(options)
  let sources = Probe.sources
  let evidence = try await probe.evidence(of: sources) { (progress: Probe.Progress) in
    _ = progress.fileCount + progress.byteCount
  }
  let draft = try BaselineDraft(salt: .random(), sources: sources)
  let config = try MeasurementConfig(baseline: evidence, draft, with: .sdk)
  try expect(try probe.collect(for: config) == evidence)
  try expect(await probe.evidence(for: config) == evidence)
  let measurement = try await probe.measure(config)
  try expect(measurement.description == "Measurement(secret)")
  let nonce = ProofNonce.random()
  let (proof, released) = try probe.guarding { () throws(ProofError) in
    let now = try probe.measurement(under: config, with: .sdk)
    let proof = now.proof(of: .integrity, for: nonce, with: .sdk)
    var released = proof
    try probe.release(&released, after: nil)
    return (proof, released)
  }
  try expect(proof == released)
  probe.forget()

  let diagnosis: Diagnosis = try await probe.diagnose(config)
  try expect(diagnosis.isOfThisBuild && diagnosis.isOfThisDevice && diagnosis.leftOutCount == 0)
  try expect(diagnosis.description.isEmpty == false)
  for finding: Diagnosis.Finding in diagnosis.findings {
    let kinds: [Diagnosis.Finding.Kind] = [.changed, .suspicious, .absent, .gone]
    try expect(kinds.contains(finding.kind) && !finding.sourceName.isEmpty)
    try expect(finding.isCertain || finding.name.isEmpty || finding.source.number > 0)
    try expect(!finding.text.isEmpty)
  }
}
