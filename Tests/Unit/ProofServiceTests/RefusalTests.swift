// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Refusals of the service: status, words, counter and log line of each, and its events.
@Suite struct RefusalTests {
  private func text(_ response: HTTPResponse) -> String {
    String(decoding: response.body, as: UTF8.self)
  }

  @Test func `each refusal has its status, its words and its own counter`() throws {
    let log = HandLog()
    let bench = try Bench(log: log)
    let metrics = bench.service.metrics
    var stranger = bench.app
    stranger.account = "other"
    var foreign = bench.app
    foreign.key = try MeasurementProofKey(
      SecretBytes(copying: [UInt8](repeating: 9, count: 16).span), mode: .production)
    let question = bench.app.question().bytes
    let cases: [(String, String, [UInt8], Int, String, ServiceMetrics.Event?)] = [
      (
        "POST", "/v1/challenge", stranger.question().bytes, 404,
        "There is no such account here.", .unknown
      ),
      (
        "POST", "/v1/challenge", foreign.question().bytes, 404,
        "There is no such SDK build in this account.", .unknown
      ),
      ("GET", "/v1/config/other", [], 404, "There is no such account here.", .unknown),
      ("GET", "/v1/jwks/other", [], 404, "There is no such account here.", .unknown),
      ("GET", "/v1/challenge", [], 405, "Use POST here.", nil),
      ("GET", "/v1/report", [], 405, "Use POST here.", nil),
      ("POST", "/health", [], 405, "Use GET here.", nil),
      ("POST", "/metrics", [], 405, "Use GET here.", nil),
      ("POST", "/v1/config/door", [], 405, "Use GET here.", nil),
      ("POST", "/v1/jwks/door", [], 405, "Use GET here.", nil),
      ("GET", "/v2", [], 404, "There is nothing at this path.", nil),
      ("GET", "v1/config/door", [], 404, "There is nothing at this path.", nil),
      (
        "POST", "/v1/report", [UInt8](repeating: 0, count: 1 << 20 + 1), 413, "At most 1 MiB.",
        .malformed
      ),
      (
        "POST", "/v1/challenge", Array(question.dropLast()), 400,
        "\(ProofError.malformed("attestation question", byteCount: question.count - 1))",
        .malformed
      ),
      (
        "POST", "/v1/report", [1], 400,
        "\(ProofError.malformed("attestation report", byteCount: 1))", .malformed
      ),
    ]
    for (method, path, body, status, words, event) in cases {
      let before = ServiceMetrics.Event.allCases.map { metrics[$0] }
      let response = bench.service.respond(
        to: HTTPRequest(method: method, path: path, body: body, peer: "192.0.2.7"))
      #expect(response.status == status, "\(method) \(path)")
      #expect(text(response) == words + "\n", "\(method) \(path)")
      #expect(response.headers["retry-after"] == nil)
      let after = ServiceMetrics.Event.allCases.map { metrics[$0] }
      for (index, counted) in ServiceMetrics.Event.allCases.enumerated() {
        #expect(after[index] - before[index] == (counted == event ? 1 : 0), "\(path) \(counted)")
      }
    }
    #expect(log.all.isEmpty, "a stranger's request writes no line")
  }

  @Test func `a configuration is sent unless the app has its serial`() throws {
    let bench = try Bench()
    let serial = try bench.management.configuration().serial
    let whole = bench.get("/v1/config/door")
    #expect(whole.status == 200 && whole.headers == ["content-type": "application/jose"])
    #expect(text(whole) == (try bench.account.snapshot().signedConfiguration))
    for (text, status) in [
      ("\(serial)", 204), ("\(serial - 1)", 200), ("\(serial + 1)", 200), ("0", 200),
      ("x", 400), ("-1", 400), ("4294967296", 400),
    ] {
      let response = bench.get("/v1/config/door", query: ["serial": text])
      #expect(response.status == status, "\(text)")
      #expect(response.body.isEmpty == (status == 204))
    }
    #expect(bench.service.metrics[.configurations] == 8)
  }

  @Test(arguments: [true, false])
  func `a report's line has its outcome, device, purpose and findings, where reports are logged`(
    isLogged: Bool
  ) throws {
    let log = HandLog()
    let plain = try Bench()
    let service = AttestationService(
      account: plain.account, clock: plain.clock.clock, logsReports: isLogged,
      log: { log.add($0) })
    func attest(_ app: TestApp, spoiled: Bool = false) throws -> AttestationAnswer {
      func post(_ path: String, _ body: [UInt8]) -> [UInt8] {
        service.respond(
          to: HTTPRequest(method: "POST", path: path, body: body, peer: "192.0.2.7")
        ).body
      }
      let challenge = try AttestationChallenge(post("/v1/challenge", app.question().bytes))
      var report = try app.report(.init(.token, name: Bench.api), answering: challenge)
      if spoiled { report[report.count - 1] ^= 1 }
      return try AttestationAnswer(
        post("/v1/report", report), to: challenge.draft.salt, with: app.key)
    }
    func last() -> [String] {
      log.all.last.map { [$0.name] + $0.details.map { "\($0.name)=\($0.value)" } } ?? []
    }
    let device = "device=\(plain.app.device)"
    let passed = try attest(plain.app)
    #expect(
      last()
        == (isLogged
          ? [
            "report", "outcome=passed", device, "purpose=token", "arc=\(passed.responseCode)",
            "properties=first-fetch",
          ] : []))
    var failing = plain.app
    failing.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
    let failed = try attest(failing)
    #expect(
      last()
        == (isLogged
          ? [
            "report", "outcome=failed", device, "purpose=token", "arc=\(failed.responseCode)",
            "properties=debug",
          ] : []))
    #expect(try attest(plain.app, spoiled: true).outcome == .unbelievable)
    #expect(
      last() == (isLogged ? ["report", "outcome=unbelievable", device, "purpose=token"] : []))
    #expect(log.all.count == (isLogged ? 3 : 0))
    let metrics = service.metrics
    #expect(metrics[.passed] == 1 && metrics[.failed] == 1 && metrics[.unbelievable] == 1)
    #expect(metrics[.challenges] == 3 && metrics[.firstFetches] == 1)
  }
}
