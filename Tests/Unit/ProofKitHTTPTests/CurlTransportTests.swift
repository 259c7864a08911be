// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofKit
import ProofKitHTTP
import SilentResolver
import Testing

@Suite("Transport")
struct CurlTransportTests {
  let service: ReferenceService
  let transport: CurlTransport

  init() throws {
    service = try ReferenceService()
    transport = CurlTransport(.init(authorities: service.greeting.authority))
  }

  private func get(
    _ listener: String = "good", path: String = "/v1/config/acme?serial=0", body: [UInt8]? = nil,
    pins: [String] = [], timeout: Duration = .seconds(30), limit: Int = 1 << 20,
    cancellation: Cancellation = Cancellation(), through other: CurlTransport? = nil
  ) throws(TransportError) -> TransportResponse {
    try (other ?? transport).send(
      TransportRequest(
        url: service.url(listener) + path, body: body, pins: pins, timeout: timeout,
        responseLimit: limit, cancellation: cancellation))
  }

  private func failure(_ body: () throws(TransportError) -> TransportResponse) -> TransportError? {
    do throws(TransportError) {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  private func pin(_ name: String) -> String { service.greeting.pins[name] ?? "" }

  @Test("the service answers, tells the time, and one connection serves all requests")
  func answers() throws {
    for _ in 0..<20 {
      let response = try get(pins: [pin("good")])
      #expect(response.status == 200 && response.body.count > 300)
      #expect(try #require(response.serverTime) > 1_700_000_000)
    }
    #expect(try get(path: "/nowhere", body: []).status == 404)
    #expect(transport.connectionCount == 2, "one for requests with pins, one for those without")
    #expect(try service.seen().connections["good"] == 2)
  }

  @Test("one of several pins is enough")
  func spare() throws {
    #expect(try get(pins: [pin("otherkey"), pin("good")]).status == 200)
  }

  @Test(
    "a server that is not the service is told nothing",
    arguments: [
      ("otherkey", true), ("stranger", false), ("stranger", true), ("expired", false),
      ("wrongname", false), ("plain", false),
    ])
  func untrusted(listener: String, isPinned: Bool) throws {
    let pins = isPinned ? [pin("good")] : []
    let url = service.url(listener).replacingOccurrences(of: "http:", with: "https:")
    let failure = failure { () throws(TransportError) in
      try transport.send(
        TransportRequest(
          url: url + "/v1/report", body: Array("secret".utf8), pins: pins, timeout: .seconds(30)))
    }
    guard case .untrusted = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(try service.seen().bytes[listener] == 0)
    #expect(try service.seen().paths.isEmpty)
  }

  @Test("a connection that was made without a pin does not serve a request with another one")
  func pinOnKept() throws {
    #expect(try get("otherkey").status == 200)
    let failure = failure { () throws(TransportError) in try get("otherkey", pins: [pin("good")]) }
    guard case .untrusted = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(try service.seen().paths.values.reduce(0, +) == 1)
  }

  @Test("the system's authorities do not vouch for a private one")
  func systemAuthorities() {
    let system = CurlTransport()
    let failure = failure { () throws(TransportError) in try get(through: system) }
    guard case .untrusted = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test(
    "no server there, no such name: unreachable",
    arguments: [
      "https://127.0.0.1:1/", "https://attest.invalid/", "https://127.0.0.1:1/v1/report",
    ])
  func unreachable(url: String) {
    let failure = failure { () throws(TransportError) in
      try transport.send(TransportRequest(url: url, timeout: .seconds(30)))
    }
    guard case .unreachable = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test(
    "a service that hangs, before its answer or within it, times out",
    arguments: [
      "hang", "stall",
    ])
  func hanging(how: String) throws {
    try service.behave(how)
    let failure = failure { () throws(TransportError) in try get(timeout: .milliseconds(300)) }
    guard case .timedOut = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    try service.behave(nil)
  }

  @Test(
    "a peer that accepts the connection and never shakes hands times out",
    .timeLimit(.minutes(5)))
  func silent() throws {
    let url = service.url("silent") + "/v1/report"
    let quick = CurlTransport(
      .init(authorities: service.greeting.authority, connectTimeout: .milliseconds(300)))
    for (transport, timeout) in [(transport, 300), (quick, 3_600_000)] {
      let failure = failure { () throws(TransportError) in
        try transport.send(
          TransportRequest(url: url, body: [1], timeout: .milliseconds(timeout)))
      }
      guard case .timedOut = failure else {
        Issue.record("\(String(describing: failure))")
        continue
      }
    }
  }

  @Test("half an answer, and a connection that is reset, broke off", arguments: ["half", "reset"])
  func broken(how: String) throws {
    try service.behave(how)
    let failure = failure { () throws(TransportError) in try get() }
    guard case .brokenOff = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    try service.behave(nil)
    #expect(try get().status == 200)
  }

  @Test(
    "a gigabyte is refused at the limit, and what is no HTTP too", arguments: ["huge", "nothttp"])
  func garbled(how: String) throws {
    try service.behave(how)
    let failure = failure { () throws(TransportError) in try get(limit: 100_000) }
    guard case .garbled = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    // The client reads no further: the service could send only as much as the sockets' buffers
    // hold.
    #expect(try service.seen().paths["poured", default: 0] < 64 << 20)
  }

  @Test("a peer that ends the connection instead of a handshake broke off, and is no stranger")
  func closing() throws {
    let failure = failure { () throws(TransportError) in try get("closing") }
    guard case .brokenOff = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test("an answer as long as the limit is taken, one byte more is not")
  func limit() throws {
    let count = try get().body.count
    #expect(try get(limit: count).body.count == count)
    let failure = failure { () throws(TransportError) in try get(limit: count - 1) }
    guard case .garbled = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test("a redirect is an answer like any other: it is not followed")
  func redirect() throws {
    try service.behave("redirect")
    #expect(try get().status == 302)
    #expect(try service.seen().paths["/health"] == nil)
  }

  @Test("a request that is cancelled ends, before it began and while it waits")
  func cancelled() throws {
    let before = Cancellation()
    before.cancel()
    #expect(
      failure { () throws(TransportError) in try get(cancellation: before) } == .cancelled)
    try service.behave("hang")
    let during = Cancellation()
    let request = TransportRequest(
      url: service.url() + "/v1/challenge", body: [], timeout: .seconds(30), cancellation: during)
    let ended = DispatchSemaphore(value: 0)
    DispatchQueue(label: "caller").async { [transport] in
      #expect(throws: TransportError.cancelled) { try transport.send(request) }
      ended.signal()
    }
    try waitUntil { try service.seen().waiting != 0 }
    during.cancel()
    ended.wait()
    try service.behave(nil)
    #expect(try get().status == 200)
  }

  @Test(
    "http is refused, but to this machine where it was asked for",
    arguments: [
      ("http://127.0.0.1:1/", true), ("http://example.com/", false),
      ("http://127.0.0.1.example.com/", false), ("http://127.0.0.1@example.com/", false),
      ("http://10.0.0.1/", false), ("file:///etc/passwd", false), ("ftp://127.0.0.1/", false),
    ])
  func plain(url: String, isAllowed: Bool) throws {
    let request = TransportRequest(url: url, timeout: .seconds(30))
    let strict = failure { () throws(TransportError) in try transport.send(request) }
    guard case .refused = strict else {
      Issue.record("\(String(describing: strict))")
      return
    }
    let tolerant = CurlTransport(.init(allowsPlainLoopback: true))
    let failure = failure { () throws(TransportError) in try tolerant.send(request) }
    switch failure {
    case .refused: #expect(!isAllowed)
    case .unreachable: #expect(isAllowed)
    default: Issue.record("\(String(describing: failure))")
    }
    if isAllowed { #expect(try get("plain", through: tolerant).status == 200) }
  }

  @Test("TLS 1.1 is refused, also on a system that would allow it")
  func outdated() async throws {
    #expect(try service.version(at: "outdated") == "TLSv1.1")
    // In a process of its own, where the system's configuration of TLS is a tolerant one.
    let url = service.url("outdated") + "/v1/report"
    let authority = service.greeting.authority
    await #expect(processExitsWith: .success) {
      [url = url as String, authority = authority as String] in
      let folder = (authority as NSString).deletingLastPathComponent
      unsafe setenv("OPENSSL_CONF", folder + "/tolerant.cnf", 1)
      let transport = CurlTransport(.init(authorities: authority))
      let request = TransportRequest(url: url, body: [1], timeout: .seconds(30))
      do throws(TransportError) {
        _ = try transport.send(request)
        Issue.record("an answer over TLS 1.1")
      } catch {
        guard case .untrusted = error else {
          Issue.record("\(error)")
          return
        }
      }
    }
    #expect(try service.seen().bytes["outdated"] == 0)
  }

  @Test("a resolver that never answers ends at the request's timeout")
  func silentResolver() async {
    // In a process of its own: names no longer resolve there.
    await #expect(processExitsWith: .success) {
      silent_resolver_begin()
      let ended = DispatchSemaphore(value: 0)
      Thread {
        #expect {
          try CurlTransport().send(
            TransportRequest(url: "https://attest.example.com/", timeout: .milliseconds(300)))
        } throws: { error in
          if case TransportError.timedOut = error { true } else { false }
        }
        ended.signal()
      }.start()
      // Only one that waits for the resolver takes as long.
      #expect(ended.wait(timeout: .now() + 300) == .success)
    }
  }

  @Test("the secrets of a connection are written nowhere, whatever the environment asks for")
  func keyLog() async {
    // In a process of its own, because all tests share the environment.
    let url = service.url() + "/v1/config/acme?serial=0"
    let authority = service.greeting.authority
    await #expect(processExitsWith: .success) {
      [url = url as String, authority = authority as String] in
      let log = (authority as NSString).deletingLastPathComponent + "/secrets-\(UUID().uuidString)"
      unsafe setenv("SSLKEYLOGFILE", log, 1)
      let transport = CurlTransport(.init(authorities: authority))
      let response = try transport.send(TransportRequest(url: url, timeout: .seconds(30)))
      #expect(response.status == 200)
      // libcurl has opened it; nothing is in it. Foundation loses a page of memory if it reads that.
      let attributes = try? FileManager.default.attributesOfItem(atPath: log)
      #expect(attributes == nil || attributes?[.size] as? Int == 0)
    }
  }

  @Test("an authorization of two lines is refused in words that say so")
  func authorization() throws {
    var request = TransportRequest(url: service.url() + "/", timeout: .seconds(30))
    request.authorization = "Bearer a\r\nX-Other: b"
    guard
      case .refused(let words) = failure({ () throws(TransportError) in
        try transport.send(request)
      })
    else {
      Issue.record("not refused")
      return
    }
    #expect(words.contains("end of line"))
    #expect(try service.seen().paths.isEmpty)
  }

  @Test("authorities of the environment are not trusted")
  func environmentAuthorities() async throws {
    // In a process of its own, because all tests share the environment.
    let url = service.url() + "/v1/report"
    let authority = service.greeting.authority
    await #expect(processExitsWith: .success) {
      [url = url as String, authority = authority as String] in
      for name in ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"] {
        unsafe setenv(name, authority, 1)
      }
      unsafe setenv("SSL_CERT_DIR", (authority as NSString).deletingLastPathComponent, 1)
      #expect {
        try CurlTransport().send(TransportRequest(url: url, body: [1], timeout: .seconds(30)))
      } throws: { error in
        if case TransportError.untrusted = error { true } else { false }
      }
    }
    #expect(try service.seen().paths.isEmpty)
  }

  @Test("proxies of the environment are not used")
  func proxies() async {
    // In a process of its own, because all tests share the environment.
    let url = service.url() + "/v1/config/acme?serial=0"
    let authority = service.greeting.authority
    await #expect(processExitsWith: .success) {
      [url = url as String, authority = authority as String] in
      for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        unsafe setenv(name, "http://127.0.0.1:1", 1)
      }
      let transport = CurlTransport(.init(authorities: authority))
      let response = try transport.send(TransportRequest(url: url, timeout: .seconds(30)))
      #expect(response.status == 200)
    }
  }
}
