// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Bodies that a proxy hands over, and the room for the challenges that APIs asked for.
@Suite struct ForwardBodyTests {
  private static let rules = """
    route whole
      path /whole
      need proof
      body gate
    route rest
      path /*
      need proof
    """

  /// The answer to a question with a body, and with what the proxy tells about it.
  private func ask(
    _ site: ForwardSite, _ target: String, body: [UInt8]?, proving digested: [UInt8]? = nil,
    _ told: (name: String, value: String)...
  ) throws -> ForwardAnswer {
    let method = digested == nil ? "GET" : "POST"
    let lines =
      site.gate.style.told(method: method, target: target, host: Site.host) + told
      + (try site.proven(method, target, body: digested))
    return site.gate.answer(lines, body: body, from: Site.address, at: site.site.clock.now)
  }

  @Test("A body that came whole is the one that the proof covers")
  func whole() throws {
    let site = try ForwardSite(Self.rules)
    let body: [UInt8] = [1, 2, 3]
    let length = (name: "X-Original-Content-Length", value: "3")
    let passed = try ask(site, "/whole", body: body, proving: body, length)
    #expect(passed.status == 200)
    #expect(
      try site.verdict(passed, "POST", "/whole", body: body)?.body == Digest(hashing: body))
    let other = try ask(site, "/whole", body: [1, 2, 4], proving: body, length)
    #expect(other.status == 401 && other.code != "passed")
    // No length is told of a request that has no body.
    #expect(try ask(site, "/whole", body: nil).status == 200)
    #expect(try ask(site, "/whole", body: []).status == 200)
    let zero = (name: "X-Original-Content-Length", value: "0")
    #expect(try ask(site, "/whole", body: nil, zero).status == 200)
  }

  @Test(
    "A body of another length than the client's is refused, and so is one whose length is no number",
    arguments: [
      ([1, 2], "3", "it has 2 bytes here, and the client's length is 3"),
      ([1, 2, 3, 4], "3", "it has 4 bytes here, and the client's length is 3"),
      (nil, "3", "it has 0 bytes here, and the client's length is 3"),
      ([1], nil, "it has 1 bytes here, and the client's length is 0"),
      ([1, 2, 3], "x", "it has 3 bytes here, and the client's length is x"),
      (
        [1, 2, 3], "1234567890123456789012",
        "it has 3 bytes here, and the client's length is 12345678901234567890"
      ),
    ] as [([UInt8]?, String?, String)])
  func lengths(_ body: [UInt8]?, _ length: String?, _ cause: String) throws {
    let site = try ForwardSite(Self.rules)
    let told = length.map { [(name: "X-Original-Content-Length", value: $0)] } ?? []
    let lines =
      site.gate.style.told(method: "POST", target: "/whole", host: Site.host) + told
      + (try site.proven("POST", "/whole", body: [1, 2, 3]))
    let answer = site.gate.answer(lines, body: body, from: Site.address, at: site.site.clock.now)
    #expect(answer.status == 403 && answer["Proof-Verdict"] == nil)
    #expect(answer.code == "body" && answer.reason == ForwardRefusal.body(cause).description)
  }

  @Test("A chunked body is refused at a rule that wants it, and at no other one")
  func chunked() throws {
    let site = try ForwardSite(Self.rules)
    let chunked = (name: "X-Original-Transfer-Encoding", value: "chunked")
    let refused = try ask(site, "/whole", body: [1], proving: [1], chunked)
    #expect(refused.status == 403 && refused.code == "body")
    #expect(
      refused.reason
        == ForwardRefusal.body("it is chunked, and its end is not known").description)
    #expect(try ask(site, "/x", body: nil, proving: [1], chunked).status == 200)
  }

  @Test("A rule that wants no body judges by the digest alone, whatever the proxy hands over")
  func behind() throws {
    let site = try ForwardSite(Self.rules)
    let answer = try ask(site, "/x", body: [9, 9], proving: [1])
    #expect(answer.status == 200)
    #expect(try site.verdict(answer, "POST", "/x", body: [1])?.body == Digest(hashing: [1]))
  }

  // MARK: Demands

  private static func demand(
    _ level: UInt8, at moment: UnixTime, until end: UnixTime
  ) -> DemandTable.Demand {
    .init(kind: .work, level: level, moment: moment, end: end)
  }

  @Test("A full table takes a client that it has, and another one after the end of some")
  func full() {
    let table = DemandTable()
    #expect(DemandTable.countMax == 10_000)
    for number in 0..<10_000 {
      let end: UnixTime = number == 7 ? 110 : 200
      #expect(
        table.put(Self.demand(1, at: 100, until: end), for: "\(number)", at: "a", now: 100))
    }
    #expect(table.put(Self.demand(2, at: 101, until: 200), for: "9", at: "a", now: 110))
    #expect(!table.put(Self.demand(1, at: 110, until: 200), for: "x", at: "a", now: 110))
    #expect(!table.put(Self.demand(1, at: 110, until: 200), for: "9", at: "b", now: 110))
    #expect(table.put(Self.demand(1, at: 111, until: 200), for: "x", at: "a", now: 111))
    #expect(table.count == 10_000)
  }
}
