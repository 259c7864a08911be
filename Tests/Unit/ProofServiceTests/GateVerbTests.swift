// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The verbs of gates: the change of each, its answer, and its refusals by field.
@Suite struct GateVerbTests {
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
      "gate/change", ["name": "g", "form": .string(Desk.long)], "form", Desk.cut,
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
      "gate/rotate", ["name": "door", "what": .string(Desk.long), "step": "next"], "what", Desk.cut,
      "key, account, issuer")
    try desk.refused(
      "gate/rotate", ["name": "door", "what": "key", "step": .string(Desk.long)], "step", Desk.cut,
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
      "gate/watch", ["watch": true, "all": true, "name": .string(Desk.long)], "name", Desk.cut,
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
        "event/\(verb)", ["gate": "door", "audience": "a", "numbers": .string(Desk.long)],
        "numbers",
        Desk.cut, allowed)
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
      "challenge/add", ["name": "b", "kind": .string(Desk.long)], "kind", Desk.cut,
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
      arguments[name] = .string(Desk.long)
      try desk.refused("risk/add", arguments, name, Desk.cut, allowed)
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
      #expect(throws: ServiceError.unknown(said, name: Desk.cut)) {
        try desk.value("\(noun)/remove", ["name": .string(Desk.long)])
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
}
