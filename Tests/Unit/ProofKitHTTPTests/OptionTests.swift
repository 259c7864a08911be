// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitHTTP
import ProofModel
import SilentResolver
import Testing

/// The numbers are those of curl/curl.h, which libcurl never changes.
@Suite("Options of a transfer")
struct OptionTests {
  private let server: RawServer

  init() throws {
    server = try RawServer()
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
  }

  /// The options that a request gives to libcurl, by number. The transfer itself may fail.
  private func options(
    authorities: String? = nil, isPlain: Bool = true, timeout: Duration = .seconds(30),
    body: [UInt8]? = nil, _ change: (inout TransportRequest) -> Void = { _ in }
  ) -> [Int: String] {
    let transport = CurlTransport(
      .init(
        authorities: authorities, allowsPlainLoopback: isPlain, connectTimeout: .seconds(7)))
    var request = TransportRequest(
      url: isPlain ? server.url("/a") : "https://127.0.0.1:1/a", body: body, timeout: timeout,
      responseLimit: 1_000)
    change(&request)
    recorded_options_begin()
    _ = try? transport.send(request)
    let text = unsafe String(cString: recorded_options_end())
    var found: [Int: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      found[Int(parts[0]) ?? 0] = String(parts[1])
    }
    return found
  }

  /// A request without a body or fields of its own, over plain HTTP.
  private static let usual: [Int: String] = [
    // Addresses and protocols; no redirect, proxy, password file or signal.
    10_002: "set", 10_318: "http,https", 113: "0", 52: "0", 10_004: "", 10_177: "*", 51: "0",
    99: "1",
    // TLS 1.2 at least, chain and name verified, no secrets written; HTTP/1.1, nothing packed.
    32: "6", 64: "1", 81: "2", 20_108: "set", 84: "2", 10_102: "null",
    10_018: "ProofKit", 10_023: "set",
    // Milliseconds; no wait for a resolver; the error's words, the answer and its limit.
    156: "7000", 155: "30000", 322: "1", 213: "1", 10_010: "set", 20_011: "set", 10_001: "set",
    30_117: "1000",
  ]

  @Test("each defence is asked for, with every request")
  func defences() {
    #expect(options() == Self.usual)
    var strict = Self.usual
    strict[10_318] = "https"
    #expect(options(isPlain: false) == strict)
    strict[10_065] = "/nowhere/authorities.pem"
    strict[10_097] = "null"
    #expect(
      options(authorities: "/nowhere/authorities.pem", isPlain: false) == strict,
      "the system's authorities do not vouch beside those that are named")
  }

  @Test("a connection has no longer than its request")
  func times() {
    for (timeout, connect, whole) in [
      (Duration.milliseconds(6_999), "6999", "6999"), (.seconds(7), "7000", "7000"),
      (.milliseconds(7_001), "7000", "7001"),
    ] {
      let found = options(timeout: timeout)
      #expect(found[156] == connect && found[155] == whole)
    }
  }

  @Test("what a request has of its own is one option more")
  func own() {
    func more(
      _ body: [UInt8]? = nil, _ change: (inout TransportRequest) -> Void = { _ in }
    ) -> [Int: String] {
      options(body: body, change).filter { Self.usual[$0.key] != $0.value }
    }
    #expect(more { $0.addressFamily = .v4 } == [113: "1"])
    #expect(more([1, 2, 3]) == [47: "1", 10_015: "set", 30_120: "3"])
    #expect(more([]) == [47: "1", 10_015: "set", 30_120: "0"])
    #expect(more { $0.fields = [] } == [234: "1"])
    #expect(more { $0.method = "HEAD" } == [44: "1", 10_036: "HEAD"])
    #expect(more { $0.method = "GET" } == [10_036: "GET"])
    #expect(
      more([1]) { $0.method = "HEAD" }
        == [47: "1", 10_015: "set", 30_120: "1", 10_036: "HEAD"])
  }
}
