// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Refusals that tell a number, a verdict or a name, with the values written out.
@Suite("A refusal tells what was refused")
struct RefusedPartTests {
  private let world: World

  init() throws { world = try World() }

  /// A configuration with bytes changed, under the tag of docs/SPEC.md, section 5.
  private func config(changing bytes: [(Int, UInt8)]) throws -> MeasurementConfig {
    var changed = Array(world.config.bytes.dropLast(16))
    for (place, byte) in bytes { changed[place] = byte }
    let none: [UInt8] = []
    let key = CoreCrypto.derive(
      label: "pfc1.config-tag.", key: secret(Array(changed[20..<36])), info: none.span)
    let tag = CoreCrypto.hmac(key: key, changed.span)
    return try MeasurementConfig(changed + tag.bytes.prefix(16))
  }

  @Test("a configuration is too new by its version and its suite, and malformed by a field")
  func configs() throws {
    #expect(try config(changing: []) == world.config)
    for (version, suite) in [(9, 1), (1, 7), (9, 7), (2, 1), (1, 2)] as [(UInt8, UInt8)] {
      #expect(throws: ProofError.configTooNew(version: version, suite: suite)) {
        try config(changing: [(4, version), (5, suite)])
      }
    }
    let count = world.config.bytes.count
    for (place, byte) in [(6, 3), (7, 4), (56, 51), (56, 15), (59, 1)] as [(Int, UInt8)] {
      #expect(throws: ProofError.configMalformed(byteCount: count), "\(place)") {
        try config(changing: [(place, byte)])
      }
    }
  }

  @Test("a configuration finds each of its sources, the first one too, with groups in its order")
  func sources() throws {
    for source in world.draft.sources { #expect(world.config.source(source.id) == source) }
    let first: [SourceID: Range<Int>] = try [
      SourceID(.device, 1): 0..<1, SourceID(.device, 2): 1..<2, SourceID(.app, 1): 2..<18,
      SourceID(.app, 7): 18..<22, SourceID(.environment, 1): 22..<23,
    ]
    for record in world.evidence.records {
      let group = try #require(world.config.group(of: record))
      #expect(first[record.source]?.contains(group) == true, "\(record.source) \(group)")
    }
  }

  @Test("a request's bytes are those of its method and target, a challenge's those of its target")
  func requests() throws {
    for (method, target, count) in [("", "/abc", 4), ("GET", "abc", 6), ("GET", "", 3)] {
      #expect(throws: ProofError.malformed("request", byteCount: count), "\(method) \(target)") {
        try RequestDigest(
          method: method, scheme: "https", authority: "a.example", target: target, body: .zero)
      }
    }
    let keys = try GateSecret.random(generation: 1).keys
    let place = ChallengePlace(method: "GET", authority: "a.example", target: "abc")
    #expect(throws: ProofError.malformed("request", byteCount: 3)) {
      try keys.challengeProof(
        answering: [UInt8](repeating: 1, count: 60), at: .random(), for: place)
    }
  }

  @Test("a text that is no beacon or delegation has the bytes that it has")
  func texts() {
    for text in ["*", "*****", "é"] {
      #expect(throws: ProofError.malformed("beacon", byteCount: text.utf8.count)) {
        try Beacon(header: text)
      }
      #expect(throws: ProofError.malformed("delegation", byteCount: text.utf8.count)) {
        try Delegation(text: text)
      }
    }
    for count in [0, 1, 8, 10] {
      let text = Base64.encode([UInt8](repeating: 0x14, count: count), .url)
      #expect(throws: ProofError.malformed("beacon", byteCount: count)) {
        try Beacon(header: text)
      }
    }
  }

  @Test("an answer to a recall is told from that to the command, by its verdict")
  func recalls() throws {
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    let proved = world.prove(openDoor, answering: challenge)
    for verdict in Verdict.allCases {
      let answer = Answer(verdict, detail: 1, counter: 5, to: proved.nonce, with: world.secrets)
      if [5, 18].contains(verdict.rawValue) {
        #expect(throws: ProofError.answerToRecall(verdict)) { try proved.receipt(of: answer) }
      } else {
        #expect(try proved.receipt(of: answer).verdict == verdict)
      }
      #expect(try proved.recall.receipt(of: answer).verdict == verdict)
    }
  }

  @Test("a command is proved with the secrets that are equal in each of their four parts")
  func secrets() throws {
    let parts = HardwareSecrets.Part.allCases.map { copy(world.secrets, $0) }
    #expect(parts.map(\.count) == [16, 32, 16, 32])
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    let proved = world.prove(openDoor, answering: challenge)
    for changed in [nil, 0, 1, 2, 3] {
      var other = parts
      if let changed { other[changed][other[changed].count - 1] ^= 1 }
      let secrets = try HardwareSecrets(
        integrityKey: secret(other[0]), integrity: secret(other[1]), deviceKey: secret(other[2]),
        device: secret(other[3]), form: .diversified)
      #expect(proved.isProved(with: secrets) == (changed == nil))
    }
  }

  @Test("a gate takes tokens from its floor on, and any time of issue without one")
  func floors() throws {
    let gate = GateID.random()
    let key = try GateIdentity.Key(.random(count: 32), number: 1)
    for (floor, issued, refusal) in [
      (nil, 1, nil), (1_000, 1_000, nil), (1_000, 999, .tokenSuperseded), (1, 1, nil),
    ] as [(UnixTime?, UnixTime, GateRefusal?)] {
      let identity = try GateIdentity(
        id: gate, keys: [key], issuers: [world.issuer.publicKey], mode: .production, floor: floor)
      let grant = GateGrant(
        for: gate, instance: .random(), mode: .production, issued: issued, notAfter: issued + 60,
        firstSeen: 1, secret: try .random(generation: 1))
      let token = try grant.sealed(to: key.publicKey, signedBy: world.issuer)
      let found: GateRefusal?
      do throws(GateRefusal) {
        _ = try identity.open(token.bytes, at: issued)
        found = nil
      } catch { found = error }
      #expect(found == refusal, "\(issued)")
    }
  }
}
