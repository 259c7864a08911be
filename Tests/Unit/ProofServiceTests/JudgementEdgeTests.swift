// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The ends of judgements: builds for development, machines that come again, updates that
/// lack a file, the last generations, and the clock of a sweep.
@Suite struct JudgementEdgeTests {
  private typealias Name = TestApp.Name

  @Test
  func `an app with a build of the SDK for development has that property, and no other has it`()
    throws
  {
    let bench = try Bench(policy: [.rejection: "none"])
    let key = [UInt8](repeating: 9, count: 16)
    try bench.management.addSDKBuild(key: secret(key), name: "dev", mode: .development)
    var development = bench.app
    development.key = try MeasurementProofKey(SecretBytes(copying: key.span), mode: .development)
    for (app, isDevelopment) in [(bench.app, false), (development, true)] {
      let code = try bench.management.read(responseCode: bench.attest(app).responseCode)
      #expect(code.properties.contains(.developmentSDK) == isDevelopment && code.isPassed)
    }
    try bench.management.changePolicy { policy throws(ServiceError) in
      try policy.set(.rejection, to: "development-sdk")
    }
    for (app, passes) in [(bench.app, true), (development, false)] {
      let code = try bench.management.read(responseCode: bench.attest(app).responseCode)
      #expect(code.isPassed == passes)
    }
  }

  // MARK: Machines

  @Test func `a machine that comes again has one place, the first one, and pushes none out`() throws
  {
    let bench = try Bench(policy: [.deviceRate: "0", .addressRate: "0"])
    func attest(_ number: UInt8) throws -> DeviceNote {
      var app = bench.app
      app.evidence[Name(.device, 1, "machine-id")] = Digest(hashing: [number])
      _ = try bench.attest(app)
      bench.clock.advance(by: 1)
      let row = try #require(try bench.store.device(bench.app.device))
      return try #require(DeviceNote(row.note))
    }
    let start = bench.clock.now
    let first = try attest(0).machines[0].sight
    let second = try attest(1).machines[0].sight
    #expect(first.isOther(than: second))
    for _ in 0..<20 { _ = try attest(1) }
    let note = try attest(0)
    #expect(note.machines.map(\.sight) == [first, second])
    #expect(note.machines.map(\.lastSeen) == [start + 22, start + 21])
    for number in 2..<16 as Range<UInt8> { _ = try attest(number) }
    #expect(try attest(15).machines.suffix(2).map(\.sight) == [first, second])
    // One machine more takes the place of the one that was silent longest.
    let full = try attest(16).machines
    #expect(full.count == 16 && full.last?.sight == first)
    #expect(!full.contains { $0.sight == second })
  }

  // MARK: Updates

  /// Whether an app measures under a pair's configuration what the pair's token says.
  private static func measures(
    _ pair: UpcomingPair, _ app: TestApp, _ bench: Bench
  ) throws -> Bool {
    let asked = Set(pair.config.sources.map(\.id))
    let evidence = try EvidenceSet(app.set.records.filter { asked.contains($0.source) })
    let measured = try Measurement(of: evidence, under: pair.config, with: app.key)
    let mine = measured.withBytes(of: .integrity) { SecretBytes(copying: $0) }
    let told = try bench.sealedClaims(pair.token).measurement?
      .withIntegrityMeasurement { SecretBytes(copying: $0) }
    return told?.matches(mine) == true
  }

  @Test func `a file that an update lacks is not in its pair, and records of memory stay`() throws {
    let bench = try Bench()
    // A plugin in each source of the app, and in its links.
    let plugins = [
      Name(.app, 1, "plugin.so"), Name(.app, 2, "plugin"), Name(.app, 3, "~"),
      Name(.environment, 6, "plugin.so"),
    ]
    var present = bench.app
    for name in plugins { present.evidence[name] = Digest(hashing: Array(name.name.utf8)) }
    try bench.management.register(present.digest, name: "1.0")
    let update = bench.app.updated
    try bench.register(update, updating: present)
    let pair = try #require(try bench.askForLock(present).answer.upcoming.first)
    // Files are those of the update alone. What is loaded may come from anywhere, so it stays.
    var after = update
    for name in [plugins[0], plugins[3]] { after.evidence[name] = present.evidence[name] }
    #expect(try Self.measures(pair, after, bench))
    #expect(try !Self.measures(pair, update, bench))
    for name in plugins[1...2] {
      var other = after
      other.evidence[name] = present.evidence[name]
      #expect(try !Self.measures(pair, other, bench), "\(name)")
    }
  }

  @Test
  func `an update of an update is registered, and an app gets the pair of its own next build`()
    throws
  {
    let bench = try Bench()
    let second = bench.app.updated
    var third = second
    third.evidence[Name(.app, 2, "executable")] = Digest(hashing: [3])
    try bench.register(second, updating: bench.app)
    bench.clock.advance(by: 1)
    try bench.register(third, updating: second)
    for (app, next) in [(bench.app, second), (second, third)] {
      let answer = try bench.askForLock(app).answer
      #expect(answer.upcoming.count == 1)
      #expect(try Self.measures(answer.upcoming[0], next, bench))
    }
  }

  @Test func `where generations end there is no pair, and the app gets its token`() throws {
    for (known, next, pairs) in [
      (.max - 5, .max - 4, 1), (.max - 4, .max - 3, 0), (.max - 3, .max - 2, 0),
    ] as [(UInt32, UInt32, Int)] {
      let bench = try Bench(policy: [.deviceRate: "0"])
      try bench.register(bench.app.updated, updating: bench.app)
      let note = Array(#"{"machines":[]}"#.utf8)
      let spender = Spender(store: bench.store)
      #expect(try spender.see(bench.app.device, generation: known, note: note) == .used)
      let (answer, generation) = try bench.askForLock(bench.app)
      #expect(generation == next && answer.outcome == .done, "\(known)")
      #expect(answer.upcoming.count == pairs, "\(known)")
      #expect(try bench.sealedClaims(answer.token).measurement != nil)
    }
  }

  // MARK: Sweeps

  @Test func `a sweeper asks for the store's time when it drops, and not for each request`() throws
  {
    let start: UnixTime = 1_700_000_000
    let store = InterruptedStore()
    let (sweeper, watch) = (Sweeper(), ClockWatch())
    for (seconds, late, ahead) in [(0, 3, 3), (9, 5, 3), (10, 6, 6)] as [(Int64, Int64, Int64)] {
      let now = start + seconds
      store.clock.withLock { $0 = now - late }
      _ = try sweeper.sweep(store, under: Policy(), at: now, watch)
      #expect(watch.clockAhead == ahead, "\(seconds)")
    }
  }
}
