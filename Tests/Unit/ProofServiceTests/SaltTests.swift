// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofService

/// A challenge's salt carries what the service needs of it, and a MAC over all of it.
@Suite struct SaltTests {
  private let keys = SaltKeys(
    active: SaltKey(secret([UInt8](repeating: 7, count: 32)), epoch: 5),
    old: SaltKey(secret([UInt8](repeating: 6, count: 32)), epoch: 4))
  private let now: UnixTime = 1_800_000_000
  private let noise = SaltNoise()

  private func asker(
    _ key: UInt8 = 1, _ device: UInt8 = 2, _ purpose: AttestationPurpose = .gate, gate: UInt8? = 3
  ) -> SaltTerms.Asker {
    SaltTerms.Asker(
      keyID: try! KeyID([UInt8](repeating: key, count: 8)),
      device: try! InstanceID([UInt8](repeating: device, count: 16)), purpose: purpose,
      gate: gate.map { try! GateID([UInt8](repeating: $0, count: 16)) })
  }

  private func terms(
    _ asker: SaltTerms.Asker, in seconds: Int64 = 60, generation: UInt32 = 70_000,
    policy: MeasurementPolicy = .incremental, limitLog2: UInt8 = 33, withheld: CollectionMode = []
  ) -> SaltTerms {
    SaltTerms(
      asker, expiry: now + seconds, generation: generation, policy: policy, limitLog2: limitLog2,
      withheld: withheld, sources: SourcesAsked.all)
  }

  private func open(
    _ salt: Salt, _ asker: SaltTerms.Asker, above before: UInt32 = 69_999,
    sources: [Source] = SourcesAsked.all, keys: SaltKeys? = nil, account: String = "door",
    at time: UnixTime? = nil
  ) -> SaltTerms? {
    SaltTerms(
      of: salt, from: asker, above: before, sources: { _ in sources }, under: keys ?? self.keys,
      account: account, at: time ?? now)
  }

  @Test func `a salt comes back with all the terms that it was made with`() throws {
    for withheld in 0...7 as ClosedRange<UInt8> {
      for policy in MeasurementPolicy.allCases {
        for limit in 16...50 as ClosedRange<UInt8> {
          let asker = asker(gate: limit % 2 == 0 ? 9 : nil)
          let made = terms(
            asker, policy: policy, limitLog2: limit,
            withheld: CollectionMode(rawValue: withheld))
          let salt = made.salt(keys, account: "door", noise: noise)
          let read = try #require(open(salt, asker))
          #expect(read.expiry == made.expiry && read.generation == 70_000)
          #expect(read.policy == policy && read.limitLog2 == limit)
          #expect(read.withheld.rawValue == withheld && read.epoch == 1)
        }
      }
    }
  }

