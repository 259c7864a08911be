// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

/// Vectors of gates that another implementation made from docs/SPEC.md, section 15.
@Suite("Vectors of gates, through Swift")
struct GateVectorTests {
  @Test("of keys", arguments: Block.read("gate.txt", "gate_keys"))
  func keys(block: Block) throws {
    let measurement = try Measurement(
      integrity: block.secret("im"), device: secret(1, 32), deviceKey: secret(1, 16))
    let secret = try GateSecret(
      of: measurement, for: GateID(block.bytes("gate_id")),
      instance: InstanceID(block.bytes("instance_id")), generation: block.number("generation"),
      with: block.key())
    let keys = secret.keys
    #expect(keys.handle.bytes == block.bytes("handle"))
    #expect(keys.withRequestKey { copy($0) } == block.bytes("request_key"))
    let kept = try GateSecret(block.secret("secret"), generation: block.number("generation"))
    #expect(kept.keys.withRequestKey { copy($0) } == block.bytes("request_key"))
    let events = secret.eventKeys(for: try AudienceID(block.bytes("audience")))
    #expect(events.handle == keys.handle)
    #expect(events.isForEvents && !keys.compact.isForEvents)
  }

  @Test("of accounts", arguments: Block.read("gate.txt", "account"))
  func accounts(block: Block) throws {
    let key = try GateAccountKey(block.secret("account_key"), number: 1)
    let name = try #require(String(validating: block.bytes("name"), as: UTF8.self))
    #expect(try key.digest(of: name).bytes == block.bytes("account"))
  }

  @Test("of beacons", arguments: Block.read("gate.txt", "beacon"))
  func beacons(block: Block) throws {
    let key = try BeaconKey(
      from: block.secret("own_secret"), number: block.number("number"),
      of: GateID(block.bytes("gate_id")))
    let header = key.header(at: block.time("time"))
    #expect(Base64.decode(header, .url) == block.bytes("message"))
    let beacon = try Beacon(header: header)
    let time: UInt64 = block.number("time")
    #expect(UInt64(beacon.interval) == time / 300 && beacon.header == header)
  }

  @Test("of gate tokens", arguments: Block.read("gate.txt", "gate_token"))
  func tokens(block: Block) throws {
    let number: UInt8 = block.number("key_number")
    let key = try GateIdentity.Key(block.secret("gate_secret"), number: number)
    #expect(key.publicKey.bytes == block.bytes("gate_public"))
    let issuer = try IssuerKey(seed: block.secret("issuer_seed"))
    let grant = try block.gateGrant()
    let token = try grant.sealed(
      to: key.publicKey, signedBy: issuer, ephemeral: block.secret("ephemeral_secret"))
    #expect(token.bytes == block.bytes("token"))
    #expect(try GateToken(token.bytes) == token)

    let gate = try GateIdentity(
      id: grant.gate, keys: [key], issuers: [issuer.publicKey], mode: grant.mode)
    let opened = try gate.open(token.bytes, at: grant.issued)
    #expect(opened.instance == grant.instance)
    #expect(opened.isFailed == grant.isFailed && opened.isForced == grant.isForced)
    #expect(opened.issued == grant.issued && opened.notAfter == grant.notAfter)
    #expect(opened.firstSeen == grant.firstSeen && opened.properties == grant.properties)
    #expect(opened.responseCode == grant.responseCode && opened.findings == grant.findings)
    #expect(opened.app == grant.app && opened.issuer == issuer.id && opened.keyNumber == number)
    #expect(opened.secret.generation == grant.secret.generation)
    #expect(opened.secret.keys.handle == grant.secret.keys.handle)
  }

