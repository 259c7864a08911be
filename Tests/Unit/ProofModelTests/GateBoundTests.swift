// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Gate tokens, compact tokens and challenges at the bounds of docs/SPEC.md, section 15.
@Suite("Gates, at their bounds")
struct GateBoundTests {
  private let gate = GateID.random()
  private let issuer = IssuerKey.random()

  private func grant() throws -> GateGrant {
    GateGrant(
      for: gate, instance: .random(), mode: .production, issued: 100_000, notAfter: 100_000,
      firstSeen: 1, secret: try .random(generation: 1))
  }

  private func refused(_ field: String, _ value: String, _ allowed: String) -> ProofError {
    .outOfRange(field: field, value: value, allowed: allowed)
  }

  @Test("a grant at each bound opens again as it was, and beyond it is refused by its field")
  func grants() throws {
    let key = try GateIdentity.Key(.random(count: 32), number: 7)
    let identity = try GateIdentity(
      id: gate, keys: [key], issuers: [issuer.publicKey], mode: .production)
    let taken: [(inout GateGrant) -> Void] = [
      { _ in }, { ($0.issued, $0.notAfter) = (1, 1) }, { $0.notAfter = 100_000 + 86_400 },
      { $0.firstSeen = 100_000 }, { $0.responseCode = "AZ234567QA" },
      { $0.findings = (1...16).map { GateFinding(category: 1, number: $0) } },
      {
        $0.findings = [
          GateFinding(category: 1, number: 255), GateFinding(category: 2, number: 1),
          GateFinding(category: 3, number: 255),
        ]
      },
      { $0.app = [UInt8](1...16) }, { $0.properties = .max }, { $0.isFailed = true },
      { $0.isForced = true },
    ]
    for (index, change) in taken.enumerated() {
      var grant = try self.grant()
      change(&grant)
      let token = try grant.sealed(to: key.publicKey, signedBy: issuer)
      let opened = try identity.open(token.bytes, at: grant.issued)
      #expect(opened.gate == gate && opened.instance == grant.instance, "change \(index)")
      #expect(opened.issued == grant.issued && opened.notAfter == grant.notAfter)
      #expect(opened.firstSeen == grant.firstSeen && opened.mode == .production)
      #expect(opened.responseCode == grant.responseCode && opened.findings == grant.findings)
      #expect(opened.app == grant.app && opened.properties == grant.properties)
      #expect(opened.isFailed == grant.isFailed && opened.isForced == grant.isForced)
      #expect(opened.issuer == issuer.id && opened.keyNumber == 7)
      #expect(opened.secret.keys.handle == grant.secret.keys.handle)
    }
    let end = "from the issue to 24 hours later"
    let code = "10 characters of A to Z and 2 to 7"
    let finding = "classes 1 to 3 and numbers from 1, in increasing order"
    func findings(_ pairs: (UInt8, UInt8)...) -> (inout GateGrant) -> Void {
      { $0.findings = pairs.map { GateFinding(category: $0.0, number: $0.1) } }
    }
    let wrong: [((inout GateGrant) -> Void, ProofError)] = [
      ({ $0.issued = 0 }, refused("time of issue", "0", "Unix seconds from 1")),
      ({ $0.notAfter = 99_999 }, refused("end", "99999", end)),
      ({ $0.notAfter = 186_401 }, refused("end", "186401", end)),
      ({ $0.firstSeen = 0 }, refused("first sight", "0", "Unix seconds, 1 to the issue")),
      (
        { $0.firstSeen = 100_001 },
        refused("first sight", "100001", "Unix seconds, 1 to the issue")
      ),
      (findings((0, 1)), refused("finding", "0.1", finding)),
      (findings((4, 1)), refused("finding", "4.1", finding)),
      (findings((1, 0)), refused("finding", "1.0", finding)),
      (findings((1, 2), (1, 2)), refused("finding", "1.2", finding)),
      (findings((1, 1), (2, 2), (2, 1)), refused("finding", "2.1", finding)),
      (
        { $0.findings = (1...17).map { GateFinding(category: 1, number: $0) } },
        refused("number of findings", "17", "0 to 16")
      ),
      (
        { $0.app = [UInt8](1...15) },
        .wrongLength(of: "app digest of a gate token", expected: 16...16, actual: 15)
      ),
    ]
    let codes = [
      "", "AAAAAAAAA", "AAAAAAAAAAA", "@AAAAAAAAA", "[AAAAAAAAA", "1AAAAAAAAA", "8AAAAAAAAA",
      "aAAAAAAAAA",
    ].map { text in
      (
        { (grant: inout GateGrant) in grant.responseCode = text },
        refused("response code", text, code)
      )
    }
    for (change, error) in wrong + codes {
      var grant = try self.grant()
      change(&grant)
      #expect(throws: error) { try grant.sealed(to: key.publicKey, signedBy: issuer) }
    }
  }

