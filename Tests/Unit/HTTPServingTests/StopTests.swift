// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import OwnThreads
import Synchronization
import Testing

@Suite("HTTP server: how it stops")
struct StopTests {
  @Test("Requests in flight finish; connections and requests that come meanwhile are refused")
  func inFlight() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200, text: "done")
      }
    ) { $0.limits.threads = 4 }
    let slow = try server.connect()
    slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    gate.waitForArrival()
    // In flight, too: the head is here, the body is not.
    let half = try server.connect()
    half.send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    waitUntil { server.counts.requestsInFlight >= 2 || half.hasNews(within: 20) }

    let stop = Stop(server, draining: .seconds(60))
    waitUntil { Wire(to: server.port) == nil }
    gate.open()
    let answer = try slow.answer()
    #expect(answer?.status == 200)
    #expect(answer?.text == "done\n")
    #expect(answer?.headers["connection"]?.lowercased() == "close")
    half.send("hello")
    #expect(try half.answer()?.status == 200)
    #expect(stop.wait() == true)
    #expect(server.counts.requestsInFlight == 0)
    #expect(server.counts.connectionsOpen == 0)
  }

  @Test("A request on an open connection gets 503 while the server stops")
  func newRequest() throws {
    let gate = Gate()
    let server = try HTTPServer(
      Answering { request in
        if request.path == "/slow" { gate.pass() }
        return HTTPResponse(status: 200)
      }
    ) { $0.limits.threads = 8 }
    let slow = try server.connect()
    slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    gate.waitForArrival()
    // A connection of the thread that waits would get no answer before the end. This one is accepted
    // while that thread waits, so it is another's.
    let kept = try server.connect()
    #expect(try kept.ask("GET", "/")?.status == 200)
    let stop = Stop(server, draining: .seconds(60))
    waitUntil { Wire(to: server.port) == nil }
    let answer = try kept.ask("GET", "/")
    #expect(answer?.status == 503)
    #expect(answer?.headers["retry-after"] == "1")
    #expect(answer?.headers["connection"]?.lowercased() == "close")
    gate.open()
    #expect(try slow.answer()?.status == 200)
    #expect(stop.wait() == true)
    #expect(server.counts.requestsRefusedStopping > 0)
  }

  @Test("A request that never ends is given up when the time is over")
  func impatience() throws {
    let server = try HTTPServer()
    let wire = try server.connect()
    wire.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
    waitUntil { server.counts.requestsInFlight > 0 || wire.hasNews(within: 20) }
    #expect(server.stop(draining: .milliseconds(50)) == false)
    #expect(try wire.rest().isEmpty)
  }

  @Test("Idle connections do not hold a stop up, and to stop again is nothing")
  func idle() throws {
    let server = try HTTPServer()
    let wires = try (0..<10).map { _ in try server.connect() }
    for wire in wires { #expect(try wire.ask("GET", "/")?.status == 200) }
    #expect(server.stop(draining: .seconds(60)))
    #expect(server.stop(draining: .seconds(60)))
    for wire in wires { #expect(try wire.rest().isEmpty) }
    #expect(Wire(to: server.port) == nil)
  }

  @Test("A server that is let go stops")
  func letGo() throws {
    var server: HTTPServer? = try HTTPServer()
    let port = try #require(server?.port)
    let wire = try #require(server).connect()
    server = nil
    #expect(try wire.rest().isEmpty)
    #expect(Wire(to: port) == nil)
  }

  /// A handler that a test sees go.
  private final class Mortal: HTTPHandler {
    func respond(to request: HTTPRequest) -> HTTPResponse { HTTPResponse(status: 200) }
  }

  @Test("A server that is let go, or that cannot listen, lets its handler go")
  func handler() throws {
    weak var seen: Mortal?
    do {
      let handler = Mortal()
      seen = handler
      let server = try HTTPServer(handler)
      #expect(try server.connect().ask("GET", "/")?.status == 200)
      #expect(throws: HTTPServerError.self) {
        try HTTPServer(HTTPServerSettings(port: server.port), handler: handler)
      }
    }
    #expect(seen == nil)
  }

  @Test("Servers start and stop while clients come")
  func restarts() throws {
    for _ in 0..<60 {
      let server = try HTTPServer { $0.limits.threads = 4 }
      let port = server.port
      let stop = Mutex<Stop?>(nil)
      onThreads(8) { client in
        if client == 4 { stop.withLock { $0 = Stop(server, draining: .seconds(10)) } }
        guard let wire = Wire(to: port) else { return }
        while let answer = try? wire.ask("GET", "/"), answer.status == 200 {}
      }
      #expect(stop.withLock { $0 }?.wait() == true)
    }
  }
}
