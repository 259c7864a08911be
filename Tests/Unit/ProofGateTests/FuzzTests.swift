// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import SeededRandom
import Testing

@testable import ProofGate

/// Each parser of this module, with mutated input: it never traps, and takes only what the gate made.
@Suite struct GateTextFuzzTests {
  @Test(
    "Ids, clearances, tickets, cookies and solutions of any form are judged, and only the gate's own count"
  )
  func texts() throws {
    let site = try Site()
    let (challenges, clearances) = (try site.challenges(), try site.clearances())
    let tickets = TicketDesk(site.own)
    let subject = try site.subject()
    let challenge = challenges.set(.person, for: subject)
    let clearance = clearances.clearance(for: challenge, subject)
    let work = challenges.set(.work, level: 1, for: subject)
    let memory = challenges.set(.memoryWork, level: 1, for: subject)
    let solution = try solve(work.text).solution
    let made = [
      challenge.text, clearance.text, work.text, solution,
      ClearanceField.setCookie(clearance.text, for: 9),
      "a=b; \(ClearanceField.cookieName)=\(clearance.text)",
    ].map { Array($0.utf8) }
    var mutator = Mutator("gate texts")
    for _ in 0..<Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: made), as: UTF8.self)
      if let read = try? challenges.read(text, for: subject) {
        #expect(read.text == challenge.text || read.text == work.text)
      }
      let field = ClearanceField(text, in: .header)
      if let read = try? clearances.check(field, for: Site.host, proven: nil, from: Site.address) {
        #expect(read.text == clearance.text)
      }
      #expect((try? tickets.open(text, mode: .production, at: 0)) == nil)
      if WorkPuzzle(work)?.isSolved(by: text) == true { #expect(text.utf8.count == 86) }
      #expect(MemoryPuzzle(memory)?.isSolved(by: text) == false)
      _ = try? WorkSolver(text)
      guard let fields = try? HeaderFields([(name: "Cookie", value: text)]) else { continue }
      if let field = (try? ClearanceField(in: fields)) ?? nil { #expect(field.place == .cookie) }
    }
  }

  @Test("A verdict of any form is judged, and only the gate's own is believed")
  func verdicts() throws {
    let site = try Site()
    let now = Site.start
    let verdict = GateVerdict(reference: "r", moment: now, rule: "pay", passes: true)
    let text = try VerdictDesk(site.own, for: Site.host).text(
      of: verdict, method: "GET", target: "/")
    let reader = GateVerdictReader(for: Site.host, keys: site.own.verdictKeys(for: Site.host))
    var mutator = Mutator("verdicts")
    for _ in 0..<Mutator.rounds {
      let other = String(decoding: mutator.mutant(of: [Array(text.utf8)]), as: UTF8.self)
      let read = try? reader.check(other, method: "GET", target: "/", body: .zero, now: now)
      if read != nil { #expect(other == text) }
    }
  }
}
