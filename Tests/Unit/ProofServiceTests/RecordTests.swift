// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Rows of an account: each field is kept, a row that lacks one is damage, and no secret is shown.
@Suite struct RecordTests {
  private static let time: UnixTime = 1_700_000_000
  private static let device = try! InstanceID([UInt8](1...16))

  /// Whether a record is read again as it was, and is damage without any member but the optional
  /// ones.
  private func check<R: Record & Equatable>(
    _ record: R, optional: [String] = [], keyName: String, secrets: [String] = []
  ) {
    #expect(R(key: record.key, fields: record.fields) == record)
    #expect(Set(record.fields.members.map(\.name)).isSuperset(of: optional))
    for (name, _) in record.fields.members {
      var fields = record.fields
      fields[name] = nil
      #expect((R(key: record.key, fields: fields) == nil) == !optional.contains(name), "\(name)")
      #expect(R(key: record.key, fields: fields) != record, "\(name)")
      fields[name] = [[]]
      if !optional.contains(name) {
        #expect(R(key: record.key, fields: fields) == nil, "\(name)")
      }
    }
    #expect(record.fields[keyName] == nil && record.shown[keyName] == .string(record.key))
    for secret in secrets {
      #expect(record.fields[secret] != nil && record.shown[secret] == nil, "\(secret)")
    }
    let row = StoreRow(record.key, record.bytes)
    #expect((try? R(row)) == record)
    for damaged in ["", "[]", "{}}"] {
      #expect(throws: ServiceError.damaged("\(R.noun) “\(record.key)”")) {
        try R(StoreRow(record.key, Array(damaged.utf8)))
      }
    }
  }

  @Test func `each kind of record has a table of its own, and a noun for errors`() {
    let rows: [(StoreTable, String, any Record.Type)] = [
      (.api, "API", API.self), (.pin, "pinned host", HostPins.self),
      (.deviceRule, "device rule", DeviceRule.self),
      (.hardware, "hardware", RegisteredHardware.self), (.key, "key", KeySetKey.self),
      (.sdkBuild, "SDK build", SDKBuild.self), (.secureString, "secure string", SecureString.self),
      (.registration, "registration", Registration.self), (.gate, "gate", Gate.self),
    ]
    for (table, noun, record) in rows { #expect(record.table == table && record.noun == noun) }
    #expect(NamedChallenge.noun == "challenge" && NamedRisk.noun == "risk rule")
  }

  @Test func `an API has a kind, and parts that fit it`() throws {
    var api = try API(
      "A.example.com:8443", .measurement, keyID: "k", hasAudience: false, signerID: "s")
    check(api, optional: ["kid", "audience", "signedBy"], keyName: "host")
    #expect(api.host == "a.example.com:8443" && api.keyIDs == ["k", "s"])
    api.hasAudience = true
    #expect(api.fields.flag("audience") == true)
    check(try API("g", .proof, gate: "door"), optional: ["gate"], keyName: "host")
    let plain = try API("p.example.com")
    #expect(plain.fields == ["kind": "token"] && plain.keyIDs == [] && plain.hasAudience == nil)
    func refused(
      _ field: String, _ value: String, _ allowed: String, _ kind: API.Kind, key: String? = nil,
      signer: String? = nil, gate: String? = nil
    ) {
      #expect(
        throws: ServiceError.invalid(field, value: value, allowed: allowed)
      ) { try API("a", kind, keyID: key, signerID: signer, gate: gate) }
    }
    for kind in [API.Kind.token, .none, .proof] {
      refused(
        "key that signs inside", "s", "none: its tokens are not sealed", kind, signer: "s",
        gate: kind == .proof ? "g" : nil)
    }
    let gates = "one with an API of kind “proof”, and none with others"
    refused("gate of the API", "missing", gates, .proof)
    for kind in [API.Kind.token, .none, .measurement] {
      refused("gate of the API", "g", gates, kind, gate: "g")
    }
    refused("key of an API without tokens", "k", "none", .none, key: "k")
    refused("key of an API without tokens", "k", "none", .proof, key: "k", gate: "g")
    for kind in [API.Kind.token, .measurement] { _ = try API("a", kind, keyID: "k") }
  }

  @Test func `a host is a name or an address, in lower case, with a port or none`() throws {
    let long = String(repeating: "a", count: 253)
    for (host, read) in [
      ("API.Example.com", "api.example.com"), ("a-b.c", "a-b.c"), ("[::1]:8443", "[::1]:8443"),
      (long, long), ("0", "0"), ("z9", "z9"),
    ] { #expect(try Host.checked(host) == read && Host.checked(host, orRoots: true) == read) }
    for host in [
      "", ".a", "-a", "a b", "a_b", "a/b", "é", long + "a", "a`", "a@", "a;", "a\\", "*",
    ] {
      #expect(
        throws: ServiceError.invalid(
          "host", value: String(host.prefix(80)), allowed: "a name such as api.example.com")
      ) { try Host.checked(host) }
    }
    #expect(try Host.checked("*", orRoots: true) == "*")
  }

  @Test func `pins are digests of 32 bytes, and are kept in their order`() throws {
    let pins = [3, 1].map { Base64.encode([UInt8](repeating: $0, count: 32)) }
    check(try HostPins("*", pins), keyName: "host")
    #expect(try HostPins("A.example.com", pins).pins == pins)
    for count in [0, 31, 33] {
      let pin = Base64.encode([UInt8](repeating: 1, count: count))
      #expect(
        throws: ServiceError.invalid(
          "pin", value: pin,
          allowed: "44 characters: base64 of the SHA-256 of a public key")
      ) { try HostPins("a", [pins[0], pin]) }
    }
    #expect(throws: ServiceError.self) { try HostPins("a b", pins) }
  }

  @Test func `a rule about a device has a decision, annotations, or both`() {
    for decision in DeviceRule.Decision.allCases {
      check(
        DeviceRule(Self.device, decision, annotations: ["debug", "all"]), optional: ["decision"],
        keyName: "device")
    }
    check(DeviceRule(Self.device, nil, annotations: ["debug"]), keyName: "device")
    #expect(DeviceRule.Decision.allCases.map(\.rawValue) == ["pass", "fail"])
  }

  @Test func `hardware keeps its mode, its features and its sealed secret`() throws {
    let identity = HardwareIdentity(
      id: try HardwareID([UInt8](1...16)), publicKey: try HardwarePublicKey([UInt8](1...32)))
    for mode in Mode.allCases {
      var hardware = RegisteredHardware(
        identity, mode: mode, allowsLiteral: mode == .production,
        features: [.factorySecret, .ratchet], name: "lock", added: Self.time,
        isRevoked: mode != .production)
      check(hardware, optional: ["features"], keyName: "id")
      hardware.sealedFactorySecret = [1, 2, 3]
      let kept = hardware.fields
      #expect(RegisteredHardware(key: hardware.key, fields: kept) == hardware)
      #expect(kept["factorySecret"] != nil && hardware.shown["factorySecret"] == nil)
      // A secret needs the feature, and is base64.
      var fields = kept
      fields["features"] = ["ratchet"]
      #expect(RegisteredHardware(key: hardware.key, fields: fields) == nil)
      fields = kept
      fields["factorySecret"] = "?"
      #expect(RegisteredHardware(key: hardware.key, fields: fields) == nil)
    }
  }

  @Test func `features have words, each once and in any order`() {
    let words = [
      "token-2", "ratchet", "sealed", "log", "grants", "factory-secret", "upcoming", "channels",
    ]
    var all = HardwareFeatures()
    for word in words {
      let one = HardwareFeatures(words: [word])
      #expect(one?.words == [word])
      all.formUnion(one ?? [])
    }
    #expect(all.words == words && HardwareFeatures(words: words.reversed()) == all)
    #expect(HardwareFeatures(words: []) == [] && HardwareFeatures().words == [])
    #expect(
      HardwareFeatures(words: ["log", "log"]) == nil && HardwareFeatures(words: ["x"]) == nil)
  }

  @Test func `a key of a key set tells whether it is public, given, and used`() {
    for algorithm in [KeyAlgorithm.es256, .hs256, .direct] {
      var key = KeySetKey("k", algorithm, added: Self.time, isPublic: true, sealedKey: [1, 2])
      key.isGiven = true
      key.end = Self.time + 9
      check(key, optional: ["public", "given", "until"], keyName: "kid", secrets: ["key"])
      let plain = KeySetKey("k", algorithm, added: Self.time, sealedKey: [])
      #expect(Set(plain.fields.members.map(\.name)) == ["added", "alg", "key"])
      #expect(!plain.isPublic && !plain.isGiven && plain.end == nil)
    }
    // Backends may keep the published keys for five minutes.
    #expect(KeySetKey.publishedSeconds == 300)
  }

  @Test func `a build of the SDK tells its mode, and whether it is revoked`() throws {
    for mode in Mode.allCases {
      var build = SDKBuild(
        try KeyID([UInt8](1...8)), mode, name: "n", added: Self.time, sealedKey: [7])
      #expect(!build.isRevoked && build.sourcesWithout == .none)
      build.isRevoked = true
      build.sourcesWithout = try LeftOutSources(parsing: "3/4")
      check(build, optional: ["revoked", "without"], keyName: "id", secrets: ["key"])
      var fields = build.fields
      fields["without"] = "nonsense"
      #expect(SDKBuild(key: build.key, fields: fields) == nil)
    }
    #expect(Mode.production.word == "production" && Mode.development.word == "development")
    #expect(Mode(word: "Production") == nil)
  }

  @Test func `a secure string's value is sealed, and never shown`() {
    check(SecureString("s", sealedValue: [1]), keyName: "name", secrets: ["value"])
    #expect(
      SecureString("s", sealedValue: [1]).shown == ["name": "s"] && SecureString.nameMax == 64)
  }

  @Test func `a registration keeps its end, what it leaves out, and what is to come`() throws {
    let kernel = try EvidenceRecord(
      SourceID(.device, 1), name: "kernel", digest: Digest(hashing: []))
    let digest = try AppDigest([UInt8](1...32))
    let prediction = Prediction(
      updates: try AppDigest([UInt8](repeating: 4, count: 32)),
      records: try EvidenceSet([kernel]), keyID: try KeyID([UInt8](1...8)))
    var whole = Registration(
      digest, name: "n", isDevelopment: true, added: Self.time, expiry: Self.time + 5,
      without: try LeftOutEvidence(parsing: "3/4"), prediction: prediction)
    check(whole, optional: ["expiry", "without", "upcoming"], keyName: "digest")
    guard case .object(let shown)? = whole.shown["upcoming"] else {
      Issue.record("no prediction")
      return
    }
    #expect(
      shown.integer("records") == 1 && shown.text("updates") == prediction.updates?.description)
    #expect(shown.text("keyID") == prediction.keyID?.description)
    for (name, value) in [("updates", "x"), ("keyID", "x"), ("records", "?"), ("records", "AA")] {
      var fields = prediction.fields
      fields[name] = .string(value)
      #expect(Prediction(fields) == nil, "\(name)")
      var row = whole.fields
      row["upcoming"] = .object(fields)
      #expect(Registration(key: whole.key, fields: row) == nil, "\(name)")
    }
    let bare = Prediction(records: prediction.records)
    #expect(Prediction(bare.fields) == bare && bare.fields.members.map(\.name) == ["records"])
    (whole.expiry, whole.without, whole.prediction) = (nil, .none, nil)
    #expect(Registration(key: whole.key, fields: whole.fields) == whole)
    #expect(Set(whole.fields.members.map(\.name)) == ["added", "development", "name"])
  }

  // MARK: Gates

  private static func gate() throws -> Gate {
    func key(_ byte: UInt8) -> KeyStages {
      var stages = KeyStages(active: SealedKey(named: "a\(byte)", sealed: [byte], added: time))
      var next = SealedKey(named: "n\(byte)", sealed: [byte, 1], added: nil)
      next.isGiven = true
      stages.next = next
      var old = SealedKey(named: "o\(byte)", sealed: [byte, 2], added: time)
      old.end = time + 3
      stages.old = old
      return stages
    }
    var gate = Gate(
      "door", try GateID([UInt8](1...16)), .development, added: time,
      keys: [.key: key(1), .account: key(2), .issuer: key(3)])
    (gate.life, gate.floor, gate.form, gate.freshness) = (60, 7, .body, 10)
    gate.headers = GateAdmission.Headers(proof: "p", token: "t", digest: "d")
    gate.isWatched = true
    gate.revocations = [Gate.Revocation(device: device, generation: .max, end: time)]
    return gate
  }

  @Test func `a gate keeps its settings, its keys and its revocations`() throws {
    let gate = try Self.gate()
    check(
      gate, optional: ["digestHeader", "watch", "revoked"], keyName: "name",
      secrets: ["account", "issuer", "key"])
    for (name, values, wrong) in [
      ("life", [60, 86_400], [59, 86_401, "60"]), ("floor", [0], [-1, "0"]),
      ("freshness", [0, 10], [-1, 11, 256]), ("form", ["standard", "compact", "body"], ["", "x"]),
      ("mode", ["production", "development"], ["x"]), ("watch", [true, false], [1, "true"]),
      ("revoked", [[]], [1, [1], [[:]]]),
    ] as [(String, [JSONValue], [JSONValue])] {
      for value in values {
        var fields = gate.fields
        fields[name] = value
        let read = Gate(key: "door", fields: fields)
        #expect(read != nil, "\(name) \(value)")
        if name != "revoked" { #expect(read?.fields[name] == value) }
      }
      for value in wrong {
        var fields = gate.fields
        fields[name] = value
        #expect(Gate(key: "door", fields: fields) == nil, "\(name) \(value)")
      }
    }
    for kind in Gate.KeyKind.allCases {
      #expect(gate.place(of: kind) == "gate/\(gate.id)/\(kind.rawValue)")
      var fields = gate.fields
      var stages = try #require(gate.keys[kind])
      stages.active = nil
      fields[kind.rawValue] = .object(stages.fields)
      #expect(Gate(key: "door", fields: fields) == nil, "no active key")
    }
    let shown = gate.shown
    for (name, number) in [("keys", 1), ("accounts", 2), ("issuers", 3)] {
      #expect(
        shown[name] == [
          ["kid": .string("a\(number)"), "state": "active", "added": 1_700_000_000],
          ["kid": .string("n\(number)"), "state": "next", "given": true],
          [
            "kid": .string("o\(number)"), "state": "old", "added": 1_700_000_000,
            "until": 1_700_000_003,
          ],
        ])
    }
    let fresh = Gate("g", gate.id, .production, added: 0, keys: [:])
    #expect(fresh.life == 3_600 && fresh.floor == 0 && fresh.form == .standard)
    #expect(fresh.freshness == 0 && !fresh.isWatched && fresh.revocations.isEmpty)
    #expect(Gate.countMax == 16 && Gate.revocationsMax == 256)
  }

  @Test func `a revocation names a device, a generation and an end`() {
    let whole = Gate.Revocation(device: Self.device, generation: 0, end: Self.time)
    #expect(Gate.Revocation(whole.fields) == whole)
    for (name, value) in [
      ("device", "x"), ("generation", -1), ("generation", 4_294_967_296), ("until", "x"),
    ] as [(String, JSONValue)] {
      var fields = whole.fields
      fields[name] = value
      #expect(Gate.Revocation(fields) == nil, "\(name)")
    }
  }
}
