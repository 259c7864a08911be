// SPDX-License-Identifier: Apache-2.0

import ProofRequest
import SeededRandom
import Testing

@testable import ProofGate

/// The way in which a proxy tells a gate about a request: each part once, in one reading, and nothing of the client's.
@Suite struct ForwardedRequestTests {
  private typealias Line = (name: String, value: String)

  private static let told: [Line] = [
    ("X-Original-Method", "POST"), ("X-Original-URI", "/pay?to=7"),
    ("X-Original-Host", "API.example.com:443"), ("X-Original-Scheme", "https"),
  ]

  private func read(
    _ lines: [Line], _ style: ForwardStyle = .original, names: Bool = false
  ) throws(ForwardRefusal) -> ForwardedRequest {
    try ForwardedRequest(lines, at: .init(style, takesRouteNames: names))
  }

  private func refusal(_ lines: [Line], names: Bool = false) -> ForwardRefusal? {
    do throws(ForwardRefusal) {
      _ = try read(lines, names: names)
      return nil
    } catch {
      return error
    }
  }

  private func told(_ target: String) -> [Line] {
    Self.told.map { $0.name == "X-Original-URI" ? ($0.name, target) : $0 }
  }

  @Test("Method, host, raw target and the client's fields are read")
  func parts() throws {
    let client: [Line] = [
      ("Host", "gate"), ("Connection", "close"), ("Proof-Token", "t"), ("Proof", "p"),
      ("Proof-Account", "1.a"), ("Authorization", "Bearer abc"),
    ]
    let request = try read(Self.told + client)
    #expect(request.head.method == "POST" && request.head.target == "/pay?to=7")
    #expect(request.head.authority == "api.example.com" && request.route == nil)
    let names = ["proof-token", "proof", "proof-account", "authorization"]
    #expect(request.head.fields.fields.map(\.name) == names)
    let caddy: [Line] = [
      ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/"), ("X-Forwarded-Proto", "https"),
      ("X-Forwarded-Host", "api.example.com"), ("X-Forwarded-For", "192.0.2.1"),
    ]
    #expect(try read(caddy, .forwarded).head.method == "GET")
    #expect(throws: ForwardRefusal.missing("x-original-method")) { try self.read(caddy) }
  }

  @Test("Each part must come, once and in one spelling")
  func once() throws {
    for (index, line) in Self.told.enumerated() {
      var less = Self.told
      less.remove(at: index)
      #expect(refusal(less) == .missing(line.name.lowercased()))
      #expect(refusal(less + [(line.name, "")]) == .missing(line.name.lowercased()))
      #expect(refusal(Self.told + [line]) == .repeated(line.name.lowercased()))
      let other = String(line.name.map { $0 == "-" ? "_" : $0 })
      #expect(refusal(Self.told + [(other, line.value)]) == .repeated(line.name.lowercased()))
    }
  }

  @Test(
    "A target that can be read in two ways is refused",
    arguments: [
      "/a%2fb", "/a%5Cb", "/a/../b", "/a/%2e%2E/b", "/./a", "/a/..;x/b", "//a", "/a//b", "/a\\b",
      "/a%00", "/a?x=%00", "/a%zz", "/a?", "/a#b", "https://api.example.com/a", "a", "*", "/%70ay",
      "/a%2D", "/a b", "/a\u{1}",
    ])
  func ambiguous(_ target: String) {
    let found = refusal(told(target))
    #expect(found?.code == "ambiguous-target" || found?.code == "format", "\(target)")
  }

  @Test(
    "Encodings that have one reading only pass, and stay as they were sent",
    arguments: ["/a%20b", "/%C3%BC?q=%2F%70"])
  func plain(_ target: String) throws {
    #expect(try read(told(target)).head.target == target)
  }

  @Test("Only https passes")
  func scheme() {
    for scheme in ["http", "HTTPS", "ws"] {
      let lines = Self.told.map { $0.name == "X-Original-Scheme" ? ($0.name, scheme) : $0 }
      #expect(refusal(lines) == .scheme(scheme))
    }
  }

  @Test(
    "A field of a gate's own is not the client's",
    arguments: [
      "Proof-Verdict", "proof-verdict", "Proof_Verdict", "Proof-Refusal", "Proof-Time",
      "Proof-Reference", "Proof-Route", "Proof_Route", "Proof_Token", "Proof_Account",
      "PROOF-ANYTHING",
    ])
  func foreign(_ name: String) {
    #expect(refusal(Self.told + [(name, "x")]) == .foreignField(name.lowercased()))
  }

  @Test("The proxy names the route where the gate is told so, once")
  func route() throws {
    let named = Self.told + [("Proof-Route", "pay")]
    #expect(try read(named, names: true).route == "pay")
    #expect(try read(Self.told + [("Proof-Route", "")], names: true).route == nil)
    #expect(refusal(named + [("Proof-Route", "x")], names: true) == .repeated("proof-route"))
    #expect(refusal(named + [("Proof_Route", "x")], names: true) == .repeated("proof-route"))
  }

  @Test("A field that changes the method unseen is refused")
  func methods() throws {
    for name in ["X-Method-Override", "X-HTTP-Method", "X_HTTP_Method_Override"] {
      #expect(refusal(Self.told + [(name, "PUT")]) == .methodOverride(name.lowercased()))
    }
    #expect(refusal(Self.told + [("X-HTTP-Method-Override", "PUT")]) == nil, "a proof covers it")
  }

  @Test("The client's length is the proxy's word, not that of the question")
  func length() throws {
    let request = try read(
      Self.told + [("Content-Length", "0"), ("X-Original-Content-Length", "17")])
    #expect(request.head.fields.values(of: "content-length") == ["17"])
    let lines = Self.told + [("X-Original-Transfer-Encoding", "chunked")]
    #expect(try read(lines).head.fields.values(of: "transfer-encoding") == ["chunked"])
  }

  @Test("Mutated questions are read in one way or refused")
  func fuzz() throws {
    var mutator = Mutator("forwarded request")
    let inputs = [told("/pay?to=7"), told("/a/%2e%2e/b"), Self.told + [("Proof-Verdict", "x")]].map
    {
      lines in Array(lines.map { "\($0.name): \($0.value)" }.joined(separator: "\n").utf8)
    }
    for _ in 0..<10 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: inputs), as: UTF8.self)
      let lines = text.split(separator: "\n").map { line -> Line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
          .map(String.init)
        return (parts[0], parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
      }
      guard let request = try? read(lines) else { continue }
      #expect(TargetRule.found(in: request.head).isEmpty)
      let own = request.head.fields.fields.map(\.name).filter { $0.hasPrefix("proof-") }
      #expect(
        Set(own).isSubset(of: ["proof-token", "proof-account", "proof-event", "proof-clearance"]))
    }
  }
}
