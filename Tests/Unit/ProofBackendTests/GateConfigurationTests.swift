// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

@Suite struct GateConfigurationTests {
  private func read(
    _ changes: [String: String] = [:], without left: [String] = []
  ) throws -> GateConfiguration {
    let desk = try ConfigurationDesk()
    return try GateConfiguration(
      desk.signed(changes, without: left), signedBy: desk.fingerprint)
  }

  @Test func `named challenges and the kill switch are read`() throws {
    let read = try read()
    #expect(read.isWatched)
    #expect(read.challenges.map(\.name) == ["login", "late"])
    #expect(read.challenges.map(\.kind) == [.work, .person])
    #expect(read.challenges.map(\.level) == [16, 0] && read.challenges.map(\.life) == [120, 600])
    #expect(try !self.read(["watch": "false"]).isWatched)
  }

  @Test func `a configuration of an earlier service has neither`() throws {
    let read = try read(without: ["watch", "challenges"])
    #expect(!read.isWatched && read.challenges.isEmpty)
  }

  @Test func `members and kinds of a later service are left out`() throws {
    let kinds = #"[{"name":"a","kind":"riddle"},{"name":"b","kind":"proof","level":0,"life":60}]"#
    let read = try read(["later": #"{"x":[1]}"#, "challenges": kinds])
    #expect(read.challenges.map(\.name) == ["b"])
    #expect(read.isWatched)
  }

  @Test(arguments: [
    ("watch", "1", "watch"), ("watch", "null", "watch"), ("challenges", "{}", "challenges"),
    ("challenges", "[1]", "challenges"), ("challenges", #"[{"name":"a"}]"#, "kind"),
    ("challenges", #"[{"name":"a","kind":"work","level":0,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"work","level":25,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"person","level":1,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"proof","level":0,"life":0}]"#, "life"),
    (
      "challenges",
      #"[{"name":"a","kind":"proof","level":0,"life":9},{"name":"a","kind":"token","level":0,"life":9}]"#,
      "challenges"
    ),
  ])
  func `a malformed member is refused by its name`(
    _ member: String, _ value: String, _ name: String
  ) throws {
    #expect(throws: GateConfigurationError.malformed(claim: name)) { try read([member: value]) }
  }

  // MARK: Claims

  @Test func `each claim is read into its field`() throws {
    let desk = try ConfigurationDesk()
    let risk =
      #"[{"first":5,"last":9,"when":"failed","level":"high","reason":"no"},"#
      + #"{"first":1,"last":1,"when":"later > 1","level":"low","reason":"new"}]"#
    let read = try GateConfiguration(
      desk.signed([
        "risk": risk, "flr": "77", "ser": "0", "iat": "1", "use": "0",
        "hdr": #"{"proof":"x-proof","token":"x-token","digest":"x-digest"}"#,
      ]), signedBy: desk.fingerprint)
    #expect(read.audience == nil && read.account == "demo" && read.name == "web")
    #expect(try read.gate == GateID([UInt8](1...16)))
    #expect(read.serial == 0 && read.made == 1 && read.useSeconds == 0 && read.floor == 77)
    #expect(read.mode == .production && read.form == .compact)
    #expect(read.headers.proof == "x-proof" && read.headers.token == "x-token")
    #expect(read.headers.digest == "x-digest")
    #expect(read.hosts == ["api.example.com", "pay.example.com:8443"])
    #expect(read.publicKeys.map(\.number) == [1] && read.accountKeys.map(\.number) == [1])
    #expect(read.issuers.count == 1)
    #expect(try read.revocations == [InstanceID([UInt8](1...16)): 3])
    #expect(
      try read.events == [
        GateConfiguration.Events(
          numbers: 3300...3400, name: "shop", audience: AudienceID([UInt8](1...16)), life: 60,
          needsAccount: true, needsData: false, allowsUnanchored: false, measuredMax: 255)
      ])
    #expect(read.risks.map(\.numbers) == [5...9] && read.risks.map(\.reason) == ["no"])
    #expect(read.unknownRisks == 1)
    #expect("\(read)" == "GateConfiguration(web, serial 0)")
    var text = ""
    dump(read, to: &text)
    #expect(text.contains("web") && !text.contains("accountKeys"))
  }

  @Test func `flags of events and words of modes and forms are told apart`() throws {
    func event(_ account: Bool, _ data: Bool, _ unanchored: Bool) throws -> GateConfiguration.Events
    {
      let id = Base64.encode([UInt8](1...16), .url)
      let row =
        #"{"first":1,"last":1,"audience":"a","aud":"\#(id)","life":1,"account":\#(account),"#
        + #""data":\#(data),"unanchored":\#(unanchored),"measured":0}"#
      return try #require(try read(["evt": "[\(row)]"]).events.first)
    }
    for index in 0..<3 {
      let flags = (0..<3).map { $0 == index }
      let event = try event(flags[0], flags[1], flags[2])
      #expect([event.needsAccount, event.needsData, event.allowsUnanchored] == flags)
    }
    #expect(try read(["mod": #""development""#]).mode == .development)
    for (word, form) in [
      ("standard", GateAdmission.Form.standard), ("compact", .compact), ("body", .body),
    ] {
      #expect(try read(["frm": #""\#(word)""#]).form == form)
    }
    #expect(try read().headers.digest == nil && read(without: ["risk"]).risks.isEmpty)
    #expect(try read().unknownRisks == 0)
    let rows = ["2", "5", "4"].map { generation in
      let id = Base64.encode([UInt8](1...16), .url)
      return #"{"ins":"\#(id)","gen":\#(generation)}"#
    }
    #expect(
      try read(["rev": "[\(rows.joined(separator: ","))]"]).revocations.values.map { $0 } == [5])
  }

  /// Claims of numbers, with the first and the last one that the page allows.
  private static let ranges: [(claim: String, field: String, first: Int64, last: Int64)] = [
    ("ser", "", 0, .max), ("iat", "", 1, .max), ("use", "", 0, .max), ("flr", "", 0, .max),
    ("aks", "num", 1, 255), ("rev", "gen", 1, 4_294_967_295), ("evt", "first", 0, 3_400),
    ("evt", "last", 3_300, 65_535), ("evt", "life", 1, 86_400), ("evt", "measured", 0, 255),
    ("work", "level", 1, 24), ("memory", "level", 1, 7), ("token", "level", 0, 0),
    ("proof", "level", 0, 0), ("person", "level", 0, 0), ("person", "life", 1, 86_400),
    ("risk", "first", 0, 9), ("risk", "last", 5, 65_535),
  ]

  @Test(arguments: ranges)
  func `a number is in the range of its claim`(
    _ claim: String, _ field: String, _ first: Int64, _ last: Int64
  ) throws {
    let desk = try ConfigurationDesk()
    func read(_ number: String) throws -> GateConfiguration {
      let kinds = ["work", "memory", "token", "proof", "person"]
      var changes: [String: String] = [:]
      if kinds.contains(claim) {
        let level = claim == "work" || claim == "memory" ? 1 : 0
        let numbers = ["level": "\(level)", "life": "60"].merging([field: number]) { $1 }
        changes["challenges"] =
          #"[{"name":"a","kind":"\#(claim)","level":\#(numbers["level"]!),"#
          + #""life":\#(numbers["life"]!)}]"#
      } else if claim == "risk" {
        let numbers = ["first": "5", "last": "9"].merging([field: number]) { $1 }
        changes["risk"] =
          #"[{"first":\#(numbers["first"]!),"last":\#(numbers["last"]!),"when":"failed","#
          + #""level":"high","reason":"x"}]"#
      } else if field.isEmpty {
        changes[claim] = number
      } else {
        let text = try #require(desk.claims.first { $0.name == claim }?.value)
        let pattern = try Regex("\"\(field)\":[0-9]+")
        changes[claim] = text.replacing(pattern) { _ in "\"\(field)\":\(number)" }
      }
      return try GateConfiguration(desk.signed(changes), signedBy: desk.fingerprint)
    }
    _ = try read("\(first)")
    _ = try read("\(last)")
    let name = field.isEmpty ? claim : field
    let beyond = last == .max ? "9223372036854775808" : "\(last + 1)"
    for wrong in ["\(first - 1)", beyond, "1.5", "null", #""1""#] {
      // A range that ends before it begins is a fault of its end.
      let fault = field == "first" && wrong == beyond ? "last" : name
      #expect(throws: GateConfigurationError.malformed(claim: fault), "\(wrong)") {
        try read(wrong)
      }
    }
  }

  @Test func `a claim that is missing or of another type is refused by its name`() throws {
    let desk = try ConfigurationDesk()
    for (name, _) in desk.claims where !["watch", "challenges"].contains(name) {
      for text in [
        try desk.signed(without: [name]), try desk.signed([name: "null"]),
        try desk.signed([name: "[[]]"]),
      ] {
        #expect(throws: GateConfigurationError.malformed(claim: name), "\(name)") {
          try GateConfiguration(text, signedBy: desk.fingerprint)
        }
      }
    }
    for (claim, value, name) in [
      ("mod", #""test""#, "mod"), ("frm", #""none""#, "frm"), ("hdr", "{}", "proof"),
      ("hdr", #"{"proof":"a"}"#, "token"),
      ("hdr", #"{"proof":"a","token":"b","digest":1}"#, "digest"),
      ("hst", "[1]", "hst"), ("gat", #""AAAA""#, "gat"), ("gat", #""?""#, "gat"),
      ("aks", #"[{"num":1,"key":"AAAA"}]"#, "key"), ("xks", #"[{"num":1,"key":"AAAA"}]"#, "key"),
      ("iss", #"[{"key":"AAAA"}]"#, "key"), ("rev", #"[{"ins":"AAAA","gen":1}]"#, "ins"),
      ("risk", "1", "risk"),
    ] {
      #expect(throws: GateConfigurationError.malformed(claim: name), "\(claim) \(value)") {
        try read([claim: value])
      }
    }
  }

  // MARK: Signatures

  @Test func `the type is that of a gate or of a redeemer`() throws {
    let desk = try ConfigurationDesk()
    func read(_ type: String, _ changes: [String: String] = [:]) throws -> GateConfiguration {
      try GateConfiguration(desk.signed(changes, type: type), signedBy: desk.fingerprint)
    }
    #expect(try read("gate+jwt", ["aud": #""shop""#]).audience == nil)
    let redeemer = try read("redeemer+jwt", ["aud": #""shop""#])
    #expect(redeemer.audience == "shop" && redeemer.hosts.isEmpty && redeemer.publicKeys.isEmpty)
    #expect(redeemer.events.count == 1 && redeemer.accountKeys.count == 1)
    #expect(try redeemer.events(for: nil).map(\.name) == ["shop"])
    #expect(throws: GateConfigurationError.audienceOnly("shop")) { try redeemer.identity([]) }
    #expect(throws: GateConfigurationError.malformed(claim: "aud")) { try read("redeemer+jwt") }
    // Another audience's events in it are refused.
    #expect(throws: GateConfigurationError.malformed(claim: "evt")) {
      try read("redeemer+jwt", ["aud": #""bank""#])
    }
    #expect(
      throws: GateConfigurationError.unsigned(
        reason: "its type is JWT, not gate+jwt or redeemer+jwt")
    ) { try read("JWT") }
    #expect(throws: GateConfigurationError.untrusted) {
      try GateConfiguration(desk.signed(), signedBy: Digest(hashing: []))
    }
    for text in ["", "a.b.c", "nonsense"] {
      #expect(throws: GateConfigurationError.self) {
        try GateConfiguration(text, signedBy: desk.fingerprint)
      }
    }
  }

  @Test func `handovers lead from an earlier key to the present one, step by step`() throws {
    let desks = try (0..<4).map { _ in try ConfigurationDesk() }
    let last = desks[3]
    let steps = try (0..<3).map { try desks[$0].handover(to: desks[$0 + 1]) }
    func read(_ handovers: [String], from desk: Int) throws {
      let list = handovers.map { "\"\($0)\"" }.joined(separator: ",")
      _ = try GateConfiguration(
        last.signed(["hnd": "[\(list)]"]), signedBy: desks[desk].fingerprint)
    }
    // The first of them begin with keys from before the fingerprint.
    for desk in 0..<4 { try read(steps, from: desk) }
    try read([], from: 3)
    for missing in 0..<3 {
      var less = steps
      less.remove(at: missing)
      #expect(throws: GateConfigurationError.untrusted) { try read(less, from: 0) }
    }
    #expect(throws: GateConfigurationError.untrusted) { try read(steps.reversed(), from: 0) }
    #expect(throws: GateConfigurationError.untrusted) {
      try read([desks[2].handover(to: last, account: "other")], from: 2)
    }
    let forged = try desks[2].handover(to: last, signedBy: desks[0])
    let error = #expect(throws: GateConfigurationError.self) { try read([forged], from: 2) }
    guard case .unsigned = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    for wrong in ["text", try desks[2].handover(to: last, type: "JWT")] {
      #expect(throws: GateConfigurationError.malformed(claim: "hnd")) { try read([wrong], from: 2) }
    }
    let eight = [String](repeating: steps[2], count: 8)
    try read(eight, from: 2)
    #expect(throws: GateConfigurationError.malformed(claim: "hnd")) {
      try read(eight + [steps[2]], from: 2)
    }
  }

  // MARK: Use

  @Test func `a gate takes its own configurations of the same or a later serial`() throws {
    let desk = try ConfigurationDesk()
    func read(
      _ changes: [String: String] = [:], type: String = "gate+jwt",
      after held: GateConfiguration? = nil
    ) throws -> GateConfiguration {
      try GateConfiguration(
        desk.signed(changes, type: type), signedBy: desk.fingerprint, after: held)
    }
    let held = try read()
    #expect(try read(after: held).serial == 7 && read(["ser": "8"], after: held).serial == 8)
    #expect(throws: GateConfigurationError.older(held: 7, offered: 6)) {
      try read(["ser": "6"], after: held)
    }
    let other = try GateID([UInt8](repeating: 9, count: 16))
    #expect(throws: GateConfigurationError.otherGate(held.gate, other)) {
      try read(["gat": "\"\(Base64.encode(other.bytes, .url))\""], after: held)
    }
    #expect(throws: GateConfigurationError.otherGate(held.gate, held.gate)) {
      try read(["acc": #""bolt""#], after: held)
    }
    #expect(throws: GateConfigurationError.otherAudience(nil, "shop")) {
      try read(["aud": #""shop""#], type: "redeemer+jwt", after: held)
    }
  }

  @Test func `events, routes and account keys are found by name, host and number`() throws {
    let id = Base64.encode([UInt8](1...16), .url)
    let rows = [("shop", 1), ("bank", 5), ("shop", 9)].map { name, number in
      #"{"first":\#(number),"last":\#(number),"audience":"\#(name)","aud":"\#(id)","life":1,"#
        + #""account":false,"data":false,"unanchored":false,"measured":0}"#
    }
    let keys = [3, 7].map { number in
      let key = Base64.encode([UInt8](repeating: UInt8(number), count: 32), .url)
      return #"{"num":\#(number),"key":"\#(key)"}"#
    }
    let read = try read([
      "evt": "[\(rows.joined(separator: ","))]", "aks": "[\(keys.joined(separator: ","))]",
      "hdr": #"{"proof":"p","token":"t","digest":"d"}"#,
    ])
    #expect(try read.events(for: "shop").map(\.numbers) == [1...1, 9...9])
    for (name, told) in [("none", "none"), (nil, "")] as [(String?, String)] {
      #expect(throws: GateConfigurationError.noEvents(told)) { try read.events(for: name) }
    }
    #expect(read.accountKey()?.number == 3 && read.accountKey(7)?.number == 7)
    #expect(read.accountKey(1) == nil)
    #expect(read.route(for: "api.example.com:443") == nil && read.route(for: "none") == nil)
    let route = try #require(read.route(for: "pay.example.com:8443"))
    #expect(route.authority == "pay.example.com:8443" && route.forms == .compact)
    #expect(route.fields.compact == "p" && route.fields.token == "t" && route.fields.digest == "d")
    for (form, forms) in [("standard", RequestForms.standard), ("body", .bodyOnly)] {
      let other = try self.read([
        "frm": #""\#(form)""#, "hdr": #"{"proof":"p","token":"t","digest":"d"}"#,
      ])
      let route = try #require(other.route(for: "api.example.com"))
      #expect(route.forms == forms && route.fields.digest == nil)
    }
  }

  @Test func `the gate opens tokens with the key files that the configuration names`() throws {
    func file(_ byte: UInt8, count: Int = 32) throws -> GateSecretKey {
      try GateSecretKey(SecretBytes(copying: [UInt8](repeating: byte, count: count).span))
    }
    func key(_ byte: UInt8, _ number: UInt8) throws -> GatePublicKey {
      try GateIdentity.Key(
        SecretBytes(copying: [UInt8](repeating: byte, count: 32).span), number: number
      ).publicKey
    }
    let rows = try [(UInt8(1), UInt8(4)), (2, 5)].map { byte, number in
      #"{"num":\#(number),"key":"\#(Base64.encode(try key(byte, number).bytes, .url))"}"#
    }
    let read = try read(["xks": "[\(rows.joined(separator: ","))]", "flr": "5"])
    for files in [[1, 2], [2, 1], [9, 2, 1]] as [[UInt8]] {
      let identity = try read.identity(files.map { try file($0) })
      #expect(try identity.publicKeys == [key(1, 4), key(2, 5)])
      #expect(identity.id == read.gate)
    }
    #expect(try read.identity([file(2)]).publicKeys == [key(2, 5)])
    for files in [[], [try file(9)]] {
      #expect(throws: GateConfigurationError.noKey) { try read.identity(files) }
    }
    for count in [31, 33] {
      #expect(
        throws: ProofError.wrongLength(
          of: "gate secret key", expected: 32...32, actual: count)
      ) { try file(1, count: count) }
    }
  }

  @Test func `each error names the cause and the next step`() {
    let (one, two) = (GateID.random(), GateID.random())
    for (error, words) in [
      (.unsigned(reason: "why"), ["why", "Fetch it again"]),
      (.untrusted, ["Compare the fingerprint"]),
      (.malformed(claim: "abc"), ["Claim abc", "of one version"]),
      (.otherGate(one, two), ["of gate \(two), not of \(one)"]),
      (.older(held: 8, offered: 7), ["of serial 8, and 7 is older"]),
      (.otherAudience("a", nil), ["for the gate, not for the redeemers of audience a"]),
      (.audienceOnly("a"), ["audience a alone", "without --audience"]),
      (.noEvents("a"), ["audience a.", "proofctl event add"]), (.noKey, ["Register the key"]),
      (.refused(.wrongLength(of: "thing", expected: 1...1, actual: 2)), ["thing"]),
    ] as [(GateConfigurationError, [String])] {
      for words in words { #expect(error.description.contains(words), "\(error)") }
    }
  }
}
