// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// Bounds that hold for a whole message, and small values, with the numbers written out.
@Suite("Reading, at its bounds")
struct ReadingBoundTests {
  /// A message that is too long is malformed. One of this length is read, and found to be too new.
  @Test("a message has up to 1,048,576 bytes, and an admission up to 32,768")
  func messages() {
    func bytes(_ head: [UInt8], _ count: Int) -> [UInt8] {
      head + [UInt8](repeating: 0, count: count - head.count)
    }
    let head = Array("PA".utf8) + [9, 1]
    #expect(throws: ProofError.tooNew("attestation question")) {
      try AttestationQuestion(bytes(head, 1_048_576))
    }
    #expect(throws: ProofError.malformed("attestation question", byteCount: 1_048_577)) {
      try AttestationQuestion(bytes(head, 1_048_577))
    }
    #expect(throws: ProofError.tooNew("gate admission")) { try GateAdmission(bytes([2], 32_768)) }
    #expect(throws: ProofError.malformed("gate admission", byteCount: 32_769)) {
      try GateAdmission(bytes([2], 32_769))
    }
  }

  @Test("a set has up to 65,536 records")
  func records() throws {
    var bytes: [UInt8] = [0, 0, 1, 0]
    for number in 0..<65_536 { bytes += [2, 2, 0, 2, UInt8(number >> 8), UInt8(number & 255)] }
    let set = try EvidenceSet(recordBytes: bytes)
    #expect(set.records.count == 65_536 && set.records.last?.name == [255, 255])
    let more = [1] + bytes.dropFirst() + [3, 1, 0, 1, 0x61]
    #expect(throws: ProofError.malformed("records", byteCount: more.count)) {
      try EvidenceSet(recordBytes: more)
    }
  }

  /// docs/SPEC.md, sections 8, 9 and 15: the first four bytes of each document.
  @Test("a document has its length, its magic, and a version and a suite that are known")
  func documents() throws {
    let world = try World()
    let order = try Order(.floor(.random()), issued: 1).signed(by: world.issuer).bytes
    let gate = Array("PG".utf8) + [1, 1] + [UInt8](repeating: 7, count: 284)
    let token = try world.token(world.grant()).bytes
    let kinds: [(String, [UInt8], ([UInt8]) throws -> Void)] = [
      ("order", order, { _ = try SignedOrder($0) }),
      ("gate token", gate, { _ = try GateToken($0) }),
      ("measurement token", token, { _ = try MeasurementToken($0) }),
    ]
    for (noun, bytes, read) in kinds {
      try read(bytes)
      for other in [
        Array(bytes.dropLast()), bytes + [0], flipped(bytes, bit: 0), flipped(bytes, bit: 8),
      ] {
        #expect(throws: ProofError.malformed(noun, byteCount: other.count)) { try read(other) }
      }
      for version in UInt8.min ... .max {
        for suite in UInt8(0)...4 {
          var other = bytes
          (other[2], other[3]) = (version, suite)
          let isSecond = noun == "measurement token" && version == 2
          let isKnown = suite == 1 && (version == 1 || isSecond) || suite == 2 && isSecond
          if isKnown {
            try read(other)
          } else {
            #expect(throws: ProofError.tooNew(noun), "\(version) \(suite)") { try read(other) }
          }
        }
      }
    }
  }

  private func refused(_ field: String, _ value: String, _ allowed: String) -> ProofError {
    .outOfRange(field: field, value: value, allowed: allowed)
  }

  /// docs/SPEC.md, section 2.
  @Test("a baseline's draft and its sources are refused with field, value and allowed values")
  func drafts() throws {
    func draft(_ sources: [Source], generation: UInt32 = 1, limit: UInt8 = 33) throws {
      _ = try BaselineDraft(
        salt: .random(), sources: sources, generation: generation, limitLog2: limit)
    }
    let device = try Source(SourceID(.device, 1), groupsLog2: 6)
    let apps = try (1...24).map { try Source(SourceID(.app, UInt8($0))) }
    let wide = try Source(SourceID(.app, 30), groupsLog2: 6)
    let plain = try Source(SourceID(.device, 1))
    try draft([device, wide])
    try draft([plain] + apps.dropLast())
    for (generation, limit) in [(1, 16), (UInt32.max - 1, 50)] as [(UInt32, UInt8)] {
      try draft([device, wide], generation: generation, limit: limit)
    }
    let classes = "at least one source of each of these two classes"
    let wrong: [(ProofError, () throws -> Void)] = [
      (refused("number of sources", "0", "1 to 24"), { try draft([]) }),
      (refused("number of sources", "25", "1 to 24"), { try draft([plain] + apps) }),
      (
        refused("number of groups of all sources", "129", "at most 128"),
        { try draft([device, wide, apps[0]]) }
      ),
      (
        refused("list of sources", "one with a source twice", "each source once"),
        { try draft([plain, apps[0], apps[0]]) }
      ),
      (
        refused("list of sources", "one without device or app sources", classes),
        { try draft([plain]) }
      ),
      (
        refused("generation", "0", "1 to 4294967294"), { try draft([device, wide], generation: 0) }
      ),
      (
        refused("generation", "4294967295", "1 to 4294967294"),
        { try draft([device, wide], generation: .max) }
      ),
      (
        refused("limit on bytes read", "2^15", "2^16 to 2^50"),
        { try draft([device, wide], limit: 15) }
      ),
      (
        refused("limit on bytes read", "2^51", "2^16 to 2^50"),
        { try draft([device, wide], limit: 51) }
      ),
      (
        refused("version of source app 1", "0", "1 to 255"),
        { _ = try Source(SourceID(.app, 1), version: 0) }
      ),
      (
        refused("groups of source app 1", "2^7", "2^0 to 2^6"),
        { _ = try Source(SourceID(.app, 1), groupsLog2: 7) }
      ),
    ]
    for (error, make) in wrong { #expect(throws: error) { try make() } }
  }

  @Test("hardware, packets and classes are refused with field, value and allowed values")
  func hardware() throws {
    let world = try World()
    func keys(_ issuers: Int = 1, seconds: UInt16? = nil, factory: HardwareID? = nil) throws {
      let id = world.hardware.identity.id
      _ = try HardwareKeys(
        id: id, secretKey: secret(3, 32), mode: .production,
        issuers: Array(repeating: world.issuer.publicKey, count: issuers),
        challengeSeconds: seconds,
        factory: factory.map { try FactorySecret(of: $0, drawn: secret(1, 32)) })
    }
    for (issuers, seconds) in [(1, nil), (4, 1), (1, .max)] as [(Int, UInt16?)] {
      try keys(issuers, seconds: seconds)
    }
    try keys(factory: world.hardware.identity.id)
    #expect(throws: ProofError.notForThisHardware("factory secret")) {
      try keys(factory: .random())
    }
    for count in [0, 5] {
      #expect(throws: refused("number of issuers", "\(count)", "1 to 4")) { try keys(count) }
      #expect(throws: refused("number of issuers", "\(count)", "1 to 4")) {
        try GateIdentity(
          id: .random(), keys: [.init(secret(3, 32), number: 1)],
          issuers: Array(repeating: world.issuer.publicKey, count: count), mode: .production)
      }
    }
    #expect(throws: refused("life of a challenge", "0 seconds", "1 to 65535, or nil")) {
      try keys(seconds: 0)
    }
    for size in [19, 515] {
      #expect(throws: refused("packet size", "\(size)", "20 to 514")) {
        try Message.askForStatus.packets(of: size)
      }
    }
    #expect(throws: refused("command class", "16", "0 to 15")) { try CommandClass(UInt8(16)) }
  }

  @Test("parts of a log have 64 to 352 bytes, a reader takes 1,048,576 steps, a slab 65,536 bytes")
  func sizes() {
    #expect(HardwareLogPart.byteCounts == 64...352)
    #expect(HardwareLogReader.stepsMax == 1_048_576)
    #expect(SecretPool.slabByteCount == 65_536)
  }

  @Test("an error tells one length alone, and a range by its ends")
  func lengths() {
    for (range, text) in [(0...0, "0"), (32...32, "32"), (1...2, "1 to 2"), (0...256, "0 to 256")] {
      let error = ProofError.wrongLength(of: "thing", expected: range, actual: 7)
      #expect("\(error)" == "The thing has 7 bytes; it must have \(text).")
    }
  }

  @Test("a signature of another length than 64 bytes is none, by key and by issuer")
  func signatures() throws {
    let world = try World()
    let message: [UInt8] = [1, 2, 3]
    let signature = CoreCrypto.sign(message.span, with: world.issuer)
    try CoreCrypto.verify(signature.span, of: message.span, by: world.issuer.publicKey)
    for other in [[], Array(signature.dropLast()), signature + [0]] {
      #expect(throws: ProofError.notSigned("message"), "\(other.count)") {
        try CoreCrypto.verify(other.span, of: message.span, by: world.issuer.publicKey)
      }
      #expect(throws: ProofError.notSigned("message"), "\(other.count)") {
        try CoreCrypto.verify(
          other.span, of: message.span, by: world.issuer.id, trustedBy: world.hardware)
      }
    }
  }
}