  @Test func `no salt with a bit changed is authentic`() throws {
    let salt = terms(asker()).salt(keys, account: "door", noise: noise)
    #expect(open(salt, asker()) != nil)
    for bit in 0..<128 {
      var bytes = salt.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try open(Salt(bytes), asker()) == nil, "bit \(bit)")
    }
  }

  @Test func `a salt is authentic for its asker, account, sources, expiry and generation alone`()
    throws
  {
    let salt = terms(asker()).salt(keys, account: "door", noise: noise)
    #expect(open(salt, asker()) != nil)
    for other in [
      asker(9), asker(1, 9), asker(1, 2, .measurement), asker(gate: 9), asker(gate: nil),
    ] {
      #expect(open(salt, other) == nil, "\(other)")
    }
    #expect(open(salt, asker(), account: "doo") == nil)
    for sources in [
      Array(SourcesAsked.all.dropLast()),
      try SourcesAsked.all.map { try Source($0.id, version: $0.version) },
      try SourcesAsked.all.map {
        try Source($0.id, version: $0.version + 1, groupsLog2: $0.groupsLog2)
      },
    ] {
      #expect(open(salt, asker(), sources: sources) == nil)
    }
    // The low bits of the expiry and the generation are those of the salt, and the full number is not.
    #expect(open(salt, asker(), at: now + 1 << 19) == nil)
    #expect(open(salt, asker(), at: now - 1 << 19) == nil)
    #expect(open(salt, asker(), above: 69_999 + 1 << 16) == nil)
    #expect(open(salt, asker(), above: 69_999 - 1 << 16) == nil)
  }

  @Test func `expiry and generation are completed across the ends of their bits`() throws {
    for from in [0, 1 << 19 - 5, 3 << 19 - 60, 1_799_999_999] as [Int64] {
      let time = UnixTime(seconds: from)
      for seconds in [5, 600] as [Int64] {
        let made = SaltTerms(
          asker(), expiry: time + seconds, generation: 1, policy: .full, limitLog2: 33,
          withheld: [], sources: SourcesAsked.all)
        let salt = made.salt(keys, account: "door", noise: noise)
        for later in [-30, 0, 700] as [Int64] {
          let read = open(salt, asker(), above: 0, at: max(0, time + later))
          #expect(read?.expiry == time + seconds, "\(time) \(seconds) \(later)")
        }
      }
    }
    for generation in [1, 2, 65_535, 65_536, 65_537, 1 << 31, .max - 1] as [UInt32] {
      let salt = terms(asker(), generation: generation).salt(keys, account: "door", noise: noise)
      for ahead in [0, 1, 20_000] as [UInt32] {
        let before = generation - 1 > .max - ahead ? .max - 1 : generation - 1 + ahead
        #expect(open(salt, asker(), above: before)?.generation == generation)
      }
    }
  }

  @Test func `the keys of two epochs count, each for its own salts`() throws {
    let salt = terms(asker()).salt(keys, account: "door", noise: noise)
    let next = SaltKeys(
      active: SaltKey(secret([UInt8](repeating: 8, count: 32)), epoch: 6), old: keys.active)
    #expect(open(salt, asker(), keys: next)?.epoch == 1)
    #expect(open(salt, asker(), keys: SaltKeys(active: next.active, old: nil)) == nil)
    // A restored account draws another key for an epoch that was used.
    let other = SaltKeys(
      active: SaltKey(secret([UInt8](repeating: 9, count: 32)), epoch: 5), old: nil)
    #expect(open(salt, asker(), keys: other) == nil)
  }

  @Test func `the salts of one moment differ, 65,536 in a row`() {
    var numbers: Set<UInt16> = []
    for _ in 0..<100 { _ = noise.next() }
    for _ in 0...UInt16.max { numbers.insert(noise.next()) }
    #expect(numbers.count == 65_536)
    let terms = terms(asker())
    #expect(
      terms.salt(keys, account: "door", noise: noise)
        != terms.salt(keys, account: "door", noise: noise))
  }

  /// Two services that begin at the same moment do not go through the numbers in the same order.
  @Test func `another service's salts come in another order`() {
    let other = SaltNoise()
    #expect((0..<16).map { _ in noise.next() } != (0..<16).map { _ in other.next() })
  }

  @Test func `random salts are not authentic`() {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<20_000 { #expect(open(.random(using: &generator), asker()) == nil) }
  }

  // MARK: The account's keys

  private func report(_ bench: Bench) throws -> (bytes: [UInt8], salt: Salt) {
    let challenge = try bench.challenge(bench.app)
    let subject = AttestationReport.Subject(.token, name: Bench.api)
    return (try bench.app.report(subject, answering: challenge), challenge.draft.salt)
  }

  @Test func `challenges outlive one rotation of their key, and end with its replacement`() throws {
    let bench = try Bench()
    let (first, firstSalt) = try report(bench)
    let fresh = try bench.management.rotateSaltKey()
    #expect(try bench.management.saltKeyStates().map(\.stage) == [.active, .old])
    #expect(try bench.management.saltKeyStates().first == fresh)
    let (second, secondSalt) = try report(bench)
    #expect(try bench.send(first, firstSalt, bench.app).outcome == .done)
    #expect(throws: ServiceError.self) { try bench.management.rotateSaltKey() }
    #expect(try bench.send(second, secondSalt, bench.app).outcome == .done)
    bench.clock.advance(by: SaltTerms.longestLife)
    let (third, thirdSalt) = try report(bench)
    try bench.management.rotateSaltKey()
    #expect(try bench.send(third, thirdSalt, bench.app).outcome == .done)
    let (fourth, fourthSalt) = try report(bench)
    try bench.management.replaceSaltKey()
    #expect(try bench.management.saltKeyStates().count == 1)
    #expect(try bench.send(fourth, fourthSalt, bench.app).outcome == .askAgain)
    #expect(try bench.attest(bench.app).outcome == .done)
  }

  @Test func `a later change of the policy does not change an earlier challenge`() throws {
    let bench = try Bench(policy: [.readLimit: "20", .saltLifetime: "600"])
    let (first, firstSalt) = try report(bench)
    var policy = try bench.management.policy()
    try policy.set(.readLimit, to: "40")
    try policy.set(.saltLifetime, to: "5")
    try bench.management.set(policy)
    bench.clock.advance(by: 500)
    #expect(try bench.send(first, firstSalt, bench.app).outcome == .done)
    // Other sources are another measurement: the app asks again.
    let (second, secondSalt) = try report(bench)
    try policy.set(.sourcesWithout, to: "3/10")
    try bench.management.set(policy)
    #expect(try bench.send(second, secondSalt, bench.app).outcome == .askAgain)
    #expect(bench.service.metrics[.unbelievable] == 0)
  }

  @Test func `a salt whose end is further away than any lifetime is stale`() throws {
    let bench = try Bench(policy: [.saltLifetime: "600"])
    let (bytes, salt) = try report(bench)
    // The clock was an hour ahead, and was set right.
    bench.clock.advance(by: -3_600)
    #expect(try bench.send(bytes, salt, bench.app).outcome == .askAgain)
    bench.clock.advance(by: 3_540)
    #expect(try bench.send(bytes, salt, bench.app).outcome == .done)
  }

  @Test func `an account of before gets a key of salts when it is opened`() throws {
    let bench = try Bench()
    try bench.store.apply([.remove(.account, "saltKey")])
    #expect(bench.get("/health").status == 503)
    _ = try Account.open(in: bench.store, with: keyFile())
    #expect(try bench.attest(bench.app).outcome == .done)
    try bench.management.rotateSaltKey()
    #expect(try bench.attest(bench.app).outcome == .done)
  }

  @Test func `a restored backup makes no used salt good again once its key is replaced`() throws {
    let place = Workplace()
    let bench = try Bench(try SQLiteStore(creatingAt: place.path(of: "store")))
    _ = try bench.attest(bench.app)
    do {
      try SQLiteConnection(path: place.path(of: "store"), patience: 0)
        .execute("VACUUM INTO '\(place.path(of: "backup"))'")
    }
    let (bytes, salt) = try report(bench)
    #expect(try bench.send(bytes, salt, bench.app).outcome == .done)
    let account = try Account.open(
      in: SQLiteStore(at: place.path(of: "backup")), with: keyFile())
    let restored = AttestationService(account: account, clock: bench.clock.clock)
    func outcome() throws -> AttestationAnswer.Outcome {
      let response = restored.respond(
        to: .init(method: "POST", path: "/v1/report", body: bytes, peer: "192.0.2.7"))
      return try AttestationAnswer(response.body, to: salt, with: bench.app.key).outcome
    }
    try Management(account, clock: bench.clock.clock).replaceSaltKey()
    #expect(try outcome() == .askAgain)
  }
}
