// SPDX-License-Identifier: Apache-2.0

private import Synchronization

/// Wraps a handler whose server is about to stop behind a load balancer.
///
/// After ``leave()`` the path of health is answered with status 503 and `leaving`, so that a load balancer sends no
/// more requests. Every other request is still served. Each answer closes its connection, so that no client sends
/// another request over it.
package final class LeavingHandler: HTTPHandler {
  private let handler: any HTTPHandler
  private let healthPath: String
  private let leaves = Atomic(false)

  /// Wraps a handler.
  ///
  /// - Parameters:
  ///   - handler: Answers the requests.
  ///   - healthPath: The path that the load balancer asks.
  package init(_ handler: any HTTPHandler, healthPath: String = "/health") {
    self.handler = handler
    self.healthPath = healthPath
  }

  /// Announces the stop from now on.
  package func leave() { leaves.store(true, ordering: .releasing) }

  /// The handler's response, or the announcement.
  package func respond(to request: HTTPRequest) -> HTTPResponse { answer(to: request).response() }

  /// The handler's answer, or the announcement.
  package func answer(to request: HTTPRequest) -> HTTPAnswer {
    guard leaves.load(ordering: .acquiring) else { return handler.answer(to: request) }
    let answer =
      request.path == healthPath
      ? .now(HTTPResponse(status: 503, text: "leaving")) : handler.answer(to: request)
    return answer.map { response in
      var response = response
      response.headers["connection"] = "close"
      return response
    }
  }
}
