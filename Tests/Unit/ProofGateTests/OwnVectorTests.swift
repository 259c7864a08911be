// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing
import VectorFiles

@testable import ProofBackend
@testable import ProofGate

extension Block {
  fileprivate func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }

  fileprivate func own() throws -> GateOwnKeys {
    let secret = try GateOwnSecret(
      SecretBytes(copying: bytes("own_secret").span), number: number("number"))
    return try GateOwnKeys(of: GateID(bytes("gate_id")), [secret])
  }

  fileprivate func client() throws -> ChallengeClient {
    let bytes = bytes("client")
    if bytes[0] == 1 { return .app(try GateHandle(Array(bytes.dropFirst()))) }
    let prefix = String(decoding: bytes.dropFirst(), as: UTF8.self)
    return .address(prefix.utf8.contains(UInt8(ascii: ":")) ? prefix + "::1" : prefix)
  }

  fileprivate var place: ChallengePlace {
    ChallengePlace(
      method: text("method"), scheme: text("scheme"), authority: text("authority"),
      target: text("target"))
  }

  fileprivate func subject() throws -> ChallengeSubject {
    try ChallengeSubject(place, body: Digest(bytes("body_digest")), from: client())
  }

  fileprivate func clock() -> SetClock { SetClock(time("now")) }

  fileprivate func challenges() throws -> ChallengeDesk {
    var settings = ChallengeDesk.Settings()
    settings.clock = clock().clock
    return try ChallengeDesk(own(), replay: SharedStore(), settings: settings)
  }

  fileprivate func clearances() throws -> ClearanceDesk {
    var settings = ClearanceDesk.Settings()
    settings.clock = clock().clock
    return try ClearanceDesk(own(), replay: SharedStore(), settings: settings)
  }

  /// Expects the refusal that the block names; `none` for a case that is taken.
  fileprivate func expect(_ refusal: String?) {
    #expect((refusal ?? "none") == self["refusal"], "\(testDescription)")
  }
}

/// The words of the vectors.
private let challengeWords: [ChallengeRefusal: String] = [
  .text: "text", .version: "version", .kind: "kind", .key: "key", .tag: "tag",
  .expired: "expired", .ahead: "ahead", .subject: "subject",
]
private let clearanceWords: [ClearanceRefusal: String] = [
  .text: "text", .kind: "kind", .key: "key", .tag: "tag", .reserved: "reserved",
  .expired: "expired", .ahead: "ahead", .host: "host", .place: "place", .handle: "handle",
]
private let ticketWords: [TicketRefusal: String] = [
  .text: "text", .kind: "kind", .key: "key", .seal: "seal", .mode: "mode", .expired: "expired",
  .superseded: "superseded",
]

/// A challenge whose id, kind and level are a vector's.
private func challenge(_ block: Block, _ kind: ChallengeKind) -> GateChallenge {
  var bytes = block.bytes("id")
  bytes[ChallengeWire.levelAt] = block.number("level")
  #expect(bytes == block.bytes("id"), "The vector's id has another level.")
  return GateChallenge(kind, bytes)
}

/// Vectors that another implementation made from docs/SPEC.md, section 16.
@Suite("Vectors of a gate's own texts")
struct OwnVectorTests {
  private static func copy(_ key: GateKey) -> [UInt8] {
    key.withBytes { unsafe $0.withUnsafeBytes { unsafe Array($0) } }
  }

  @Test("of keys", arguments: Block.read("own.txt", "own_keys"))
  func keys(block: Block) throws {
    let own = try block.own()
    #expect(Self.copy(own[.nonce].active) == block.bytes("nonce_key"))
    #expect(Self.copy(own[.challenge].active) == block.bytes("challenge_key"))
    #expect(Self.copy(own[.clearance].active) == block.bytes("clearance_key"))
    #expect(Self.copy(own[.ticket].active) == block.bytes("ticket_key"))
    let verdicts = own.verdictKeySet(for: block.text("host"))
    #expect(Self.copy(verdicts.active) == block.bytes("verdict_key"))
  }

