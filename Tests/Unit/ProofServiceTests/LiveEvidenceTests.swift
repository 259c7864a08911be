// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel
import Testing

@testable import ProofService

@Suite struct LiveEvidenceTests {
  /// The service's constants are those of the real probe, not only of this folder's test app.
  @Test func `the probe's records of this process have no finding`() throws {
    let bench = try Bench()
    let challenge = try bench.challenge(bench.app)
    let probe = try Probe(Probe.Options(hardens: false))
    let config = try MeasurementConfig(
      baseline: bench.app.set, challenge.draft, with: bench.app.key)
    let evidence = try probe.collect(for: config)
    let (bytes, _) = try AttestationReport.make(
      AttestationReport.Subject(.token, name: Bench.api), of: evidence, answering: challenge,
      account: "door", configSerial: 0, sdkVersion: "0.1.0", with: bench.app.key)
    let seen = EvidenceReading.properties(of: try AttestationReport(bytes))
    // The person who runs the tests may have set a library path.
    let expected = Properties([.emulator, .injected, .debug])
    #expect(seen.intersection(expected).isEmpty, "\(seen.text)")
  }
}
