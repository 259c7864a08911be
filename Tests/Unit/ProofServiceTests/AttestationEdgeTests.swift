// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The first and the last value of numbers and times that a service counts with.
@Suite struct AttestationEdgeTests {
  private static let configuration = "/v1/config/door"

  // MARK: Storage that is away

  @Test func `a grace of one second covers the second of the reading and the next one`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, grace: 1)
    #expect(bench.get(Self.configuration).status == 200)
    store.isAway.withLock { $0 = true }
    #expect(bench.get(Self.configuration).status == 200)
    bench.clock.advance(by: 1)
    #expect(bench.get(Self.configuration).status == 200)
    bench.clock.advance(by: 1)
    #expect(bench.get(Self.configuration).status == 503)
  }

  @Test func `a service has no grace unless it is given one`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let service = AttestationService(account: bench.account, clock: bench.clock.clock)
    func status() -> Int {
      service.respond(
        to: HTTPRequest(method: "GET", path: Self.configuration, peer: "192.0.2.7")
      ).status
    }
    #expect(status() == 200)
    store.isAway.withLock { $0 = true }
    #expect(status() == 503)
  }

  @Test func `a single failure of the storage is told, and its end`() throws {
    let (store, log) = (InterruptedStore(), HandLog())
    let bench = try Bench(store, log: log)
    store.isAway.withLock { $0 = true }
    _ = bench.get("/health")
    store.isAway.withLock { $0 = false }
    for _ in 0..<2 { _ = bench.get("/health") }
    #expect(log.all.map(\.name) == ["storage failed", "storage serves again"])
    #expect(log.all.map { $0.details[0].value } == ["1", "1"])
  }

  // MARK: Generations

  @Test func `the last generation is the one before the highest number, again and again`() throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let spender = Spender(store: bench.store)
    for (known, next) in [
      (.max - 3, .max - 2), (.max - 2, .max - 1), (.max - 1, .max - 1), (.max, .max - 1),
    ] as [(UInt32, UInt32)] {
      let note = Array(#"{"machines":[]}"#.utf8)
      #expect(try spender.see(bench.app.device, generation: known, note: note) == .used)
      #expect(try bench.challenge(bench.app, .measurement).draft.generation == next, "\(known)")
    }
  }

  @Test func `a report without a measurement leaves the generation at 0`() throws {
    let bench = try Bench()
    _ = try bench.attest(bench.app)
    #expect(try bench.store.device(bench.app.device)?.generation == 0)
    #expect(try bench.challenge(bench.app, .measurement).draft.generation == 1)
  }

  @Test func `a sighting of which nothing is said raises nothing and changes no strings`() {
    let sighting = DeviceSighting(over: 5, note: [1])
    #expect(sighting.version == 5 && sighting.generation == 0 && sighting.note == [1])
    #expect(!sighting.mustRaiseGeneration && sighting.gate == nil && sighting.strings == .none)
  }

  @Test func `a token for a gate is issued and first seen in the first second at the earliest`()
    throws
  {
    let world = try GateBench()
    let bench = world.bench
    bench.clock.advance(by: -bench.clock.now.seconds)
    _ = try world.admit(bench.app)
    bench.clock.advance(by: 100)
    _ = try world.admit(bench.app)
    let grants = bench.grants.all
    #expect(grants.map(\.issued) == [1, 100] && grants.map(\.firstSeen) == [1, 1])
    #expect(grants.map(\.notAfter) == [3_601, 3_700])
  }

  // MARK: Budgets and sweeps

  @Test func `an alarm at one report rings at the first one`() throws {
    let build = try KeyID([UInt8](repeating: 3, count: 8))
    #expect(FirstFetches().count(build, alarm: 1, at: 5))
  }

  /// A store with one device, last seen at a time.
  private func store(seen time: UnixTime) throws -> MemoryStore {
    let store = MemoryStore()
    let use = SaltUse(
      of: .random(), by: Spender.device(1), expiring: time + 60, at: time,
      report: Digest(hashing: [1]), answer: [1], revision: try store.revision(),
      sighting: DeviceSighting(over: 0, note: [1]))
    #expect(try store.use(use) == .used)
    return store
  }

  @Test func `a device goes after its days or the clone window, whichever is longer, and a second`()
    throws
  {
    let seen: UnixTime = 1_700_000_000
    for (window, kept) in [("60", 86_400), ("172800", 172_800)] as [(String, Int64)] {
      var policy = Policy()
      try policy.set(.deviceRetention, to: "1")
      try policy.set(.cloneWindow, to: window)
      for (later, dropped) in [(kept, 0), (kept + 1, 1)] {
        let found = try Sweeper().sweep(
          store(seen: seen), under: policy, at: seen + later, ClockWatch())
        #expect(found == dropped, "\(window) \(later)")
      }
    }
  }

  @Test func `devices are swept each minute`() throws {
    let seen: UnixTime = 1_700_000_000
    var policy = Policy()
    try policy.set(.deviceRetention, to: "1")
    let (store, sweeper) = (try store(seen: seen), Sweeper())
    for (later, dropped) in [(86_400, 0), (86_459, 0), (86_460, 1)] as [(Int64, Int)] {
      let found = try sweeper.sweep(store, under: policy, at: seen + later, ClockWatch())
      #expect(found == dropped, "\(later)")
    }
  }

  // MARK: Values in memory

  @Test func `a row's place in memory is the first 12 bits of its device`() throws {
    func row(_ bit: Int?) throws -> DeviceRow {
      var id = [UInt8](repeating: 0, count: InstanceID.byteCount)
      id[15] = 1
      if let bit { id[bit / 8] |= 1 << UInt8(bit % 8) }
      return DeviceRow(
        device: try InstanceID(id), firstSeen: 1, lastSeen: 2, generation: 3, note: [], version: 4)
    }
    let first = try row(nil)
    for bit in 0..<32 {
      let recent = RecentDevices()
      recent.keep(first)
      recent.keep(try row(bit))
      #expect((recent.take(first.device) == nil) == (bit >= 12), "bit \(bit)")
    }
  }

  /// A code that repeats would link two lines of a log to one app.
  @Test func `response codes of one content have more than 8 bits of noise`() throws {
    let bench = try Bench(policy: [.deviceRate: "0", .addressRate: "0"])
    _ = try bench.attest(bench.app)
    var codes: Set<String> = []
    for _ in 0..<330 { codes.insert(try bench.attest(bench.app).responseCode) }
    // With 12 bits of noise some 317 differ; with 8 bits at most 256.
    #expect(codes.count > 256)
  }

  /// Made with another implementation (Python's hashlib): one code with each bit that no content has.
  @Test func `a code whose upper 11 bits are no zeros is none`() {
    let key = secret([UInt8](1...32))
    let copySeen = ResponseCode(isPassed: true, properties: Properties([.copySeen]))
    #expect(ResponseCode("OG7DJDG5XZ", key: key) == copySeen, "bit 38 is the last property")
    for text in [
      "G642CIM6J6", "KKRGODKSTU", "GF5MUO52LN", "52KQBPRIOO", "RHWHKG5LLM", "OETUNT4N6E",
      "J5LJZ3LIXN", "T32TFAOREE", "2B4IUANGDU", "WVJRUKLGEA", "B2KYCL6CJU",
    ] { #expect(ResponseCode(text, key: key) == nil, "\(text)") }
  }

  @Test func `a salt's limit is at most 2 to the power of 50, and its policy one that is known`()
    throws
  {
    func terms(_ limitLog2: UInt8) throws -> SaltTerms {
      SaltTerms(
        SaltTerms.Asker(
          keyID: try KeyID([UInt8](repeating: 1, count: 8)), device: Spender.device(1),
          purpose: .token, gate: nil),
        expiry: 1_000, generation: 1, policy: .full, limitLog2: limitLog2, withheld: [],
        sources: [])
    }
    for (limit, isRead) in [(16, true), (50, true), (51, false), (79, false)] as [(UInt8, Bool)] {
      let bytes = SaltFields(try terms(limit), epoch: 1, noise: 7).bytes
      #expect(SaltFields(bytes)?.limitLog2 == (isRead ? limit : nil), "\(limit)")
    }
    // The bits 37 and 38 are the policy: 19 of the expiry, 16 of the generation, 2 of the epoch.
    var bytes = SaltFields(try terms(20), epoch: 1, noise: 7).bytes
    #expect(SaltFields(bytes) != nil)
    bytes[4] &= 0b1001_1111
    #expect(SaltFields(bytes) == nil)
  }

  @Test func `a time that a salt's bits lead to is 0 at least, and no overflow is one`() throws {
    for (expiry, now, read) in [
      (0, 0, 0), (0, 100, 0), (1, 0, 1), (-1, 0, nil), (-1, .min, nil), (0, .max, nil),
      (0, .min, nil),
    ] as [(Int64, Int64, Int64?)] {
      let terms = SaltTerms(
        SaltTerms.Asker(
          keyID: try KeyID([UInt8](repeating: 1, count: 8)), device: Spender.device(1),
          purpose: .token, gate: nil),
        expiry: UnixTime(seconds: expiry), generation: 1, policy: .full, limitLog2: 20,
        withheld: [], sources: [])
      let found = SaltFields(terms, epoch: 1, noise: 0).expiry(nearest: UnixTime(seconds: now))
      #expect(found?.seconds == read, "\(expiry) \(now)")
    }
  }
}
