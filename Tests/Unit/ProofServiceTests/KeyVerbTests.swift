// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The verbs of APIs and keys: the change of each, its answer, and its refusals by field.
@Suite struct KeyVerbTests {
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
      "api/add", ["host": "x", "kind": .string(Desk.long)], "kind", Desk.cut,
      "token, measurement, none, proof")
    for verb in ["api/add", "api/change", "api/remove"] { try desk.missing(verb, [:], "host") }
    try desk.refused(
      "api/change", ["host": "m.example.com", "kid": "d", "ownKey": true], "key of the API",
      "kid and ownKey", "one of the two")
    try desk.refused(
      "api/change", ["host": "m.example.com", "signedBy": "e", "unsigned": true],
      "key that signs inside", "signedBy and unsigned", "one of the two")
    try desk.refused(
      "api/change", ["host": "m.example.com", "audience": .string(Desk.long)], "audience", Desk.cut,
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
      ["host": "k", "kid": .string(Desk.long)],
      ["host": "k", "kind": "measurement", "signedBy": .string(Desk.long)],
    ] as [JSONObject] {
      #expect(throws: ServiceError.unknown("key", name: Desk.cut)) {
        try desk.value("api/add", arguments)
      }
    }
    #expect(throws: ServiceError.unknown("API", name: Desk.cut)) {
      try desk.value("api/change", ["host": .string(Desk.long), "ownKey": true])
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
      "keyset/add", ["alg": .string(Desk.long)], "alg", Desk.cut,
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
}
