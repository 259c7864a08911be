// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

/// An admission, and the parts that a test changes.
private struct Parts {
  var gate: GateID
  var generation: UInt32 = 5
  var life: UInt32 = 3_600
  var token: GateToken
  var accountKey: GateAccountKey?
  var form = GateAdmission.Form.compact
  var headers = GateAdmission.Headers(proof: "x-proof", token: "x-token", digest: "x-digest")
  var freshness: UInt8 = 10
  var hosts = ["b.example.com:8443", "a.example.com"]
  var events: [GateAdmission.Events]

  init() throws {
    gate = try GateID([UInt8](1...16))
    token = try Self.token(hint: [1, 2, 3])
    accountKey = try GateAccountKey(
      SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: 9)
    events = [
      .init(.max ... .max, for: try AudienceID([UInt8](repeating: 2, count: 16)), life: 86_400),
      .init(0...99, for: try AudienceID([UInt8](repeating: 3, count: 16)), life: 1),
    ]
  }

  static func token(hint: [UInt8]) throws -> GateToken {
    try GateToken(Array("PG".utf8) + [1, 1, 1] + hint + [UInt8](repeating: 0xAB, count: 280))
  }

  func made() throws -> GateAdmission {
    try GateAdmission(
      gate: gate, generation: generation, life: life, token: token, accountKey: accountKey,
      form: form, headers: headers, freshness: freshness, hosts: hosts, events: events)
  }

  /// Refused when it is made. The parts are otherwise in order.
  func isRefused() -> Bool { (try? made()) == nil }
}

