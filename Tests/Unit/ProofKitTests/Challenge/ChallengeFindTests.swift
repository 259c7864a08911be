// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofKit

@Suite("A challenge in an answer of another HTTP client")
struct ChallengeFindTests {
  static let id = challengeID(7, level: 12)
  static let body = Array(#"{"status":428,"title":"x","challenge":"\#(id)"}"#.utf8)

  @Test("the header field counts with any status, and says what is asked")
  func header() throws {
    for status in [200, 204, 302, 401, 428, 503] {
      let response = Response(status: status, fields: [HeaderField("PROOF-Challenge", Self.id)])
      let challenge = try #require(try GateClient.challenge(in: response))
      #expect(challenge.id == Self.id && challenge.kind == .work && challenge.level == 12)
      #expect(challenge.expiry == 0x0707_0707 && !challenge.needsPerson)
    }
    #expect(throws: GateError.challenge(.malformed(reason: "it is given twice"))) {
      let field = HeaderField("Proof-Challenge", Self.id)
      _ = try GateClient.challenge(in: Response(status: 428, fields: [field, field]))
    }
  }

  @Test("merged cookies and the body of the refusal count, for a client that hands on no more")
  func cookiesAndBody() throws {
    for cookies in [
      "proof-challenge=\(Self.id);", "a=b; proof-challenge=\(Self.id)",
      "a;b=;proof-challenge=\(Self.id);c=d",
    ] {
      #expect(try GateClient.challenge(cookies: cookies)?.id == Self.id)
    }
    #expect(try GateClient.challenge(body: Self.body)?.id == Self.id)
  }

  @Test("ordinary answers ask for nothing")
  func ordinary() throws {
    for cookies in [
      "", ";", "=", "proof-challenge", "proof-challenge=", "xproof-challenge=\(Self.id)",
      "proof-challenge=\(Self.id)A", "PROOF-CHALLENGE=\(Self.id)", "a=proof-challenge=\(Self.id)",
      String(repeating: "a=b;", count: 5000) + "proof-challenge=\(Self.id)",
    ] {
      #expect(try GateClient.challenge(cookies: cookies) == nil)
    }
    let id = Self.id
    for body in [
      "", "null", "428", "[]", id, "\"\(id)\"", #"{"challenge":"\#(id)"}"#,
      #"{"status":"428","challenge":"\#(id)"}"#, #"{"status":428,"challenge":["\#(id)"]}"#,
      #"{"status":428.5,"challenge":"\#(id)"}"#, #"{"status":200,"challenge":"\#(id)"}"#,
      #"{"status":428,"challenge":"\#(id)"} "# + String(repeating: " ", count: 4096),
      #"[{"status":428,"challenge":"\#(id)"}]"#, #"{"status":428,"challenge":"\#(id)"}{}"#,
    ] {
      #expect(try GateClient.challenge(body: Array(body.utf8)) == nil, "\(body)")
    }
    let large = [UInt8](repeating: 0x7B, count: 1 << 24)
    #expect(try GateClient.challenge(body: large) == nil)
  }
}

@Suite("Challenges, mutated")
struct ChallengeFuzzTests {
  @Test("a mutated id is refused or is one of the right form")
  func ids() {
    var mutator = Mutator("challenge id")
    let corpus =
      [5, 6, 9].map { challengeID($0) } + [challengeID(7, level: 3), challengeID(8, level: 2)]
    var taken = 0
    for _ in 0..<20 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: corpus.map { Array($0.utf8) }), as: UTF8.self)
      guard let challenge = try? GateClient.Challenge(text) else { continue }
      #expect(challenge.id == text && text.utf8.count == 80)
      // The solver takes any id or names the reason.
      _ = try? WorkThreads(challenge, ChallengeSettings())
      taken += 1
    }
    #expect(taken > 0)
  }

  @Test("mutated bodies and cookies never ask for anything but a whole id")
  func bodies() throws {
    var mutator = Mutator("challenge body")
    let ordinary = [
      Array(#"{"status":200,"items":[1,2,{"a":"b"}]}"#.utf8), Array("<html></html>".utf8),
      Array("a=b; path=/; c=d".utf8),
    ]
    for _ in 0..<20 * Mutator.rounds {
      let bytes = mutator.mutant(of: ordinary)
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(try GateClient.challenge(cookies: text, body: bytes) == nil)
    }
    let telling = [
      ChallengeFindTests.body, Array("proof-challenge=\(ChallengeFindTests.id);".utf8),
    ]
    for _ in 0..<20 * Mutator.rounds {
      let bytes = mutator.mutant(of: telling)
      let text = String(decoding: bytes, as: UTF8.self)
      guard let found = try GateClient.challenge(cookies: text, body: bytes) else { continue }
      #expect(found.id.utf8.count == 80 && found.bytes.count == 60)
    }
  }
}
