// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPServing

/// The server's own answers, the sizes from which it reads no further, and addresses in their one form.
@Suite("HTTP server: its own answers, and addresses")
struct AnswerTests {
  private static func head(_ size: Int, _ more: String = "") -> String {
    "POST / HTTP/1.1\r\nHost: localhost\r\n\(more)Content-Length: \(size)\r\n\r\n"
  }

  @Test("A refusal is a line of text that ends the connection, and says when to come again")
  func refusals() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 10 }
    for (request, status, text) in [
      (Self.head(100), 413, "the body is larger than this service takes\n"),
      (
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        400, "the request states its length twice\n"
      ),
      (
        "GET / HTTP/1.1\nHost: a\n\n", 400,
        "end each line of the head with CR LF, continue none, and use no control characters\n"
      ),
    ] {
      let wire = try server.connect()
      wire.send(request)
      let answer = try wire.answer()
      #expect(answer?.status == status && answer?.text == text, "\(text)")
      #expect(answer?.headers["content-type"] == "text/plain; charset=utf-8")
      #expect(answer?.headers["connection"]?.lowercased() == "close")
      #expect(answer?.headers["retry-after"] == nil)
      #expect(try wire.rest().isEmpty)
    }
    let query = (0..<17).map { "a\($0)=1" }.joined(separator: "&")
    let answer = try server.connect().ask("GET", "/?\(query)")
    #expect(answer?.text == "more headers or query values than this service takes\n")
    #expect(answer?.headers["connection"]?.lowercased() == "close")
    let failing = try HTTPServer(Answering { _ in HTTPResponse(status: 0) })
    let failed = try failing.connect().ask("GET", "/")
    #expect(failed?.status == 500 && failed?.text == "the service failed to answer; try again\n")
    #expect(failed?.headers["retry-after"] == nil)
  }

  @Test("Each status from 200 to 599 is a handler's to give", arguments: [200, 201, 404, 598, 599])
  func statuses(status: Int) throws {
    let server = try HTTPServer(Answering { _ in HTTPResponse(status: status, text: "x") })
    #expect(try server.connect().ask("GET", "/")?.status == status)
  }

  @Test("A body up to twice too large is read to its end before it is refused, a larger one is not")
  func twice() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 1_000 }
    for (size, isRead) in [(1_001, true), (2_000, true), (2_001, false)] {
      let wire = try server.connect()
      wire.send(Self.head(size, "Expect: 100-continue\r\n"))
      // The first news says whether the body is wanted.
      #expect(wire.hasNews(within: 20_000))
      if isRead { wire.send([UInt8](repeating: 1, count: size)) }
      let said = String(decoding: try wire.rest(), as: UTF8.self)
      #expect(said.hasPrefix(isRead ? "HTTP/1.1 100 " : "HTTP/1.1 413 "), "\(size)")
      #expect(said.contains("HTTP/1.1 413 "))
    }
    #expect(server.counts.requestsTooLarge == 3)
  }

  @Test("A body in chunks is cut off beyond twice the limit, and answered up to there")
  func chunks() throws {
    let server = try HTTPServer { $0.limits.bodyByteCount = 1_000 }
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    let chunk = "64\r\n" + String(repeating: "x", count: 100) + "\r\n"
    for (count, last, status) in [
      (10, "", 200), (10, "1\r\nx\r\n", 413), (20, "", 413), (20, "1\r\nx\r\n", nil),
    ] as [(Int, String, Int?)] {
      let wire = try server.connect()
      wire.send(head + String(repeating: chunk, count: count) + last + "0\r\n\r\n")
      #expect(try wire.answer()?.status == status, "\(count) \(last.count)")
    }
    #expect(server.counts.requestsTooLarge == 3)
  }

  @Test("An address has one form, and no other text is one")
  func addresses() {
    for (text, form) in [
      ("0.1.9.10", "0.1.9.10"), ("11.99.100.101", "11.99.100.101"),
      ("199.200.249.255", "199.200.249.255"), ("::ffff:109.110.20.90", "109.110.20.90"),
      ("2001:DB8:0:0::1", "2001:db8::1"), ("::", "::"), ("0:0:0:0:0:0:0:1", "::1"),
      ("", nil), ("256.1.1.1", nil), ("1.2.3", nil), ("01.2.3.4", nil), ("1.2.3.4 ", nil),
      ("::1%lo", nil), ("localhost", nil),
    ] as [(String, String?)] { #expect(IPAddress(text)?.text == form, "\(text)") }
    for (text, isLoopback) in [
      ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("::ffff:127.0.0.1", true),
      ("126.0.0.1", false), ("128.0.0.1", false), ("12.7.0.1", false), ("::2", false),
      ("::", false), ("::1:1", false),
    ] { #expect(IPAddress(text)?.isLoopback == isLoopback, "\(text)") }
  }

  @Test("An IPv6 address is counted by its first 64 bits, and any other text by itself")
  func networks() {
    for (text, network) in [
      ("2001:db8:1:203:ffff:ffff:ffff:ffff", "2001:db8:1:203::"),
      ("2001:db8:1:203::1", "2001:db8:1:203::"), ("2001:db8:1:204::1", "2001:db8:1:204::"),
      ("2001:db8:1:203:100::", "2001:db8:1:203::"), ("::1", "::"), ("192.0.2.77", "192.0.2.77"),
      ("::ffff:192.0.2.77", "192.0.2.77"), ("", ""), ("x", "x"),
    ] { #expect(IPAddress.network(of: text) == network, "\(text)") }
  }

  @Test("A peer is told in full, and a message without one stands for no address")
  func peers() throws {
    let server = try HTTPServer { $0.trustedProxies = ["127.0.0.1"] }
    let wire = try server.connect()
    for (forwarded, peer) in [
      ("99.100.9.10", "99.100.9.10"), ("2001:DB8::00FF", "2001:db8::ff"),
      (" \t198.51.100.7\t ", "198.51.100.7"), ("a,\t198.51.100.7 ,127.0.0.1", "198.51.100.7"),
    ] {
      let answer = try wire.ask("GET", "/", headers: ["X-Forwarded-For: \(forwarded)"])
      #expect(answer?.headers["x-peer"] == peer, "\(forwarded)")
    }
  }
}
