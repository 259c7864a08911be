// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The most gates, hosts and revocations of an account, and the times until which old keys stay: docs/MANAGEMENT.md
/// and docs/ROTATION.md.
@Suite struct ManagementLimitTests {
  private static func publicKey() throws -> [UInt8] {
    try GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32))
  }

  @Test func `an account has 16 gates at most, each with an id of its own`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let first = try management.gate(GateBench.name).id
    #expect(throws: ServiceError.alreadyThere("gate of the id", name: first.description)) {
      try management.addGate("other", publicKey: Self.publicKey(), id: first)
    }
    for number in 2...16 {
      try management.addGate("g\(number)", publicKey: Self.publicKey())
    }
    #expect(throws: ServiceError.invalid("number of gates", value: "17", allowed: "at most 16")) {
      try management.addGate("more", publicKey: Self.publicKey())
    }
    #expect(Set(try management.gates().map(\.id)).count == 16)
  }

  @Test func `a gate's name has 1 to 64 plain characters`() throws {
    let bench = try Bench()
    let names = "1 to 64 lower-case letters, digits, “.”, “-” and “_”"
    for name in [
      "", "a/", "a:", "a`", "a{", "a,", "a^", "A", "aé", String(Desk.long.prefix(65)), Desk.cut,
    ] {
      #expect(throws: ServiceError.invalid("name of the gate", value: name, allowed: names)) {
        try bench.management.addGate(name, publicKey: Self.publicKey())
      }
    }
    #expect(throws: ServiceError.invalid("name of the gate", value: Desk.cut, allowed: names)) {
      try bench.management.addGate(Desk.long, publicKey: Self.publicKey())
    }
    let good = ["a", "09az.-_", String(Desk.long.prefix(64))]
    for name in good { try bench.management.addGate(name, publicKey: Self.publicKey()) }
    #expect(Set(try bench.management.gates().map(\.name)) == Set(good))
  }

  @Test func `a gate has 64 APIs at most, another gate has its own`() throws {
    let world = try GateBench()
    let management = world.bench.management
    try management.addGate("other", publicKey: Self.publicKey())
    try world.bench.store.apply(
      try (2...63).map { number in
        let api = try API("h\(number).example.com", .proof, gate: GateBench.name)
        return .insert(.api, api.key, api.bytes)
      })
    try management.add(API("last.example.com", .proof, gate: GateBench.name))
    #expect(
      throws: ServiceError.invalid("number of APIs of the gate", value: "65", allowed: "at most 64")
    ) { try management.add(API("more.example.com", .proof, gate: GateBench.name)) }
    try management.add(API("more.example.com", .proof, gate: "other"))
    try management.add(API("plain.example.org"))
  }

  @Test func `a gate has 256 revocations at one time, and those that ended make room`() throws {
    let world = try GateBench()
    let management = world.bench.management
    _ = try world.admit(world.bench.app)
    let device = world.bench.app.device
    let now = world.now
    func fill(_ revocations: [Gate.Revocation]) throws {
      try management.rewriteGate(GateBench.name) { $0.revocations = revocations }
    }
    func revocation(_ number: Int, _ end: UnixTime) throws -> Gate.Revocation {
      let bytes = [UInt8](repeating: 9, count: 14) + [UInt8(number / 256), UInt8(number % 256)]
      return Gate.Revocation(device: try InstanceID(bytes), generation: 1, end: end)
    }
    try fill((0..<256).map { try revocation($0, now) })
    #expect(
      throws: ServiceError.invalid(
        "number of revocations", value: "257",
        allowed: "at most 256 at one time; the floor supersedes all tokens")
    ) { try management.revoke(device, at: GateBench.name) }
    try fill((0..<255).map { try revocation($0, now) })
    try management.revoke(device, at: GateBench.name)
    #expect(try management.gate(GateBench.name).revocations.count == 256)
    // Those that ended before this second go, the others stay.
    try fill([revocation(0, now), revocation(1, now - 1), revocation(2, now + 1)])
    try management.revoke(device, at: GateBench.name)
    let left = try management.gate(GateBench.name).revocations
    #expect(try left.map(\.device) == [revocation(0, 0).device, revocation(2, 0).device, device])
    // The longest life of a token, and a minute for requests in progress.
    #expect(left.last?.end == now + 86_400 + 60)
  }

  @Test func `an old key of a gate stays for the life of its tokens and 60 seconds`() throws {
    let world = try GateBench()
    let management = world.bench.management
    for life in [nil, 60] as [Int?] {
      if let life {
        var settings = GateSettings()
        settings.life = life
        try management.changeGate(GateBench.name, settings)
      }
      let seconds = Int64(life ?? 3_600)
      try management.prepareGateKey(.account, of: GateBench.name)
      let promoted = try management.promoteGateKey(.account, of: GateBench.name, atOnce: true)
      let keys = try #require(try management.gate(GateBench.name).keys[.account])
      #expect(keys.active?.id == promoted.id)
      #expect(keys.old?.end == world.now + seconds + 60)
      world.bench.clock.advance(by: seconds + 59)
      #expect(throws: ServiceError.self) {
        try management.retireGateKey(.account, of: GateBench.name)
      }
      world.bench.clock.advance(by: 1)
      try management.retireGateKey(.account, of: GateBench.name)
      #expect(try management.gate(GateBench.name).keys[.account]?.old == nil)
    }
  }

  @Test func `a key of a gate comes from the gate, and the other kinds do not`() throws {
    let world = try GateBench()
    let allowed = "with the gate's own key, and not with account and issuer keys"
    for kind in Gate.KeyKind.allCases {
      let key = kind == .key ? nil : try Self.publicKey()
      #expect(
        throws: ServiceError.invalid(
          "public key", value: kind == .key ? "missing" : "given", allowed: allowed)
      ) { try world.bench.management.prepareGateKey(kind, of: GateBench.name, publicKey: key) }
    }
  }

  @Test func `a fresh key of a gate takes no number that another one has`() throws {
    let world = try GateBench()
    let management = world.bench.management
    for (active, old, fresh) in [
      ("1", nil, "2"), ("254", "255", "1"), ("255", "1", "2"), ("254", nil, "255"),
      ("7", "8", "9"),
    ] as [(String, String?, String)] {
      try management.rewriteGate(GateBench.name) { gate in
        var stages = gate.keys[.account]!
        let key = stages.active!
        stages.active = SealedKey(named: active, sealed: key.sealed, added: key.added)
        stages.old = old.map { SealedKey(named: $0, sealed: key.sealed, added: key.added) }
        stages.next = nil
        gate.keys[.account] = stages
      }
      let drawn = try management.prepareGateKey(.account, of: GateBench.name)
      #expect(drawn.id == fresh && drawn.stage == .next && !drawn.isGiven)
    }
  }

  @Test func `an old key of the account stays for token-lifetime and 60 seconds`() throws {
    for kind in OwnKey.allCases {
      let bench = try Bench(policy: [.tokenLifetime: "77"])
      if kind == .message { try bench.management.changeKey(of: kind) }
      try bench.management.prepareKey(of: kind)
      try bench.management.promoteKey(of: kind, atOnce: true)
      let states = try bench.management.keyStates(of: kind)
      #expect(states.map(\.stage) == [.active, .old])
      #expect(states.map(\.end) == [nil, bench.clock.now + 77 + 60], "\(kind)")
    }
  }

  @Test func `a key of a key set that APIs left stays for token-lifetime and 60 seconds`() throws {
    let bench = try Bench(policy: [.tokenLifetime: "77"])
    try bench.management.addKey(.es256, id: "e")
    var change = Management.APIChange()
    for key in [Management.APIChange.Key.named("e"), .own] {
      change.key = key
      try bench.management.changeAPI(Bench.api, change, atOnce: true)
    }
    #expect(try bench.management.keys().map(\.end) == [bench.clock.now + 77 + 60])
    bench.clock.advance(by: 136)
    #expect(
      throws: ServiceError.outOfTurn(
        "tokens by the key “e” end in 1 seconds",
        instead:
          "Try again then. If the key is compromised, add --at-once: its tokens are refused.")
    ) { try bench.management.removeKey("e") }
    bench.clock.advance(by: 1)
    try bench.management.removeKey("e")
  }

  @Test func `an old secret of strings stays as long as devices do, ten years at most`() throws {
    for (days, seconds) in [("0", 3_650 * 86_400), ("10", 864_000), ("1", 86_400)] {
      let bench = try Bench(policy: [.deviceRetention: days])
      let fresh = try bench.management.rotateStringKey()
      let states = try bench.management.stringKeyStates()
      #expect(states.map(\.stage) == [.active, .old] && states.first == fresh)
      #expect(states.last?.end == bench.clock.now + Int64(seconds), "\(days)")
      #expect(
        throws: ServiceError.outOfTurn(
          "the secret “\(states[1].id)” is not retired yet",
          instead: "Retire it: “stringkey retire”.")
      ) { try bench.management.rotateStringKey() }
      bench.clock.advance(by: Int64(seconds) - 1)
      #expect(throws: ServiceError.self) { try bench.management.retireStringKey() }
      bench.clock.advance(by: 1)
      try bench.management.retireStringKey()
      #expect(try bench.management.stringKeyStates() == [fresh])
    }
  }

  @Test func `a key of salts is rotated again when no challenge of the one before waits`() throws {
    let bench = try Bench()
    let first = try #require(try bench.management.saltKeyStates().first)
    let second = try bench.management.rotateSaltKey()
    let states = try bench.management.saltKeyStates()
    #expect(states.map(\.id) == [second.id, first.id])
    // The longest challenge lives 600 seconds, and clocks of machines differ by a minute.
    #expect(states[1].end == bench.clock.now + 660)
    bench.clock.advance(by: 659)
    #expect(
      throws: ServiceError.outOfTurn(
        "challenges of the key “\(first.id)” may wait for another 1 seconds",
        instead: "Try again then. If a key is compromised, use “saltkey replace”.")
    ) { try bench.management.rotateSaltKey() }
    bench.clock.advance(by: 1)
    let third = try bench.management.rotateSaltKey()
    #expect(try bench.management.saltKeyStates().map(\.id) == [third.id, second.id])
    let fourth = try bench.management.replaceSaltKey()
    #expect(try bench.management.saltKeyStates().map(\.id) == [fourth.id])
    #expect(fourth.added == bench.clock.now)
  }

  @Test func `an account that moves takes one fresh key of salts along, of the next epoch`() throws
  {
    let bench = try Bench()
    try bench.management.rotateSaltKey()
    let before = try AccountDocument.saltKey.needed(SaltKeyStages.self, from: bench.store)
    let moved: SaltKeyStages = try AccountDocument.saltKey.value(
      in: bench.management.movedSaltKeys())
    #expect(moved.old == nil && moved.epoch == before.epoch + 1)
    #expect(before.states.allSatisfy { $0.id != moved.active.id })
    #expect(try AccountDocument.saltKey.needed(SaltKeyStages.self, from: bench.store) == before)
  }
}
