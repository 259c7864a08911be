// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofKit

@Suite("A gate session at its bounds")
struct GateBoundTests {
  private static func header(_ time: UnixTime, key number: UInt8 = 1) throws -> String {
    try BeaconKey(
      from: SecretBytes(copying: [UInt8](repeating: number, count: 32).span), number: number,
      of: GateID([UInt8](repeating: 1, count: 16))
    ).header(at: time)
  }

  @Test("a beacon is taken from the first interval on, if its interval is newer than the held one")
  func beacons() throws {
    let stage = try GateStage()
    let sent = try stage.session.guarded(stage.request)
    func held(after header: String) -> String? {
      stage.session.note(
        Response(status: 200, fields: [HeaderField("Proof-Time", header)]), to: sent)
      return stage.session.state.withLock { $0.beacon?.header }
    }
    let (zero, one) = (try Self.header(299), try Self.header(300))
    #expect(held(after: zero) == nil)
    #expect(held(after: one) == one)
    #expect(try held(after: Self.header(599, key: 2)) == one)
    let two = try Self.header(600, key: 2)
    #expect(held(after: two) == two)
  }

  @Test("keys that the account does not let live are not kept")
  func freshness() throws {
    for (seconds, isKept) in [(0, false), (1, true)] as [(UInt8, Bool)] {
      let stage = try GateStage { $0.freshness = seconds }
      _ = try stage.session.guarded(stage.request)
      #expect(stage.session.state.withLock { $0.keyring != nil } == isKept)
    }
  }

  @Test("a gate's name on this machine is asked in the clear only where that was allowed")
  func schemes() throws {
    for (host, isAllowed, scheme) in [
      ("localhost:8080", false, RequestHead.Scheme.https), ("localhost:8080", true, .http),
      ("127.0.0.1:8080", true, .http), ("127.0.0.2:8080", true, .https),
      ("api.example.com", true, .https),
    ] {
      let stage = try GateStage(
        isStarted: false, host: host, allowsPlainLoopback: isAllowed)
      #expect(stage.session.scheme == scheme, "\(host)")
    }
  }
}

@Suite("A challenge and what is held already")
struct ChallengeHeldTests {
  /// A clearance for work up to this level, or for a person.
  private func text(_ stage: GateStage, kinds: UInt8, level: UInt8, filler: UInt8) throws -> String
  {
    let own = try #require(stage.session.state.withLock { $0.held?.admitted.handle.bytes })
    let expiry = UInt32(clamping: (stage.time.now + 900).seconds)
    var bytes: [UInt8] = [0x1A, 1, kinds, level, 1, 0]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: expiry >> ($0 * 8)) }
    bytes += [UInt8](repeating: 0, count: 8)
    bytes += Digest(hashing: Array("pfc1.host.......api.example.com".utf8)).bytes.prefix(16)
    return Base64.encode(bytes + own + [UInt8](repeating: filler, count: 16), .url)
  }

  /// How many answers and clearances each request of one call has, where `first` is held before it
  /// and `second` comes while its first request is on its way.
  private func sent(_ first: (UInt8, UInt8)?, _ second: (UInt8, UInt8)?) throws -> [[Int]] {
    let stage = try GateStage()
    let session = stage.session
    if let first {
      let held = try text(stage, kinds: first.0, level: first.1, filler: 5)
      #expect(session.take(clearance: held, for: "api.example.com"))
    }
    let later = try second.map { try text(stage, kinds: $0.0, level: $0.1, filler: 6) }
    let api = ScriptedAPI { request, number in
      if number == 1, let later { _ = session.take(clearance: later, for: "api.example.com") }
      let isServed = later != nil && request.values(of: "proof-clearance") == [later ?? ""]
      let isAnswered = !request.values(of: "proof-answer").isEmpty
      return (isServed && second?.1 == 9) || isAnswered
        ? TransportResponse(status: 200, body: []) : challenged(challengeID(7, level: 2))
    }
    let client = GateClient(session, over: api)
    #expect(try client.performAndWait(stage.request).status == 200)
    return api.sent.map { request in
      ["proof-answer", "proof-clearance"].map { request.values(of: $0).count }
    }
  }

  @Test(
    "is answered at once, unless a clearance came that the request did not have and that serves")
  func newer() throws {
    #expect(try sent(nil, nil) == [[0, 0], [1, 0]])
    // The gate does not take the clearance that it was sent.
    #expect(try sent((4, 9), nil) == [[0, 1], [1, 1]])
    // Another one came meanwhile, for a level below, or for a person alone.
    #expect(try sent(nil, (4, 1)) == [[0, 0], [1, 1]])
    #expect(try sent((4, 9), (16, 0)) == [[0, 1], [1, 1]])
    // Another one came meanwhile that serves.
    #expect(try sent(nil, (4, 9)) == [[0, 0], [0, 1]])
    #expect(try sent((4, 1), (4, 9)) == [[0, 1], [0, 1]])
  }

  @Test("is not worked on once the time of the call is over, to the end itself")
  func time() throws {
    let stage = try GateStage()
    let client = GateClient(stage.session)
    let challenge = try GateClient.Challenge(challengeID(7, level: 1))
    #expect(throws: GateError.timedOut) {
      try client.answerAndWait(to: challenge, for: stage.request, within: .zero)
    }
    let fields = try client.answerAndWait(
      to: challenge, for: stage.request, within: .nanoseconds(1))
    #expect(fields.map(\.name) == ["proof-challenge", "proof-answer"])
  }
}

@Suite("A client with a ticket that no node takes")
struct TicketClientTests {
  /// Base64url of a ticket's head and of zeros.
  private static let ticket = "GwEAAA" + String(repeating: "A", count: 250)

  @Test("sends the token twice after the ticket, in one call")
  func refusals() throws {
    for (count, isTaken) in [(3, true), (4, false)] {
      let stage = try GateStage()
      let api = ScriptedAPI { _, number in
        if number == 1 {
          let field = HeaderField("Proof-Ticket", Self.ticket)
          return TransportResponse(status: 200, body: [], fields: [field])
        }
        return number <= 1 + count ? refusal("token") : TransportResponse(status: 200, body: [])
      }
      let client = GateClient(stage.session, over: api)
      #expect(try client.performAndWait(stage.request).status == 200)
      if isTaken {
        #expect(try client.performAndWait(stage.request).status == 200)
      } else {
        #expect(throws: GateError.tokenRefused) { try client.performAndWait(stage.request) }
      }
      #expect(api.sent.map { $0.values(of: "proof-ticket").count } == [0, 0, 1, 0, 0])
      #expect(api.sent.map { $0.values(of: "x-token").count } == [1, 0, 0, 1, 1])
    }
  }
}
