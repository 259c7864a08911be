// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import Synchronization
import Testing

/// Answers with a closure.
struct Answering: HTTPHandler {
  let answer: @Sendable (HTTPRequest) -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) { self.answer = answer }

  func respond(to request: HTTPRequest) -> HTTPResponse { answer(request) }
}

/// Answers with what it was asked, so that a test sees the request as a handler does.
struct Echo: HTTPHandler {
  func respond(to request: HTTPRequest) -> HTTPResponse {
    let query = request.query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return HTTPResponse(
      status: 200,
      headers: [
        "x-method": request.method, "x-path": request.path, "x-peer": request.peer,
        "x-target": request.target,
        "x-lines": request.fields.filter { $0.name.lowercased() == "x-sent" }
          .map { "\($0.name): \($0.value)" }.joined(separator: "|"),
        "x-query": query.joined(separator: "&"), "x-seen": request.headers["x-sent"] ?? "",
      ],
      body: request.body)
  }
}

/// A door that a handler waits at until the test opens it.
final class Gate: Sendable {
  private let arrived = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// Called by the handler.
  func pass() {
    arrived.signal()
    opened.wait()
  }

  /// Returns when a handler has come to the gate.
  @available(*, noasync)
  func waitForArrival() { arrived.wait() }

  func open() { opened.signal() }
}

/// The result of a stop on another thread.
final class Stop: Sendable {
  private let done = DispatchSemaphore(value: 0)
  private let result = Mutex<Bool?>(nil)

  init(_ server: HTTPServer, draining time: Duration) {
    Thread { [self] in
      let isDrained = server.stop(draining: time)
      result.withLock { $0 = isDrained }
      done.signal()
    }.start()
  }

  @available(*, noasync)
  func wait() -> Bool? {
    done.wait()
    return result.withLock { $0 }
  }
}

extension HTTPServer {
  /// A server on a port that the system chooses.
  convenience init(
    _ handler: any HTTPHandler = Echo(), _ change: (inout HTTPServerSettings) -> Void = { _ in }
  ) throws {
    var settings = HTTPServerSettings()
    settings.limits.threads = 2
    change(&settings)
    try self.init(settings, handler: handler)
  }

  func connect() throws -> Wire { try #require(Wire(to: port)) }
}