  @Test("of compact tokens", arguments: Block.read("compact.txt", "compact"))
  func compactTokens(block: Block) throws {
    let flags: UInt8 = block.number("flags")
    var draft = CompactDraft(
      created: block.time("created"), start: block.number("start"),
      count: block.number("count"), measured: block.number("measured"),
      event: block.number("event"), accountKey: block.number("account_key"),
      isYoung: flags & 2 != 0, isInErrorState: flags & 1 != 0)
    if !block.bytes("beacon").allSatisfy({ $0 == 0 }) {
      let message = [0x14] + [0, 0, 0, 0] + block.bytes("beacon")
      draft.beacon = try Beacon(header: Base64.encode(message.span, .url))
    }
    let subject = try block.subject()
    let keys = try block.compactKeys()
    let text = try draft.text(for: subject, with: keys)
    #expect(text == block["text"])
    #expect("\(keys)" == "CompactKeys(\(keys.handle))")
    let head = try CompactToken.head(of: text, as: subject.kind)
    #expect(head.handle == keys.handle && head.accountKey == draft.accountKey)
    guard !draft.isInErrorState else {
      #expect(throws: GateRefusal.errorState) {
        try CompactToken(checking: text, for: subject, with: keys)
      }
      return
    }
    let token = try CompactToken(checking: text, for: subject, with: keys)
    #expect(token.kind == subject.kind && token.handle == keys.handle)
    #expect(token.created == draft.created && token.event == draft.event)
    #expect(token.start == draft.start && token.count == draft.count)
    #expect(token.measured == draft.measured && token.isYoung == draft.isYoung)
    #expect(token.accountKey == draft.accountKey)
    #expect(token.replayKey.bytes == keys.handle.bytes + little(token.start) + little(token.count))
  }

  @Test("of requests", arguments: Block.read("request.txt", "request"))
  func requests(block: Block) throws {
    #expect(try block.requestDigest().bytes == block.bytes("digest"))
  }

  @Test("the token of an app without keys", arguments: CompactKind.allCases, CompactCause.allCases)
  func errorTokens(kind: CompactKind, cause: CompactCause) throws {
    let text = CompactDraft.errorText(kind, cause)
    #expect(text.utf8.count == CompactToken.characterCount)
    #expect(CompactToken.cause(in: text, as: kind) == cause.rawValue)
    #expect(text != CompactDraft.errorText(kind, cause))
    #expect(throws: GateRefusal.errorState) { try CompactToken.head(of: text, as: kind) }
  }
}

/// Inputs of gates that another implementation says must be refused, and why; and a few that must not.
@Suite("Hostile vectors of gates, through Swift")
struct HostileGateVectorTests {
  @Test("of gate tokens", arguments: Block.read("hostile_gate.txt", "open_gate_token"))
  func tokens(block: Block) {
    expect(block) {
      let keys = try block.all("gate_key").map { line in
        let parts = line.split(separator: " ")
        return try GateIdentity.Key(
          secret(hex(String(parts[1]))), number: #require(UInt8(parts[0])))
      }
      let gate = try GateIdentity(
        id: GateID(block.bytes("gate_id")), keys: keys,
        issuers: block.all("issuer").map { try IssuerPublicKey(hex($0)) }, mode: block.mode(),
        floor: block.time("floor"))
      _ = try gate.open(block.bytes("token"), at: block.time("now"))
    }
  }

  @Test("of beacons", arguments: Block.read("hostile_gate.txt", "read_beacon"))
  func beacons(block: Block) {
    expect(block) {
      _ = try Beacon(header: Base64.encode(block.bytes("message").span, .url))
    }
  }

  @Test("of compact tokens", arguments: Block.read("hostile_compact.txt", "check_compact"))
  func compactTokens(block: Block) {
    expect(block) {
      let token = try CompactToken(
        checking: block["text"], for: block.subject(), with: block.compactKeys())
      let now = block.time("now")
      var rules = CompactToken.Rules(
        now: now, window: block.number("window"), newest: block.number("newest"),
        event: block.number("event"), measuredMax: block.number("measured_max"))
      if block["unanchored"] == "0" { rules.beacons = block.beacons(at: now) }
      try token.judge(by: rules)
    }
  }

  @Test("of requests", arguments: Block.read("hostile_request.txt", "read_request"))
  func requests(block: Block) {
    expect(block) { _ = try block.requestDigest() }
  }

  /// Does what a block is about, and compares the refusal.
  private func expect(
    _ block: Block, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    var refusal = "none"
    do {
      try body()
    } catch let error as GateRefusal {
      refusal = "\(error.rawValue)"
    } catch ProofError.malformed {
      refusal = "malformed"
    } catch ProofError.tooNew {
      refusal = "too-new"
    } catch {
      refusal = "\(error)"
    }
    #expect(refusal == block["refusal"], sourceLocation: sourceLocation)
  }
}

/// Bounds that the types check before the core is asked.
@Suite("Gates, in Swift")
struct GateTests {
  private func grant() throws -> GateGrant {
    GateGrant(
      for: GateID.random(), instance: .random(), mode: .production, issued: 1000, notAfter: 2000,
      firstSeen: 500, secret: try .random(generation: 1))
  }

