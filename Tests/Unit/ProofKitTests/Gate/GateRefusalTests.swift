// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The answers of a gate to a session")
struct GateRefusalTests {
  private static let ask = Response(
    status: 401, fields: [HeaderField("Proof-Refusal", "token")])

  private func tokens(_ request: Request) -> Int { request.values(of: "x-token").count }

  private func ticket(_ byte: UInt8, head: UInt8 = 0x1B, count: Int = 192) -> String {
    Base64.encode([head, 1, 0, 0] + [UInt8](repeating: byte, count: count - 4), .url)
  }

  private func giving(_ ticket: String) -> Response {
    Response(status: 200, fields: [HeaderField("Proof-Ticket", ticket)])
  }

  @Test("an answer below 500 tells that the gate has opened the token, one from 500 on does not")
  func opened() throws {
    for (status, count) in [(200, 0), (403, 0), (499, 0), (500, 1), (503, 1)] {
      let stage = try GateStage()
      let sent = try stage.session.guarded(stage.request)
      stage.session.note(Response(status: status), to: sent)
      #expect(try tokens(stage.session.guarded(stage.request)) == count, "\(status)")
    }
  }

  @Test("an answer to a request without the token, or with another one, tells nothing of it")
  func unsent() throws {
    let stage = try GateStage()
    var sent = try stage.session.guarded(stage.request)
    for value in [nil, "AAAA"] {
      sent.set("x-token", to: value)
      stage.session.note(Response(status: 200), to: sent)
      #expect(try tokens(stage.session.guarded(stage.request)) == 1)
    }
  }

  @Test("a refused token counts towards the two refusals only until the gate opens it")
  func inRow() throws {
    let stage = try GateStage()
    let session = stage.session
    func sent() throws -> Request { try session.guarded(stage.request) }
    #expect(session.note(Self.ask, to: try sent()) == .token)
    #expect(session.note(Response(status: 200), to: try sent()) == nil)
    // This request carries no token, so the gate has refused none.
    #expect(session.note(Self.ask, to: try sent()) == .token)
    #expect(session.note(Self.ask, to: try sent()) == .token)
    #expect(session.lastError == nil)
    #expect(session.note(Self.ask, to: try sent()) == .token)
    #expect(session.lastError == .tokenRefused)
  }

  @Test("a token that the gate opens ends the growth of the waits")
  func waits() throws {
    let stage = try GateStage()
    func refuseTwice() throws {
      for _ in 1...2 {
        stage.session.note(Self.ask, to: try stage.session.guarded(stage.request))
      }
    }
    try refuseTwice()
    stage.time.advance(.seconds(1))
    _ = stage.session.work()
    #expect(stage.asked == 2)
    stage.session.note(
      Response(status: 200), to: try stage.session.guarded(stage.request))
    stage.session.note(Self.ask, to: try stage.session.guarded(stage.request))
    try refuseTwice()
    stage.time.advance(.milliseconds(999))
    _ = stage.session.work()
    #expect(stage.asked == 2)
    stage.time.advance(.milliseconds(1))
    _ = stage.session.work()
    #expect(stage.asked == 3)
  }

  @Test("a ticket has 192 bytes and its kind; other texts are none")
  func tickets() throws {
    let texts: [(String, Bool)] = [
      (ticket(6), true), (ticket(6, head: 0x1A), false), (ticket(6, count: 189), false),
      (ticket(6, count: 195), false), (String(ticket(6).dropLast()) + "*", false), ("", false),
    ]
    for (text, isTicket) in texts {
      let stage = try GateStage()
      stage.session.note(giving(text), to: try stage.session.guarded(stage.request))
      stage.session.note(Self.ask, to: try stage.session.guarded(stage.request))
      let next = try stage.session.guarded(stage.request)
      #expect(next.values(of: "proof-ticket") == (isTicket ? [text] : []))
      #expect(tokens(next) == (isTicket ? 0 : 1))
    }
  }

