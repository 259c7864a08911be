// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The verbs of an account: the change of each, its answer, and its refusals by field.
@Suite struct AccountVerbTests {
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
      "management/add", ["name": "a", "role": .string(Desk.long)], "role", Desk.cut,
      roles.map(\.rawValue).joined(separator: ", "))
    let names = "1 to 64 letters, digits, “.”, “-” and “_”"
    for name in [
      "", "a b", "é", "a/", "a:", "a@", "a[", "a`", "a{", Desk.cut, String(Desk.long.prefix(65)),
    ] {
      try desk.refused(
        "management/add", ["name": .string(name), "role": "read"], "name of the token", name, names)
    }
    for name in ["09AZaz.-_", String(Desk.long.prefix(64))] {
      _ = try desk.value("management/add", ["name": .string(name), "role": "read"])
    }
    #expect(throws: ServiceError.alreadyThere("management token", name: "owner")) {
      try desk.value("management/add", ["name": "owner", "role": "all"])
    }
    for verb in ["change", "remove"] {
      #expect(throws: ServiceError.unknown("management token", name: Desk.cut)) {
        try desk.value("management/\(verb)", ["name": .string(Desk.long)])
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
        "registration/\(verb)", ["digest": .string(Desk.long)], "digest", Desk.cut,
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
      "device/pass", ["device": .string(Desk.long)], "device", Desk.cut,
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
    #expect(throws: ServiceError.unknown("API with tokens", name: Desk.cut)) {
      try desk.value("token/example", ["host": .string(Desk.long)])
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
      "sdk/new", ["mode": .string(Desk.long)], "mode", Desk.cut, "production, development")
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
}