  @Test("a grant with a field out of range is refused in words")
  func fields() throws {
    let key = try GateIdentity.Key(.random(count: 32), number: 1).publicKey
    let changes: [(inout GateGrant) -> Void] = [
      { $0.issued = 0 }, { $0.notAfter = 999 }, { $0.notAfter = 1001 + GateGrant.lifeMax },
      { $0.firstSeen = 0 }, { $0.firstSeen = 1001 }, { $0.responseCode = "ABCDEFGH1A" },
      { $0.responseCode = "ABC" }, { $0.findings = [GateFinding(category: 4, number: 1)] },
      { $0.findings = [GateFinding(category: 1, number: 0)] },
      { $0.findings = Array(repeating: GateFinding(category: 1, number: 1), count: 2) },
      { $0.findings = (1...17).map { GateFinding(category: 1, number: $0) } },
      { $0.app = [1, 2, 3] },
    ]
    for change in changes {
      var changed = try grant()
      change(&changed)
      #expect(throws: ProofError.self) { try changed.sealed(to: key, signedBy: .random()) }
    }
    let token = try grant().sealed(to: key, signedBy: .random())
    #expect(token.bytes.count == GateToken.byteCount)
  }

  @Test("a gate takes one key, or two with different numbers, and one to four issuers")
  func identity() throws {
    let key = try GateIdentity.Key(.random(count: 32), number: 1)
    let same = try GateIdentity.Key(.random(count: 32), number: 1)
    let issuer = IssuerKey.random().publicKey
    for (keys, issuers) in [([], [issuer]), ([key, same], [issuer]), ([key], [])]
      + [([key], Array(repeating: issuer, count: 5))]
    {
      #expect(throws: ProofError.self) {
        try GateIdentity(id: .random(), keys: keys, issuers: issuers, mode: .production)
      }
    }
    #expect(throws: ProofError.allZeros(of: "gate secret key")) {
      try GateIdentity.Key(secret([UInt8](repeating: 0, count: 32)), number: 1)
    }
  }

  @Test("a generation of 0 or all ones has no secret", arguments: [0, UInt32.max])
  func generation(_ generation: UInt32) {
    #expect(throws: ProofError.self) { try GateSecret.random(generation: generation) }
  }

  @Test("an account has 1 to 128 bytes of UTF-8")
  func accountLength() throws {
    let key = try GateAccountKey(.random(count: 32), number: 1)
    #expect(try key.digest(of: String(repeating: "é", count: 64)) != key.digest(of: "é"))
    for name in ["", String(repeating: "é", count: 65)] {
      #expect(throws: ProofError.self) { try key.digest(of: name) }
    }
  }

  @Test("a draft takes keys of its kind alone, a count, a moment, and an event's number for events")
  func draft() throws {
    let secret = try GateSecret.random(generation: 1)
    let events = secret.eventKeys(for: .random())
    let digest = Digest(hashing: [1])
    let good = CompactDraft(created: 1, start: 1, count: 1, measured: 0)
    #expect(throws: Never.self) { try good.text(for: .body(digest), with: secret.keys.compact) }
    #expect(throws: ProofError.self) { try good.text(for: .body(digest), with: events) }
    #expect(throws: ProofError.self) { try good.text(for: .event(), with: secret.keys.compact) }
    for change in [
      { $0.created = 0 }, { $0.count = 0 }, { $0.event = 1 },
    ] as [(inout CompactDraft) -> Void] {
      var draft = good
      change(&draft)
      #expect(throws: ProofError.self) {
        try draft.text(for: .body(digest), with: secret.keys.compact)
      }
    }
  }

  @Test("a refusal has the class that the page gives its number")
  func classes() {
    let token: ClosedRange<UInt8> = 1...8
    for refusal in GateRefusal.allCases {
      let kind: GateRefusal.Kind =
        switch refusal.rawValue {
        case token, 12...16, 37, 65: .token
        case 67...69: .clock
        case 32, 33, 48...52, 70...72: .proof
        default: .refused
        }
      #expect(refusal.kind == kind)
      #expect(refusal.description.hasSuffix("."))
    }
  }

  @Test("nothing that is secret is printed")
  func descriptions() throws {
    let secret = try GateSecret.random(generation: 7)
    let texts = [
      "\(secret)", "\(secret.keys)", "\(secret.keys.compact)", String(reflecting: try grant()),
      "\(try GateAccountKey(.random(count: 32), number: 3))",
      "\(try GateIdentity.Key(.random(count: 32), number: 3))",
    ]
    for text in texts { #expect(!text.lowercased().contains("bytes")) }
    #expect(texts[0] == "GateSecret(secret, generation 7)")
  }
}

