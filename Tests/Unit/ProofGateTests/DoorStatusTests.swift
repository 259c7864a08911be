// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The status of each refusal, as the gate gives it and as a proxy's second question hands it on.
@Suite struct DoorStatusTests {
  @Test("A second question hands on the five statuses of a gate, and 503 for each other number")
  func handedOn() throws {
    let gate = try ForwardSite.needing().gate
    for status in 0...999 {
      let document = gate.refusal([("X-Proof-Status", "\(status)")], at: ForwardSite.now)
      let isOwn = [401, 403, 428, 429, 503].contains(status)
      #expect(document.status == (isOwn ? status : 503), "\(status)")
      let pause = document.fields.first { $0.name == "Retry-After" }?.value
      #expect(pause == ([401, 403, 428].contains(status) ? nil : "5"), "\(status)")
    }
  }

  @Test("A proof that can be read in two ways is refused for good, another wrong one is asked anew")
  func proofs() throws {
    let site = try ForwardSite("route a\n path /*\n need proof\n young none\n")
    func ask(_ change: (String, String) -> String?) throws -> ForwardAnswer {
      let fields = try site.proven("GET", "/x").compactMap { name, value in
        change(name.lowercased(), value).map { (name: name, value: $0) }
      }
      return site.answer("GET", "/x", fields)
    }
    let malformed = try ask { $0 == "signature-input" ? "(" : $1 }
    #expect(malformed.status == 403 && malformed.code == "request-2")
    #expect(malformed["Proof-Refusal"] == "refused" && malformed["Proof-Status"] == "403")
    #expect(malformed.fields.count { $0.name == "Proof-Refusal" } == 1)
    let missing = try ask { $0 == "signature" ? nil : $1 }
    #expect(missing.status == 403 && missing.code == "request-5")
    let unsigned = try ask { $0.hasPrefix("signature") ? nil : $1 }
    #expect(unsigned.status == 401 && unsigned.code == "request-1")
    #expect(unsigned["Proof-Refusal"] == "proof" && unsigned["Proof-Status"] == "401")
    let other = site.answer("POST", "/x", try site.proven("GET", "/x"))
    #expect(other.status == 401 && other["Proof-Refusal"] == "proof")
    site.site.clock.now += 3_000
    let late = try site.proven("GET", "/x")
    site.site.clock.now += 500
    let stale = site.answer("GET", "/x", late)
    #expect(stale.status == 401 && stale["Proof-Refusal"] == "clock")
  }
}
