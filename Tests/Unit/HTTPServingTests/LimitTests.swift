// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import OwnThreads
import SeededRandom
import Testing

@Suite("HTTP server: what it does not put up with")
struct LimitTests {
  private static func post(_ size: Int) -> String {
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n"
  }

  @Test("A body of the largest size is taken, one byte more is refused")
  func largestBody() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 1000 }
    let wire = try server.connect()
    #expect(try wire.ask("POST", "/", body: .init(repeating: 1, count: 1000))?.body.count == 1000)
    let refused = try wire.ask("POST", "/", body: .init(repeating: 1, count: 1001))
    #expect(refused?.status == 413)
    #expect(refused?.text == "the body is larger than this service takes\n")
    #expect(try wire.rest().isEmpty)
    #expect(server.counts.requestsTooLarge == 1)
  }

  @Test("A body that is announced far too large is refused before it is sent")
  func announced() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 1000 }
    for size in ["2001", "99999999999", "9223372036854775807"] {
      let wire = try server.connect()
      wire.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n")
      #expect(try wire.answer()?.status == 413)
      #expect(try wire.rest().isEmpty)
    }
  }

  @Test("A body in chunks has the same limit, and without an end it is cut off")
  func chunks() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 1000 }
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    let chunk = "64\r\n" + String(repeating: "x", count: 100) + "\r\n"
    let over = try server.connect()
    over.send(head + String(repeating: chunk, count: 11) + "0\r\n\r\n")
    #expect(try over.answer()?.status == 413)
    let endless = try server.connect()
    endless.send(head)
    while endless.send(String(repeating: chunk, count: 10)) {}
    #expect(server.counts.requestsTooLarge == 2)
    #expect(server.counts.requestsTimedOut == 0)
  }

  @Test("Bodies that together are too large are refused until there is room")
  func bodies() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/hold" { gate.pass() }
        return Echo().respond(to: request)
      }
    ) {
      $0.limits.bodyByteCount = 60_000
      $0.limits.bodiesByteCount = 60_000
      $0.limits.threads = 4
    }
    let body = [UInt8](repeating: 7, count: 50_000)
    let first = try server.connect()
    first.send("POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n")
    first.send(body)
    gate.waitForArrival()
    // Accepted while the first one's thread waits, so by another.
    let second = try server.connect().ask("POST", "/", body: body)
    #expect(second?.status == 503)
    #expect(second?.headers["retry-after"] == "1")
    #expect(server.counts.requestsRefusedBusy > 0)
    gate.open()
    #expect(try first.answer()?.body == body)
    #expect(try server.connect().ask("POST", "/", body: body)?.body == body)
  }

  @Test("A head that is too large is refused")
  func head() throws {
    let server = try HTTPServer { $0.limits.headByteCount = 4096 }
    let long = String(repeating: "x", count: 5000)
    let header = try server.connect()
    header.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: \(long)\r\n\r\n")
    #expect(try header.answer()?.status == 431)
    let line = try server.connect()
    line.send("GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(try line.answer()?.status == 414)
  }

  @Test("More headers or query values than anybody needs are refused")
  func fields() throws {
    let server = try HTTPServer()
    let headers = (0..<62).map { "X-\($0): 1" }
    #expect(try server.connect().ask("GET", "/", headers: headers)?.status == 200)
    #expect(try server.connect().ask("GET", "/", headers: headers + ["X-62: 1"])?.status == 431)
    let query = (0..<16).map { "a\($0)=1" }.joined(separator: "&")
    #expect(try server.connect().ask("GET", "/?" + query)?.status == 200)
    #expect(try server.connect().ask("GET", "/?\(query)&b=1")?.status == 431)
  }

  @Test(
    "Ambiguous requests are refused",
    arguments: [
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5x\r\n\r\nhello",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    ])
  func ambiguous(request: String) throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    wire.send(request)
    wire.finish()
    let said = String(decoding: try wire.rest(), as: UTF8.self)
    #expect(!said.hasPrefix("HTTP/1.1 200"), "\(said)")
    #expect(try server.connect().ask("GET", "/")?.status == 200)
  }

  @Test("Garbage is no request, and does no harm")
  func garbage() throws {
    let server = try HTTPServer { $0.limits.requestTime = .milliseconds(100) }
    var random = SeededGenerator("garbage over HTTP")
    let hello: [UInt8] = [0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]
    var all = [
      hello, [], [0], [10], [13, 10, 13, 10], Array("GET".utf8), Array("\r\n\r\n\r\n".utf8),
    ]
    for size in [1, 10, 100, 1_000, 100_000] {
      all.append((0..<size).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }
    for bytes in all {
      let wire = try server.connect()
      wire.send(bytes)
      wire.finish()
      let said = String(decoding: try wire.rest(), as: UTF8.self)
      #expect(!said.hasPrefix("HTTP/1.1 200"), "\(bytes)")
    }
    #expect(try server.connect().ask("GET", "/")?.status == 200)
  }

  @Test(
    "A client that stops in the middle of a request is disconnected",
    arguments: [
      "", "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhell",
    ])
  func half(request: String) throws {
    let server = try HTTPServer { $0.limits.requestTime = .milliseconds(100) }
    let wire = try server.connect()
    wire.send(request)
    #expect(try wire.rest().isEmpty)
    #expect(server.counts.requestsTimedOut == 1)
  }

  @Test("A client that sends a byte now and then is disconnected too", arguments: [false, true])
  func drip(inBody: Bool) throws {
    let server = try HTTPServer { $0.limits.requestTime = .milliseconds(300) }
    let wire = try server.connect()
    wire.send(inBody ? Self.post(1_000_000) : "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    while !wire.hasNews(within: 20), wire.send("x") {}
    #expect(server.counts.requestsTimedOut == 1)
  }

  @Test("A client that does not read the answer is disconnected")
  func deafness() throws {
    let server = try HTTPServer(
      Answering { _ in HTTPResponse(status: 200, body: .init(repeating: 0, count: 64 << 20)) }
    ) { $0.limits.requestTime = .milliseconds(200) }
    let wire = try server.connect()
    wire.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    // To look at the wire's news would be to read: what the server counts tells when it has had enough.
    waitUntil { server.counts.requestsTimedOut > 0 }
    #expect(try wire.rest().count < 64 << 20)
  }

  @Test("A connection without a request is closed, which is no failure")
  func idle() throws {
    let server = try HTTPServer { $0.limits.idleTime = .milliseconds(100) }
    let wire = try server.connect()
    #expect(try wire.ask("GET", "/")?.status == 200)
    #expect(try wire.rest().isEmpty)
    #expect(server.counts.requestsTimedOut == 0)
  }

  @Test("A handler may take longer than clients may")
  func slowHandler() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200)
      }
    ) {
      $0.limits.requestTime = .milliseconds(100)
      $0.limits.threads = 4
    }
    let wire = try server.connect()
    wire.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    gate.waitForArrival()
    // Others time out meanwhile: the watch has looked after the slow request began.
    let others = try (0..<8).map { _ in try server.connect() }
    waitUntil { server.counts.requestsTimedOut > 0 || others[0].hasNews(within: 20) }
    gate.open()
    #expect(try wire.answer()?.status == 200)
  }

  /// The limit that is reached.
  enum Limit: CaseIterable { case address, all }

  private func server(_ count: Int, _ limit: Limit) throws -> HTTPServer {
    try HTTPServer {
      $0.limits.connectionsPerAddress = limit == .address ? count : 0
      if limit == .all { $0.limits.connections = count }
    }
  }

  /// A connection that the server has counted.
  private func counted(_ server: HTTPServer) throws -> Wire {
    let before = server.counts.connectionsAccepted
    let wire = try server.connect()
    waitUntil { server.counts.connectionsAccepted != before }
    return wire
  }

  @Test("When there is no room, the eldest connection that has sent nothing goes")
  func silent() throws {
    for limit in Limit.allCases {
      let server = try server(3, limit)
      let talking = try counted(server)
      #expect(try talking.ask("GET", "/")?.status == 200)
      waitUntil { server.counts.requestsInFlight == 0 }
      let silent = [try counted(server), try counted(server)]
      let new = try counted(server)
      #expect(try silent[0].rest().isEmpty)
      #expect(try new.ask("GET", "/")?.status == 200)
      #expect(try silent[1].ask("GET", "/")?.status == 200)
      #expect(try talking.ask("GET", "/")?.status == 200)
      #expect(server.counts.connectionsDisplaced == 1)
      #expect(server.counts.requestsTimedOut == 0)
    }
  }

  @Test("If all have sent something, the eldest between two requests goes, then the eldest in one")
  func busy() throws {
    for limit in Limit.allCases {
      let gate = Gate()
      let handler = Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200)
      }
      let server = try HTTPServer(handler) {
        $0.limits.threads = 2
        $0.limits.connectionsPerAddress = limit == .address ? 3 : 0
        if limit == .all { $0.limits.connections = 3 }
      }
      let answering = try counted(server)
      answering.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
      gate.waitForArrival()
      let receiving = try counted(server)
      receiving.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhell")
      waitUntil { server.counts.requestsInFlight == 2 }
      let idle = try counted(server)
      #expect(try idle.ask("GET", "/")?.status == 200)
      waitUntil { server.counts.requestsInFlight == 2 }
      let first = try counted(server)
      #expect(try idle.rest().isEmpty)
      #expect(try first.ask("GET", "/")?.status == 200)
      waitUntil { server.counts.requestsInFlight == 2 }
      first.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhell")
      waitUntil { server.counts.requestsInFlight == 3 }
      let second = try counted(server)
      #expect(try receiving.rest().isEmpty)
      #expect(try second.ask("GET", "/")?.status == 200)
      gate.open()
      #expect(try answering.answer()?.status == 200, "no answer is cut off")
    }
  }

  @Test("Where all are being answered, the new connection goes")
  func answering() throws {
    let gate = Gate()
    let handler = Answering { _ in
      gate.pass()
      return HTTPResponse(status: 200)
    }
    let server = try HTTPServer(handler) {
      // One more than wait at the gate, to accept.
      $0.limits.threads = 3
      $0.limits.connectionsPerAddress = 2
    }
    let wires = try (0..<2).map { _ in
      let wire = try counted(server)
      wire.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      gate.waitForArrival()
      return wire
    }
    #expect(try counted(server).rest().isEmpty)
    for _ in wires { gate.open() }
    for wire in wires { #expect(try wire.answer()?.status == 200) }
  }

  @Test("Connections beyond all that can be open wait until one ends")
  func full() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200)
      }
    ) {
      $0.limits.threads = 1
      $0.limits.connections = 1
      $0.limits.connectionsPerAddress = 0
    }
    for _ in 0..<20 {
      let slow = try server.connect()
      slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
      gate.waitForArrival()
      let others = try (0..<30).map { _ in try server.connect() }
      gate.open()
      #expect(try slow.answer()?.status == 200)
      let wire = try server.connect()
      let answer = try wire.ask("GET", "/")
      #expect(answer?.status == 200, "\(String(describing: answer)) \(server.counts)")
      withExtendedLifetime(others) {}
    }
    #expect(server.stop())
  }

  @Test("A trusted proxy has as many connections as there are")
  func proxy() throws {
    let server = try HTTPServer {
      $0.limits.connectionsPerAddress = 1
      $0.trustedProxies = ["::ffff:127.0.0.1"]
    }
    let wires = try (0..<5).map { _ in try counted(server) }
    for wire in wires { #expect(try wire.ask("GET", "/")?.status == 200) }
    #expect(server.counts.connectionsDisplaced == 0)
  }

  @Test("Many silent connections of one address keep no other client out")
  func flood() throws {
    let server = try HTTPServer { $0.limits.connectionsPerAddress = 8 }
    var wires: [Wire] = []
    for round in 0..<300 {
      wires.append(try server.connect())
      if round % 50 == 0 { #expect(try server.connect().ask("GET", "/")?.status == 200) }
    }
    #expect(try server.connect().ask("GET", "/")?.status == 200)
  }

  @Test(
    "A bare line feed, a continued line or a control character in the head is refused",
    arguments: [
      "GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\r\n\tb\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\nX: y\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\nhello",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\n\0ello",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\n\r\nhello",
      "GET / HTTP/1.1\r\nHost: a\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1}\r\n\r\n",
    ])
  func lenient(request: String) throws {
    for isWhole in [true, false] {
      let server = try HTTPServer()
      let wire = try server.connect()
      if isWhole { wire.send(request) } else { for byte in request.utf8 { wire.send([byte]) } }
      wire.finish()
      let said = String(decoding: try wire.rest(), as: UTF8.self)
      #expect(said.hasPrefix("HTTP/1.1 400 "), "\(said)")
      #expect(!said.contains("HTTP/1.1 200"), "\(said)")
    }
  }

  @Test("A strict head is taken as it comes, with blanks, without values, long, and again")
  func strict() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    let long = String(repeating: "x", count: 15_000)
    for _ in 0..<3 {
      let headers = ["X-Sent:   y  ", "Empty:", "Cookie: a=b; c=d", "X-Long: \(long)"]
      let body = [UInt8](repeating: 7, count: 100_000)
      #expect(try wire.ask("POST", "/?a=b&c", headers: headers, body: body)?.body == body)
      wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try wire.answer()?.headers["x-path"] == "/")
      #expect(try wire.answer()?.headers["x-path"] == "/2")
    }
    let old = try server.connect()
    old.send("GET /old HTTP/1.0\r\n\r\n")
    #expect(try old.answer()?.headers["x-path"] == "/old")
  }
}
