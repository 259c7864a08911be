// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Values that pass through the core's wrappers, at the bounds of docs/SPEC.md.
@Suite("The core through Swift, at its bounds")
struct CoreBoundTests {
  @Test("base64 gives the texts of RFC 4648, section 10, in both forms, and reads them alone")
  func base64() {
    for (plain, text) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
      ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ] {
      let bytes = Array(plain.utf8)
      let bare = String(text.prefix { $0 != "=" })
      for (form, expected, other) in [
        (Base64.Form.standard, text, bare), (.url, bare, text),
      ] {
        #expect(Base64.encode(bytes, form) == expected)
        #expect(Base64.decode(expected, form) == bytes)
        if other != expected { #expect(Base64.decode(other, form) == nil, "\(other)") }
        var appended = Array("x".utf8)
        Base64.append(bytes.span, form, to: &appended)
        #expect(appended == Array("x\(expected)".utf8))
        for wrong in [
          expected + "*", expected + "=", expected + "\n", " " + expected, expected + "é",
        ] {
          #expect(Base64.decode(wrong, form) == nil, "\(wrong)")
        }
      }
    }
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/" && Base64.decode("+/+/", .url) == nil)
    #expect(Base64.encode([0xFB, 0xFF, 0xBF], .url) == "-_-_" && Base64.decode("-_-_") == nil)
    // Bits behind the last byte are zeros.
    for text in ["Zh==", "Zm9="] { #expect(Base64.decode(text) == nil) }
  }

  @Test("features have the bits of the capabilities")
  func features() {
    let all: [HardwareFeatures] = [
      .tokenVersionTwo, .ratchet, .sealedCommands, .log, .grants, .factorySecret, .upcoming,
      .channels,
    ]
    #expect(all.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 64, 128])
    #expect(HardwareFeatures.known.rawValue == 255)
  }

  @Test("a token's hint is the first four bytes of its hardware's id")
  func hint() throws {
    let world = try World()
    let token = try world.token(world.grant())
    let id = world.hardware.identity.id.bytes
    #expect(Array(token.bytes[4..<8]) == Array(id.prefix(4)))
    for index in id.indices {
      var other = id
      other[index] ^= 1
      #expect(token.mayBe(for: try HardwareID(other)) == (index > 3), "\(index)")
    }
  }

  @Test("a sealed command has at most 216 bytes, in a channel too")
  func sealedLength() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let token = try world.channelToken()
    try verifier.prepareSealedCommands()
    verifier.keepChannels()
    _ = try link.present(token)
    let challenge = try SealedChallenge(link.send(.askForSealedChallenge).reply)
    func command(_ count: Int) throws -> Command {
      try Command([UInt8](repeating: 1, count: count), class: 1)
    }
    func sealed(_ count: Int, _ kind: ProofKind = .integrity) throws -> ProvedCommand {
      try ProvedCommand(
        command(count), proving: kind, from: world.instance, to: world.hardware.identity.id,
        answering: challenge, of: token.digest, with: world.secrets)
    }
    let long = ProofError.outOfRange(
      field: "length of a sealed command", value: "217", allowed: "0 to 216")
    for kind in ProofKind.allCases { #expect(throws: long) { try sealed(217, kind) } }
    #expect(try sealed(0).message.bytes.count + 216 == sealed(216).message.bytes.count)
    let proved = try sealed(216)
    let outcome = link.send(proved.message)
    #expect(try outcome.execution?.command == command(216))
    let channel = try #require(proved.channel(from: outcome.reply))
    #expect(throws: long) { try ProvedCommand(command(217), in: channel) }
    let next = try ProvedCommand(command(216), in: channel)
    #expect(next.message.bytes.count == 25 + 216)
    #expect(try link.send(next.message).execution?.command == command(216))
  }

  @Test("every source without a record is named, the first and the last one too")
  func missing() throws {
    let world = try World()
    let ids = world.draft.sources.map(\.id)
    for left in ids.indices {
      let records = world.evidence.records.filter { $0.source == ids[left] }
      let missing = ids.indices.filter { $0 != left }.map { ids[$0] }
      #expect(throws: ProofError.evidenceMissing(missing), "\(ids[left])") {
        try Measurement(of: EvidenceSet(records), under: world.config, with: world.key)
      }
      let others = world.evidence.records.filter { $0.source != ids[left] }
      #expect(throws: ProofError.evidenceMissing([ids[left]])) {
        try Measurement(of: EvidenceSet(others), under: world.config, with: world.key)
      }
    }
  }

  @Test("rooms of a pool do not overlap, fill their slab, and are used again")
  func pool() throws {
    let audience = AudienceID.random()
    for use in [SecretPool.Use.requests, .events] {
      let pool = SecretPool(for: use)
      #expect(pool.slabCount == 0)
      let secrets = try (1...2_000).map { _ in try GateSecret.random(generation: 1) }
      let message = Digest(hashing: [9])
      func text(_ keys: CompactKeys, _ subject: CompactSubject) throws -> String {
        try CompactDraft(created: 1, start: 1, count: 1, measured: 0).text(for: subject, with: keys)
      }
      var (requests, events): ([GateKeys], [CompactKeys]) = ([], [])
      var room = 0
      while pool.slabCount < 2 {
        switch use {
        case .requests: requests.append(secrets[room].keys(in: pool))
        case .events: events.append(secrets[room].eventKeys(for: audience, in: pool))
        }
        room += 1
      }
      let perSlab = room - 1
      // A secret of one installation has some hundred bytes, and a slab 65,536.
      #expect((100...1_000).contains(perSlab))
      for index in 0..<perSlab {
        switch use {
        case .requests:
          let subject = CompactSubject.body(message)
          #expect(
            try text(requests[index].compact, subject)
              == text(secrets[index].keys.compact, subject))
        case .events:
          let subject = CompactSubject.event(data: message)
          #expect(
            try text(events[index], subject)
              == text(secrets[index].eventKeys(for: audience), subject))
        }
      }
      (requests, events) = ([], [])
      for index in 0..<2 * perSlab {
        switch use {
        case .requests: requests.append(secrets[index].keys(in: pool))
        case .events: events.append(secrets[index].eventKeys(for: audience, in: pool))
        }
      }
      #expect(pool.slabCount == 2)
    }
  }
}