  @Test("of words on the time", arguments: Block.read("own.txt", "word"))
  func words(block: Block) throws {
    let read = GateNonce(try block.own()[.nonce]).read(Substring(block["text"]))
    #expect(read?.time == block.time("time") && read?.isOfThisStart == false)
  }

  @Test("of challenges", arguments: Block.read("own.txt", "challenge"))
  func challenges(block: Block) throws {
    let challenge = try block.challenges().read(block["text"], for: block.subject())
    #expect(challenge.bytes == block.bytes("id"))
    #expect(challenge.kind.rawValue == block.number("kind") as UInt8)
    #expect(challenge.level == block.number("level") as UInt8)
    #expect(challenge.expiry == block.time("expiry"))
    #expect(challenge.route == block.number("route") as UInt32)
    #expect(challenge.replayKey.bytes == block.bytes("replay_key"))
    let binding = try block.own()[.challenge].active.tag(
      GateChallenge.bindingLabel, block.subject().bytes)
    #expect(binding == block.bytes("binding"))
  }

  @Test("of proofs", arguments: Block.read("work.txt", "gate_proof"))
  func proofs(block: Block) throws {
    let secret = try GateSecret(SecretBytes(copying: block.bytes("secret").span), generation: 1)
    let gate = try GateID(block.bytes("gate_id"))
    let proof = try secret.keys.challengeProof(
      answering: block.bytes("id"), at: gate, for: block.place)
    #expect(proof.bytes == block.bytes("proof"))
    try secret.keys.checkChallengeProof(
      proof, answering: block.bytes("id"), at: gate, for: block.place)
    for bit in 0..<256 {
      var other = proof.bytes
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: ProofError.differs("proof of a challenge")) {
        try secret.keys.checkChallengeProof(
          Digest(other), answering: block.bytes("id"), at: gate, for: block.place)
      }
    }
    #expect(throws: ProofError.self) {
      try secret.keys.challengeProof(answering: [1], at: gate, for: block.place)
    }
    var place = block.place
    place.authority = "API.example.com"
    #expect(throws: ProofError.self) {
      try secret.keys.challengeProof(answering: block.bytes("id"), at: gate, for: place)
    }
  }

  @Test("of solutions", arguments: Block.read("work.txt", "puzzle", "pairing"))
  func solutions(block: Block) throws {
    let kind: ChallengeKind = block["block"] == "puzzle" ? .work : .memoryWork
    let solved = try solve(challenge(block, kind).text).solution
    #expect(solved == Base64.encode(block.bytes("solution"), .url))
  }

  @Test("of clearances", arguments: Block.read("own.txt", "clearance"))
  func clearances(block: Block) throws {
    let client = try block.client()
    var proven: GateHandle?
    if case .app(let handle) = client { proven = handle }
    let clearance = try block.clearances().check(
      ClearanceField(block["text"], in: .header), for: block.text("authority"), proven: proven,
      from: proven == nil ? "192.0.2.1" : "203.0.113.1")
    #expect(clearance.bytes == block.bytes("clearance"))
    #expect(clearance.solved.rawValue == block.number("kinds") as UInt8)
    #expect(clearance.workLevel == block.number("work_level") as UInt8)
    #expect(clearance.memoryWorkLevel == block.number("memory_work_level") as UInt8)
    #expect(clearance.expiry == block.time("expiry"))
    #expect(clearance.serial == block.number("serial") as UInt32)
    #expect(Array(clearance.start) == block.bytes("start"))
    let holder = proven.map { Clearance.Holder.app($0) } ?? .session(block.bytes("holder"))
    #expect(clearance.holder == holder)
    #expect(clearance.replayKey.bytes == block.bytes("replay_key"))
  }

  @Test("of tickets", arguments: Block.read("own.txt", "ticket"))
  func tickets(block: Block) throws {
    let desk = TicketDesk(try block.own())
    let grant = try desk.open(block["text"], mode: .production, at: block.time("now"))
    #expect(desk.ticket(for: grant, nonce: block.bytes("nonce")) == block["text"])
    let body = grant.ticketBody
    let bytes = body.withBytes { unsafe $0.withUnsafeBytes { unsafe Array($0) } }
    #expect(bytes == block.bytes("body"))
  }

  @Test("of verdicts", arguments: Block.read("own.txt", "verdict"))
  func verdicts(block: Block) throws {
    let own = try block.own()
    let reader = GateVerdictReader(
      for: block.text("authority"), keys: own.verdictKeys(for: block.text("authority")))
    let verdict = try reader.check(
      block["text"], method: block.text("method"), target: block.text("target"),
      body: Digest(block.bytes("body_digest")), now: block.time("now"))
    let made = try VerdictDesk(own, for: block.text("authority"))
      .text(of: verdict, method: block.text("method"), target: block.text("target"))
    #expect(made == block["text"])
  }
}

