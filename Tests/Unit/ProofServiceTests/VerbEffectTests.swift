// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Each verb from JSON to JSON: the change that it makes, the answer that it gives, and its refusals by field.
@Suite struct VerbEffectTests {
  /// An account, and what its verbs answer.
  private struct Desk {
    let world: GateBench
    var management: Management { world.bench.management }

    init() throws { world = try GateBench() }

    func value(_ verb: String, _ arguments: JSONObject = [:]) throws -> JSONValue {
      try management.perform(verb, arguments)
    }

    func object(_ verb: String, _ arguments: JSONObject = [:]) throws -> JSONObject {
      guard case .object(let object) = try value(verb, arguments) else {
        throw NoAdmission(outcome: .badPayload)
      }
      return object
    }

    func list(_ verb: String) throws -> [JSONObject] { try world.objects(value(verb)) }

    func done(_ verb: String, _ arguments: JSONObject = [:]) throws {
      #expect(try value(verb, arguments) == [:], "\(verb)")
    }

    func refused(
      _ verb: String, _ arguments: JSONObject, _ field: String, _ value: String, _ allowed: String
    ) throws {
      let before = try world.bench.store.revision()
      #expect(
        throws: ServiceError.invalid(field, value: value, allowed: allowed), "\(verb) \(arguments)"
      ) { try management.perform(verb, arguments) }
      #expect(try world.bench.store.revision() == before)
    }

