// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import OwnThreads
import Synchronization
import Testing

/// Answers by a closure that may put its answer off.
private struct PuttingOff: HTTPHandler {
  let closure: @Sendable (HTTPRequest) -> HTTPAnswer

  init(_ closure: @escaping @Sendable (HTTPRequest) -> HTTPAnswer) { self.closure = closure }

  func respond(to request: HTTPRequest) -> HTTPResponse { closure(request).response() }

  func answer(to request: HTTPRequest) -> HTTPAnswer { closure(request) }
}

/// Keeps answers until the test wakes them.
private final class Sleepers: Sendable {
  private let waiting = Mutex<[@Sendable () -> Void]>([])
  private let arrived = DispatchSemaphore(value: 0)

  func add(_ wake: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.append(wake) }
    arrived.signal()
  }

  /// Returns when so many more have come.
  @available(*, noasync)
  func wait(for count: Int = 1) { for _ in 0..<count { arrived.wait() } }

  var count: Int { waiting.withLock { $0.count } }

  func wakeAll() {
    let all = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for wake in all { wake() }
  }
}

@Suite("HTTP server: answers that are put off")
struct PutOffTests {
  private static func get(_ path: String) -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
  }

  private static func later(
    _ sleepers: Sleepers, _ finish: @escaping @Sendable () -> HTTPAnswer
  ) -> HTTPAnswer {
    .later(HTTPWait({ sleepers.add($0) }, finish: finish))
  }

  @Test("One thread carries more requests that wait than there are threads")
  func manyWait() throws {
    let sleepers = Sleepers()
    let server = try HTTPServer(
      PuttingOff { request in
        Self.later(sleepers) { .now(HTTPResponse(status: 200, text: request.path)) }
      }
    ) { $0.limits.threads = 1 }
    let wires = try (0..<40).map { _ in try server.connect() }
    for (number, wire) in wires.enumerated() { wire.send(Self.get("/\(number)")) }
    // A thread that waited would let only one come.
    sleepers.wait(for: 40)
    sleepers.wakeAll()
    for (number, wire) in wires.enumerated() {
      let answer = try wire.answer()
      #expect(answer?.status == 200)
      #expect(answer?.text == "/\(number)\n")
    }
    #expect(server.stop())
  }

  @Test("An answer may be woken before it was put off, by another thread, and put off again")
  func orders() throws {
    let server = try HTTPServer(
      PuttingOff { request in
        @Sendable func round(_ left: Int) -> HTTPAnswer {
          guard left > 0 else { return .now(HTTPResponse(status: 200, body: request.body)) }
          return .later(
            HTTPWait(
              { wake in
                if left.isMultiple(of: 2) { wake() } else { Thread { wake() }.start() }
              }, finish: { round(left - 1) }))
        }
        return round(Int(request.path.dropFirst()) ?? 0)
      })
    onThreads(4) { client in
      guard let wire = Wire(to: server.port) else { return }
      for number in 0..<100 {
        let body = [UInt8(client), UInt8(number)]
        let answer = try? wire.ask("POST", "/\(number % 5)", body: body)
        #expect(answer?.body == body)
      }
    }
    #expect(server.stop())
    #expect(server.counts.requestsInFlight == 0)
  }

  @Test("Work that was put off is finished also if the client has gone")
  func goneClient() throws {
    let sleepers = Sleepers()
    let finished = DispatchSemaphore(value: 0)
    let server = try HTTPServer(
      PuttingOff { _ in
        Self.later(sleepers) {
          Self.later(sleepers) {
            finished.signal()
            return .now(HTTPResponse(status: 200))
          }
        }
      })
    for _ in 0..<20 {
      let wire = try server.connect()
      wire.send(Self.get("/"))
      sleepers.wait()
      wire.reset()
      sleepers.wakeAll()
      sleepers.wait()
      sleepers.wakeAll()
      finished.wait()
    }
    #expect(server.stop())
    #expect(server.counts.connectionsOpen == 0)
  }

  @Test("A stop lets an answer that was put off come")
  func stopDrains() throws {
    let sleepers = Sleepers()
    let server = try HTTPServer(
      PuttingOff { _ in Self.later(sleepers) { .now(HTTPResponse(status: 200)) } })
    let wire = try server.connect()
    wire.send(Self.get("/"))
    sleepers.wait()
    let stop = Stop(server, draining: .seconds(60))
    waitUntil { Wire(to: server.port) == nil }
    sleepers.wakeAll()
    let answer = try wire.answer()
    #expect(answer?.status == 200)
    #expect(answer?.headers["connection"]?.lowercased() == "close")
    #expect(stop.wait() == true)
  }

  @Test("A stop that drains no longer waits until each answer that was put off is woken")
  func stopWaits() throws {
    let sleepers = Sleepers()
    let server = try HTTPServer(
      PuttingOff { _ in
        Self.later(sleepers) { Self.later(sleepers) { .now(HTTPResponse(status: 200)) } }
      })
    let wire = try server.connect()
    wire.send(Self.get("/"))
    sleepers.wait()
    let stop = Stop(server, draining: .milliseconds(1))
    // The stream is ended before the server waits for what is suspended.
    #expect(try wire.rest().isEmpty)
    sleepers.wakeAll()
    sleepers.wait()
    #expect(server.counts.requestsInFlight == 1)
    sleepers.wakeAll()
    #expect(stop.wait() == false)
    #expect(server.counts.requestsInFlight == 0)
  }

  @Test("An answer that is put off has no deadline of its client's, and the next request has one")
  func deadlines() throws {
    let sleepers = Sleepers()
    let server = try HTTPServer(
      PuttingOff { _ in Self.later(sleepers) { .now(HTTPResponse(status: 200)) } }
    ) {
      $0.limits.requestTime = .milliseconds(300)
      $0.limits.threads = 1
    }
    let wire = try server.connect()
    wire.send(Self.get("/"))
    sleepers.wait()
    // Another client's request runs into its deadline meanwhile, so that the watch has looked.
    let slow = try server.connect()
    slow.send("GET / HTTP/1.1\r\n")
    #expect(try slow.rest().isEmpty)
    #expect(server.counts.requestsTimedOut == 1)
    sleepers.wakeAll()
    #expect(try wire.answer()?.status == 200)
    wire.send("GET / HTTP/1.1\r\n")
    #expect(try wire.rest().isEmpty)
    #expect(server.counts.requestsTimedOut == 2)
  }

  @Test("Requests that follow one another on a connection are answered in order")
  func pipelined() throws {
    let sleepers = Sleepers()
    let server = try HTTPServer(
      PuttingOff { request in
        Self.later(sleepers) { .now(HTTPResponse(status: 200, text: request.path)) }
      })
    let wire = try server.connect()
    wire.send((0..<5).map { Self.get("/\($0)") }.joined())
    for number in 0..<5 {
      sleepers.wait()
      #expect(sleepers.count == 1)
      sleepers.wakeAll()
      #expect(try wire.answer()?.text == "/\(number)\n")
    }
  }

  @Test("Servers stop while answers are put off and woken")
  func restarts() throws {
    for _ in 0..<20 {
      let server = try HTTPServer(
        PuttingOff { _ in
          .later(
            HTTPWait({ wake in Thread { wake() }.start() }) {
              .later(HTTPWait({ $0() }) { .now(HTTPResponse(status: 200)) })
            })
        })
      let port = server.port
      let stop = Mutex<Stop?>(nil)
      onThreads(8) { client in
        if client == 4 { stop.withLock { $0 = Stop(server, draining: .milliseconds(1)) } }
        guard let wire = Wire(to: port) else { return }
        while let answer = try? wire.ask("GET", "/"), answer.status == 200 {}
      }
      _ = stop.withLock { $0 }?.wait()
      #expect(server.counts.requestsInFlight == 0)
      #expect(server.counts.connectionsOpen == 0)
    }
  }

  @Test("An observer measures until the response comes; a leaving service closes connections")
  func wrappers() throws {
    let sleepers = Sleepers()
    let metrics = HTTPMetrics()
    let leaving = LeavingHandler(
      try HTTPObserver(
        PuttingOff { _ in Self.later(sleepers) { .now(HTTPResponse(status: 418)) } },
        routes: ["/slow"], metrics: metrics))
    let answer = leaving.answer(to: HTTPRequest(method: "GET", path: "/slow"))
    #expect(!metrics.text.contains(#"status="418""#))
    let count = Mutex(0)
    onThreads(2) { thread in
      guard thread == 1 else {
        sleepers.wait()
        count.withLock { $0 = sleepers.count }
        return sleepers.wakeAll()
      }
      #expect(answer.response().status == 418)
    }
    #expect(count.withLock { $0 } == 1)
    #expect(metrics.text.contains(#"status="418""#))
    leaving.leave()
    let last = leaving.answer(to: HTTPRequest(method: "GET", path: "/slow"))
    onThreads(2) { thread in
      guard thread == 1 else {
        sleepers.wait()
        return sleepers.wakeAll()
      }
      #expect(last.response().headers["connection"] == "close")
    }
  }
}