/// Inputs that another implementation says must be refused, and why; and a few that must not.
@Suite("Hostile vectors of a gate's own texts")
struct HostileOwnVectorTests {
  @Test("of challenges", arguments: Block.read("hostile_own.txt", "read_challenge"))
  func challenges(block: Block) throws {
    let (desk, subject) = (try block.challenges(), try block.subject())
    do throws(ChallengeRefusal) {
      _ = try desk.read(block["text"], for: subject)
      block.expect(nil)
    } catch {
      block.expect(challengeWords[error] ?? "another")
    }
  }

  @Test("of clearances", arguments: Block.read("hostile_own.txt", "read_clearance"))
  func clearances(block: Block) throws {
    let desk = try block.clearances()
    let proven = block.bytes("proven")
    guard case .address(let address) = try block.client() else { return }
    do throws(ClearanceRefusal) {
      _ = try desk.check(
        ClearanceField(block["text"], in: block["cookie"] == "1" ? .cookie : .header),
        for: block.text("authority"), proven: try? GateHandle(proven), from: address)
      block.expect(nil)
    } catch {
      block.expect(clearanceWords[error] ?? "another")
    }
  }

  @Test("of tickets", arguments: Block.read("hostile_own.txt", "read_ticket"))
  func tickets(block: Block) throws {
    let desk = TicketDesk(try block.own())
    let mode = try #require(Mode(rawValue: block.number("mode")))
    do throws(TicketRefusal) {
      _ = try desk.open(
        block["text"], mode: mode, floor: block.time("floor"), at: block.time("now"))
      block.expect(nil)
    } catch {
      block.expect(ticketWords[error] ?? "another")
    }
  }

  @Test(
    "of solutions", arguments: Block.read("hostile_work.txt", "check_puzzles", "check_pairings"))
  func solutions(block: Block) throws {
    let isPuzzle = block["block"] == "check_puzzles"
    var bytes = block.bytes("id")
    bytes[ChallengeWire.levelAt] = block.number("level")
    let text = Base64.encode(block.bytes("solution"), .url)
    let level: UInt8 = block.number("level")
    let isSolved =
      isPuzzle
      ? CorePuzzle.isSolved(
        block.bytes("solution"), CorePuzzle.seed(block.bytes("id")), level: level)
      : Int(level) * 42 == block.bytes("solution").count
        && (0..<level).allSatisfy { index in
          let start = Int(index) * 42
          return CorePuzzle.isPaired(
            block.bytes("solution")[start..<start + 42], block.bytes("id"), index: index)
        }
    block.expect(isSolved ? nil : "wrong")
    // A text of another length is no solution either.
    if !isSolved, bytes == block.bytes("id") {
      let kind: ChallengeKind = isPuzzle ? .work : .memoryWork
      let challenge = GateChallenge(kind, bytes)
      #expect(WorkPuzzle(challenge)?.isSolved(by: text) != true)
      #expect(MemoryPuzzle(challenge)?.isSolved(by: text) != true)
    }
  }
}
