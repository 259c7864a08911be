// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("Details of refusals")
struct RefusalDetailTests {
  @Test(
    "each number is one detail of one verdict, and its code names both",
    arguments: Verdict.allCases)
  func numbers(verdict: Verdict) {
    for number in [0...20, 49_700...49_720, 65_530...65_535].joined() {
      guard let detail = RefusalDetail(of: verdict, number: UInt16(number)) else { continue }
      #expect(detail.code == "LOCK-\(verdict.rawValue).\(number)")
    }
  }

  @Test("no detail is told of these verdicts")
  func silent() {
    let silent: [Verdict] = [
      .accepted, .held, .deviceDiffers, .attemptsExhausted, .usesExhausted, .notForMe,
      .notSigned, .revoked, .malformed,
    ]
    for verdict in silent {
      #expect(RefusalDetail(of: verdict, number: 1) == nil)
    }
  }

  @Test("0 is no detail, but for attempts left")
  func none() {
    for verdict in Verdict.allCases where verdict != .integrityDiffers {
      #expect(RefusalDetail(of: verdict, number: 0) == nil)
    }
    #expect(RefusalDetail(of: .integrityDiffers, number: 0) == .attemptsLeft(0))
    #expect(RefusalDetail(of: .stale, number: 9) == nil)
  }

  @Test("days since the end are told apart from a time too far ahead")
  func days() {
    #expect(RefusalDetail(of: .expired, number: 7) == .daysPast(7))
    #expect(RefusalDetail(of: .expired, number: .max) == .ahead)
  }
}
