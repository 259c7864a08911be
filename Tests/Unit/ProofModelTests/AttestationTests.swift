// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

/// An app that answers a challenge of the service, both in this process.
private struct Visit {
  let world: World
  let challenge: AttestationChallenge
  let subject: AttestationReport.Subject
  let bytes: [UInt8]
  let config: MeasurementConfig

  init(evidence: EvidenceSet? = nil) throws {
    world = try World()
    challenge = AttestationChallenge(world.draft, lifetime: 30, configSerial: 9)
    subject = AttestationReport.Subject(
      .measurement, name: "api.example.com", userProperty: "beta", developmentKey: "key",
      dataHash: Digest(hashing: [1, 2, 3]), properties: [.init("os", "Debian")])
    (bytes, config) = try AttestationReport.make(
      subject, of: evidence ?? world.evidence, answering: challenge, account: "acme",
      configSerial: 7, sdkVersion: "1.2.3", with: world.key)
  }

  func judge(_ bytes: [UInt8]) throws {
    _ = try AttestationReport(bytes).measurement(under: world.draft, with: world.key)
  }
}

@Suite("An attestation")
struct AttestationTests {
  @Test("gives the service the app's own configuration and measurement")
  func agreement() throws {
    let visit = try Visit()
    let report = try AttestationReport(visit.bytes)
    #expect(report.subject == visit.subject)
    #expect(report.evidence == visit.world.evidence)
    let judged = try report.measurement(under: visit.world.draft, with: visit.world.key)
    #expect(judged.config == visit.config)
    let own = try Measurement(
      of: visit.world.evidence, under: visit.config, with: visit.world.key)
    for part in Measurement.Part.allCases {
      #expect(copy(judged.measurement, part) == copy(own, part))
    }
  }

