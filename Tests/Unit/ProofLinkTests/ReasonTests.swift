// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ReasonRows
import Testing

@testable import ProofLink

@Suite("Errors of a link tell who can mend them, as the page of reasons says")
struct ReasonTests {
  @Test("where the link failed")
  func reasons() throws {
    let reasons: [LinkError.Reason] = [
      .integrityDiffers, .deviceDiffers, .notPermitted, .attemptsExhausted, .usesExhausted,
      .tokenRefused, .tokenExpired, .revoked, .full, .hardwareTooOld, .busy, .hardwareFault,
      .notMeasured, .notStored, .unreachable, .linkLost, .timedOut, .cancelled, .earlierCommand,
      .resourcesExhausted, .copied, .logMissing, .logNotPermitted, .sealingMissing,
      .delegationMissing,
      .delegationRefused, .tokenNotHeld,
    ]
    let answers = reasons.map { reason in
      let error = LinkError(reason)
      return ReasonRows.Answer(error.code, reason == .busy ? nil : "\(error.whoCanMend)")
    }
    #expect(try ReasonRows(of: "LINK").differences(from: answers) == [])
  }

  @Test("where the hardware refused")
  func verdicts() throws {
    let answers = Verdict.allCases.map { verdict in
      let error = LinkError.refused(verdict, isAuthenticated: true)
      return ReasonRows.Answer(error.code, verdict == .busy ? nil : "\(error.whoCanMend)")
    }
    #expect(try ReasonRows(of: "LOCK").differences(from: answers) == [])
    let busy = LinkError.busy(seconds: 7)
    #expect(busy.code == "LOCK-49.7" && busy.whoCanMend == .wait(.seconds(7)))
  }
}