@Suite("Values, byte by byte")
struct SmallValueTests {
  /// Gives the words that it was made with.
  private struct Words: RandomNumberGenerator {
    var words: [UInt64]
    mutating func next() -> UInt64 { words.removeFirst() }
  }

  @Test("random bytes are those of the generator's words, the least significant first")
  func random() {
    var words = Words(words: [0x0807_0605_0403_0201, 0x100F_0E0D_0C0B_0A09, 7])
    #expect(Salt.random(using: &words).bytes == [UInt8](1...16))
    #expect(words.words == [7])
  }

  @Test("a name shows visible ASCII as it is, and each other byte with two digits")
  func names() throws {
    let name: [UInt8] = [
      0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7E, 0x7F, 0, 0x0F, 0x10, 0x80, 0xFF,
    ]
    let record = try EvidenceRecord(SourceID(.app, 1), name: name, digest: nil)
    #expect(
      EvidenceName(record).description
        == #"app 1 "\x1f !\x22#[\x5c]~\x7f\x00\x0f\x10\x80\xff""#)
  }

  @Test("each character is a hexadecimal digit of its value, or none")
  func hexadecimal() {
    for byte in UInt8(0)..<0x80 {
      let character = String(Unicode.Scalar(byte))
      let value = Array("0123456789abcdef").firstIndex(of: Character(character.lowercased()))
      let bytes = value.map { [UInt8($0 << 4), UInt8($0)] }
      #expect(Hexadecimal.decode("\(character)00\(character)") == bytes, "\(byte)")
    }
    for byte in UInt8.min ... .max {
      let digits = String(byte, radix: 16)
      #expect(Hexadecimal.encode([byte]) == (byte < 16 ? "0" : "") + digits)
    }
  }

