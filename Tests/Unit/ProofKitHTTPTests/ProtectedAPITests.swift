// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofKitHTTP
import ProofModel
import Testing

@testable import ProofKit

@Suite("Requests to protected APIs over libcurl")
struct ProtectedAPITests {
  let api: ProtectedAPI
  let transport = CurlTransport(.init(allowsPlainLoopback: true))

  init() throws { api = try ProtectedAPI() }

  private func admitted(
    _ api: ProtectedAPI? = nil, form: GateAdmission.Form = .standard, port: Int = 0
  ) throws -> AdmittedSession {
    try AdmittedSession(
      hosts: ["127.0.0.1:\((api ?? self.api).greeting.ports[port])"], form: form,
      transport: transport)
  }

  @Test(
    "method, target, fields and body arrive as they were signed",
    arguments: [
      ("GET", nil), ("HEAD", nil), ("POST", 0), ("POST", 9), ("PUT", 100_000), ("DELETE", nil),
      ("DELETE", 3), ("PATCH", 3), ("OPTIONS", nil), ("GET", 4),
    ] as [(String, Int?)])
  func sent(method: String, size: Int?) throws {
    let client = GateClient(try admitted().session, over: transport)
    let target = "/a/../b/%2e/c;x=1?q=%20+%C3%BC&&a=b//"
    var request = Request(
      method, api.url(method == "HEAD" ? "/empty" : target),
      fields: [HeaderField("X-Name", "value one"), HeaderField("X-Empty", "")],
      body: size.map { [UInt8](repeating: 0x61, count: $0) })
    if method != "HEAD" {
      // Servers read dot segments in two ways: such a target is not signed.
      #expect(throws: GateError.self) { try client.performAndWait(request) }
      request.url = api.url("/b/%2e%2ex/c;x=1?q=%20+%C3%BC&&a=b//../")
    }
    let response = try client.performAndWait(request)
    #expect(response.status == 200)
    #expect(response.body == (method == "HEAD" ? [] : Array("hello".utf8)))
    #expect(response.fields.values(of: "x-twice") == ["a", "b"])
    let seen = try #require(try api.seen().last)
    #expect(seen.method == method && seen.size == size ?? 0)
    #expect(api.url(seen.target) == request.url)
    #expect(seen.value(of: "x-name") == "value one" && seen.value(of: "x-empty") == "")
    #expect(seen.value(of: "content-type") == nil && seen.value(of: "expect") == nil)
    #expect(seen.value(of: "signature") != nil && seen.value(of: "x-token") != nil)
    #expect(seen.value(of: "content-digest") != nil || method == "GET" || method == "HEAD")
  }

