// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import Testing

@Suite("HTTP server: it says that it leaves")
struct LeavingTests {
  private let handler = LeavingHandler(
    Answering { request in HTTPResponse(status: 200, text: "done \(request.path)") })

  @Test("Health fails before anything else does; each answer closes its connection")
  func leaving() throws {
    let server = try HTTPServer(HTTPServerSettings(), handler: handler)
    defer { server.stop(draining: .zero) }
    let wire = try server.connect()
    func ask(
      _ path: String, over wire: Wire
    ) throws -> (status: Int?, text: String?, closes: Bool) {
      wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      let answer = try wire.answer()
      return (
        answer?.status, answer?.text, answer?.headers["connection"]?.lowercased() == "close"
      )
    }
    #expect(try ask("/health", over: wire) == (200, "done /health\n", false))
    #expect(try ask("/other", over: wire) == (200, "done /other\n", false))
    handler.leave()
    #expect(try ask("/health", over: wire) == (503, "leaving\n", true))
    #expect(try ask("/other", over: server.connect()) == (200, "done /other\n", true))
  }
}