extension Block {
  fileprivate func gateGrant() throws -> GateGrant {
    var grant = try GateGrant(
      for: GateID(bytes("gate_id")), instance: InstanceID(bytes("instance_id")), mode: mode(),
      issued: time("issued"), notAfter: time("not_after"), firstSeen: time("first_seen"),
      secret: GateSecret(secret("secret"), generation: number("generation")))
    let flags: UInt16 = number("flags")
    grant.isFailed = flags & 1 != 0
    grant.isForced = flags & 2 != 0
    grant.properties = number("properties")
    let arc = bytes("arc")
    grant.responseCode = arc[0] == 0 ? nil : String(decoding: arc, as: UTF8.self)
    let findings = bytes("findings")
    for index in stride(from: 0, to: findings.count, by: 2) where findings[index] != 0 {
      grant.findings.append(
        GateFinding(category: findings[index], number: findings[index + 1]))
    }
    let app = bytes("app")
    grant.app = app.allSatisfy { $0 == 0 } ? nil : app
    return grant
  }

  fileprivate func compactKeys() throws -> CompactKeys {
    let secret = try GateSecret(secret("secret"), generation: number("generation"))
    return self["kind"] == "3"
      ? secret.eventKeys(for: try AudienceID(bytes("audience"))) : secret.keys.compact
  }

  fileprivate func subject() throws -> CompactSubject {
    let account = try Digest(bytes("account"))
    let digest = try Digest(bytes("digest"))
    return switch try #require(CompactKind(rawValue: number("kind"))) {
    case .request:
      .request(
        try RequestDigest(digest, body: Digest(bytes("body_digest"))), account: account)
    case .body: .body(digest, account: account)
    case .event: .event(data: digest, account: account)
    }
  }

  fileprivate func beacons(at now: UnixTime) -> ValidBeacons {
    BeaconKey(secret("beacon_key")).valid(at: now)
  }

  fileprivate func requestDigest() throws -> RequestDigest {
    func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }
    return try RequestDigest(
      method: text("method"), scheme: text("scheme"), authority: text("authority"),
      target: text("target"), body: Digest(bytes("body_digest")),
      authorization: text("authorization"))
  }
}
