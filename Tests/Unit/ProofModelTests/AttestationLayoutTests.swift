// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// The messages of docs/SERVICE.md, sections 2 to 5, byte by byte and at their bounds.
@Suite("Messages of an attestation")
struct AttestationLayoutTests {
  private func text(_ text: String) -> [UInt8] {
    [UInt8(text.utf8.count % 256), UInt8(text.utf8.count / 256)] + text.utf8
  }

  private func blob(_ bytes: [UInt8]) -> [UInt8] {
    (0..<4).map { UInt8(bytes.count >> (8 * $0) & 255) } + bytes
  }

  private func head(_ type: UInt8, version: UInt8 = 1) -> [UInt8] {
    Array("PA".utf8) + [version, type]
  }

  private let device = try! InstanceID([UInt8](repeating: 9, count: 16))
  private let keyID = try! KeyID([UInt8](1...8))
  private let point = try! InstallationPoint([UInt8](repeating: 4, count: 64))

  private func refused<M>(_ noun: String, _ bytes: [UInt8], _ read: ([UInt8]) throws -> M) {
    #expect(throws: ProofError.malformed(noun, byteCount: bytes.count)) { try read(bytes) }
  }

  // MARK: QUESTION

  @Test("a question has the bytes of its table, in each version")
  func question() throws {
    func question(
      _ purpose: AttestationPurpose = .token, host: String = "", hasKey: Bool = false,
      endorsement: Endorsement? = nil, withholding: CollectionMode = []
    ) -> AttestationQuestion {
      AttestationQuestion(
        keyID: keyID, device: device, purpose: purpose, configSerial: 0x0403_0201,
        account: "acme", sdkVersion: "1.2", host: host, hasKey: hasKey, endorsement: endorsement,
        withholding: withholding)
    }
    func body(_ purpose: UInt8) -> [UInt8] {
      [UInt8](1...8) + [UInt8](repeating: 9, count: 16) + [purpose, 1, 2, 3, 4] + text("acme")
        + text("1.2")
    }
    let endorsement = Endorsement(point, certificate: [7, 8])
    let endorsed = [1] + [UInt8](repeating: 4, count: 64) + blob([7, 8])
    for (made, bytes) in [
      (question(), head(1) + body(1)), (question(.measurement), head(1) + body(2)),
      (question(.secureString), head(1) + body(3)), (question(.customJWT), head(1) + body(4)),
      (question(.gate, host: "a.b"), head(1) + body(5) + text("a.b")),
      (question(.stringKey, host: "a.b"), head(1) + body(6)),
      (question(hasKey: true), head(1, version: 2) + body(1) + [0]),
      (question(endorsement: endorsement), head(1, version: 2) + body(1) + endorsed),
      (question(withholding: .notGranted), head(1, version: 3) + body(1) + [7, 0]),
      (
        question(.gate, host: "h", hasKey: true, withholding: CollectionMode(rawValue: 1)),
        head(1, version: 3) + body(5) + text("h") + [1, 1, 0]
      ),
    ] {
      #expect(made.bytes == bytes)
      #expect(try AttestationQuestion(bytes) == made)
      for count in bytes.indices {
        refused("attestation question", Array(bytes.prefix(count))) {
          try AttestationQuestion($0)
        }
      }
      refused("attestation question", bytes + [0]) { try AttestationQuestion($0) }
    }
    let plain = head(1) + body(1)
    for (index, byte) in [(0, 0x51), (1, 0x42), (3, 2), (28, 0), (28, 7)] as [(Int, UInt8)] {
      var changed = plain
      changed[index] = byte
      refused("attestation question", changed) { try AttestationQuestion($0) }
    }
    for version in [0, 4, 255] as [UInt8] {
      #expect(throws: ProofError.tooNew("attestation question")) {
        try AttestationQuestion(head(1, version: version) + body(1))
      }
    }
    // Nothing withheld is version 1; a mode beyond 7 and a flag beyond 1 are none.
    for end in [[0, 0], [8, 0], [1, 2]] as [[UInt8]] {
      refused("attestation question", head(1, version: 3) + body(1) + end) {
        try AttestationQuestion($0)
      }
    }
    for (count, isTaken) in [(4_096, true), (4_097, false)] {
      let bytes =
        head(1, version: 2) + body(1) + [1] + [UInt8](repeating: 4, count: 64)
        + blob([UInt8](repeating: 1, count: count))
      #expect(((try? AttestationQuestion(bytes)) != nil) == isTaken, "\(count)")
    }
  }

  // MARK: CHALLENGE

  @Test("a challenge has the bytes of its table, with sources in one order")
  func challenge() throws {
    let salt = [UInt8](repeating: 3, count: 16)
    let sources = try [
      Source(SourceID(.device, 1)), Source(SourceID(.app, 2), version: 3, groupsLog2: 4),
      Source(SourceID(.environment, 1)),
    ]
    let listed: [UInt8] = [3] + [1, 1, 1, 0] + [2, 2, 3, 4] + [3, 1, 1, 0]
    let draft = try BaselineDraft(
      salt: Salt(salt), sources: sources, policy: .trusting, generation: 0x0403_0201, limitLog2: 40)
    let start = salt + [0x2C, 1] + [3, 40] + [1, 2, 3, 4] + [5, 6, 7, 8]
    func made(_ key: KeyDemand?) -> AttestationChallenge {
      AttestationChallenge(draft, lifetime: 300, configSerial: 0x0807_0605, key: key)
    }
    let credential = KeyCredential(object: [1, 2], seed: [3])
    for (key, version, end) in [
      (nil, 1, []), (.nothing, 2, [0]), (.evidence, 2, [1]),
      (.credential(credential), 2, [2] + blob([1, 2]) + blob([3])),
    ] as [(KeyDemand?, UInt8, [UInt8])] {
      let bytes = head(2, version: version) + start + listed + end
      #expect(made(key).bytes == bytes)
      #expect(try AttestationChallenge(bytes) == made(key))
      refused("attestation challenge", bytes + [0]) { try AttestationChallenge($0) }
    }
    for other in [
      [2] + [2, 2, 3, 4] + [1, 1, 1, 0], [2] + [1, 1, 1, 0] + [1, 1, 1, 0],
      [1] + [4, 1, 1, 0], [1] + [0, 1, 1, 0],
    ] as [[UInt8]] {
      refused("attestation challenge", head(2) + start + other) { try AttestationChallenge($0) }
    }
    for policy in [0, 4] as [UInt8] {
      var changed = head(2) + start + listed
      changed[22] = policy
      refused("attestation challenge", changed) { try AttestationChallenge($0) }
    }
    refused("attestation challenge", head(2, version: 2) + start + listed + [3]) {
      try AttestationChallenge($0)
    }
    for (object, seed, isTaken) in [(512, 512, true), (513, 1, false), (1, 513, false)] {
      let bytes =
        head(2, version: 2) + start + listed + [2] + blob([UInt8](repeating: 1, count: object))
        + blob([UInt8](repeating: 1, count: seed))
      #expect(((try? AttestationChallenge(bytes)) != nil) == isTaken, "\(object) \(seed)")
    }
  }

  // MARK: REPORT

  private func report(
    account: String = "acme", version: String = "1", _ subject: AttestationReport.Subject,
    withholding: CollectionMode = []
  ) throws -> [UInt8] {
    let world = try World()
    let challenge = AttestationChallenge(world.draft, lifetime: 30, configSerial: 9)
    return try AttestationReport.make(
      subject, of: world.evidence, answering: challenge, account: account, configSerial: 7,
      sdkVersion: version, with: world.key, withholding: withholding
    ).bytes
  }

  @Test("a report has the bytes of its table")
  func layout() throws {
    let world = try World()
    let hash = Digest(hashing: [1, 2, 3])
    let subject = AttestationReport.Subject(
      .secureString, name: "n", payload: [1, 65], userProperty: "u", developmentKey: "d",
      dataHash: hash, properties: [.init("a", "b"), .init("c", "")])
    var expected = head(3) + world.key.id.bytes + world.draft.salt.bytes
    expected += InstanceID(of: world.evidence, account: "acme").bytes + [3, 7, 0, 0, 0]
    expected += text("acme") + text("n") + blob([1, 65]) + text("1") + text("u") + text("d")
    expected += [1] + hash.bytes + [2] + text("a") + text("b") + text("c") + text("")
    expected += [UInt8(world.evidence.records.count), 0, 0, 0]
    for record in world.evidence.records {
      expected += [record.source.evidenceClass.rawValue, record.source.number]
      expected += [record.digest == nil ? 0 : 1, UInt8(record.name.count)] + record.name
      expected += record.digest?.bytes ?? []
    }
    let config = world.config
    let measured = try Measurement(of: world.evidence, under: config, with: world.key)
    expected += copy(measured, .integrity) + copy(measured, .device)
    let bytes = try report(subject)
    #expect(bytes.count == expected.count + 32 && Array(bytes.dropLast(32)) == expected)
    let withheld = try report(subject, withholding: CollectionMode(rawValue: 5))
    #expect(withheld[2] == 3 && withheld.dropLast(32).suffix(2) == [5, 0])
    #expect(try AttestationReport(withheld).withheld.rawValue == 5)
    let read = try AttestationReport(bytes)
    #expect(read.subject == subject && read.sdkVersion == "1" && read.account == "acme")
    #expect(read.configSerial == 7 && read.keyID == world.key.id && read.withheld.isEmpty)
    #expect(read.key == nil && read.signature == nil && read.signedMessage.isEmpty)
    let start = try AttestationReport.Head(bytes)
    #expect(start == read.head && start.purpose == .secureString && start.host.isEmpty)
    let gate = try report(.init(.gate, name: "a.example"))
    #expect(try AttestationReport.Head(gate).host == "a.example")
    #expect(try AttestationReport(gate).subject.name == "a.example")
  }

  @Test("each part of a report is taken up to its length, and refused beyond it")
  func bounds() throws {
    func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    func isRead(_ bytes: [UInt8]) -> Bool { (try? AttestationReport(bytes)) != nil }
    for (most, make) in [
      (1_024, { try report(account: long($0), .init(.token)) }),
      (1_024, { try report(version: long($0), .init(.token)) }),
      (1_024, { try report(.init(.token, name: long($0))) }),
      (1_024, { try report(.init(.token, developmentKey: long($0))) }),
      (128, { try report(.init(.token, userProperty: long($0))) }),
      (65_536, { try report(.init(.token, payload: [UInt8](repeating: 0, count: $0))) }),
      (1_024, { try report(.init(.token, properties: [.init(long($0), "")])) }),
      (1_024, { try report(.init(.token, properties: [.init("", long($0))])) }),
      (
        64,
        { count in
          try report(.init(.token, properties: (0..<count).map { .init("\($0)", "") }))
        }
      ),
    ] as [(Int, (Int) throws -> [UInt8])] {
      for (count, isTaken) in [(0, true), (most, true), (most + 1, false)] {
        #expect(try isRead(make(count)) == isTaken, "\(count) of \(most)")
      }
    }
    let plain = try report(.init(.token))
    for (index, byte) in [(44, 0), (44, 7)] as [(Int, UInt8)] {
      var changed = plain
      changed[index] = byte
      #expect(!isRead(changed) && (try? AttestationReport.Head(changed)) == nil)
    }
    // The flag of a data hash is 0 or 1, and text is UTF-8.
    let subject = AttestationReport.Subject(.token, userProperty: "u", dataHash: .zero)
    let bytes = try report(subject)
    let flag = 49 + 6 + 2 + 4 + 3 + 3 + 2
    #expect(bytes[flag] == 1 && bytes[flag - 3] == UInt8(ascii: "u"))
    for (index, byte) in [(flag, 2), (flag - 3, 0xFF)] as [(Int, UInt8)] {
      var changed = bytes
      changed[index] = byte
      #expect(!isRead(changed))
    }
  }

  // MARK: ANSWER

  @Test("an answer has the bytes of its table before its tag")
  func answer() throws {
    let world = try World()
    let salt = world.draft.salt
    let string = String(repeating: "s", count: 65_535)
    for (made, body) in [
      (
        AttestationAnswer(to: salt, .rejected),
        [4] + [UInt8](repeating: 0, count: 12) + blob([]) + text("") + text("") + [0, 0]
      ),
      (
        AttestationAnswer(
          to: salt, .done, configSerial: 1, forcedPinsSerial: 2, tokenLifetime: 3, token: "t",
          responseCode: "a", rejectionReasons: "r", secureString: string),
        [1] + [1, 0, 0, 0] + [2, 0, 0, 0] + [3, 0, 0, 0] + blob(Array("t".utf8)) + text("a")
          + text("r") + [1] + text(string) + [0]
      ),
    ] as [(AttestationAnswer, [UInt8])] {
      let bytes = made.bytes(with: world.key)
      #expect(Array(bytes.dropLast(32)) == head(4) + salt.bytes + body)
      #expect(try AttestationAnswer(bytes, to: salt, with: world.key) == made)
    }
    #expect(AttestationAnswer.Outcome.allCases.map(\.rawValue) == [UInt8](1...12))
    #expect(AttestationPurpose.allCases.map(\.rawValue) == [UInt8](1...6))
  }
}
