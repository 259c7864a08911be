// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Emergency tokens and the operator's own end of a configuration, at the gate's door.
@Suite struct ForwardOperationTests {
  private static let rules = "route rest\n  path /*\n  need proof\n"

  @Test("The operator's end of a configuration counts before its own")
  func staleAfter() throws {
    let site = try ForwardSite(Self.rules, staleAfter: 1800)
    site.site.clock.now += 1800
    #expect(!site.gate.isTooOld(at: site.site.clock.now))
    // A time that counts up to a second counts to the end of it.
    let end = UnixTime(seconds: site.site.clock.now.seconds, nanoseconds: 999_999_999)
    #expect(!site.gate.isTooOld(at: end))
    #expect(try site.ask("GET", "/a").answer.status == 200)
    site.site.clock.now += 1
    #expect(site.gate.isTooOld(at: site.site.clock.now))
    let answer = try site.ask("GET", "/a").answer
    #expect(answer.status == 503 && answer.code == "configuration-age")
  }

  @Test("An emergency token passes until its end, and the verdict names it; others are refused")
  func bypass() throws {
    let line = BypassFile.line(for: "secret", named: "on-call", until: ForwardSite.now + 60)
    let site = try ForwardSite(Self.rules, bypass: BypassFile(Array(line.utf8)))
    func ask(_ tokens: String...) -> ForwardAnswer {
      site.answer("POST", "/a", tokens.map { ("Proof-Bypass", $0) })
    }
    let passed = ask("secret")
    #expect(passed.status == 200 && passed.code == "bypass")
    let end = UnixTime(seconds: (ForwardSite.now + 60).seconds, nanoseconds: 999_999_999)
    let file = try BypassFile(Array(line.utf8))
    #expect(file.name(of: "secret", at: end) == "on-call")
    #expect(file.name(of: "secret", at: end + 1) == nil)
    let verdict = try site.verdict(passed, "POST", "/a")
    #expect(verdict?.reason?.contains("on-call") == true && verdict?.app == nil)
    #expect(ask("other").status == 403 && ask("secret", "secret").status == 403)
    #expect(ask().status == 401)
    site.site.clock.now += 61
    #expect(ask("secret").status == 403)
  }

  @Test("Without a file of emergency tokens the field is refused")
  func noFile() throws {
    let site = try ForwardSite(Self.rules)
    let answer = site.answer(
      "GET", "/a", try site.proven("GET", "/a") + [("Proof-Bypass", "secret")])
    #expect(answer.status == 403)
  }
}
