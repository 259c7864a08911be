// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct GateManagementTests {
  @Test func `the gate's own key rotates without a token that is refused`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let next = [UInt8](repeating: 0x43, count: 32)
    func opens(_ token: GateToken, _ secrets: [[UInt8]]) throws -> Bool {
      (try? world.gate(secretKeys: secrets).open(token.bytes, at: world.now)) != nil
    }
    let before = try world.admit(world.bench.app).admission.token
    #expect(throws: ServiceError.self) { try management.prepareGateKey(.key, of: GateBench.name) }
    #expect(throws: ServiceError.self) { try prepare(world, world.secretKey) }
    try prepare(world, next)
    let between = try world.admit(world.bench.app).admission.token
    #expect(between.bytes[4] == 1)
    try management.promoteGateKey(.key, of: GateBench.name)
    let after = try world.admit(world.bench.app).admission.token
    #expect(after.bytes[4] == 2)
    for token in [before, between, after] {
      #expect(try opens(token, [world.secretKey, next]))
    }
    #expect(throws: ServiceError.self, "the gate has room for two keys") {
      try prepare(world, [UInt8](repeating: 0x44, count: 32))
    }
    #expect(throws: ServiceError.self, "tokens by the old key have not ended") {
      try management.retireGateKey(.key, of: GateBench.name)
    }
    world.bench.clock.advance(by: 3_661)
    try management.retireGateKey(.key, of: GateBench.name)
    let last = try world.admit(world.bench.app).admission.token
    #expect(try opens(last, [next]))
    #expect(try world.objects(try world.configuration()["xks"]).count == 1)
  }

  private func prepare(_ world: GateBench, _ secret: [UInt8]) throws {
    try world.bench.management.prepareGateKey(
      .key, of: GateBench.name, publicKey: GateBench.publicKey(of: secret))
  }

  @Test(arguments: [Gate.KeyKind.account, .issuer])
  func `account and issuer keys are used once the gate's configuration has them`(
    _ kind: Gate.KeyKind
  ) throws {
    let world = try GateBench()
    let management = world.bench.management
    let list = kind == .account ? "aks" : "iss"
    let held = try world.gate()
    let old = try world.admit(world.bench.app)
    try management.prepareGateKey(kind, of: GateBench.name)
    #expect(throws: ServiceError.self, "no gate has it") {
      try management.promoteGateKey(kind, of: GateBench.name)
    }
    #expect(try world.objects(try world.configuration()[list]).count == 2)
    let both = try world.gate()
    try management.promoteGateKey(kind, of: GateBench.name)
    let new = try world.admit(world.bench.app)
    if kind == .account {
      #expect(old.admission.accountKey?.number == 1 && new.admission.accountKey?.number == 2)
      #expect(
        try old.admission.accountKey?.digest(of: "a") != new.admission.accountKey?.digest(of: "a"))
    } else {
      #expect(throws: GateRefusal.tokenIssuer) {
        try held.open(new.admission.token.bytes, at: world.now)
      }
    }
    for token in [old, new].map(\.admission.token) {
      _ = try both.open(token.bytes, at: world.now)
    }
    #expect(throws: ServiceError.self) { try management.retireGateKey(kind, of: GateBench.name) }
    world.bench.clock.advance(by: 3_661)
    try management.retireGateKey(kind, of: GateBench.name)
    #expect(try world.objects(try world.configuration()[list]).count == 1)
    #expect(throws: ServiceError.self) { try management.dropGateKey(kind, of: GateBench.name) }
  }

  @Test func `numbers of keys go up, and begin again after 255`() throws {
    let world = try GateBench()
    let management = world.bench.management
    for round in 2...258 {
      try management.prepareGateKey(.account, of: GateBench.name)
      try management.promoteGateKey(.account, of: GateBench.name, atOnce: true)
      try management.retireGateKey(.account, of: GateBench.name, atOnce: true)
      let number = try management.gate(GateBench.name).keys[.account]?.active?.id
      #expect(number == "\((round - 1) % 255 + 1)")
    }
  }

  @Test func `a key that is none is told by its first 80 characters`() throws {
    let world = try GateBench()
    let error = #expect(throws: ServiceError.self) {
      try world.bench.management.prepareGateKey(
        .key, of: GateBench.name, publicKey: [UInt8](repeating: 0xAB, count: 41))
    }
    guard case .invalid(_, let value, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(value == String(repeating: "ab", count: 40))
  }

  @Test func `a named challenge that was added is shown, and is in the list`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let added = try management.perform(
      "challenge/add", ["name": "login", "kind": "work", "level": 12, "life": 120])
    guard case .object(let object) = added else {
      Issue.record("\(added)")
      return
    }
    #expect(object.text("name") == "login" && object.text("kind") == "work")
    #expect(try management.perform("challenge/list") == .array([added]))
  }

  @Test func `a gate's configuration has its own challenges and those of all gates`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let other = try GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32))
    try management.addGate("other", publicKey: other)
    try management.addChallenge(NamedChallenge("mine", .person, gate: GateBench.name))
    try management.addChallenge(NamedChallenge("theirs", .person, gate: "other"))
    try management.addChallenge(NamedChallenge("all", .person))
    let told = try world.objects(world.configuration()["challenges"]).map { $0.text("name") }
    #expect(told.sorted { ($0 ?? "") < ($1 ?? "") } == ["all", "mine"])
  }

  @Test func `no token is sealed to what is no key`() throws {
    let bench = try Bench()
    let small = [UInt8](repeating: 0, count: 31) + [0]
    let one = [1] + [UInt8](repeating: 0, count: 31)
    for key in [small, one, [], [UInt8](repeating: 9, count: 33)] {
      #expect(throws: ServiceError.self) { try bench.management.addGate("g", publicKey: key) }
    }
    #expect(try bench.management.gates().isEmpty)
    let good = try GateBench.publicKey(of: [UInt8](repeating: 9, count: 32))
    for name in ["", "Gate", "a b", "a`b", "ä", String(repeating: "a", count: 65)] {
      #expect(throws: ServiceError.self) { try bench.management.addGate(name, publicKey: good) }
    }
    try bench.management.addGate("az09-_.", publicKey: good)
    try bench.management.addGate("g", publicKey: good)
    #expect(throws: ServiceError.alreadyThere("gate", name: "g")) {
      try bench.management.addGate("g", publicKey: good)
    }
  }

  @Test func `the keys of gates stand sealed in the store, each for its place`() throws {
    let world = try GateBench()
    let row = try #require(try world.bench.store.row(GateBench.name, of: .gate))
    let account = try #require(
      Base64.decode(
        try world.objects(try world.configuration()["aks"])[0].text("key") ?? "", .url))
    #expect(!row.contains(account) && !row.contains(Array(Base64.encode(account).utf8)))
    guard case .object(let fields) = try JSONValue(parsing: row.span) else { return }
    // An attacker who changes the store cannot have tokens sealed to another gate's key.
    let other = try GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32))
    try world.bench.management.addGate("other", publicKey: other)
    let theirs = try #require(try world.bench.store.row("other", of: .gate))
    guard case .object(let others) = try JSONValue(parsing: theirs.span) else { return }
    for kind in Gate.KeyKind.allCases {
      var changed = fields
      changed[kind.rawValue] = others[kind.rawValue]
      try world.bench.store.apply([
        .put(.gate, GateBench.name, Array(JSONValue.object(changed).text.utf8))
      ])
      #expect(throws: ServiceError.self, "\(kind)") { try world.bench.account.snapshot() }
    }
  }

  @Test func `a gate that is in use is not removed`() throws {
    let world = try GateBench()
    let management = world.bench.management
    try management.addEvents(EventRange(7...7, at: GateBench.name, for: "shop"))
    #expect(throws: ServiceError.self) { try management.removeGate(GateBench.name) }
    try management.removeAPI(GateBench.host)
    #expect(throws: ServiceError.self) { try management.removeGate(GateBench.name) }
    try management.removeEvents(7...7)
    try management.addChallenge(NamedChallenge("late", .person, gate: GateBench.name))
    #expect(throws: ServiceError.self) { try management.removeGate(GateBench.name) }
    try management.removeChallenge("late")
    try management.removeGate(GateBench.name)
    #expect(throws: ServiceError.self) { try management.gate(GateBench.name) }
    #expect(throws: ServiceError.self) {
      try management.add(API(GateBench.host, .proof, gate: GateBench.name))
    }
    #expect(throws: ServiceError.self) { try API("a.example.com", .proof) }
    #expect(throws: ServiceError.self) { try API("a.example.com", .token, gate: "door") }
  }

  @Test func `redeemers of an audience get its events, and nothing that judges requests`() throws {
    let world = try GateBench()
    let management = world.bench.management
    try management.addEvents(EventRange(1...5, at: GateBench.name, for: "bank"))
    try management.addEvents(EventRange(9...9, at: GateBench.name, for: "shop"))
    try management.prepareGateKey(.account, of: GateBench.name)
    let text = try management.gateConfiguration(GateBench.name, audience: "bank")
    let token = try UnverifiedToken(reading: text)
    let key = try world.bench.account.snapshot().configurationKey.key
    _ = try JWSVerifier(key, keyID: .any).verify(text)
    #expect(token.type == "redeemer+jwt")
    #expect(
      Set(token.payload.members.map(\.name))
        == ["acc", "aks", "aud", "evt", "gat", "iat", "key", "mod", "nam", "risk", "ser", "use"])
    guard case .array(let events)? = token.payload["evt"], case .object(let event)? = events.first
    else { throw NoAdmission(outcome: .badPayload) }
    #expect(events.count == 1 && event.text("audience") == "bank" && event.integer("last") == 5)
    // The gate has not got the next key: it is handed out by the gate's own configuration alone.
    #expect(throws: ServiceError.self) {
      try management.promoteGateKey(.account, of: GateBench.name)
    }
    for audience in ["", "Bank", "ban"] {
      #expect(throws: ServiceError.self) {
        try management.gateConfiguration(GateBench.name, audience: audience)
      }
    }
    _ = try world.configuration()
    try management.promoteGateKey(.account, of: GateBench.name, atOnce: true)
  }

  @Test func `no event number is in two ranges, and each has one audience`() throws {
    let world = try GateBench()
    let management = world.bench.management
    try management.addEvents(EventRange(EventRange.standard, at: GateBench.name, for: "shop"))
    for range in [3300...3300, 3400...3500, 3000...3300, 0...UInt16.max, 3350...3360] {
      #expect(throws: ServiceError.self) {
        try management.addEvents(EventRange(range, at: GateBench.name, for: "bank"))
      }
    }
    try management.addEvents(EventRange(0...0, at: GateBench.name, for: "bank"))
    try management.addEvents(EventRange(.max ... .max, at: GateBench.name, for: "shop"))
    let events = try world.admit(world.bench.app).admission.events
    #expect(events.map(\.numbers) == [0...0, 3300...3400, .max ... .max])
    #expect(events[1].audience == events[2].audience && events[0].audience != events[1].audience)
    #expect(throws: ServiceError.self) { try management.removeEvents(3300...3399) }
    try management.removeEvents(3300...3400)
    #expect(try management.events().count == 2)
    #expect(throws: ServiceError.self) {
      try management.addEvents(EventRange(5...5, at: "none", for: "shop"))
    }
    // A document in which two ranges overlap, say after a mistaken restore, is damaged.
    let twice = EventRange(1...5, at: GateBench.name, for: "a").fields
    let damaged: JSONObject = ["events": .array([.object(twice), .object(twice)])]
    #expect(EventRanges(damaged) == nil)
  }

  @Test func `risk rules are named, and stand in the configurations of gates and redeemers`() throws
  {
    let world = try GateBench()
    let management = world.bench.management
    try management.addEvents(EventRange(1...5, at: GateBench.name, for: "bank"))
    let when = "accounts-of-device/hour > 3"
    let added = try management.perform(
      "risk/add",
      [
        "name": "many", "when": .string(when), "level": "high", "reason": "many accounts",
        "numbers": "1-5",
      ])
    guard case .object(let fields) = added else { throw NoAdmission(outcome: .badPayload) }
    #expect(fields.text("when") == when && fields.text("numbers") == "1-5")
    #expect(try management.risks().map(\.name) == ["many"])
    let key = try world.bench.account.snapshot().configurationKey.key.publicBytes ?? []
    let fingerprint = Digest(hashing: Array("pfa1.config-key.".utf8) + key)
    for text in [
      try management.gateConfiguration(GateBench.name),
      try management.gateConfiguration(GateBench.name, audience: "bank"),
    ] {
      let read = try ProofBackend.GateConfiguration(text, signedBy: fingerprint)
      #expect(read.risks.map(\.condition.text) == [when] && read.risks[0].level == .high)
      #expect(read.risks[0].numbers == 1...5 && read.unknownRisks == 0)
    }
    for (name, value) in [
      ("name", "many"), ("name", "A"), ("when", "failed > 1"), ("level", "none"), ("reason", ""),
      ("numbers", "9-1"),
    ] {
      var bad: JSONObject = [
        "name": "other", "when": "failed", "level": "low", "reason": "x", "numbers": "1",
      ]
      bad[name] = .string(value)
      #expect(throws: ServiceError.self, "\(name)") { try management.perform("risk/add", bad) }
    }
    try management.removeRisk("many")
    #expect(throws: ServiceError.self) { try management.removeRisk("many") }
  }

  @Test func `a revocation stands in the configuration until the last token has ended`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let device = world.bench.app.device
    #expect(throws: ServiceError.self, "it has no token of this gate") {
      try management.revoke(device, at: GateBench.name)
    }
    for _ in 0..<3 { _ = try world.admit(world.bench.app) }
    try management.revoke(device, at: GateBench.name)
    let revoked = try world.objects(try world.configuration()["rev"])
    #expect(revoked.count == 1 && revoked[0].integer("gen") == 3)
    #expect(revoked[0].text("ins") == Base64.encode(device.bytes, .url))
    // Once more: the later one takes the place of the one before.
    _ = try world.admit(world.bench.app)
    try management.revoke(device, at: GateBench.name)
    let again = try world.objects(try world.configuration()["rev"])
    #expect(again.map { $0.integer("gen") } == [4])
    world.bench.clock.advance(by: 86_461)
    #expect(try world.objects(try world.configuration()["rev"]).isEmpty)
  }

  @Test func `the configuration's number grows with each change`() throws {
    let world = try GateBench()
    func number() throws -> Int64 { try #require(try world.configuration().integer("ser")) }
    var last = try number()
    #expect(try number() == last)
    var settings = GateSettings()
    settings.life = 60
    settings.form = .compact
    settings.digestHeader = "X-Digest"
    let changes: [() throws -> Void] = [
      { try world.bench.management.changeGate(GateBench.name, settings) },
      { try world.bench.management.prepareGateKey(.issuer, of: GateBench.name) },
      { try world.bench.management.addEvents(EventRange(1...1, at: GateBench.name, for: "a")) },
      { try world.bench.management.add(API("c.example.com", .proof, gate: GateBench.name)) },
    ]
    for change in changes {
      try change()
      let next = try number()
      #expect(next > last)
      last = next
    }
    let claims = try world.configuration()
    #expect(claims.integer("lif") == 60 && claims.text("frm") == "compact")
    #expect(claims.texts("hst") == ["c.example.com", GateBench.host])
    let admission = try world.admit(world.bench.app).admission
    #expect(admission.form == .compact && admission.headers.digest == "x-digest")
    let mistakes: [(inout GateSettings) -> Void] = [
      { $0.life = 59 }, { $0.life = 86_401 }, { $0.freshness = 11 }, { $0.floor = -1 },
      { $0.proofHeader = "a b" }, { $0.tokenHeader = "proof" },
    ]
    for bad in mistakes {
      var settings = GateSettings()
      bad(&settings)
      #expect(throws: ServiceError.self) {
        try world.bench.management.changeGate(GateBench.name, settings)
      }
    }
  }
}
