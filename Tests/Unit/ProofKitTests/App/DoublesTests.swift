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

  @Test("a clock stands still until it is moved, and both of its times go on by the same")
  func clock() {
    let clock = ProofKitTesting.ManualClock()
    let (uptime, time) = (clock.clock.uptime(), clock.clock.time.now)
    #expect(time == 1_900_000_000 && clock.clock.uptime() == uptime && uptime > .zero)
    clock.advance(by: .milliseconds(2_500))
    #expect(clock.clock.uptime() == uptime + .milliseconds(2_500))
    #expect(clock.clock.time.now == time + 2)
    #expect(ProofKitTesting.ManualClock(time: 7).clock.time.now == 7)
  }

  @Test("after its script a transport gives its last answer, and a cancelled request none")
  func last() throws {
    let answer = TransportResponse(status: 204, body: [])
    let transport = ScriptedTransport([.failure(.timedOut("x"))], then: .success(answer))
    let request = TransportRequest(url: "https://a.example.com", timeout: .seconds(1))
    #expect(throws: TransportError.timedOut("x")) { try transport.send(request) }
    for _ in 0..<2 { #expect(try transport.send(request).status == 204) }
    request.cancellation.cancel()
    #expect(throws: TransportError.cancelled) { try transport.send(request) }
    #expect(transport.requests.map(\.url) == Array(repeating: request.url, count: 4))
    #expect(throws: TransportError.unreachable("script")) {
      try ScriptedTransport().send(TransportRequest(url: "https://a", timeout: .seconds(1)))
    }
  }

  @Test("a change of evidence is one of its class alone, and each further one is another")
  func classes() throws {
    let probe = FixedProbe()
    func evidence() throws -> [SourceID: Digest?] {
      let found = try probe.observe(
        Probe.sources, policy: .full, limitLog2: 20, cancellation: Cancellation())
      return Dictionary(
        uniqueKeysWithValues: found.evidence.records.map { ($0.source, $0.digest) })
    }
    var before = try evidence()
    #expect(before.count == Probe.sources.count && Set(before.values).count == before.count)
    for kind in [EvidenceClass.app, .device, .environment, .app] {
      probe.change(kind)
      let after = try evidence()
      for (source, digest) in after {
        #expect((before[source] != digest) == (source.evidenceClass == kind))
      }
      before = after
    }
    #expect(probe.count == 5)
  }

  @Test("a write that fails keeps what was saved before, and tells its number")
  func writes() throws {
    let store = MemoryLinkStore(failingAt: [1, 3])
    let errors = (1...4).map { number -> MemoryLinkStore.Failure? in
      do {
        try store.save([UInt8(number)])
        return nil
      } catch { return error as? MemoryLinkStore.Failure }
    }
    #expect(errors.map { $0?.write } == [1, nil, 3, nil])
    #expect(try store.load() == [4])
    #expect(throws: Never.self) { try MemoryLinkStore().save([1]) }
  }
}