  @Test(
    "the library of others verifies our requests, and refuses changed ones",
    .enabled(if: ProtectedAPI.foreign != nil))
  func foreign() throws {
    let api = try ProtectedAPI(python: try #require(ProtectedAPI.foreign))
    try #require(api.greeting.verifies)
    let admitted = try admitted(api)
    try admitted.session.setAccount("ada")
    let command = [
      "key": admitted.requestKey, "keyid": Base64.encode(admitted.keys.handle.bytes, .url),
    ]
    _ = try api.seen(command)
    let client = GateClient(admitted.session, over: transport)
    let fields = [
      HeaderField("Authorization", "Bearer t"), HeaderField("Content-Type", "application/json"),
    ]
    let covered = "verified: @authority @method @path @query @signature-params "
    for (method, body, verdict) in [
      ("GET", nil, covered + "authorization content-type proof-account"),
      (
        "POST", Array("{}".utf8),
        covered + "authorization content-digest content-type proof-account"
      ),
      (
        "PUT", [UInt8](repeating: 7, count: 70_000),
        covered + "authorization content-digest content-type proof-account"
      ),
    ] as [(String, [UInt8]?, String)] {
      _ = try client.performAndWait(
        Request(method, api.url("/a%2Cb?x=1&y=%C3%BC"), fields: fields, body: body))
      let found = try api.seen().last?.verdict
      #expect(found == verdict)
    }
    // Changed after it was signed.
    var sent = try admitted.session.guarded(
      Request("POST", api.url("/a"), fields: fields, body: [1]))
    sent.body = [2]
    var changed = sent
    changed.url = api.url("/b")
    for request in [sent, changed] {
      var raw = TransportRequest(url: request.url, body: request.body, timeout: .seconds(30))
      raw.method = request.method
      raw.fields = request.fields
      _ = try transport.send(raw)
      #expect(try api.seen().last?.verdict.hasPrefix("refused: ") == true)
    }
  }

  @Test("the gate's word for the token leads to one more sending with it")
  func token() throws {
    let client = GateClient(try admitted().session, over: transport)
    #expect(try client.performAndWait(Request("GET", api.url("/"))).status == 200)
    #expect(try client.performAndWait(Request("GET", api.url("/token"))).status == 200)
    let seen = try api.seen().map { $0.value(of: "x-token") != nil }
    #expect(seen == [true, false, true])
  }

  @Test("a redirect is the app's to see: nothing at all goes to the other address")
  func redirect() throws {
    let admitted = try admitted()
    let client = GateClient(admitted.session, over: transport)
    let response = try client.performAndWait(Request("GET", api.url("/redirect")))
    #expect(response.status == 302)
    let location = try #require(response.value(of: "location"))
    #expect(location == api.url("/redirect", port: 1))
    #expect(try api.seen().map(\.port) == [api.greeting.ports[0]])
    #expect(throws: GateError.hostNotListed("127.0.0.1:\(api.greeting.ports[1])")) {
      try client.performAndWait(Request("GET", location))
    }
    #expect(try api.seen().count == 1)
  }

  @Test("a field or a method with an end of line is refused before anything is sent")
  func injection() throws {
    for (method, field) in [
      ("GET\r\nX: y", HeaderField("a", "b")), ("GET", HeaderField("a\r\nb", "c")),
      ("GET", HeaderField("a", "b\r\nc: d")), ("GET", HeaderField("", "b")),
      ("", HeaderField("a", "b")), ("GET", HeaderField("a", "b\u{0}c")),
    ] {
      var request = TransportRequest(url: api.url("/"), timeout: .seconds(30))
      request.method = method
      request.fields = [field]
      #expect(throws: TransportError.self) { try transport.send(request) }
    }
    #expect(try api.seen().isEmpty)
  }

  @Test("cancelling ends a request that is under way")
  func cancelled() async throws {
    let client = GateClient(try admitted().session, over: transport)
    let url = api.url("/slow")
    let task = Task { () -> GateError? in
      do throws(GateError) {
        _ = try await client.perform(Request("GET", url))
        return nil
      } catch { return error }
    }
    try await waitUntil { try !api.seen().isEmpty }
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test(
    "an API whose key is none of the account's pins is told nothing, be they the host's or its port's",
    arguments: [false, true])
  func pins(ofPort: Bool) throws {
    let service = try ReferenceService()
    let tls = CurlTransport(.init(authorities: service.greeting.authority))
    func status(_ listener: String) throws(GateError) -> Int {
      let admitted: AdmittedSession
      do {
        let port = service.greeting.ports[listener] ?? 0
        admitted = try AdmittedSession(hosts: ["127.0.0.1:\(port)"], transport: tls)
        let (right, wrong) = (service.greeting.pins["good"], service.greeting.pins["otherkey"])
        // The pins of a host with its port count, and those of the host do not then.
        let pins =
          ofPort
          ? ["127.0.0.1:\(port)": [right ?? ""], "127.0.0.1": [wrong ?? ""]]
          : ["127.0.0.1:\(port)": [], "127.0.0.1": [right ?? ""]]
        try admitted.session.attestor.initializeAndWait(
          service.configuration(["pin": pins]))
      } catch {
        Issue.record("\(error)")
        throw .cancelled
      }
      let client = GateClient(admitted.session, over: tls)
      return try client.performAndWait(
        Request("GET", service.url(listener) + "/api")
      ).status
    }
    #expect(try status("good") == 404)
    let error = #expect(throws: GateError.self) { try status("otherkey") }
    guard case .transport(.untrusted) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try service.seen().bytes["otherkey"] == 0)
  }
}
