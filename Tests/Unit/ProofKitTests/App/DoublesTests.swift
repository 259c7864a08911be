// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKitTesting
import ProofModel
import Testing

@testable import ProofKit

@Suite("Doubles for an app's tests")
struct DoublesTests {
  private func attestor(
    _ probe: FixedProbe, _ transport: ScriptedTransport, _ clock: ProofKitTesting.ManualClock
  ) throws -> (Attestor, String) {
    let folder = "/var/tmp/proofkit-doubles-\(UInt64.random(in: 1 ... .max))"
    let configuration = Configuration(
      account: InProcessService().configuration(), storage: folder)
    let parts = Parts(probe: probe, transport: transport, clock: clock.clock)
    return (try Attestor(configuration, using: parts), folder)
  }

  @Test("a script answers in order, and requests are recorded")
  func script() async throws {
    let transport = ScriptedTransport([
      .success(TransportResponse(status: 503, body: [])), .failure(.untrusted("x")),
    ])
    let clock = ProofKitTesting.ManualClock()
    let (attestor, folder) = try attestor(FixedProbe(), transport, clock)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var reasons: [AttestationError.Reason] = []
    for _ in 0..<3 {
      do throws(AttestationError) {
        _ = try await attestor.token(for: "api.example.com")
      } catch { reasons.append(error.reason) }
      clock.advance(by: .seconds(1))
    }
    #expect(reasons == [.serviceUnavailable, .untrustedServer, .noNetwork])
    #expect(transport.requests.count == 3)
  }

  @Test("evidence stays the same until a test changes it or makes it fail")
  func evidence() async throws {
    let (probe, other) = (FixedProbe(), FixedProbe(seed: "other"))
    let clock = ProofKitTesting.ManualClock()
    let (attestor, folder) = try attestor(probe, ScriptedTransport(), clock)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let name = try await attestor.instance()
    #expect(try await attestor.instance() == name && probe.count == 2)
    probe.change(.device)
    #expect(try await attestor.instance() != name)
    probe.fail(with: .resourcesExhausted(reason: "files"))
    await #expect(throws: MeasurementError.notMeasured(.resourcesExhausted(reason: "files"))) {
      try await attestor.instance()
    }
    let sources = Probe.sources
    let evidence = try other.observe(
      sources, policy: .full, limitLog2: 20, cancellation: Cancellation())
    probe.fail(with: nil)
    #expect(
      try evidence
        != probe.observe(sources, policy: .full, limitLog2: 20, cancellation: Cancellation()))
  }

  @Test("a memory fails on the writes that a test names")
  func memory() throws {
    let store = MemoryLinkStore(failingAt: [2])
    #expect(try store.load() == nil)
    try store.save([1])
    #expect(throws: MemoryLinkStore.Failure.self) { try store.save([2]) }
    #expect(try store.load() == [1])
    try store.save([3])
    #expect(try store.load() == [3])
  }
}