  @Test("a token is sealed neither to a point of low order nor with a secret of zeros")
  func unusable() throws {
    let low = try GatePublicKey([1] + [UInt8](repeating: 0, count: 31), number: 3)
    #expect(throws: ProofError.unusableGateKey(number: 3)) {
      try self.grant().sealed(to: low, signedBy: issuer)
    }
    let key = try GateIdentity.Key(.random(count: 32), number: 1).publicKey
    let zeros = try GateSecret(SecretBytes(count: 32) { _ in }, generation: 1)
    let grant = GateGrant(
      for: gate, instance: .random(), mode: .production, issued: 1, notAfter: 1, firstSeen: 1,
      secret: zeros)
    #expect(throws: ProofError.allZeros(of: "secret of a gate token")) {
      try grant.sealed(to: key, signedBy: issuer)
    }
  }

  @Test("the parts of a gate are refused with their field, value and the values allowed")
  func parts() throws {
    let keys = try [1, 2, 1].map { try GateIdentity.Key(.random(count: 32), number: $0) }
    let known = issuer.publicKey
    func identity(_ keys: [GateIdentity.Key], _ issuers: [IssuerPublicKey]) throws {
      _ = try GateIdentity(id: gate, keys: keys, issuers: issuers, mode: .production)
    }
    try identity([keys[0], keys[1]], Array(repeating: known, count: 4))
    let allowed = "one, or two with different numbers"
    for (list, value) in [([], "[]"), ([keys[0], keys[2]], "[1, 1]"), (keys, "[1, 2, 1]")] {
      #expect(throws: refused("keys of a gate", value, allowed)) { try identity(list, [known]) }
    }
    for count in [0, 5] {
      #expect(throws: ProofError.self) {
        try identity([keys[0]], Array(repeating: known, count: count))
      }
    }
    #expect(throws: refused("number of an account key", "0", "1 to 255")) {
      try GateAccountKey(.random(count: 32), number: 0)
    }
    let account = try GateAccountKey(.random(count: 32), number: 255)
    for count in [0, 129] {
      #expect(
        throws: ProofError.wrongLength(of: "account name", expected: 1...128, actual: count)
      ) { try account.digest(of: String(repeating: "a", count: count)) }
    }
    for count in [1, 128] {
      #expect(throws: Never.self) { try account.digest(of: String(repeating: "a", count: count)) }
    }
    for generation in [0, UInt32.max] {
      #expect(throws: refused("generation", "\(generation)", "1 to 4294967294")) {
        try GateSecret.random(generation: generation)
      }
    }
    for generation in [1, UInt32.max - 1] {
      #expect(try GateSecret.random(generation: generation).keys.generation == generation)
    }
  }

  // MARK: Compact tokens

  private let secret = try! GateSecret.random(generation: 1)

  private func token(
    _ change: (inout CompactDraft) -> Void = { _ in }
  ) throws -> CompactToken {
    var draft = CompactDraft(created: 10_000, start: 7, count: 100, measured: 9)
    change(&draft)
    let subject = CompactSubject.body(Digest(hashing: [1]))
    let text = try draft.text(for: subject, with: secret.keys.compact)
    return try CompactToken(checking: text, for: subject, with: secret.keys.compact)
  }

  private func refusal(_ token: CompactToken, _ rules: CompactToken.Rules) -> GateRefusal? {
    do {
      try token.judge(by: rules)
      return nil
    } catch { return error }
  }

  @Test("a compact token is judged by each rule, up to its bound")
  func rules() throws {
    let token = try token()
    for (rules, expected) in [
      (.init(now: 10_000), nil), (.init(now: 9_940), nil), (.init(now: 9_939), .ahead),
      (.init(now: 10_060), nil), (.init(now: 10_061), .stale),
      (.init(now: 9_995, window: 5), nil), (.init(now: 9_994, window: 5), .ahead),
      (.init(now: 10_005, window: 5), nil), (.init(now: 10_006, window: 5), .stale),
      (.init(now: 10_000, newest: 163), nil), (.init(now: 10_000, newest: 164), .kept),
      (.init(now: 10_000, measuredMax: 9), nil), (.init(now: 10_000, measuredMax: 8), .measured),
      (.init(now: 10_061, newest: 164, measuredMax: 8), .stale),
      (.init(now: 10_000, newest: 164, measuredMax: 8), .measured),
    ] as [(CompactToken.Rules, GateRefusal?)] {
      #expect(refusal(token, rules) == expected, "\(rules)")
    }
    #expect(CompactToken.window == 60 && CompactToken.characterCount == 88)
    let draft = CompactDraft(created: 10_000, start: 1, count: 1, measured: 0, event: 5)
    let keys = secret.eventKeys(for: .random())
    let event = try CompactToken(
      checking: draft.text(for: .event(), with: keys), for: .event(), with: keys)
    #expect(refusal(event, .init(now: 10_000, event: 5)) == nil)
    for other in [0, 4, 6] as [UInt16] {
      #expect(refusal(event, .init(now: 10_000, event: other)) == .event)
    }
  }

  @Test("a beacon is valid in its interval, in the one before and in the two after")
  func beacons() throws {
    let key = try BeaconKey(from: .random(count: 32), number: 1, of: gate)
    let made: UnixTime = 9_900
    let beacon = try Beacon(header: key.header(at: made))
    #expect(beacon.interval == 33)
    let anchored = try token { $0.beacon = beacon }
    let plain = try token()
    for (now, isValid) in [
      (9_599, false), (9_600, true), (9_900, true), (10_199, true), (10_799, true),
      (10_800, false),
    ] as [(UnixTime, Bool)] {
      #expect(anchored.isAnchored(by: key.valid(at: now)) == isValid, "\(now)")
      #expect(!plain.isAnchored(by: key.valid(at: now)))
    }
    let valid = key.valid(at: 10_000)
    #expect(refusal(anchored, .init(now: 10_000, beacons: valid)) == nil)
    #expect(refusal(plain, .init(now: 10_000, beacons: valid)) == .unanchored)
    #expect(refusal(plain, .init(now: 10_000)) == nil)
    for other in [
      try BeaconKey(from: .random(count: 32), number: 1, of: gate),
      try BeaconKey(from: .random(count: 32), number: 2, of: .random()),
    ] { #expect(!anchored.isAnchored(by: other.valid(at: made))) }
  }

  @Test("a draft is refused with its field, and is written with each of its parts")
  func drafts() throws {
    let body = CompactSubject.body(Digest(hashing: [1]))
    let (own, events) = (secret.keys.compact, secret.eventKeys(for: .random()))
    let least = CompactDraft(created: 1, start: 0, count: 1, measured: 0)
    func text(
      _ subject: CompactSubject, _ keys: CompactKeys, _ change: (inout CompactDraft) -> Void
    ) throws {
      var draft = least
      change(&draft)
      _ = try draft.text(for: subject, with: keys)
    }
    let moment = "moment or count of a compact token"
    #expect(throws: refused("keys of a compact token", "events", "those of its kind")) {
      try text(body, events) { _ in }
    }
    #expect(throws: refused("keys of a compact token", "requests", "those of its kind")) {
      try text(.event(), own) { _ in }
    }
    for change: (inout CompactDraft) -> Void in [{ $0.created = 0 }, { $0.count = 0 }] {
      #expect(throws: refused(moment, "0", "1 to 4294967295")) { try text(body, own, change) }
    }
    #expect(throws: refused("event of a request", "1", "0")) {
      try text(body, own) { $0.event = 1 }
    }
    try text(.event(), events) { $0.event = .max }
    let whole = try token {
      $0 = CompactDraft(
        created: UnixTime(seconds: Int64(UInt32.max)), start: .max, count: .max, measured: .max,
        accountKey: .max, isYoung: true)
    }
    #expect(whole.created.seconds == Int64(UInt32.max) && whole.start == .max)
    #expect(whole.count == .max && whole.measured == .max && whole.accountKey == .max)
    #expect(whole.isYoung && whole.event == 0 && whole.kind == .body)
    let plain = try token { $0 = least }
    #expect(plain.created == 1 && plain.start == 0 && plain.count == 1 && plain.measured == 0)
    #expect(!plain.isYoung && plain.accountKey == 0)
  }

  // MARK: Challenges

  @Test("a proof of a challenge is for its id, its gate, its keys and each part of its place")
  func challenges() throws {
    let keys = secret.keys
    let id = [UInt8](repeating: 5, count: GateKeys.challengeIDByteCount)
    let place = ChallengePlace(method: "POST", authority: "a.example", target: "/pay?a=1")
    #expect(GateKeys.challengeIDByteCount == 60 && place.scheme == "https")
    let proof = try keys.challengeProof(answering: id, at: gate, for: place)
    func isGood(
      _ other: Digest? = nil, _ challenge: [UInt8]? = nil, at: GateID? = nil,
      keys others: GateKeys? = nil, _ change: (inout ChallengePlace) -> Void = { _ in }
    ) -> Bool {
      var place = place
      change(&place)
      do {
        try (others ?? keys).checkChallengeProof(
          other ?? proof, answering: challenge ?? id, at: at ?? gate, for: place)
        return true
      } catch { return false }
    }
    #expect(isGood())
    #expect(!isGood(Digest(hashing: [1])) && !isGood(at: .random()))
    #expect(!isGood(nil, [6] + id.dropFirst()) && !isGood(nil, id.dropLast() + [6]))
    #expect(!isGood(keys: try GateSecret.random(generation: 1).keys))
    #expect(!isGood { $0.method = "PUT" } && !isGood { $0.scheme = "http" })
    #expect(!isGood { $0.authority = "b.example" } && !isGood { $0.target = "/pay?a=2" })
    for count in [0, 59, 61] {
      let error = ProofError.wrongLength(of: "challenge id", expected: 60...60, actual: count)
      let other = [UInt8](repeating: 5, count: count)
      #expect(throws: error) { try keys.challengeProof(answering: other, at: gate, for: place) }
      #expect(throws: error) {
        try keys.checkChallengeProof(proof, answering: other, at: gate, for: place)
      }
    }
  }
}
