// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofService

/// A store that machines share has a clock, which bounds what a node drops.
@Suite struct SweeperTests {
  private func device(_ number: UInt8) throws -> InstanceID {
    try InstanceID([UInt8](repeating: number, count: InstanceID.byteCount))
  }

  /// Spends a salt that ends at a time, by a device that is seen then.
  private func use(
    _ store: InterruptedStore, _ number: UInt8, until end: UnixTime
  ) throws -> SaltPlace {
    let salt = try Salt([UInt8](repeating: number, count: Salt.byteCount))
    let use = SaltUse(
      of: salt, by: try device(number), expiring: end, at: end - 60, report: Digest(hashing: [1]),
      answer: [1], revision: try store.revision(), sighting: DeviceSighting(over: 0, note: [1]))
    #expect(try store.use(use) == .used)
    return SaltPlace(salt, expiring: end)
  }

  @Test func `a node that is ahead drops no mark and no device that the shared clock keeps`()
    throws
  {
    let now: UnixTime = 1_700_000_000
    var policy = Policy()
    try policy.set(.deviceRetention, to: "1")
    for (shared, isDropped) in [(now, false), (now + 30 * 86_400, true), (nil, true)] {
      let store = InterruptedStore()
      let place = try use(store, 1, until: now + 60)
      store.clock.withLock { $0 = shared }
      let ahead = now + 30 * 86_400
      let sweeper = Sweeper()
      let watch = ClockWatch()
      #expect(try sweeper.sweep(store, under: policy, at: ahead, watch) == (isDropped ? 1 : 0))
      #expect(try (store.glance(at: device(1), and: place).mark == nil) == isDropped)
      #expect(watch.clockAhead == shared.map { Int64(ahead - $0) })
    }
  }

  @Test func `a node that is late drops by its own clock`() throws {
    let now: UnixTime = 1_700_000_000
    let store = InterruptedStore()
    let place = try use(store, 1, until: now + 60)
    store.clock.withLock { $0 = now + 3_600 }
    _ = try Sweeper().sweep(store, under: Policy(), at: now, ClockWatch())
    #expect(try store.glance(at: device(1), and: place).mark != nil)
  }

  @Test func `the metrics tell how far the clock is ahead, if the store has one`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    func text() -> String { String(decoding: bench.get("/metrics").body, as: UTF8.self) }
    #expect(!text().contains("clock_ahead"))
    store.clock.withLock { $0 = bench.clock.now - 7 + 60 }
    bench.clock.advance(by: 60)
    _ = try bench.attest(bench.app)
    #expect(text().contains("proof_service_clock_ahead_seconds 7\n"))
  }

  @Test(arguments: [31, -31])
  func `a node whose clock differs issues no challenge, and says so, until the clocks agree`(
    _ ahead: Int64
  ) throws {
    let (store, log) = (InterruptedStore(), HandLog())
    let bench = try Bench(store, log: log)
    func move(by seconds: Int64) {
      store.clock.withLock { $0 = bench.clock.now - seconds }
    }
    move(by: ahead.signum() * 30)
    _ = try bench.attest(bench.app)
    #expect(bench.get("/health").status == 200)
    let challenge = try bench.challenge(bench.app)
    // The clocks are compared again after ten seconds.
    move(by: ahead)
    bench.clock.advance(by: 9)
    #expect(bench.get("/health").status == 200)
    bench.clock.advance(by: 1)
    move(by: ahead)
    let refused = bench.get("/health")
    #expect(refused.status == 503)
    #expect(String(decoding: refused.body, as: UTF8.self).contains("clocks"))
    #expect(bench.post("/v1/challenge", bench.app.question().bytes).status == 503)
    // A challenge of before is judged: it ends by both clocks.
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    _ = try bench.send(report, challenge.draft.salt, bench.app)
    move(by: 0)
    bench.clock.advance(by: 10)
    #expect(bench.get("/health").status == 200)
    _ = try bench.attest(bench.app)
    // A jump of this machine's clock is noticed at once.
    bench.clock.advance(by: -3_600)
    #expect(bench.get("/health").status == 503)
    let told = log.all.filter { $0.name.contains("clock") }
    #expect(told.map(\.name) == ["clock differs", "clock agrees again", "clock differs"])
    #expect(told.map(\.details[0].value) == ["\(ahead)", "10", "-3590"])
  }
}