  @Test("the newest ticket counts, and one that a node took is not sent without need")
  func newest() throws {
    let stage = try GateStage()
    func sent() throws -> Request { try stage.session.guarded(stage.request) }
    stage.session.note(giving(ticket(1)), to: try sent())
    stage.session.note(giving(ticket(2)), to: try sent())
    stage.session.note(Self.ask, to: try sent())
    let second = try sent()
    #expect(second.values(of: "proof-ticket") == [ticket(2)])
    stage.session.note(Response(status: 200), to: second)
    let third = try sent()
    #expect(third.values(of: "proof-ticket").isEmpty && tokens(third) == 0)
    // It is kept for the next node that asks.
    stage.session.note(Self.ask, to: third)
    #expect(try sent().values(of: "proof-ticket") == [ticket(2)])
  }

  @Test("a ticket that a node refuses is not sent again: the token is")
  func refusedTicket() throws {
    let stage = try GateStage()
    func sent() throws -> Request { try stage.session.guarded(stage.request) }
    stage.session.note(giving(ticket(1)), to: try sent())
    for _ in 1...2 { stage.session.note(Self.ask, to: try sent()) }
    let next = try sent()
    #expect(next.values(of: "proof-ticket").isEmpty && tokens(next) == 1)
    #expect(stage.session.lastError == nil)
  }

  @Test("a request has a content digest, unless it is a GET or HEAD and has no body")
  func contentDigest() throws {
    let requests: [(String, [UInt8]?, Bool)] = [
      ("GET", nil, false), ("HEAD", nil, false), ("GET", [1], true), ("HEAD", [1], true),
      ("DELETE", nil, true), ("POST", nil, true), ("POST", [1], true),
    ]
    let stage = try GateStage { $0.form = .standard }
    for (method, body, hasDigest) in requests {
      let sent = try stage.session.guarded(
        Request(method, "https://api.example.com/", body: body))
      #expect(sent.values(of: "content-digest").count == (hasDigest ? 1 : 0), "\(method)")
      #expect(sent.values(of: "signature").count == 1)
    }
  }
}

@Suite("The lines of a gate session's log")
struct GateLineTests {
  private func log(_ stage: GateStage) -> [String] {
    stage.lines.withLock { lines in
      defer { lines = [] }
      return lines.map { "\($0.0) \($0.1)" }
    }
  }

  @Test("a token in the error state is one warning, with its cause and its error")
  func errorToken() throws {
    let idle = try GateStage(log: .warning, isStarted: false)
    _ = try idle.session.eventToken(for: 3300)
    #expect(
      log(idle) == [
        "warning event token in the error state (\(CompactCause.notStarted.rawValue)): "
          + "\(GateError.notStarted)"
      ])
    let stage = try GateStage(log: .warning)
    #expect(throws: GateError.unknownEvent(7)) { try stage.session.eventToken(for: 7) }
    _ = try stage.session.eventToken(for: 3300)
    #expect(log(stage) == [])
  }

  @Test("a measurement is one line with the keys' handle, and one that failed a warning")
  func measured() throws {
    let stage = try GateStage(log: .debug)
    let held = try #require(stage.session.state.withLock { $0.held })
    _ = log(stage)
    _ = try stage.session.guarded(stage.request)
    #expect(
      log(stage) == [
        "debug measured; keys of \(held.admitted.handle)", "debug POST api.example.com: proved",
      ])
    stage.stage.scene.state.withLock { $0.failure = .evidenceUnavailable(reason: "x") }
    let error = try #require(throws: GateError.self) { try stage.session.guarded(stage.request) }
    #expect(log(stage) == ["warning \(error)"])
  }

  @Test("each refusal is one line with its host and its class")
  func refused() throws {
    let stage = try GateStage(log: .info)
    let sent = try stage.session.guarded(stage.request)
    _ = log(stage)
    for word in ["token", "clock", "proof", "refused"] {
      stage.session.note(
        Response(status: 401, fields: [HeaderField("Proof-Refusal", word)]), to: sent)
    }
    stage.session.note(Response(status: 200), to: sent)
    #expect(
      log(stage)
        == ["token", "clock", "proof", "refused"].map {
          "info api.example.com refused a request: \($0)"
        })
  }
}