  @Test("a lock is free unless it is held, and again after its body threw")
  func locks() {
    let lock = CoreLock(7)
    #expect(lock.withLockIfFree { $0 } == 7)
    let held: Int? = lock.withLock { _ in lock.withLockIfFree { $0 } }
    #expect(held == nil)
    #expect(throws: ProofError.storageFailed) {
      try lock.withLock { _ throws(ProofError) in throw .storageFailed }
    }
    #expect(throws: ProofError.storageFailed) {
      try lock.withLockIfFree { _ throws(ProofError) in throw .storageFailed }
    }
    #expect(lock.withLockIfFree { $0 } == 7 && lock.withLock { $0 } == 7)
  }

  @Test("beacons, gate keys and compact tokens are equal if each of their parts is")
  func equality() throws {
    let gate = GateID.random()
    let keys = try (1...2).map { try BeaconKey(from: secret(UInt8($0), 32), number: 1, of: gate) }
    let beacons = try [(0, 300), (0, 600), (1, 300)].map { key, time in
      try Beacon(header: keys[key].header(at: UnixTime(seconds: Int64(time))))
    }
    #expect(beacons[0].interval == beacons[2].interval && beacons[0].interval == 1)
    #expect(Set(beacons).count == 3 && beacons[1].interval == 2)
    #expect(try Beacon(header: beacons[0].header) == beacons[0])
    let points = try [(1, 1), (1, 2), (2, 1)].map { byte, number in
      try GatePublicKey([UInt8](repeating: UInt8(byte), count: 32), number: UInt8(number))
    }
    #expect(Set(points + points).count == 3)
    let installation = try GateSecret.random(generation: 1)
    let subject = CompactSubject.body(Digest(hashing: [1]))
    let tokens = try [(1, 1), (1, 2), (2, 1)].map { created, start in
      let draft = CompactDraft(
        created: UnixTime(seconds: Int64(created)), start: UInt32(start), count: 1, measured: 0)
      let text = try draft.text(for: subject, with: installation.keys.compact)
      let token = try CompactToken(checking: text, for: subject, with: installation.keys.compact)
      #expect(
        try token == CompactToken(checking: text, for: subject, with: installation.keys.compact))
      return token
    }
    #expect(tokens[0] != tokens[1] && tokens[0] != tokens[2] && tokens[1] != tokens[2])
  }

  @Test("a step of a puzzle has 100,000 tries unless its caller says otherwise")
  func tries() throws {
    let id = [1 << 4 | 7, 1, 24, 0] + [UInt8](repeating: 7, count: 56)
    var solver = try WorkSolver(Base64.encode(id, .url), puzzleLevelMax: 24)
    var problem = solver.problem(1)
    #expect(solver.step() == nil && solver.hashes == 100_000)
    guard case .more = problem.step() else {
      Issue.record("solved by 100,000 tries of 2^24")
      return
    }
    #expect(problem.hashes == 100_000)
  }
}
