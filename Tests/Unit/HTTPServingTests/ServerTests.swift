// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import OwnThreads
import Synchronization
import Testing

@Suite("HTTP server: what it is for")
struct ServerTests {
  @Test("A request reaches the handler whole, an answer the client")
  func roundTrip() throws {
    let server = try HTTPServer()
    let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let answer = try server.connect().ask(
      "POST", "/v1/a%20b/%C3%A9?serial=7&text=x%26y&empty=",
      headers: ["X-Sent: one", "x-sent: two"],
      body: body)
    #expect(answer?.status == 200)
    #expect(answer?.body == body)
    #expect(answer?.headers["x-method"] == "POST")
    #expect(answer?.headers["x-path"] == "/v1/a b/é")
    #expect(answer?.headers["x-query"] == "empty=&serial=7&text=x&y")
    #expect(answer?.headers["x-seen"] == "one,two")
    #expect(answer?.headers["x-peer"] == "127.0.0.1")
  }

  @Test("A handler gets target and header as they were sent, of each request of a connection")
  func asSent() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    for target in [
      "/v1/a%20b?serial=7&text=x%26y&&empty=&b&=c", "/", "/?", "/?a=1?b=2", "/x//y;z=+?%2E",
    ] {
      let answer = try wire.ask("GET", target, headers: ["X-Sent: one", "x-sent:  two, three "])
      #expect(answer?.headers["x-target"] == target)
      #expect(answer?.headers["x-lines"] == "X-Sent: one|x-sent: two, three")
    }
  }

  @Test("A connection serves many requests")
  func keepAlive() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    for round in 0..<100 {
      let body = Array("\(round)".utf8)
      #expect(try wire.ask("POST", "/", body: body)?.body == body)
    }
    #expect(server.counts.connectionsAccepted == 1)
  }

  @Test("A new connection is served by a thread that does not wait, if there is one")
  func freeThread() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200)
      }
    ) { $0.limits.threads = 4 }
    let slow = try (0..<3).map { _ in
      let wire = try server.connect()
      wire.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
      gate.waitForArrival()
      return wire
    }
    let others = try (0..<20).map { _ in try server.connect() }
    for wire in others { #expect(try wire.ask("GET", "/")?.status == 200) }
    for _ in slow { gate.open() }
    for wire in slow { #expect(try wire.answer()?.status == 200) }
    #expect(server.stop())
  }

  @Test("While all threads wait, a new connection waits for the first that does not any more")
  func firstThread() throws {
    let gates = [Gate(), Gate()]
    let server = try HTTPServer(
      Answering { request in
        if let number = Int(request.path.dropFirst()) { gates[number].pass() }
        return HTTPResponse(status: 200)
      }
    ) { $0.limits.threads = 2 }
    let slow = try (0..<2).map { number in
      let wire = try server.connect()
      wire.send("GET /\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      gates[number].waitForArrival()
      return wire
    }
    let others = try (0..<20).map { _ in
      let wire = try server.connect()
      wire.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
      return wire
    }
    // The other thread waits to the end.
    gates[1].open()
    for wire in others { #expect(try wire.answer()?.status == 200) }
    gates[0].open()
    for wire in slow { #expect(try wire.answer()?.status == 200) }
    #expect(server.stop())
  }

  @Test("Requests sent at once are answered in order")
  func pipelining() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    let requests = (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }
    wire.send(requests.joined())
    for round in 0..<20 {
      #expect(try wire.answer()?.headers["x-path"] == "/\(round)")
    }
  }

  @Test("A request that arrives byte by byte is the same request")
  func byteByByte() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    for byte in "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello".utf8 {
      wire.send([byte])
    }
    #expect(try wire.answer()?.text == "hello")
  }

  @Test("A body in chunks is the same body")
  func chunks() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    wire.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    wire.send("5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n")
    #expect(try wire.answer()?.text == "hello, world")
  }

  @Test("The answer to HEAD has no body")
  func head() throws {
    let server = try HTTPServer(Answering { _ in HTTPResponse(status: 200, text: "words") })
    let wire = try server.connect()
    wire.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(try wire.answer(toHead: true)?.headers["content-length"] == "6")
    // Were there a body, it would be read as the beginning of this answer.
    #expect(try wire.ask("GET", "/")?.text == "words\n")
  }

  @Test(
    "A forbidden answer of a handler becomes 500", arguments: [-1, 0, 99, 101, 199, 600, 70_000])
  func wrongStatus(status: Int) throws {
    let server = try HTTPServer(Answering { _ in HTTPResponse(status: status, text: "no") })
    #expect(try server.connect().ask("GET", "/")?.status == 500)
  }

  @Test("A line break in a header's value makes no second header")
  func headerInjection() throws {
    let server = try HTTPServer(
      Answering { _ in
        HTTPResponse(status: 200, headers: ["x-a": "1\r\nx-b: 2", "x-c": "3"], body: [])
      })
    let answer = try server.connect().ask("GET", "/")
    #expect(answer?.headers["x-b"] == nil)
    #expect(answer?.headers["x-c"] == "3")
  }

  @Test(
    "A path or query that is not percent-encoded UTF-8, or in which a slash or letter is, is refused",
    arguments: [
      "/%", "/%4", "/%zz", "/%00", "/v1%00/report", "/%ff", "/?a=%00", "/?%c3=1",
      "/v1/manage%2fsdk%2flist", "/v1%2Fmanage%2Fsdk%2Flist", "/v1/%6danage/sdk/list", "/%2e",
    ])
  func encoding(target: String) throws {
    let server = try HTTPServer()
    #expect(try server.connect().ask("GET", target)?.status == 400)
  }

  @Test("64 clients at once each get their own answers")
  func concurrent() throws {
    let server = try HTTPServer { $0.limits.threads = 8 }
    let right = Atomic(0)
    onThreads(64) { client in
      guard let wire = Wire(to: server.port) else { return }
      for round in 0..<50 {
        let body = Array("\(client)/\(round)".utf8)
        if (try? wire.ask("POST", "/", body: body))?.body == body {
          right.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(right.load(ordering: .relaxed) == 64 * 50)
  }

  @Test("10,000 connections, one after the other, are all served and all let go")
  func manyConnections() throws {
    let server = try HTTPServer()
    for _ in 0..<10_000 {
      let wire = try server.connect()
      wire.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      #expect(try wire.answer()?.status == 200)
      #expect(try wire.rest().isEmpty)
    }
    #expect(server.counts.connectionsAccepted == 10_000)
    server.stop(draining: .zero)
    #expect(server.counts.connectionsOpen == 0)
  }

  @Test("Clients that vanish at any byte leave nothing behind")
  func vanishing() throws {
    let server = try HTTPServer()
    let request = Array("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello".utf8)
    for count in 0...request.count {
      for isReset in [false, true] {
        let wire = try server.connect()
        wire.send(Array(request[..<count]))
        if isReset { wire.reset() }
      }
    }
    #expect(try server.connect().ask("GET", "/")?.status == 200)
    server.stop()
    #expect(server.counts.connectionsOpen == 0)
    #expect(server.counts.requestsInFlight == 0)
  }
}

@Suite("HTTP server: where it cannot listen")
struct ListenTests {
  @Test("A port in use is named, with what to do")
  func portInUse() throws {
    let first = try HTTPServer()
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer(HTTPServerSettings(port: first.port), handler: Echo())
    }
    guard case .cannotListen("127.0.0.1", first.port, EADDRINUSE, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect("\(error!)".contains("port \(first.port) of 127.0.0.1"))
    #expect("\(error!)".contains("choose another port"))
  }

  @Test("An address of another machine is named, with what to do")
  func foreignAddress() throws {
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer { $0.address = "192.0.2.1" }
    }
    #expect("\(error!)".contains("this machine has no such address"))
  }

  @Test(
    "Text that is no address is refused", arguments: ["", "localhost", "127.0.0.1:80", "[::1]"])
  func noAddress(text: String) {
    #expect(throws: HTTPServerError.address(text)) { try HTTPServer { $0.address = text } }
    #expect(throws: HTTPServerError.address(text)) { try HTTPServer { $0.trustedProxies = [text] } }
  }

  @Test("IPv6 is served, and peers are named in one form")
  func sixth() throws {
    let server = try HTTPServer { $0.address = "::" }
    // Through IPv4, the peer of a socket for both is an IPv4 address inside an IPv6 one.
    #expect(try server.connect().ask("GET", "/")?.headers["x-peer"] == "127.0.0.1")
  }

  @Test("A port is free again as soon as its server has stopped")
  func portAgain() throws {
    let first = try HTTPServer()
    let port = first.port
    _ = try first.connect().ask("GET", "/")
    first.stop()
    let second = try HTTPServer(HTTPServerSettings(port: port), handler: Echo())
    #expect(second.port == port)
  }

  @Test("Limits are those of the pages where a program sets none")
  func limitsOfThePages() {
    let limits = HTTPLimits()
    #expect(limits.threads == 8 && limits.connections == 1024 && limits.connectionsPerAddress == 64)
    #expect(limits.headByteCount == 32_768 && limits.bodyByteCount == 1_048_576)
    #expect(limits.bodiesByteCount == 67_108_864)
    #expect(limits.requestTime == .seconds(10) && limits.idleTime == .seconds(60))
  }

  @Test("Limits out of range are named")
  func limits() {
    func error(_ change: (inout HTTPLimits) -> Void) -> HTTPServerError? {
      #expect(throws: HTTPServerError.self) { try HTTPServer { change(&$0.limits) } }
    }
    #expect(
      error { $0.threads = 0 } == .limit("threads", value: "0", allowed: "1 to 256"))
    #expect("\(error { $0.connections = 1 }!)".contains("connections is 1"))
    #expect(
      error { $0.headByteCount = 10 }
        == .limit("headByteCount", value: "10", allowed: "1024 to 1048576"))
    #expect("\(error { $0.bodyByteCount = -1 }!)".contains("bodyByteCount is -1"))
    #expect("\(error { $0.bodiesByteCount = 1 }!)".contains("bodiesByteCount is 1"))
    #expect("\(error { $0.requestTime = .zero }!)".contains("requestTime is"))
    #expect("\(error { $0.idleTime = .seconds(100_000) }!)".contains("idleTime is"))
    #expect(
      throws: HTTPServerError.limit(
        "socketMode", value: "1777", allowed: "0 to 777, in octal digits")
    ) {
      try HTTPServer {
        $0.address = "unix:/nowhere/socket"
        $0.socketMode = 0o1777
      }
    }
  }
}
