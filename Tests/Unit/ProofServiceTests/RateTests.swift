// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct RateTests {
  @Test func `a device that asks too fast is told to wait, another is not`() throws {
    let bench = try Bench(policy: [.deviceRate: "1"])
    for _ in 0..<10 { _ = try bench.challenge(bench.app) }
    let response = bench.post("/v1/challenge", bench.app.question().bytes)
    #expect(response.status == 429 && response.headers["retry-after"] == "1")
    var other = bench.app
    other.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [2])
    _ = try bench.challenge(other)
    let elsewhere = bench.post("/v1/challenge", bench.app.question().bytes, peer: "192.0.2.8")
    #expect(elsewhere.status == 200, "the share of a device cannot be used up from another address")
    bench.clock.advance(by: 1)
    _ = try bench.challenge(bench.app)
    #expect(bench.service.metrics[.limited] == 1)
  }

  @Test func `an address that asks too fast is told to wait, another is not`() throws {
    let bench = try Bench(policy: [.addressRate: "1", .deviceRate: "0"])
    let question = bench.app.question().bytes
    for _ in 0..<10 { #expect(bench.post("/v1/challenge", question).status == 200) }
    for path in ["/v1/challenge", "/v1/manage/api/list"] {
      #expect(bench.post(path, question).status == 429)
    }
    for path in ["/v1/config/door", "/v1/jwks/door", "/v1/gate/configuration"] {
      #expect(bench.get(path).status == 429)
    }
    #expect(bench.post("/v1/challenge", question, peer: "192.0.2.8").status == 200)
  }

  @Test func `reports beyond an address's rate are refused before they are read`() throws {
    let bench = try Bench(policy: [.addressRate: "1", .deviceRate: "0"])
    let challenge = try bench.challenge(bench.app)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    var stale = report
    stale[12] ^= 1
    for _ in 0..<9 { #expect(bench.post("/v1/report", stale).status == 200) }
    let refused = bench.post("/v1/report", report)
    #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
    #expect(bench.service.metrics[.parsed] == 0)
    #expect(bench.post("/v1/report", report, peer: "192.0.2.8").status == 200)
    #expect(bench.service.metrics[.parsed] == 1)
  }

  @Test func `an IPv6 network has one limit, however many addresses`() throws {
    let bench = try Bench(policy: [.addressRate: "1", .deviceRate: "0"])
    func ask(_ peer: String) -> Int {
      bench.post("/v1/challenge", bench.app.question().bytes, peer: peer).status
    }
    for host in 1...10 { #expect(ask("2001:db8:0:1::\(host)") == 200) }
    for peer in ["2001:db8:0:1::11", "2001:db8:0:1:ffff::1", "2001:DB8::1:0:0:0:1"] {
      #expect(ask(peer) == 429, "\(peer)")
    }
    #expect(ask("2001:db8:0:2::1") == 200)
    for _ in 1...10 { #expect(ask("192.0.2.9") == 200) }
    for peer in ["192.0.2.9", "::ffff:192.0.2.9"] { #expect(ask(peer) == 429, "\(peer)") }
    #expect(ask("192.0.2.10") == 200)
  }
}
