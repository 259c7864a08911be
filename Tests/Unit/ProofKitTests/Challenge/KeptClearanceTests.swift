// SPDX-License-Identifier: Apache-2.0

import ProofGate
import ProofModel
import Testing

@testable import ProofKit

@Suite("Clearances that a session keeps")
struct KeptClearanceTests {
  private static let host = "api.example.com"

  /// A client that has answered one challenge.
  private func cleared(_ stage: GateStage) throws -> GateClient {
    let (client, gate) = try stage.challenging { $0.level = 1 }
    #expect(try client.performAndWait(stage.request).status == 200)
    #expect(gate.state.withLock { $0.answered } == 1)
    #expect(client.clearance(for: Self.host) != nil)
    return client
  }

  private func text(
    _ stage: GateStage, host: String = host, head: UInt8 = 0x1A, kinds: UInt8 = 4, flags: UInt8 = 1,
    levels: UInt8 = 3, after seconds: Int64 = 900, handle: [UInt8]? = nil
  ) throws -> String {
    let own = try #require(stage.session.state.withLock { $0.held?.admitted.handle.bytes })
    let expiry = UInt32(clamping: (stage.time.now + seconds).seconds)
    var bytes: [UInt8] = [head, 1, kinds, levels, flags, 0]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: expiry >> ($0 * 8)) }
    bytes += [UInt8](repeating: 0, count: 8)
    bytes += Digest(hashing: Array("pfc1.host.......\(host)".utf8)).bytes.prefix(16)
    bytes += (handle ?? own) + [UInt8](repeating: 5, count: 16)
    return Base64.encode(bytes, .url)
  }

  @Test("a clearance is sent to its host alone, and to no other that the account lists")
  func hosts() throws {
    let stage = try GateStage()
    _ = try cleared(stage)
    let own = try stage.session.guarded(stage.request)
    #expect(own.values(of: "proof-clearance").count == 1)
    let other = try stage.session.guarded(Request("GET", "https://pay.example.com/"))
    #expect(other.values(of: "proof-clearance").isEmpty)
    // A request that carried one loses it on its way to another host.
    var moved = own
    moved.url = "https://pay.example.com/payments?x=1"
    #expect(try stage.session.guarded(moved).values(of: "proof-clearance").isEmpty)
    moved.url = "https://evil.example.com/"
    #expect(throws: GateError.hostNotListed("evil.example.com")) {
      try stage.session.guarded(moved)
    }
    for host in [
      "pay.example.com", "evil.example.com", "", "api.example.com:444", "API.example.com.",
    ] {
      #expect(stage.session.clearance(for: host) == nil)
    }
    #expect(stage.session.clearance(for: "API.EXAMPLE.com:443") != nil)
  }

  @Test("a changed environment ends it, although it is young")
  func environment() throws {
    let stage = try GateStage()
    let client = try cleared(stage)
    stage.stage.scene.state.withLock { $0.looks[.app] = 1 }
    #expect(client.clearance(for: Self.host) == nil)
    stage.stage.scene.state.withLock { $0.looks[.app] = 0 }
    #expect(client.clearance(for: Self.host) == nil)
  }

  @Test("its end, a stop and a fork end it")
  func ends() throws {
    let late = try GateStage()
    let first = try cleared(late)
    late.time.advance(.seconds(899))
    #expect(first.clearance(for: Self.host) == nil)
    let stopped = try GateStage()
    let second = try cleared(stopped)
    stopped.session.stop()
    _ = stopped.session.begin(nil)
    #expect(second.clearance(for: Self.host) == nil)
    let forked = try GateStage()
    let third = try cleared(forked)
    forked.process.withLock { $0 = 2 }
    #expect(third.clearance(for: Self.host) == nil)
  }

  @Test("the newest one counts, and texts that are none for this app and host change nothing")
  func taken() throws {
    let stage = try GateStage()
    let client = try cleared(stage)
    let sent = try stage.session.guarded(stage.request)
    let newer = try text(stage)
    stage.session.note(
      Response(status: 200, fields: [HeaderField("Proof-Clearance", newer)]), to: sent)
    #expect(client.clearance(for: Self.host) == newer)
    for wrong in [
      "", "A", newer + "A", String(newer.dropLast()), newer + "\r\nX: y",
      try text(stage, host: "pay.example.com"), try text(stage, head: 0x1B),
      try text(stage, kinds: 0), try text(stage, flags: 2), try text(stage, after: 1),
      try text(stage, after: -5), try text(stage, handle: [UInt8](repeating: 1, count: 16)),
    ] {
      stage.session.note(
        Response(status: 200, fields: [HeaderField("Proof-Clearance", wrong)]), to: sent)
      #expect(client.clearance(for: Self.host) == newer)
    }
    // The answer of a host that the account does not list is not heard.
    stage.session.note(
      Response(
        status: 200,
        fields: [HeaderField("Proof-Clearance", try text(stage, host: "evil.example.com"))]),
      to: Request("GET", "https://evil.example.com/"))
    #expect(stage.session.clearance(for: "evil.example.com") == nil)
  }

  @Test("a clearance serves the kinds that it names, up to its level of each kind of work")
  func served() throws {
    let stage = try GateStage()
    _ = try cleared(stage)
    let handle = try #require(stage.session.state.withLock { $0.held?.admitted.handle })
    func served(_ kinds: UInt8) throws -> [String] {
      let text = try text(stage, kinds: kinds, levels: 10 | 2 << 5)
      let held = try #require(
        Clearances.Held(text, for: Self.host, handle, stage.time.now, .zero))
      let challenges: [(UInt8, UInt8)] = [
        (5, 0), (6, 0), (7, 9), (7, 10), (7, 11), (8, 1), (8, 2), (8, 3), (9, 0),
      ]
      return try challenges.filter { kind, level in
        held.serves(try GateClient.Challenge(challengeID(kind, level: level)))
      }.map { "\($0).\($1)" }
    }
    #expect(try served(0b11111) == ["5.0", "6.0", "7.9", "7.10", "8.1", "8.2", "9.0"])
    #expect(try served(0b00100) == ["7.9", "7.10"])
    #expect(try served(0b01000) == ["8.1", "8.2"])
    #expect(try served(0b10000) == ["9.0"])
  }

  @Test("a gate that did not open the token gets it again: beside an answer, and after a 429")
  func unopened() throws {
    let stage = try GateStage()
    let refusal = HeaderField("Proof-Refusal", "token")
    let api = ScriptedAPI { _, number in
      switch number {
      case 1:
        TransportResponse(
          status: 428, body: [],
          fields: [HeaderField("Proof-Challenge", challengeID(7, level: 4)), refusal])
      case 2: TransportResponse(status: 429, body: [], fields: [refusal])
      default: TransportResponse(status: 200, body: [])
      }
    }
    let client = GateClient(stage.session, over: api)
    #expect(try client.performAndWait(stage.request).status == 429)
    for _ in 1...2 { #expect(try client.performAndWait(stage.request).status == 200) }
    #expect(api.sent.map { $0.values(of: "proof-answer").count } == [0, 1, 0, 0])
    #expect(api.sent.map { $0.values(of: "x-token").count } == [1, 1, 1, 0])
  }

  @Test("a ticket stands for the token once it is there, and the token comes after it")
  func ticket() throws {
    let stage = try GateStage()
    let ticket = Base64.encode([0x1B, 1, 0, 0] + [UInt8](repeating: 6, count: 188), .url)
    let api = ScriptedAPI { request, number in
      switch number {
      case 1:
        TransportResponse(status: 200, body: [], fields: [HeaderField("Proof-Ticket", ticket)])
      case 2: challenged(challengeID(5))
      default:
        request.values(of: "x-token").isEmpty
          ? challenged(challengeID(5)) : TransportResponse(status: 200, body: [])
      }
    }
    let client = GateClient(stage.session, over: api)
    #expect(try client.performAndWait(stage.request).status == 200)
    #expect(try client.performAndWait(stage.request).status == 200)
    #expect(
      api.sent.map { $0.values(of: "proof-ticket") == [ticket] } == [false, false, true, false])
    #expect(api.sent.map { $0.values(of: "x-token").count } == [1, 0, 0, 1])
    // With a node that takes the ticket, the token does not travel.
    let other = try GateStage()
    let kind = ScriptedAPI { request, number in
      number == 1 || !request.values(of: "proof-ticket").isEmpty
        ? TransportResponse(status: 200, body: [], fields: [HeaderField("Proof-Ticket", ticket)])
        : challenged(challengeID(5))
    }
    let second = GateClient(other.session, over: kind)
    for _ in 1...2 { #expect(try second.performAndWait(other.request).status == 200) }
    #expect(kind.sent.map { $0.values(of: "x-token").count } == [1, 0, 0])
    // A challenge of kind token that never ends is the error of today.
    let endless = try GateStage()
    let api3 = ScriptedAPI { _, _ in challenged(challengeID(5)) }
    #expect(throws: GateError.tokenRefused) {
      try GateClient(endless.session, over: api3).performAndWait(endless.request)
    }
    #expect(api3.sent.count == 2)
  }
}
