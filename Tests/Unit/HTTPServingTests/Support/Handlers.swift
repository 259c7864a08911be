// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HTTPServing
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
  func waitForArrival() { arrived.wait() }

  func open() { opened.signal() }
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
