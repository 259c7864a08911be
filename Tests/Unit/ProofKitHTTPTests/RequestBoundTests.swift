// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitHTTP
import ProofModel
import Testing

@Suite("Requests that a transport takes", .timeLimit(.minutes(5)))
struct RequestBoundTests {
  private let server: RawServer
  private let transport = CurlTransport(.init(allowsPlainLoopback: true))

  init() throws {
    server = try RawServer()
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
  }

  private func failure(
    _ url: String? = nil, over other: CurlTransport? = nil, family: AddressFamily = .any,
    host: String? = nil, method: String? = nil, fields: [HeaderField]? = nil
  ) -> TransportError? {
    var request = TransportRequest(
      url: url ?? server.url("/a"), body: nil, timeout: .seconds(60), responseLimit: 100)
    request.addressFamily = family
    request.connectHost = host
    request.method = method
    request.fields = fields
    do throws(TransportError) {
      _ = try (other ?? transport).send(request)
      return nil
    } catch { return error }
  }

  /// RFC 9110, section 5.6.2.
  @Test("a method, and a field's name, is a token")
  func tokens() {
    let others = Set("!#$%&'*+-.^_`|~".utf8)
    for byte in UInt8(0)...127 {
      let letter = Character(UnicodeScalar(byte))
      let isToken = letter.isLetter || letter.isNumber || others.contains(byte)
      let isRefused = failure(method: "A\(letter)", fields: []) != nil
      #expect(isRefused == !isToken, "\(byte)")
      let named = failure(method: "GET", fields: [HeaderField("X\(letter)", "b")])
      #expect((named != nil) == !isToken, "\(byte)")
    }
    #expect(failure(method: "") == .refused("the method is no HTTP method"))
    #expect(failure(method: "GÉT") == .refused("the method is no HTTP method"))
    #expect(
      failure(fields: [HeaderField("", "b")])
        == .refused("the header field  has a character that HTTP forbids"))
  }

  /// RFC 9110, section 5.5.
  @Test("a field's value has a tab, blanks and what is visible")
  func values() {
    for byte in UInt8(0)...127 {
      let value = "a\(Character(UnicodeScalar(byte)))b"
      let failure = failure(
        method: "GET", fields: [HeaderField("X", "1"), HeaderField("Y", value)])
      let isTaken = byte == 9 || (32...126).contains(byte)
      let error = TransportError.refused("the header field Y has a character that HTTP forbids")
      #expect(failure == (isTaken ? nil : error), "\(byte)")
      if isTaken { #expect(server.last.lines.contains("Y: \(value)"), "\(byte)") }
    }
    #expect(failure(method: "GET", fields: [HeaderField("X", "\u{80}é")]) == nil)
    #expect(server.last.lines.contains("X: \u{80}é"))
  }

  @Test("http goes to this machine alone, by its name or an address, without a user")
  func plain() {
    let error = TransportError.refused(
      "http is allowed to this machine only, and only where it was asked for")
    for (host, isTaken) in [
      ("127.0.0.1", true), ("localhost", true), ("127.255.0.255", true), ("[::1]", true),
      ("localhost.", false), ("127.0.0", false), ("127.0.0.256", false), ("127.0.0.1.1", false),
      ("127.0.0.", false), ("128.0.0.1", false), ("12.7.0.1", false), ("[::2]", false),
      ("[::1", false), ("127.0.0.a", false), ("a@127.0.0.1", false), ("127.example", false),
    ] {
      // No server is at the first port: what is taken is not reached.
      let failure = failure("http://\(host):1/")
      #expect((failure != error) == isTaken && failure != nil, "\(host)")
      if isTaken {
        #expect(self.failure("http://\(host):1/", over: CurlTransport()) == error)
        #expect(self.failure("http://\(host):1/", host: "192.0.2.1") == error)
      }
    }
    for end in ["", "/a", "?a", "#a"] {
      #expect(failure("http://127.0.0.1:\(server.port)\(end)") == nil, "\(end)")
    }
    #expect(failure("http://127.0.0.2:\(server.port)/", host: "127.0.0.1") == nil)
    for url in ["", "http:/127.0.0.1", "ftp://127.0.0.1", "HTTP://127.0.0.1", "https:/127.0.0.1"] {
      #expect(failure(url) == .refused("\(url) is no https URL"))
    }
  }

  @Test("an address of one version is not reached by the other")
  func families() {
    let six = TransportError.unreachable("[::1] is an IPv6 address, and only IPv4 may be used")
    let four = TransportError.unreachable("127.0.0.1 is an IPv4 address, and only IPv6 may be used")
    for end in ["", ":1", ":1/", "/a", "?a", "#a"] {
      for scheme in ["http", "https"] {
        #expect(failure("\(scheme)://[::1]\(end)", family: .v4) == six, "\(scheme) \(end)")
        #expect(failure("\(scheme)://127.0.0.1\(end)", family: .v6) == four, "\(scheme) \(end)")
      }
    }
    #expect(failure("https://api.example.com", family: .v4, host: "[::1]") == six)
    #expect(failure("https://api.example.com", family: .v6, host: "127.0.0.1") == four)
    #expect(failure(family: .v4) == nil)
  }

  @Test("so many connections are kept as the options say", arguments: [0, 1, 2])
  func kept(count: Int) {
    let other = CurlTransport(.init(allowsPlainLoopback: true, keptConnectionCount: count))
    for _ in 1...3 { #expect(failure(over: other) == nil) }
    #expect(other.connectionCount == (count == 0 ? 3 : 1))
  }

  @Test("a request without any time is not waited for")
  func noTime() throws {
    server.say("")
    for timeout in [Duration.zero, .nanoseconds(1), .seconds(-1)] {
      let request = TransportRequest(
        url: server.url("/a"), body: nil, timeout: timeout, responseLimit: 100)
      let error = #expect(throws: TransportError.self) { try transport.send(request) }
      guard case .timedOut? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
  }
}