@Suite("An admission to a gate")
struct GateAdmissionTests {
  /// Written by hand from docs/SERVICE.md, section 9.
  @Test("has the bytes of its table")
  func layout() throws {
    let admission = try Parts().made()
    func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0] + text.utf8 }
    var expected: [UInt8] = [1] + (1...16) + [5, 0, 0, 0] + [0x10, 0x0E, 0, 0]
    expected += Array("PG".utf8) + [1, 1, 1, 1, 2, 3] + [UInt8](repeating: 0xAB, count: 280)
    expected += [9] + [UInt8](repeating: 7, count: 32) + [2, 10]
    expected += text("x-proof") + text("x-token") + text("x-digest")
    expected += [2] + text("a.example.com") + text("b.example.com:8443")
    expected += [2, 0] + [0, 0, 99, 0] + [UInt8](repeating: 3, count: 16) + [1, 0, 0, 0]
    expected += [255, 255, 255, 255] + [UInt8](repeating: 2, count: 16) + [0x80, 0x51, 1, 0]
    #expect(admission.bytes == expected)
    let read = try GateAdmission(expected)
    #expect(read == admission && read.hosts == ["a.example.com", "b.example.com:8443"])
    #expect(read.headers == admission.headers && read.accountKey?.number == 9)
    #expect(read.form == .compact && read.freshness == 10 && read.life == 3_600)
  }

  @Test("without account key, digest header and events is the shortest")
  func shortest() throws {
    var parts = try Parts()
    parts.accountKey = nil
    parts.headers = .init()
    parts.events = []
    parts.hosts = ["a"]
    let admission = try parts.made()
    #expect(admission.bytes.count == 344)
    let read = try GateAdmission(admission.bytes)
    #expect(read == admission && read.accountKey == nil && read.headers.digest == nil)
    #expect(read.headers.proof == "proof" && read.headers.token == "proof-token")
  }

  @Test("names hosts with a hyphen, and addresses with a port")
  func hosts() throws {
    var parts = try Parts()
    parts.hosts = ["127.0.0.1:8443", "[::1]:8443", "my-api.example.com", "xn--bcher-kva.example"]
    #expect(try GateAdmission(parts.made().bytes).hosts == parts.hosts)
    for host in ["a_b", "a b", "a/b", "A", "a@b"] {
      parts.hosts = [host]
      #expect(parts.isRefused(), "\(host)")
    }
  }

  @Test("finds an event by its number and a host by its bytes")
  func lookup() throws {
    let admission = try Parts().made()
    #expect(admission.events(of: 0)?.life == 1 && admission.events(of: 99)?.life == 1)
    #expect(admission.events(of: 100) == nil && admission.events(of: .max)?.life == 86_400)
    #expect(admission.covers("a.example.com") && !admission.covers("A.example.com"))
    #expect(!admission.covers("example.com") && !admission.covers("b.example.com"))
    #expect(admission.covers("b.example.com:8443"))
  }

  @Test("is not made with a part that the table does not allow")
  func ranges() throws {
    let good = try Parts()
    #expect(!good.isRefused())
    let audience = try AudienceID([UInt8](repeating: 3, count: 16))
    let changes: [(inout Parts) -> Void] = [
      { $0.generation = 0 }, { $0.generation = .max }, { $0.life = 0 }, { $0.life = 86_401 },
      { $0.freshness = 11 }, { $0.headers.proof = "" }, { $0.headers.proof = "Proof" },
      { $0.headers.token = "a:b" }, { $0.headers.token = String(repeating: "a", count: 65) },
      { $0.headers.digest = "a b" }, { $0.headers.token = $0.headers.proof },
      { $0.headers.digest = $0.headers.token }, { $0.headers.digest = "" }, { $0.hosts = [] },
      { $0.hosts = ["a", "a"] }, { $0.hosts = ["A"] }, { $0.hosts = ["a/b"] }, { $0.hosts = [""] },
      { $0.hosts = [String(repeating: "a", count: 254)] },
      { $0.hosts = (0...64).map { "h\($0)" } },
      { $0.events = [.init(1...5, for: audience, life: 0)] },
      { $0.events = [.init(1...5, for: audience, life: 86_401)] },
      { $0.events = [.init(1...5, for: audience, life: 9), .init(5...6, for: audience, life: 9)] },
      { $0.events = (0...256).map { .init($0...$0, for: audience, life: 9) } },
      { $0.token = try! Parts.token(hint: [1, 2, 4]) },
    ]
    for (index, change) in changes.enumerated() {
      var parts = good
      change(&parts)
      #expect(parts.isRefused(), "change \(index)")
    }
  }

  @Test("is made and read with each part at its bounds")
  func bounds() throws {
    let audience = try AudienceID([UInt8](repeating: 3, count: 16))
    let long = String(repeating: "a", count: 64)
    let changes: [(inout Parts) -> Void] = [
      { $0.generation = 1 }, { $0.generation = .max - 1 }, { $0.life = 1 }, { $0.life = 86_400 },
      { $0.freshness = 0 }, { $0.freshness = 10 }, { $0.form = .standard }, { $0.form = .body },
      { $0.headers.proof = "a" }, { $0.headers.proof = long }, { $0.headers.token = long },
      { $0.headers.digest = long }, { $0.headers.digest = nil },
      { $0.headers.token = "azAZ09!#$%&'*+-.^_`|~".lowercased() }, { $0.hosts = ["a"] },
      { $0.hosts = [String(repeating: "a", count: 253)] }, { $0.hosts = ["az09-.:[]"] },
      { $0.hosts = (0...63).map { "h\($0)" } }, { $0.events = [] }, { $0.accountKey = nil },
      { $0.events = (0...255).map { .init($0...$0, for: audience, life: 9) } },
      { $0.events = [.init(1...5, for: audience, life: 1), .init(6...6, for: audience, life: 1)] },
    ]
    for (index, change) in changes.enumerated() {
      var parts = try Parts()
      change(&parts)
      let made = try parts.made()
      let read = try GateAdmission(made.bytes)
      #expect(read == made && read.bytes == made.bytes, "change \(index)")
      #expect(read.generation == parts.generation && read.life == parts.life)
      #expect(read.form == parts.form && read.headers == parts.headers)
      #expect(read.freshness == parts.freshness && Set(read.hosts) == Set(parts.hosts))
      #expect(read.events.count == parts.events.count && read.gate == parts.gate)
      #expect((read.accountKey == nil) == (parts.accountKey == nil))
    }
    #expect(GateAdmission.lives == 1...86_400 && GateAdmission.freshnesses == 0...10)
    #expect(GateAdmission.hostCountMax == 64 && GateAdmission.eventCountMax == 256)
    #expect(GateAdmission.headerMax == 64 && GateAdmission.hostMax == 253)
    #expect(GateAdmission.byteCountMax == 32_768)
    #expect(throws: ProofError.malformed("gate admission", byteCount: 32_769)) {
      try GateAdmission([UInt8](repeating: 1, count: 32_769))
    }
  }

  @Test("is refused with the field, its value and the values allowed")
  func reasons() throws {
    let audience = try AudienceID([UInt8](repeating: 3, count: 16))
    let name = "1 to 64 characters: lower-case letters, digits and !#$%&'*+-.^_`|~"
    let host = "1 to 253 characters such as api.example.com"
    let changes: [((inout Parts) -> Void, String, String, String)] = [
      ({ $0.generation = 0 }, "generation", "0", "1 to 4294967294"),
      ({ $0.life = 86_401 }, "life of a gate token", "86401", "1 to 86400"),
      ({ $0.freshness = 11 }, "freshness", "11", "0 to 10"),
      ({ $0.headers.proof = "P" }, "header field", "P", name),
      (
        { $0.headers.proof = String(repeating: "a", count: 90) }, "header field",
        String(repeating: "a", count: 80), name
      ),
      (
        { $0.headers.digest = "x-token" }, "header fields", "x-proof, x-token, x-token",
        "each name once"
      ),
      ({ $0.hosts = [] }, "number of hosts", "0", "1 to 64"),
      ({ $0.hosts = ["A"] }, "host", "A", host),
      (
        { $0.hosts = [String(repeating: "a", count: 254)] }, "host",
        String(repeating: "a", count: 80), host
      ),
      ({ $0.hosts = ["b", "a", "b"] }, "host", "b", "each once, in ascending order"),
      (
        { $0.events = (0...256).map { .init($0...$0, for: audience, life: 9) } },
        "number of event ranges", "257", "0 to 256"
      ),
      (
        { $0.events = [.init(1...5, for: audience, life: 0)] }, "life of an event", "0",
        "1 to 86400"
      ),
      (
        {
          $0.events = [
            .init(1...5, for: audience, life: 9), .init(5...6, for: audience, life: 9),
          ]
        }, "event", "5", "each number once, in ascending order"
      ),
    ]
    for (change, field, value, allowed) in changes {
      var parts = try Parts()
      change(&parts)
      #expect(throws: ProofError.outOfRange(field: field, value: value, allowed: allowed)) {
        try parts.made()
      }
    }
    for hint: [UInt8] in [[2, 2, 3], [1, 3, 3], [1, 2, 4]] {
      var parts = try Parts()
      parts.token = try Parts.token(hint: hint)
      #expect(throws: ProofError.differs("gate of the token")) { try parts.made() }
    }
  }

  @Test("is read in one order only, and whole")
  func order() throws {
    let admission = try Parts().made()
    let bytes = admission.bytes
    for count in bytes.indices {
      #expect(throws: ProofError.malformed("gate admission", byteCount: count)) {
        try GateAdmission(Array(bytes[..<count]))
      }
    }
    #expect(throws: ProofError.self) { try GateAdmission(bytes + [0]) }
    // Two events in the other order, and two hosts.
    let events = bytes.count - 48
    let swapped = bytes[..<events] + bytes[(events + 24)...] + bytes[events..<(events + 24)]
    #expect(throws: ProofError.malformed("gate admission", byteCount: bytes.count)) {
      try GateAdmission(Array(swapped))
    }
    let hosts = events - 2 - 35
    let crossed =
      bytes[..<hosts] + bytes[(hosts + 15)..<(hosts + 35)] + bytes[hosts..<(hosts + 15)]
      + bytes[(events - 2)...]
    #expect(crossed.count == bytes.count)
    #expect(throws: ProofError.malformed("gate admission", byteCount: bytes.count)) {
      try GateAdmission(Array(crossed))
    }
    var newer = bytes
    newer[0] = 2
    #expect(throws: ProofError.tooNew("gate admission")) { try GateAdmission(newer) }
  }

  @Test("that is read has one encoding, whatever is changed in it")
  func fuzz() throws {
    var generator = SeededGenerator(seed: 17)
    let bytes = try Parts().made().bytes
    var taken = 0
    for _ in 0..<20_000 {
      var mutant = bytes
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
          let index = Int.random(in: mutant.indices, using: &generator)
          mutant[index] = .random(in: .min ... .max, using: &generator)
        case 1: mutant.removeLast(Int.random(in: 0..<40, using: &generator))
        case 2: mutant.append(.random(in: 0...2, using: &generator))
        default:
          let index = Int.random(in: 313..<bytes.count, using: &generator)
          if mutant.indices.contains(index) { mutant.remove(at: index) }
        }
      }
      guard let read = try? GateAdmission(mutant) else { continue }
      #expect(read.bytes == mutant)
      taken += 1
    }
    #expect(taken > 0, "some mutants parse, or nothing was tried")
  }

  @Test("says nothing of its account key")
  func secrecy() throws {
    let admission = try Parts().made()
    let texts = ["\(admission)", String(reflecting: admission)]
    #expect(
      texts[0] == "gate admission: gate \(admission.gate), generation 5, 3600 s, 2 hosts, "
        + "2 event ranges")
    #expect(Mirror(reflecting: admission).children.map(\.label) == ["description"])
    for text in texts {
      #expect(text.contains("generation 5") && !text.contains("0707") && !text.contains("7, 7"))
    }
  }

  @Test("comes with an answer that only the service of this key, for this salt, can give")
  func answer() throws {
    let world = try World()
    let salt = world.draft.salt
    let admission = try Parts().made()
    let answer = AttestationAnswer(
      to: salt, .done, responseCode: "ABCDEFGHIJ", admission: admission)
    let bytes = answer.bytes(with: world.key)
    let read = try AttestationAnswer(bytes, to: salt, with: world.key)
    #expect(read == answer && read.admission == admission && bytes[2] == 2)
    for index in bytes.indices {
      #expect(throws: ProofError.self, "byte \(index)") {
        try AttestationAnswer(
          flipped(bytes, bit: 8 * index + index % 8), to: salt, with: world.key)
      }
    }
    #expect(AttestationAnswer(to: salt, .done).bytes(with: world.key)[2] == 1)
    // Under a good tag, too, only an answer that is done has an admission.
    let other = AttestationAnswer(to: salt, .noGate, admission: admission).bytes(with: world.key)
    #expect(throws: ProofError.malformed("attestation answer", byteCount: other.count)) {
      try AttestationAnswer(other, to: salt, with: world.key)
    }
  }

  @Test("is asked for by the name of a host, which no other question has")
  func question() throws {
    let world = try World()
    for purpose in AttestationPurpose.allCases {
      for hasKey in [false, true] {
        let question = AttestationQuestion(
          keyID: world.key.id, device: InstanceID(of: world.evidence, account: "acme"),
          purpose: purpose, configSerial: 1, account: "acme", sdkVersion: "1",
          host: "api.example.com", hasKey: hasKey)
        #expect(question.host == (purpose == .gate ? "api.example.com" : ""))
        let read = try AttestationQuestion(question.bytes)
        #expect(read == question && read.host == question.host)
        for count in question.bytes.indices {
          #expect(throws: ProofError.self) {
            try AttestationQuestion(Array(question.bytes[..<count]))
          }
        }
      }
    }
  }
}