    func missing(_ verb: String, _ arguments: JSONObject, _ field: String) throws {
      try refused(verb, arguments, field, "", "a text; it is missing")
    }
  }

  private static let long = String(repeating: "x", count: 81)
  private static var cut: String { String(long.dropLast()) }

  @Test func `a verb has two parts, and an unknown one is told by its first 80 characters`() throws
  {
    let desk = try Desk()
    for verb in ["", "api", "api/", "/list", "api/list/", "api/none", "none/list", "metrics/list"] {
      #expect(throws: ServiceError.unknown("verb", name: verb)) { try desk.value(verb) }
    }
    for noun in [
      "secret", "management", "devkey", "registration", "policy", "device", "pin", "config",
      "keyset",
      "token", "arc", "sdk", "hardware", "gate", "event", "challenge", "risk", "stringkey",
      "saltkey",
      "string",
    ] {
      #expect(throws: ServiceError.unknown("verb", name: "\(noun)/none")) {
        try desk.value("\(noun)/none")
      }
    }
    for verb in [Self.long, "\(Self.long)/x"] {
      #expect(throws: ServiceError.unknown("verb", name: Self.cut)) { try desk.value(verb) }
    }
  }

  @Test func `an argument of another type is refused by its name`() throws {
    let wrong: JSONValue = [1]
    let half = try JSONValue(parsing: "0.5")
    let desk = try Desk()
    for (verb, arguments, field, allowed) in [
      ("api/add", ["host": wrong], "host", "a text"),
      ("api/add", ["host": "h", "audience": wrong], "audience", "true, false"),
      ("api/add", ["host": "h", "pins": wrong], "pins", "an array of texts"),
      ("api/add", ["host": "h", "pins": "p"], "pins", "an array of texts"),
      ("api/change", ["host": "h", "atOnce": 1], "atOnce", "true, false"),
      ("device/list", ["count": "5"], "count", "an integer"),
      ("device/list", ["count": half], "count", "an integer"),
      ("policy/set", ["issuer": 1], "issuer", "a text"),
      ("pin/service", [:], "pins", "an array of texts"),
    ] as [(String, JSONObject, String, String)] {
      try desk.refused(verb, arguments, field, "of another type", allowed)
    }
    // Null is no value.
    _ = try desk.value("device/list", ["count": .null])
    _ = try desk.value("api/add", ["host": "n.example.com", "pins": .null, "audience": .null])
    #expect(throws: ServiceError.unknown("argument", name: Self.cut)) {
      try desk.value("api/list", [Self.long: 1])
    }
  }

  @Test func `APIs are added with all their parts, changed, and removed`() throws {
    let desk = try Desk()
    let pin = Base64.encode([UInt8](repeating: 3, count: 32))
    for key in [("h", "HS256"), ("d", "dir"), ("e", "ES256")] {
      _ = try desk.value("keyset/add", ["kid": .string(key.0), "alg": .string(key.1)])
    }
    try desk.done(
      "api/add", ["host": "T.example.com", "kid": "h", "audience": false, "pins": [.string(pin)]])
    try desk.done(
      "api/add",
      [
        "host": "m.example.com", "kind": "measurement", "kid": "d", "signedBy": "e",
        "audience": true,
      ])
    try desk.done("api/add", ["host": "n.example.com", "kind": "none"])
    try desk.done("api/add", ["host": "p.example.com", "kind": "proof", "gate": "door"])
    func shown(_ host: String) throws -> JSONObject? {
      try desk.list("api/list").first { $0.text("host") == host }
    }
    #expect(
      try shown("t.example.com") == [
        "host": "t.example.com", "kind": "token", "kid": "h", "audience": false,
      ])
    #expect(
      try shown("m.example.com") == [
        "host": "m.example.com", "kind": "measurement", "kid": "d", "signedBy": "e",
        "audience": true,
      ])
    #expect(try shown("n.example.com") == ["host": "n.example.com", "kind": "none"])
    #expect(
      try shown("p.example.com") == ["host": "p.example.com", "kind": "proof", "gate": "door"])
    #expect(try desk.list("pin/list") == [["host": "t.example.com", "pins": [.string(pin)]]])
    for (change, name, value) in [
      (["ownKey": true], "kid", nil), (["kid": "h"], "kid", "h"),
      (["audience": "on"], "audience", true),
      (["audience": "off"], "audience", false), (["audience": "policy"], "audience", nil),
    ] as [(JSONObject, String, JSONValue?)] {
      var arguments = change
      arguments.set("host", "T.example.com")
      arguments.set("atOnce", true)
      try desk.done("api/change", arguments)
      #expect(try shown("t.example.com")?[name] == value)
    }
    try desk.done("api/change", ["host": "m.example.com", "unsigned": true])
    #expect(try shown("m.example.com")?["signedBy"] == nil)
    try desk.done("api/change", ["host": "m.example.com", "signedBy": "e", "atOnce": true])
    #expect(try shown("m.example.com")?.text("signedBy") == "e")
    try desk.done("api/change", ["host": "m.example.com"])
    #expect(try shown("m.example.com")?.text("signedBy") == "e")
    try desk.done("api/remove", ["host": "T.example.com"])
    #expect(try shown("t.example.com") == nil)
    try desk.refused(
      "api/add", ["host": "x", "kind": .string(Self.long)], "kind", Self.cut,
      "token, measurement, none, proof")
    for verb in ["api/add", "api/change", "api/remove"] { try desk.missing(verb, [:], "host") }
    try desk.refused(
      "api/change", ["host": "m.example.com", "kid": "d", "ownKey": true], "key of the API",
      "kid and ownKey", "one of the two")
    try desk.refused(
      "api/change", ["host": "m.example.com", "signedBy": "e", "unsigned": true],
      "key that signs inside", "signedBy and unsigned", "one of the two")
    try desk.refused(
      "api/change", ["host": "m.example.com", "audience": .string(Self.long)], "audience", Self.cut,
      "on, off, policy")
  }

  @Test func `the key of an API fits its kind`() throws {
    let desk = try Desk()
    for key in [("h", "HS256"), ("d", "dir"), ("e", "ES256")] {
      _ = try desk.value("keyset/add", ["kid": .string(key.0), "alg": .string(key.1)])
    }
    let signers = "a key of ES256, EdDSA or RS256"
    for (kind, key, signer, field, value, allowed) in [
      ("token", "d", nil, "key of the API", "d (dir)", "a signing key"),
      ("measurement", "h", nil, "key of the API", "h (HS256)", "a sealing key"),
      ("measurement", "e", nil, "key of the API", "e (ES256)", "a sealing key"),
      ("measurement", "d", "h", "key that signs inside", "h (HS256)", signers),
      ("measurement", "d", "d", "key that signs inside", "d (dir)", signers),
    ] as [(String, String, String?, String, String, String)] {
      var arguments: JSONObject = [
        "host": "k.example.com", "kind": .string(kind), "kid": .string(key),
      ]
      arguments.set("signedBy", signer)
      try desk.refused("api/add", arguments, field, value, allowed)
    }
    for arguments in [
      ["host": "k", "kid": .string(Self.long)],
      ["host": "k", "kind": "measurement", "signedBy": .string(Self.long)],
    ] as [JSONObject] {
      #expect(throws: ServiceError.unknown("key", name: Self.cut)) {
        try desk.value("api/add", arguments)
      }
    }
    #expect(throws: ServiceError.unknown("API", name: Self.cut)) {
      try desk.value("api/change", ["host": .string(Self.long), "ownKey": true])
    }
  }

  @Test func `a key that verifiers may not have is used after its time, or at once`() throws {
    let desk = try Desk()
    for key in [("h", "HS256"), ("e", "ES256")] {
      _ = try desk.value("keyset/add", ["kid": .string(key.0), "alg": .string(key.1)])
    }
    func change(_ key: String) throws {
      try desk.done("api/change", ["host": .string(Bench.api), "kid": .string(key)])
    }
    #expect(
      throws: ServiceError.outOfTurn(
        "the key “h” was never handed out, so backends would refuse its tokens",
        instead: "Hand it out: “keyset get h”.")
    ) { try change("h") }
    _ = try desk.value("keyset/get", ["kid": "h"])
    try change("h")
    desk.world.bench.clock.advance(by: 299)
    #expect(
      throws: ServiceError.outOfTurn(
        "backends may keep the published keys without “e” for 1 more seconds",
        instead: "Try again then, or add --at-once if they have it.")
    ) { try change("e") }
    desk.world.bench.clock.advance(by: 1)
    try change("e")
    // The tokens by the key that was left end with the policy's lifetime and a margin.
    let keys = try desk.management.keys()
    let life = Int64(try desk.management.policy().tokenLifetime)
    #expect(keys.first { $0.id == "h" }?.end == desk.world.now + life + Management.endMargin)
    #expect(keys.first { $0.id == "e" }?.end == nil)
    let moved = try desk.object("keyset/change", ["kid": "e", "to": "h"])
    #expect(moved == ["apis": [.string(Bench.api)]])
    #expect(try desk.management.apis().first { $0.host == Bench.api }?.keyID == "h")
    #expect(try desk.management.keys().first { $0.id == "h" }?.end == nil)
    #expect(throws: ServiceError.self) { try desk.value("keyset/remove", ["kid": "e"]) }
    try desk.done("keyset/remove", ["kid": "e", "atOnce": true])
    #expect(try desk.list("keyset/list").map { $0.text("kid") } == ["h"])
  }

  @Test func `key sets show their keys without secrets, and hand them out one by one`() throws {
    let desk = try Desk()
    let added = try desk.object("keyset/add", ["alg": "ES256", "kid": "e"])
    #expect(
      added == ["kid": "e", "alg": "ES256", "added": .number(JSONNumber(desk.world.now.seconds))])
    let drawn = try desk.object("keyset/add", ["alg": "HS256"])
    let id = try #require(drawn.text("kid"))
    #expect(try desk.list("keyset/list").count == 2 && id != "e")
    let shown = try desk.object("keyset/get", ["kid": .string(id)])
    #expect(shown.text("kty") == "oct" && shown.text("k") != nil)
    #expect(try desk.list("keyset/list").first { $0.text("kid") == id }?.flag("given") == true)
    let publicKey = try desk.object("keyset/get", ["kid": "e"])
    #expect(publicKey.text("kty") == "EC" && publicKey["d"] == nil && publicKey.text("kid") == "e")
    let pem = try desk.object("keyset/get", ["kid": "e", "pem": true])
    #expect(pem.members.map(\.name) == ["pem"])
    #expect(pem.text("pem")?.hasPrefix("-----BEGIN PUBLIC KEY-----\n") == true)
    let keys = try desk.world.objects(desk.object("keyset/jwks")["keys"])
    #expect(
      keys.map { $0.text("kid") } == ["e"] && keys.allSatisfy { $0["k"] == nil && $0["d"] == nil })
    try desk.refused(
      "keyset/add", ["alg": .string(Self.long)], "alg", Self.cut,
      KeyAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))
    try desk.refused(
      "keyset/add", ["alg": "ES256", "public": "x", "bits": 7], "bits", "7",
      "none: a public key has its size")
    for (verb, field) in [("add", "alg"), ("change", "kid"), ("remove", "kid"), ("get", "kid")] {
      try desk.missing("keyset/\(verb)", [:], field)
    }
    try desk.missing("keyset/change", ["kid": "e"], "to")
  }

  @Test func `own keys rotate by their verbs, and are shown in the stage that they have`() throws {
    for kind in OwnKey.allCases {
      let desk = try Desk()
      let noun = kind.rawValue
      func stages() throws -> [String?] { try desk.list("\(noun)/list").map { $0.text("state") } }
      if kind == .message {
        #expect(try desk.value("messagekey/get") == ["id": .null, "secret": .null])
        let first = try desk.object("messagekey/change")
        #expect(try first == desk.object("messagekey/get") && first.text("id") != nil)
      }
      let before = try desk.object("\(noun)/get")
      let names = kind == .message ? ["id", "secret"] : ["kid", "secret"]
      #expect(before.members.map(\.name).sorted() == names)
      #expect(Base64.decode(before.text("secret") ?? "")?.count == (kind.byteCount), "\(noun)")
      #expect(try stages() == ["active"])
      let next = try desk.object("\(noun)/next")
      #expect(next.text("state") == "next" && next.flag("given") == false)
      #expect(throws: ServiceError.self) { try desk.value("\(noun)/promote") }
      let keys = try desk.world.objects(desk.object("\(noun)/keys")["keys"])
      #expect(keys.count == 2, "\(noun)")
      #expect(
        keys.compactMap { $0.text("k") }.allSatisfy { Base64.decode($0, .url)?.isEmpty == false })
      #expect(try desk.list("\(noun)/list")[1].flag("given") == true)
      let promoted = try desk.object("\(noun)/promote")
      #expect(promoted.text("state") == "active" && promoted.text("kid") == next.text("kid"))
      #expect(try stages() == ["active", "old"])
      #expect(try desk.object("\(noun)/get").text("secret") != before.text("secret"))
      #expect(throws: ServiceError.self) { try desk.value("\(noun)/retire") }
      try desk.done("\(noun)/retire", ["atOnce": true])
      #expect(try stages() == ["active"])
      _ = try desk.value("\(noun)/next")
      try desk.done("\(noun)/drop")
      #expect(try stages() == ["active"])
      _ = try desk.value("\(noun)/next")
      _ = try desk.value("\(noun)/promote", ["atOnce": true])
      let again = try desk.object("\(noun)/get")
      #expect(
        throws: ServiceError.outOfTurn(
          "backends would refuse every token until they have the new key",
          instead:
            "Rotate it: “\(noun) next”, “keys”, “promote”, “retire”. If the key is compromised,"
            + " add --at-once.")
      ) { try desk.value("\(noun)/change") }
      _ = try desk.value("\(noun)/change", ["atOnce": true])
      #expect(try desk.object("\(noun)/get").text("secret") != again.text("secret"))
      try desk.refused(
        "\(noun)/get", ["encoding": "hex"], "encoding", "hex", "base64, base64url")
      if kind == .message {
        try desk.done("messagekey/remove")
        #expect(try desk.value("messagekey/get") == ["id": .null, "secret": .null])
      } else {
        #expect(throws: ServiceError.unknown("verb", name: "\(noun)/remove")) {
          try desk.value("\(noun)/remove")
        }
      }
    }
  }

  @Test func `a printable secret has visible characters alone`() throws {
    let desk = try Desk()
    func isPrintable() throws -> Bool {
      let secret = try #require(Base64.decode(desk.object("secret/get").text("secret") ?? ""))
      return secret.allSatisfy { (0x21..<0x7F).contains($0) }
    }
    #expect(try !isPrintable())
    _ = try desk.value("secret/next", ["printable": true])
    _ = try desk.value("secret/promote", ["atOnce": true])
    #expect(try isPrintable())
    _ = try desk.value("secret/change", ["atOnce": true])
    #expect(try !isPrintable())
    _ = try desk.value("secret/change", ["atOnce": true, "printable": true])
    #expect(try isPrintable())
    for verb in ["next", "change"] {
      #expect(throws: ServiceError.unknown("argument", name: "printable")) {
        try desk.value("sealing/\(verb)", ["printable": true])
      }
    }
  }

  @Test func `the development key is drawn, shown and removed`() throws {
    let desk = try Desk()
    #expect(try desk.value("devkey/get") == ["key": .null])
    let first = try desk.object("devkey/change")
    #expect(try first.text("key") != nil && desk.object("devkey/get") == first)
    #expect(try desk.object("devkey/change") != first)
    try desk.done("devkey/remove")
    #expect(try desk.value("devkey/get") == ["key": .null])
  }

  @Test func `management tokens are added with a role, changed, listed and removed`() throws {
    let desk = try Desk()
    let roles = ManagementRole.allCases
    for role in roles where role != .gate {
      let name = "t.\(role.rawValue)"
      let token = try desk.object(
        "management/add", ["name": .string(name), "role": .string(role.rawValue)])
      #expect(token.members.map(\.name) == ["token"])
      let entry = try #require(try desk.list("management/list").first { $0.text("name") == name })
      #expect(entry.text("role") == role.rawValue && entry["token"] == nil && entry["hash"] == nil)
      let other = try desk.object("management/change", ["name": .string(name)])
      #expect(other.text("token") != token.text("token"))
      let tokens = try desk.world.bench.account.snapshot().managementTokens
      #expect(tokens.entry(of: token.text("token") ?? "") == nil)
      #expect(tokens.entry(of: other.text("token") ?? "")?.role == role)
      try desk.done("management/remove", ["name": .string(name)])
      #expect(try !desk.list("management/list").contains { $0.text("name") == name })
    }
    let owner = try desk.object("management/change").text("token")
    #expect(
      try desk.world.bench.account.snapshot().managementTokens.entry(of: owner ?? "")?.name
        == "owner")
    try desk.refused(
      "management/add", ["name": "a", "role": .string(Self.long)], "role", Self.cut,
      roles.map(\.rawValue).joined(separator: ", "))
    let names = "1 to 64 letters, digits, “.”, “-” and “_”"
    for name in [
      "", "a b", "é", "a/", "a:", "a@", "a[", "a`", "a{", Self.cut, String(Self.long.prefix(65)),
    ] {
      try desk.refused(
        "management/add", ["name": .string(name), "role": "read"], "name of the token", name, names)
    }
    for name in ["09AZaz.-_", String(Self.long.prefix(64))] {
      _ = try desk.value("management/add", ["name": .string(name), "role": "read"])
    }
    #expect(throws: ServiceError.alreadyThere("management token", name: "owner")) {
      try desk.value("management/add", ["name": "owner", "role": "all"])
    }
    for verb in ["change", "remove"] {
      #expect(throws: ServiceError.unknown("management token", name: Self.cut)) {
        try desk.value("management/\(verb)", ["name": .string(Self.long)])
      }
    }
    #expect(
      throws: ServiceError.outOfTurn(
        "no token with the role “all” would be left",
        instead: "Add one and hand it to its tools first: “management add NAME --role all”.")
    ) { try desk.value("management/remove", ["name": "owner"]) }
    _ = try desk.value("management/add", ["name": "second", "role": "all"])
    try desk.done("management/remove", ["name": "owner"])
    for (verb, arguments, field) in [
      ("add", [:], "name"), ("add", ["name": "a"], "role"), ("remove", [:], "name"),
    ] as [(String, JSONObject, String)] { try desk.missing("management/\(verb)", arguments, field) }
  }

  @Test func `an account has as many management tokens as the page says`() throws {
    let desk = try Desk()
    var count = try desk.list("management/list").count
    while count < ManagementTokens.countMax {
      _ = try desk.value("management/add", ["name": .string("t\(count)"), "role": "read"])
      count += 1
    }
    #expect(ManagementTokens.countMax == 64)
    try desk.refused(
      "management/add", ["name": "more", "role": "read"], "number of management tokens",
      "\(count + 1)", "at most \(count)")
  }

  @Test func `registrations keep what they are given, and end when they are to`() throws {
    let desk = try Desk()
    let digest = String(repeating: "cd", count: 32)
    let now = desk.world.now.seconds
    let added = try desk.object(
      "registration/add",
      [
        "digest": .string(digest), "name": "n", "development": true, "expireAfter": 60,
        "without": "3/4",
      ])
    #expect(
      added == [
        "digest": .string(digest), "name": "n", "development": true,
        "added": .number(JSONNumber(now)), "expiry": .number(JSONNumber(now + 60)),
        "without": "3/4",
      ])
    #expect(try desk.list("registration/list").contains(added))
    let plain = try desk.object(
      "registration/add", ["digest": .string(String(repeating: "ce", count: 32))])
    #expect(plain.text("name") == "" && plain.flag("development") == false)
    #expect(plain["expiry"] == nil && plain["without"] == nil && plain["upcoming"] == nil)
    try desk.done("registration/remove", ["digest": .string(digest)])
    #expect(try !desk.list("registration/list").contains(added))
    for verb in ["add", "remove"] {
      try desk.missing("registration/\(verb)", [:], "digest")
      try desk.refused(
        "registration/\(verb)", ["digest": .string(Self.long)], "digest", Self.cut,
        "64 hexadecimal digits")
    }
    try desk.missing("registration/environment-add", ["records": "A"], "name")
    try desk.missing("registration/environment-add", ["name": "A"], "records")
    let kernel = try EvidenceRecord(
      SourceID(.device, 1), name: "kernel", digest: Digest(hashing: []))
    let records = try Base64.encode(EvidenceSet([kernel]).recordBytes, .url)
    let environment = try desk.object(
      "registration/environment-add", ["name": "e", "records": .string(records), "expireAfter": 9])
    #expect(environment.text("name") == "e" && environment.integer("expiry") == now + 9)
    guard case .object(let upcoming)? = environment["upcoming"] else {
      Issue.record("no prediction")
      return
    }
    #expect(upcoming.integer("records") == 1 && upcoming["updates"] == nil)
    try desk.refused(
      "registration/environment-add", ["name": "e", "records": "??"], "records", "2 characters",
      "1 to 4096 records in base64url, in their order")
    for (name, value) in [("records", records), ("keyID", "0011223344556677")] {
      try desk.refused(
        "registration/add", ["digest": .string(digest), "\(name)": .string(value)], name,
        "without upcoming", "an update of a registered build")
    }
    try desk.refused(
      "registration/add", ["digest": .string(digest), "upcoming": "x"], "upcoming", "x",
      "the digest of a registered build")
    try desk.missing(
      "registration/add", ["digest": .string(digest), "upcoming": .string(digest)], "records")
    try desk.refused(
      "registration/add",
      [
        "digest": .string(digest), "upcoming": .string(digest), "records": .string(records),
        "keyID": "x",
      ], "keyID", "x", "the id of an SDK build's key")
  }

  @Test func `the policy is shown as it is after the change, all settings or none`() throws {
    let desk = try Desk()
    let before = try desk.object("policy/show")
    let changed = try desk.object("policy/set", ["token-lifetime": "60", "issuer": "us"])
    #expect(try changed == desk.object("policy/show") && changed != before)
    #expect(changed.text("issuer") == "us")
    #expect(throws: ServiceError.self) {
      try desk.value("policy/set", ["issuer": "them", "none": "1"])
    }
    #expect(try desk.object("policy/show") == changed)
  }

  @Test func `a device is decided about by each verb, and listed up to a count`() throws {
    let desk = try Desk()
    for number in UInt8(1)...3 {
      var app = desk.world.bench.app
      app.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [number])
      _ = try desk.world.bench.attest(app)
    }
    _ = try desk.world.bench.attest(desk.world.bench.app)
    let device = desk.world.bench.app.device
    let id: JSONValue = .string(device.description)
    func rule() throws -> DeviceRule? { try desk.world.bench.account.snapshot().rules[device] }
    for (verb, decision) in [("pass", DeviceRule.Decision.pass), ("fail", .fail)] {
      #expect(try desk.value("device/\(verb)", ["device": id]) == ["device": id])
      #expect(try rule()?.decision == decision)
    }
    #expect(
      try desk.value("device/annotate", ["device": id, "annotations": "debug"]) == ["device": id])
    #expect(try rule()?.annotations == ["debug"] && rule()?.decision == .fail)
    #expect(try desk.value("device/clear", ["device": id]) == ["device": id])
    #expect(try rule()?.decision == nil && rule()?.annotations == ["debug"])
    for count in [1, 2] as [JSONValue] {
      #expect(
        try desk.world.objects(desk.value("device/list", ["count": count])).count
          == (count == 1 ? 1 : 2))
    }
    #expect(try desk.list("device/list").count == 4)
    _ = try desk.value("device/list", ["count": 10_000])
    for count in [0, 10_001] {
      try desk.refused(
        "device/list", ["count": .number(JSONNumber(Int64(count)))], "count", "\(count)",
        "1 to 10000")
    }
    for verb in ["pass", "fail", "clear", "annotate"] {
      try desk.missing("device/\(verb)", [:], "device")
    }
    try desk.missing("device/annotate", ["device": id], "annotations")
    try desk.refused(
      "device/pass", ["device": .string(Self.long)], "device", Self.cut,
      "a device id (32 hexadecimal digits or 24 characters of base64), or latest")
  }

  @Test func `pins and the configuration are changed by their verbs`() throws {
    let desk = try Desk()
    let digest = Base64.encode([UInt8](repeating: 3, count: 32))
    let pin: JSONValue = .string(digest)
    func shown() throws -> JSONObject { try desk.object("config/show") }
    try desk.done("pin/set", ["host": "A.example.com", "pins": [pin]])
    #expect(try desk.list("pin/list") == [["host": "a.example.com", "pins": [pin]]])
    try desk.done("pin/remove", ["host": "a.example.com"])
    #expect(try desk.list("pin/list").isEmpty)
    try desk.done("pin/service", ["pins": [pin]])
    #expect(
      try desk.management.configuration().servicePins == [digest])
    let serial = try desk.management.configuration().serial
    try desk.done("pin/force", ["confirm": "YES"])
    #expect(try desk.management.configuration().forcedPinsSerial == serial + 1)
    try desk.done("config/url", ["url": "https://b.example.com"])
    try desk.done("config/failover", ["url": "https://c.example.com"])
    #expect(try desk.management.configuration().url == "https://b.example.com")
    #expect(try desk.management.configuration().failover == "https://c.example.com")
    try desk.done("config/failover")
    #expect(try desk.management.configuration().failover == nil)
    try desk.done(
      "config/region",
      ["region": "r", "url": "https://d.example.com", "failover": "https://e.example.com"])
    let region = try #require(try desk.management.configuration().regions["r"])
    #expect(region.url == "https://d.example.com" && region.failover == "https://e.example.com")
    try desk.done("config/region", ["region": "r"])
    #expect(try desk.management.configuration().regions.isEmpty)
    try desk.refused(
      "config/region", ["region": "r", "failover": "https://e.example.com"], "url", "none",
      "an address; a fail-over address is given")
    let first = try shown()
    #expect(
      first.text("account") == "door" && first.text("signed")?.split(separator: ".").count == 3)
    #expect(try first["initial"] == desk.object("sdk/config-string")["config"])
    // A new key signs the configuration, and a handover leads to it until the old ones are retired.
    let key = try desk.world.bench.account.snapshot().configurationKey.key.publicBytes
    try desk.done("config/change-key")
    #expect(try desk.world.bench.account.snapshot().configurationKey.key.publicBytes != key)
    #expect(try shown().text("initial") != first.text("initial"))
    func claims() throws -> JSONObject {
      try UnverifiedToken(reading: desk.management.signedConfiguration()).payload
    }
    #expect(try claims().texts("hnd")?.count == 1)
    #expect(throws: ServiceError.notConfirmed) {
      try desk.value("config/retire-keys", ["confirm": "yes"])
    }
    try desk.done("config/retire-keys", ["confirm": "YES"])
    #expect(try claims()["hnd"] == nil)
    for (verb, field) in [
      ("pin/set", "host"), ("pin/remove", "host"), ("pin/force", "confirm"), ("config/url", "url"),
      ("config/retire-keys", "confirm"), ("config/region", "region"),
    ] { try desk.missing(verb, [:], field) }
  }

  @Test func `tokens and response codes are checked and made by their verbs`() throws {
    let desk = try Desk()
    let answer = try desk.world.bench.attest(desk.world.bench.app)
    let checked = try desk.object("token/check", ["token": .string(answer.token)])
    #expect(
      checked.flag("valid") == true
        && checked["arc"] == ["passed": true, "properties": ["first-fetch"]])
    #expect(
      try desk.value("arc/read", ["code": .string(answer.responseCode)]) == [
        "passed": true, "properties": ["first-fetch"],
      ])
    func example(_ arguments: JSONObject) throws -> TokenCheck {
      let made = try desk.object("token/example", arguments)
      #expect(made.members.map(\.name) == ["token"])
      return try desk.management.check(token: made.text("token") ?? "")
    }
    let plain = try example(["host": .string(Bench.api)])
    #expect(plain.isValid && plain.claims["pay"] == nil && plain.claims.text("mmd") == nil)
    #expect(try !example(["host": .string(Bench.api), "valid": false]).isValid)
    #expect(try example(["host": .string(Bench.api), "boundTo": "x"]).claims.text("pay") != nil)
    let measured = try example(["host": .string(Bench.lockAPI), "measured": true])
    #expect(measured.claims.text("mmd") == "development" && measured.claims.integer("mgn") == 1)
    try desk.refused(
      "token/example", ["host": .string(Bench.api), "measured": true], "API", Bench.api,
      "for a measurement, one with sealed tokens (--jwe)")
    #expect(throws: ServiceError.unknown("API with tokens", name: Self.cut)) {
      try desk.value("token/example", ["host": .string(Self.long)])
    }
    for (verb, field) in [
      ("token/check", "token"), ("token/example", "host"), ("arc/read", "code"),
    ] {
      try desk.missing(verb, [:], field)
    }
  }

  @Test func `builds of the SDK are made, taken, given sources and revoked`() throws {
    let desk = try Desk()
    let made = try desk.object("sdk/new", ["name": "n", "mode": "development", "without": "3/4"])
    let key = try #require(made.text("key"))
    #expect(Base64.decode(key)?.count == 16 && made.text("mode") == "development")
    #expect(
      made.text("name") == "n" && made.text("without") == "3/4" && made.flag("revoked") == false)
    let plain = try desk.object("sdk/new")
    #expect(
      plain.text("mode") == "production" && plain.text("name") == "" && plain["without"] == nil)
    let taken = try desk.object(
      "sdk/add", ["key": .string(Base64.encode([UInt8](2...17))), "name": "t"])
    #expect(taken["key"] == nil && taken.text("name") == "t")
    #expect(try desk.list("sdk/list").count == 4)
    #expect(try desk.list("sdk/list").allSatisfy { $0["key"] == nil })
    let id = try #require(taken["id"])
    let changed = try desk.object("sdk/sources", ["id": id, "without": "3/4"])
    #expect(changed.text("without") == "3/4" && changed["id"] == id)
    try desk.done("sdk/revoke", ["id": id])
    #expect(try desk.list("sdk/list").first { $0["id"] == id }?.flag("revoked") == true)
    try desk.refused(
      "sdk/new", ["mode": .string(Self.long)], "mode", Self.cut, "production, development")
    try desk.refused("sdk/add", ["key": "?"], "key", "(not shown)", "base64")
    for (verb, field) in [("add", "key"), ("sources", "id"), ("revoke", "id")] {
      try desk.missing("sdk/\(verb)", [:], field)
    }
    try desk.missing("sdk/sources", ["id": id], "without")
    try desk.refused("sdk/revoke", ["id": "x"], "id", "x", "16 hexadecimal digits")
  }

  @Test func `secure strings are set, listed by name and removed`() throws {
    let desk = try Desk()
    try desk.done("string/set", ["name": "a", "value": "one"])
    try desk.done("string/set", ["name": "a", "value": "two"])
    #expect(try desk.list("string/list") == [["name": "a"]])
    #expect(try desk.world.bench.account.snapshot().secureStrings[Array("a".utf8)] != nil)
    try desk.done("string/remove", ["name": "a"])
    #expect(try desk.list("string/list").isEmpty)
    try desk.missing("string/set", [:], "name")
    try desk.missing("string/set", ["name": "a"], "value")
    try desk.missing("string/remove", [:], "name")
  }

  // MARK: Gates

  @Test func `gates are added with their settings, shown with public keys, and removed`() throws {
    let desk = try Desk()
    let publicKey = try GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32))
    let id = String(repeating: "0a", count: 16)
    let settings: JSONObject = [
      "life": 60, "floor": 7, "form": "compact", "freshness": 10, "proofHeader": "X-Proof",
      "tokenHeader": "X-Token", "digestHeader": "X-Digest",
    ]
    var arguments = settings
    arguments.set("name", "g")
    arguments.set("publicKey", Hexadecimal.encode(publicKey))
    arguments.set("id", id)
    arguments.set("mode", "development")
    let added = try desk.object("gate/add", arguments)
    let expected: [(String, JSONValue)] = [
      ("name", "g"), ("id", .string(id)), ("mode", "development"), ("life", 60), ("floor", 7),
      ("form", "compact"), ("freshness", 10), ("proofHeader", "x-proof"),
      ("tokenHeader", "x-token"),
      ("digestHeader", "x-digest"), ("watch", false),
    ]
    for (name, value) in expected { #expect(added[name] == value, "\(name)") }
    #expect(try desk.object("gate/show", ["name": "g"]) == added)
    let keys = try desk.world.objects(added["keys"])
    #expect(keys.map { $0.text("public") } == [Hexadecimal.encode(publicKey)])
    let issuers = try desk.world.objects(added["issuers"])
    #expect(issuers.count == 1 && Base64.decode(issuers[0].text("public") ?? "", .url)?.count == 32)
    #expect(try desk.world.objects(added["accounts"]).map { $0["public"] } == [nil])
    #expect(try desk.list("gate/list").map { $0.text("name") } == ["door", "g"])
    for (name, value, shown) in [
      ("life", 86_400, 86_400), ("floor", 0, 0), ("form", "body", "body"), ("freshness", 0, 0),
      ("proofHeader", "P", "p"), ("tokenHeader", "T", "t"), ("digestHeader", "", nil),
    ] as [(String, JSONValue, JSONValue?)] {
      let changed = try desk.object("gate/change", ["name": "g", "\(name)": value])
      #expect(changed[name] == shown, "\(name)")
    }
    for (name, value, allowed) in [
      ("life", 59, "60 to 86400 seconds"), ("life", 86_401, "60 to 86400 seconds"),
      ("floor", -1, "Unix seconds"), ("freshness", -1, "0 to 10 seconds"),
      ("freshness", 11, "0 to 10 seconds"),
    ] {
      try desk.refused(
        "gate/change", ["name": "g", "\(name)": .number(JSONNumber(Int64(value)))], name,
        "\(value)",
        allowed)
    }
    try desk.refused(
      "gate/change", ["name": "g", "form": .string(Self.long)], "form", Self.cut,
      "standard, compact, body")
    let headers = "different names of 1 to 64 letters, digits, “-” and “_”"
    for (name, value, told) in [
      ("proofHeader", "t", "t, t"), ("tokenHeader", "a b", "p, a b"),
      ("digestHeader", "p", "p, t, p"),
    ] {
      try desk.refused(
        "gate/change", ["name": "g", "\(name)": .string(value)], "header fields", told, headers)
    }
    try desk.done("gate/remove", ["name": "g"])
    #expect(try desk.list("gate/list").map { $0.text("name") } == ["door"])
    for key in ["", "0a", String(repeating: "g", count: 64), String(repeating: "0", count: 66)] {
      try desk.refused(
        "gate/add", ["name": "h", "publicKey": .string(key)], "publicKey", key,
        "64 hexadecimal digits")
    }
    for verb in [
      "add", "change", "show", "remove", "rotate", "revoke", "configuration", "credential",
    ] {
      try desk.missing("gate/\(verb)", [:], "name")
    }
    for verb in ["change", "show", "remove", "configuration", "credential"] {
      #expect(throws: ServiceError.unknown("gate", name: "none")) {
        try desk.value("gate/\(verb)", ["name": "none"])
      }
    }
    try desk.missing("gate/add", ["name": "h"], "publicKey")
  }

  @Test func `the keys of a gate rotate by their verbs`() throws {
    let desk = try Desk()
    let next = Hexadecimal.encode(try GateBench.publicKey(of: [UInt8](repeating: 0x43, count: 32)))
    func rotate(_ what: String, _ step: String, _ more: JSONObject = [:]) throws -> JSONObject {
      var arguments: JSONObject = ["name": "door", "what": .string(what), "step": .string(step)]
      for (name, value) in more.members { arguments[name] = value }
      return try desk.object("gate/rotate", arguments)
    }
    for (what, list) in [("key", "keys"), ("account", "accounts"), ("issuer", "issuers")] {
      func stages() throws -> [String?] {
        try desk.world.objects(desk.object("gate/show", ["name": "door"])[list]).map {
          $0.text("state")
        }
      }
      let more: JSONObject = what == "key" ? ["publicKey": .string(next)] : [:]
      let drawn = try rotate(what, "next", more)
      #expect(try drawn.text("state") == "next" && stages() == ["active", "next"])
      #expect(try rotate(what, "drop") == [:] && stages() == ["active"])
      let again = try rotate(what, "next", more)
      let promoted = try rotate(what, "promote", ["atOnce": true])
      #expect(promoted.text("state") == "active" && promoted.text("kid") == again.text("kid"))
      #expect(try stages() == ["active", "old"])
      #expect(throws: ServiceError.self) { try rotate(what, "retire") }
      #expect(try rotate(what, "retire", ["atOnce": true]) == [:] && stages() == ["active"])
    }
    try desk.refused(
      "gate/rotate", ["name": "door", "what": .string(Self.long), "step": "next"], "what", Self.cut,
      "key, account, issuer")
    try desk.refused(
      "gate/rotate", ["name": "door", "what": "key", "step": .string(Self.long)], "step", Self.cut,
      "next, promote, retire, drop")
    try desk.refused(
      "gate/rotate", ["name": "door", "what": "key", "step": "drop", "publicKey": .string(next)],
      "public key", "given", "with the step “next” alone")
    try desk.missing("gate/rotate", ["name": "door"], "what")
    try desk.missing("gate/rotate", ["name": "door", "what": "key"], "step")
  }

  @Test func `a gate is watched by name, or all of them at once`() throws {
    let desk = try Desk()
    try desk.management.addGate(
      "other", publicKey: GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32)))
    func watched() throws -> [Bool] { try desk.management.gates().map(\.isWatched) }
    #expect(
      try desk.value("gate/watch", ["name": "other", "watch": true]) == [
        "watch": true, "gates": ["other"],
      ])
    #expect(try watched() == [false, true])
    #expect(
      try desk.value("gate/watch", ["all": true, "watch": true]) == [
        "watch": true, "gates": ["door", "other"],
      ])
    #expect(try watched() == [true, true])
    #expect(
      try desk.value("gate/watch", ["name": "door", "watch": false]) == [
        "watch": false, "gates": ["door"],
      ])
    #expect(try watched() == [false, true])
    try desk.refused("gate/watch", ["all": true], "watch", "missing", "true, false")
    let allowed = "the name of a gate, or “all” in its place"
    try desk.refused("gate/watch", ["watch": true], "name", "missing", allowed)
    try desk.refused(
      "gate/watch", ["watch": true, "all": true, "name": .string(Self.long)], "name", Self.cut,
      allowed)
  }

  @Test func `a gate's configuration and credential are handed out by their verbs`() throws {
    let desk = try Desk()
    _ = try desk.value("event/add", ["gate": "door", "audience": "shop"])
    let whole = try desk.object("gate/configuration", ["name": "door"]).text("configuration")
    #expect(try UnverifiedToken(reading: whole ?? "").type == "gate+jwt")
    let part = try desk.object("gate/configuration", ["name": "door", "audience": "shop"])
    #expect(try UnverifiedToken(reading: part.text("configuration") ?? "").type == "redeemer+jwt")
    for (label, name) in [(nil, "gate.door"), ("mine", "mine")] as [(String?, String)] {
      var arguments: JSONObject = ["name": "door"]
      arguments.set("as", label)
      let credential = try desk.object("gate/credential", arguments)
      #expect(credential.text("name") == name)
      let entry = try desk.world.bench.account.snapshot().managementTokens
        .entry(of: credential.text("token") ?? "")
      #expect(entry?.name == name && entry?.gate == "door" && entry?.role == .gate)
      // Another text of it is the same gate's.
      let other = try desk.object("management/change", ["name": .string(name)]).text("token")
      let changed = try desk.world.bench.account.snapshot().managementTokens.entry(of: other ?? "")
      #expect(changed?.gate == "door" && changed?.role == .gate)
    }
    let device = desk.world.bench.app.device
    _ = try desk.world.admit(desk.world.bench.app)
    #expect(
      try desk.value("gate/revoke", ["name": "door", "device": "latest"]) == [
        "device": .string(device.description)
      ])
    let revocation = try #require(try desk.management.gate("door").revocations.first)
    #expect(revocation.device == device && revocation.generation == 1)
    #expect(revocation.end == desk.world.now + 86_400 + Management.endMargin)
    // The credentials go with the gate.
    try desk.done("event/remove", ["numbers": "3300-3400"])
    try desk.done("api/remove", ["host": .string(GateBench.host)])
    try desk.done("gate/remove", ["name": "door"])
    #expect(try desk.list("management/list").map { $0.text("name") } == ["owner"])
  }

  @Test func `events are added with their rules, listed and removed`() throws {
    let desk = try Desk()
    let standard = try desk.object("event/add", ["gate": "door", "audience": "shop"])
    #expect(standard.text("numbers") == "3300-3400")
    #expect(standard.integer("life") == 60 && standard.integer("measured") == 10)
    #expect(["account", "data", "unanchored"].allSatisfy { standard.flag($0) == false })
    for (index, name) in ["account", "data", "unanchored"].enumerated() {
      let added = try desk.object(
        "event/add",
        [
          "gate": "door", "audience": "bank", "numbers": .string("\(index)"), "life": 7,
          "measured": 255, "\(name)": true,
        ])
      #expect(added.integer("life") == 7 && added.integer("measured") == 255)
      for other in ["account", "data", "unanchored"] {
        #expect(added.flag(other) == (other == name))
      }
      #expect(try desk.list("event/list")[index] == added)
    }
    try desk.done("event/remove", ["numbers": "1"])
    #expect(try desk.list("event/list").map { $0.text("numbers") } == ["0", "2", "3300-3400"])
    let allowed = "a number or FIRST-LAST, 0 to 65535, such as 3300-3400"
    for verb in ["add", "remove"] {
      try desk.refused(
        "event/\(verb)", ["gate": "door", "audience": "a", "numbers": .string(Self.long)],
        "numbers",
        Self.cut, allowed)
    }
    try desk.refused("event/remove", [:], "numbers", "", "a number or FIRST-LAST; it is missing")
    try desk.missing("event/add", ["numbers": "9"], "gate")
    try desk.missing("event/add", ["numbers": "9", "gate": "door"], "audience")
    #expect(throws: ServiceError.unknown("event", name: "7-8")) {
      try desk.value("event/remove", ["numbers": "7-8"])
    }
    #expect(throws: ServiceError.alreadyThere("event", name: "0-5")) {
      try desk.value("event/add", ["gate": "door", "audience": "a", "numbers": "0-5"])
    }
  }

  @Test func `challenges and risk rules are added, listed by name and removed`() throws {
    let desk = try Desk()
    let challenge = try desk.object(
      "challenge/add", ["name": "z", "kind": "memory", "level": 7, "life": 10, "gate": "door"])
    #expect(challenge == ["name": "z", "kind": "memory", "level": 7, "life": 10, "gate": "door"])
    #expect(
      try desk.object("challenge/add", ["name": "a", "kind": "person"]) == [
        "name": "a", "kind": "person", "level": 0, "life": 600,
      ])
    #expect(try desk.list("challenge/list").map { $0.text("name") } == ["a", "z"])
    try desk.done("challenge/remove", ["name": "a"])
    #expect(try desk.list("challenge/list") == [challenge])
    try desk.refused(
      "challenge/add", ["name": "b", "kind": .string(Self.long)], "kind", Self.cut,
      "token, proof, work, memory, person")
    #expect(throws: ServiceError.unknown("gate", name: "none")) {
      try desk.value("challenge/add", ["name": "b", "kind": "person", "gate": "none"])
    }
    let risk = try desk.object(
      "risk/add", ["name": "z", "when": "failed", "level": "low", "reason": "why"])
    #expect(
      risk == [
        "name": "z", "when": "failed", "level": "low", "reason": "why", "numbers": "0-65535",
      ])
    _ = try desk.object(
      "risk/add",
      ["name": "a", "when": "known < 5", "level": "high", "reason": "new", "numbers": "7"])
    #expect(try desk.list("risk/list").map { $0.text("name") } == ["a", "z"])
    try desk.done("risk/remove", ["name": "a"])
    #expect(try desk.list("risk/list") == [risk])
    for (name, allowed) in [
      ("when", "a fact, or a number with > or < and a bound, such as accounts-of-device/hour > 3"),
      ("level", "low, medium, high"),
      ("numbers", "a number or FIRST-LAST, 0 to 65535, such as 3300-3400"),
      ("reason", "1 to 80 bytes of text without control characters"),
    ] {
      var arguments: JSONObject = [
        "name": "b", "when": "failed", "level": "low", "reason": "why", "numbers": "1",
      ]
      arguments[name] = .string(Self.long)
      try desk.refused("risk/add", arguments, name, Self.cut, allowed)
    }
    for noun in ["challenge", "risk"] {
      let said = noun == "risk" ? "risk rule" : noun
      let more: JSONObject =
        noun == "risk" ? ["when": "failed", "level": "low", "reason": "why"] : ["kind": "person"]
      func add(_ name: String) throws {
        var arguments = more
        arguments.set("name", name)
        _ = try desk.value("\(noun)/add", arguments)
      }
      #expect(throws: ServiceError.alreadyThere(said, name: "z")) { try add("z") }
      #expect(throws: ServiceError.unknown(said, name: Self.cut)) {
        try desk.value("\(noun)/remove", ["name": .string(Self.long)])
      }
      for number in 1..<64 { try add("n\(number)") }
      #expect(
        throws: ServiceError.invalid("number of \(said)s", value: "65", allowed: "at most 64")
      ) { try add("more") }
      #expect(try desk.list("\(noun)/list").count == 64)
      try desk.missing("\(noun)/remove", [:], "name")
    }
    for field in ["name", "kind"] {
      var arguments: JSONObject = ["name": "b", "kind": "person"]
      arguments[field] = nil
      try desk.missing("challenge/add", arguments, field)
    }
    for field in ["name", "when", "level", "reason"] {
      var arguments: JSONObject = ["name": "b", "when": "failed", "level": "low", "reason": "w"]
      arguments[field] = nil
      try desk.missing("risk/add", arguments, field)
    }
  }

  // MARK: Over HTTP

  @Test func `each error has the status of its kind`() {
    for (error, status) in [
      (.unknown("a", name: "b"), 404), (.alreadyThere("a", name: "b"), 409),
      (.inUse("a", by: "b"), 409), (.accountThere("a"), 409), (.outOfTurn("a", instead: "b"), 409),
      (.notConfirmed, 409), (.invalid("a", value: "b", allowed: "c"), 400),
      (.jose(.randomFailed), 400),
      (.store(.busy(path: "p")), 503), (.damaged("a"), 503), (.noMemory, 503), (.noAccount, 503),
      (.wrongPassphrase, 503), (.wrongKeyFile, 503), (.otherLock(expected: "a"), 503),
    ] as [(ServiceError, Int)] { #expect(error.status == status, "\(error)") }
  }

  @Test
  func `a management request is logged with its token and verb, or the peer that was refused`()
    throws
  {
    let log = HandLog()
    let bench = try Bench(log: log)
    let reader = try bench.management.addManagementToken("reader", role: .read)
    func ask(_ verb: String, _ token: String?, body: String = "") -> HTTPResponse {
      bench.service.respond(
        to: HTTPRequest(
          method: "POST", path: "/v1/manage/\(verb)",
          headers: token.map { ["authorization": $0] } ?? [:], body: Array(body.utf8),
          peer: "192.0.2.9"))
    }
    func last() -> [String] {
      log.all.last.map { ["\($0.name)"] + $0.details.map { "\($0.name)=\($0.value)" } } ?? []
    }
    func error(_ response: HTTPResponse) throws -> String? {
      guard case .object(let object) = try JSONValue(parsing: response.body.span) else {
        return nil
      }
      return object.text("error")
    }
    for token in [nil, "", "Bearer", "Bearer ", "bearer \(reader)", "Bearer x"] {
      let refused = ask("api/list", token)
      #expect(refused.status == 401 && refused.headers["www-authenticate"] == "Bearer")
      #expect(try error(refused) == "Show the account's management token as a bearer token.")
      #expect(last() == ["management", "outcome=refused", "peer=192.0.2.9"])
    }
    let denied = ask("api/remove", "Bearer \(reader)")
    #expect(denied.status == 403 && denied.headers["www-authenticate"] == nil)
    #expect(
      try error(denied)
        == "The role “read” of this token does not cover “api/remove”. Use a token of a role that does;"
        + " “management list” shows the roles.")
    #expect(last() == ["management", "outcome=refused", "token=reader", "peer=192.0.2.9"])
    #expect(
      bench.service.metrics[.managementRefused] == 7 && bench.service.metrics[.management] == 0)
    let done = ask("api/list", "Bearer \(reader)", body: "{}")
    #expect(done.status == 200)
    #expect(done.headers == ["content-type": "application/json", "cache-control": "no-store"])
    #expect(last() == ["management", "outcome=done", "verb=api/list", "token=reader"])
    let count = log.all.count
    for body in ["[]", "{", "1"] {
      let wrong = ask("api/list", "Bearer \(reader)", body: body)
      #expect(try wrong.status == 400 && error(wrong) == "The body is not a JSON object.")
    }
    #expect(bench.service.metrics[.management] == 1)
    #expect(ask("api/list", "Bearer \(reader)", body: #"{"a":1}"#).status == 404)
    #expect(log.all.count == count && bench.service.metrics[.management] == 2)
  }
}