  @Test("with any byte of the report changed is not believed")
  func changedReport() throws {
    let visit = try Visit()
    for index in visit.bytes.indices {
      #expect(throws: ProofError.self, "byte \(index)") {
        try visit.judge(flipped(visit.bytes, bit: 8 * index + index % 8))
      }
    }
  }

  @Test("cut short anywhere, or with a byte more, does not parse")
  func cutReport() throws {
    let visit = try Visit()
    for count in visit.bytes.indices {
      #expect(throws: ProofError.self, "\(count) bytes") {
        try AttestationReport(Array(visit.bytes[..<count]))
      }
    }
    #expect(throws: ProofError.self) { try AttestationReport(visit.bytes + [0]) }
  }

  @Test("of garbage never parses and never ends the process")
  func garbage() throws {
    var generator = SeededGenerator(seed: 11)
    let visit = try Visit()
    for _ in 0..<2_000 {
      var bytes = visit.bytes
      let start = Int.random(in: 4..<bytes.count, using: &generator)
      for index in start..<min(start + 24, bytes.count) {
        bytes[index] = .random(in: .min ... .max, using: &generator)
      }
      // To be believed it would have to hit a true tag.
      #expect(throws: ProofError.self) { try visit.judge(bytes) }
      let answer = Array(bytes[start...])
      #expect(throws: ProofError.self) {
        try AttestationAnswer(answer, to: visit.world.draft.salt, with: visit.world.key)
      }
      #expect(throws: ProofError.self) { try AttestationQuestion(answer) }
      #expect(throws: ProofError.self) { try AttestationChallenge(answer) }
    }
  }

  @Test("under another salt, another key or another draft is not believed")
  func otherTerms() throws {
    let visit = try Visit()
    let report = try AttestationReport(visit.bytes)
    let salted = try BaselineDraft(salt: .random(), sources: World.sources())
    let generation = try BaselineDraft(
      salt: visit.world.draft.salt, sources: World.sources(), generation: 2)
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    #expect(throws: ProofError.differs("tag of the report")) {
      try report.measurement(under: salted, with: visit.world.key)
    }
    #expect(throws: ProofError.differs("tag of the report")) {
      try report.measurement(under: visit.world.draft, with: key)
    }
    #expect(throws: ProofError.differs("integrity measurement")) {
      try report.measurement(under: generation, with: visit.world.key)
    }
  }

  @Test("names a device by its storage secret and the account, and an app by its files")
  func names() throws {
    func evidence(secret: UInt8?, file: UInt8, code: UInt8) throws -> EvidenceSet {
      try evidence(digest: secret.map { Digest(hashing: [$0]) }, file: file, code: code)
    }
    func evidence(digest: Digest?, file: UInt8, code: UInt8) throws -> EvidenceSet {
      try EvidenceSet([
        EvidenceRecord(SourceID(.device, 5), name: "secret", digest: digest),
        EvidenceRecord(SourceID(.app, 1), name: "code", digest: Digest(hashing: [code])),
        EvidenceRecord(SourceID(.app, 2), name: "executable", digest: Digest(hashing: [file])),
      ])
    }
    let here = try evidence(secret: 1, file: 1, code: 1)
    let devices = try [
      InstanceID(of: here, account: "acme"), InstanceID(of: here, account: "bolt"),
      InstanceID(of: evidence(secret: 2, file: 1, code: 1), account: "acme"),
      InstanceID(of: evidence(secret: nil, file: 1, code: 1), account: "acme"),
    ]
    #expect(Set(devices).count == 4)
    // In the place of a missing secret stand 32 zeros.
    let zeros = try Digest([UInt8](repeating: 0, count: Digest.byteCount))
    #expect(
      try InstanceID(of: evidence(digest: zeros, file: 1, code: 1), account: "acme") == devices[3])
    #expect(
      try InstanceID(of: evidence(secret: 1, file: 2, code: 2), account: "acme") == devices[0])
    #expect(try AppDigest(of: evidence(secret: 2, file: 1, code: 2)) == AppDigest(of: here))
    #expect(try AppDigest(of: evidence(secret: 1, file: 2, code: 1)) != AppDigest(of: here))
  }

  @Test("has a question and a challenge that come back as they were sent")
  func asking() throws {
    let world = try World()
    for purpose in AttestationPurpose.allCases {
      let question = AttestationQuestion(
        keyID: world.key.id, device: InstanceID(of: world.evidence, account: "acme"),
        purpose: purpose, configSerial: .max, account: "acme", sdkVersion: "1")
      #expect(try AttestationQuestion(question.bytes) == question)
    }
    let challenge = AttestationChallenge(world.draft, lifetime: .max, configSerial: .max)
    #expect(try AttestationChallenge(challenge.bytes) == challenge)
    for count in challenge.bytes.indices {
      #expect(throws: ProofError.self) {
        try AttestationChallenge(Array(challenge.bytes[..<count]))
      }
    }
  }

  @Test("has an answer that only the service of this key, for this salt, can give")
  func answering() throws {
    let world = try World()
    let salt = world.draft.salt
    let answer = AttestationAnswer(
      to: salt, .done, configSerial: 3, forcedPinsSerial: 2, tokenLifetime: 300,
      token: "a.b.c", responseCode: "ABCDEFGHIJ", rejectionReasons: "debug,root", secureString: "s",
      messageKey: .random())
    let bytes = answer.bytes(with: world.key)
    let read = try AttestationAnswer(bytes, to: salt, with: world.key)
    #expect(read == answer)
    #expect([read.token, read.responseCode, read.secureString] == ["a.b.c", "ABCDEFGHIJ", "s"])
    #expect([read.configSerial, read.forcedPinsSerial, read.tokenLifetime] == [3, 2, 300])
    #expect(read.rejectionReasons == "debug,root" && read.messageKey != nil)
    for index in bytes.indices {
      #expect(throws: ProofError.self, "byte \(index)") {
        try AttestationAnswer(
          flipped(bytes, bit: 8 * index + index % 8), to: salt, with: world.key)
      }
    }
    #expect(throws: ProofError.differs("tag of the answer")) {
      try AttestationAnswer(bytes, to: .random(), with: world.key)
    }
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    #expect(throws: ProofError.differs("tag of the answer")) {
      try AttestationAnswer(bytes, to: salt, with: key)
    }
  }

  @Test("an answer has one or two keys of strings, and only where it is done")
  func stringKeys() throws {
    let world = try World()
    let salt = Salt.random()
    let keys = try (0..<2).map { _ in try StringKey(.random(count: StringKey.byteCount)) }
    for count in 1...2 {
      let answer = AttestationAnswer(to: salt, .done, stringKeys: Array(keys.prefix(count)))
      let bytes = answer.bytes(with: world.key)
      #expect(bytes[2] == 3)
      #expect(try AttestationAnswer(bytes, to: salt, with: world.key) == answer)
      let place = bytes.count - 32 - 32 * count - 1
      for wrong in [0, 1, 2, 3, 255] as [UInt8] where wrong != UInt8(count) {
        var changed = bytes
        changed[place] = wrong
        #expect(throws: ProofError.self) {
          try AttestationAnswer(changed, to: salt, with: world.key)
        }
      }
      for index in bytes.indices {
        #expect(throws: ProofError.self, "byte \(index)") {
          try AttestationAnswer(
            flipped(bytes, bit: 8 * index + index % 8), to: salt, with: world.key)
        }
      }
    }
    let refused = AttestationAnswer(to: salt, .disabled, stringKeys: keys)
    #expect(throws: ProofError.self) {
      try AttestationAnswer(refused.bytes(with: world.key), to: salt, with: world.key)
    }
  }

  @Test("has an answer whose token lives for as long as the service says: any 32-bit number")
  func lifetime() throws {
    let world = try World()
    let salt = world.draft.salt
    for lifetime in [0, 1, 3, 300, 0x0102_0304, .max] as [UInt32] {
      let answer = AttestationAnswer(to: salt, .done, tokenLifetime: lifetime, token: "a.b.c")
      let bytes = answer.bytes(with: world.key)
      // Head, salt, outcome and two serials stand before it.
      #expect(bytes[29..<33].reversed().reduce(0) { $0 << 8 | UInt32($1) } == lifetime)
      #expect(try AttestationAnswer(bytes, to: salt, with: world.key).tokenLifetime == lifetime)
      for count in bytes.indices {
        #expect(throws: ProofError.malformed("attestation answer", byteCount: count)) {
          try AttestationAnswer(Array(bytes[..<count]), to: salt, with: world.key)
        }
      }
      #expect(throws: ProofError.malformed("attestation answer", byteCount: bytes.count + 1)) {
        try AttestationAnswer(bytes + [0], to: salt, with: world.key)
      }
    }
  }

  @Test("has no answer with a lifetime of no token, even under a good tag")
  func lifetimeOfNothing() throws {
    let world = try World()
    let salt = world.draft.salt
    let bytes = AttestationAnswer(to: salt, .rejected, tokenLifetime: 1).bytes(with: world.key)
    #expect(throws: ProofError.malformed("attestation answer", byteCount: bytes.count)) {
      try AttestationAnswer(bytes, to: salt, with: world.key)
    }
  }
}
