// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofModel
import Testing

/// Requests and answers byte for byte, over plain HTTP to this machine.
@Suite("The bytes of requests and answers")
struct RawRequestTests {
  private let server: RawServer
  private let transport = CurlTransport(.init(allowsPlainLoopback: true))
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

  init() throws {
    server = try RawServer()
    server.say(Self.ok)
  }

  private func send(
    _ path: String = "/a", method: String? = nil, fields: [HeaderField]? = nil,
    body: [UInt8]? = nil, limit: Int = 1 << 20, authorization: String? = nil
  ) throws(TransportError) -> TransportResponse {
    var request = TransportRequest(
      url: server.url(path), body: body, timeout: .seconds(30), responseLimit: limit)
    request.method = method
    request.fields = fields
    request.authorization = authorization
    return try transport.send(request)
  }

  private func failure(limit: Int = 1 << 20) -> TransportError? {
    do throws(TransportError) {
      _ = try send(limit: limit)
      return nil
    } catch { return error }
  }

  private var usual: [String] {
    ["Host: 127.0.0.1:\(server.port)", "User-Agent: ProofKit", "Accept: */*"]
  }

  // MARK: Requests

  @Test("a message to the service is a POST of bytes, and a question without a body a GET")
  func message() throws {
    let type = "Content-Type: application/octet-stream"
    for (body, method, length) in [
      (nil, "GET", nil), ([], "POST", "Content-Length: 0"),
      (Array("ab\0c".utf8), "POST", "Content-Length: 4"),
    ] as [([UInt8]?, String, String?)] {
      let response = try send("/v1/x?y=1", body: body)
      #expect(response.status == 200 && response.body == Array("hi".utf8))
      #expect(response.fields.isEmpty && response.serverTime == nil)
      #expect(server.last.lines.first == "\(method) /v1/x?y=1 HTTP/1.1")
      #expect(
        Set(server.last.lines.dropFirst()) == Set(usual + [type] + (length.map { [$0] } ?? [])))
      #expect(server.last.body == String(decoding: body ?? [], as: UTF8.self))
    }
  }

  @Test("an authorization is one field more, and one with an end of line is not sent")
  func authorization() throws {
    _ = try send(body: [1], authorization: "Bearer x")
    #expect(server.last.lines.contains("Authorization: Bearer x"))
    #expect(server.last.lines.contains("Content-Type: application/octet-stream"))
    for value in ["a\rb", "a\nb"] {
      #expect(throws: TransportError.refused("the authorization has an end of line")) {
        try send(authorization: value)
      }
    }
    #expect(server.requests.withLock { $0.count } == 1)
  }

  @Test("a request of the app's own has its method and its fields alone")
  func own() throws {
    let fields = [HeaderField("X-A", "b"), HeaderField("X-Empty", ""), HeaderField("x-a", "c")]
    for (method, body) in [
      ("GET", nil), ("PUT", [65]), ("DELETE", nil), ("POST", []), ("PATCH", [66]), ("GET", [67]),
    ] as [(String, [UInt8]?)] {
      _ = try send(method: method, fields: fields, body: body)
      let lines = server.last.lines
      #expect(lines.first == "\(method) /a HTTP/1.1")
      let length = body.map { ["Content-Length: \($0.count)"] } ?? []
      #expect(
        Set(lines.dropFirst()) == Set(usual + ["X-A: b", "X-Empty:", "x-a: c"] + length),
        "\(lines)")
      #expect(server.last.body == String(decoding: body ?? [], as: UTF8.self))
    }
    _ = try send(fields: [])
    #expect(Set(server.last.lines.dropFirst()) == Set(usual))
  }

  @Test("a type of the app's own is sent once, in either case of its name")
  func type() throws {
    for name in ["Content-Type", "content-type"] {
      _ = try send(method: "POST", fields: [HeaderField(name, "text/plain")], body: [1])
      let types = server.last.lines.filter { $0.lowercased().hasPrefix("content-type") }
      #expect(types == ["\(name): text/plain"])
    }
  }

  @Test("the target of an app's own request is sent as it stands")
  func target() throws {
    _ = try send("/a/../b/./c//d", method: "GET", fields: [])
    #expect(server.last.lines.first == "GET /a/../b/./c//d HTTP/1.1")
    _ = try send("/a/../b")
    #expect(server.last.lines.first == "GET /b HTTP/1.1")
  }

  @Test("an answer to HEAD has no body, whatever length it tells")
  func head() throws {
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    let response = try send(method: "HEAD", fields: [])
    #expect(response.status == 200 && response.body.isEmpty)
    #expect(server.last.lines.first == "HEAD /a HTTP/1.1")
  }

  // MARK: Answers

  @Test("the header of an answer is the app's in its order, and that of the service is not kept")
  func header() throws {
    server.say("HTTP/1.1 299 Any\r\nX-B: 1\r\nA: 3\r\nX-B: 2, 3\r\nContent-Length: 0\r\n\r\n")
    let response = try send(method: "GET", fields: [])
    #expect(response.status == 299 && response.body.isEmpty)
    #expect(
      response.fields == [
        HeaderField("X-B", "1"), HeaderField("A", "3"), HeaderField("X-B", "2, 3"),
        HeaderField("Content-Length", "0"),
      ])
    #expect(try send().fields.isEmpty)
    server.say("HTTP/1.1 204 None\r\n\r\n")
    #expect(try send(method: "GET", fields: []).fields.isEmpty)
  }

  @Test("a field of no value is there, with nothing in it")
  func emptyField() throws {
    server.say("HTTP/1.1 200 OK\r\nA:\r\nB: \r\nC: \t \r\nD: 1 \r\nContent-Length: 0\r\n\r\n")
    let fields = try send(method: "GET", fields: []).fields
    #expect(
      fields.dropLast() == [
        HeaderField("A", ""), HeaderField("B", ""), HeaderField("C", ""), HeaderField("D", "1"),
      ])
  }

  @Test("the date of an answer is its time, from the first second of 1970 on")
  func date() throws {
    for (date, seconds) in [
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 01 Jan 1970 00:00:01 GMT", 1),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("yesterday", nil), ("", nil),
    ] as [(String, Int64?)] {
      server.say("HTTP/1.1 200 OK\r\nDate: \(date)\r\nContent-Length: 0\r\n\r\n")
      #expect(try send().serverTime?.seconds == seconds, "\(date)")
    }
  }

  @Test("a redirect is not followed")
  func redirect() throws {
    server.say("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
    #expect(try send().status == 302)
    #expect(server.requests.withLock { $0.count } == 1)
  }

  @Test("a body of any size up to the limit is kept whole, in a connection that goes on")
  func sizes() throws {
    for count in [0, 1, 16_383, 16_384, 16_385, 32_768, 32_769, 200_000, 3] {
      let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      server.say("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n", body)
      #expect(try send(limit: count).body == body, "\(count)")
    }
    #expect(transport.connectionCount == 1)
  }

  @Test("a body beyond the limit is refused, be its length told or not")
  func tooLong() throws {
    for (head, limit, isTaken) in [
      ("Content-Length: 4", 4, true), ("Content-Length: 4", 3, false), ("X: y", 4, true),
      ("X: y", 3, false), ("X: y", 0, false),
    ] {
      server.say("HTTP/1.1 200 OK\r\n\(head)\r\n\r\nabcd", ends: true)
      let failure = failure(limit: limit)
      if isTaken {
        #expect(failure == nil, "\(head) \(limit)")
      } else if case .garbled(let words)? = failure {
        #expect(head != "X: y" || words == "longer than the limit")
      } else {
        Issue.record("\(String(describing: failure))")
      }
    }
  }

  @Test("an answer that ends early broke off, and one that is no HTTP is garbled")
  func broken() throws {
    for text in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
      server.say(text, ends: true)
      guard case .brokenOff(let words)? = failure(), !words.isEmpty else {
        Issue.record("\(text)")
        continue
      }
    }
    for text in ["hello\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n"] {
      server.say(text, ends: true)
      guard case .garbled(let words)? = failure(), !words.isEmpty else {
        Issue.record("\(text)")
        continue
      }
    }
    // The next request has a connection of its own.
    server.say(Self.ok)
    #expect(try send().body == Array("hi".utf8))
  }
}
