// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// Answers at the edges of rules: levels of memory work, names of cookies, wrong kinds of answers,
/// and named challenges of a gate that only watches.
@Suite struct GateEdgeTests {
  @Test("An answer to memory work prolongs a clearance of the same or a lower level alone")
  func memoryWork() throws {
    let site = try Site()
    let (challenges, desk) = (try site.challenges(), try site.clearances())
    let subject = try site.subject()
    func clearance(_ level: UInt8, after held: Clearance? = nil) -> Clearance {
      let challenge = challenges.set(.memoryWork, level: level, for: subject)
      return desk.clearance(for: challenge, subject, after: held)
    }
    let held = clearance(3)
    site.clock.now += 100
    for (level, more) in [(1, 0), (2, 0), (3, 100), (4, 100)] as [(UInt8, Int64)] {
      let next = clearance(level, after: held)
      #expect(next.expiry == held.expiry + more, "\(level)")
      #expect(next.memoryWorkLevel == max(3, level) && next.workLevel == 0)
    }
  }

  @Test("A cookie whose name differs in one letter's case is refused, and a longer name is another")
  func cookies() throws {
    let name = "__Host-proof-clearance"
    func read(_ cookie: String) throws(ClearanceRefusal) -> ClearanceField? {
      guard let fields = try? HeaderFields([(name: "Cookie", value: cookie + "=abc")]) else {
        return ClearanceField("unreadable", in: .header)
      }
      return try ClearanceField(in: fields)
    }
    #expect(try read(name) == ClearanceField("abc", in: .cookie))
    var count = 0
    for index in name.indices {
      let letter = String(name[index])
      let other = letter == letter.lowercased() ? letter.uppercased() : letter.lowercased()
      guard other != letter else { continue }
      count += 1
      let spelt = name.replacingCharacters(at: index, with: other)
      #expect(throws: ClearanceRefusal.cookies, "\(spelt)") { try read(spelt) }
    }
    #expect(count == 18)
    for byte in 0x21...0x7E as ClosedRange<UInt8> where !"=;".utf8.contains(byte) {
      let more = String(Unicode.Scalar(byte))
      #expect(try read(name + more) == nil && read(more + name) == nil, "\(more)")
    }
  }

  @Test("A person's challenge that got an answer of another kind is used up at all nodes")
  func otherKind() throws {
    let site = try Site()
    let store = SharedStore()
    let (here, there) = (try site.challenges(store), try site.challenges(store))
    let subject = try site.subject()
    let text = here.set(.person, for: subject).text
    #expect(throws: ChallengeRefusal.otherAnswer) {
      try there.judge(.work(""), to: text, for: subject)
    }
    #expect(throws: ChallengeRefusal.spent) {
      try here.judge(.person { _ in true }, to: text, for: subject)
    }
    // A wrong kind for work costs the store nothing, and counts at its own node.
    let used = store.count
    let work = here.set(.work, level: 1, for: subject)
    #expect(throws: ChallengeRefusal.otherAnswer) {
      try there.judge(.memoryWork(""), to: work.text, for: subject)
    }
    #expect(store.count == used)
    let solution = try solve(work.text).solution
    #expect(throws: ChallengeRefusal.spent) {
      try there.judge(.work(solution), to: work.text, for: subject)
    }
    #expect(try here.judge(.work(solution), to: work.text, for: subject) == work)
  }

  @Test("A named challenge of a gate that only watches is none for a request that it cannot read")
  func watched() throws {
    for isWatched in [false, true] {
      let site = try ForwardSite(
        "route rest\n  path /*\n  need proof\n", watchesAll: isWatched,
        challenges: #"{"name":"slow","kind":"work","level":2,"life":77}"#)
      let lines: [ForwardSite.Line] = [
        ("X-Original-Host", Site.host), ("X-Original-Scheme", "https"), ("Proof-Verdict", "x"),
      ]
      let answer = try #require(
        site.gate.answer(
          named: "GET", PageHandler.folder + "challenges/slow", lines, from: Site.address,
          at: site.site.clock.now))
      #expect(answer.status == (isWatched ? 503 : 403) && answer.code == "foreign-field")
      #expect(answer.object["status"] == .number(JSONNumber(isWatched ? 503 : 403)))
      #expect(answer.reason?.contains("proof-verdict") == true)
      #expect(answer.field("Proof-Clearance") == nil && answer.field("Proof-Challenge") == nil)
    }
  }

  @Test("Each gate token that comes without a proof is charged once, also one that opens")
  func charged() throws {
    var openings = OpeningBudget()
    openings.perAddress = OpeningBudget.Rate(burst: 1_000, perSecond: 0)
    openings.strangers = OpeningBudget.Rate(burst: 3, perSecond: 0)
    openings.known = OpeningBudget.Rate(burst: 4, perSecond: 0)
    openings.worked = OpeningBudget.Rate(burst: 2, perSecond: 0)
    let site = try ForwardSite.needing(openings: openings)
    func admit(_ token: String, hasWorked: Bool = false) throws {
      _ = try site.requests.admit(token: token, from: Site.address, hasWorked: hasWorked)
    }
    let place = site.token.index(site.token.endIndex, offsetBy: -10)
    let bad = site.token.replacingCharacters(at: place, with: site.token[place] == "A" ? "B" : "A")
    // A stranger's: one without a head, one that does not open, and one that opens. Then the address is known.
    #expect(throws: RejectedRequest.gate(.tokenLength)) { try admit("AAAA") }
    #expect(throws: RejectedRequest.gate(.tokenSeal)) { try admit(bad) }
    for _ in 0..<5 { try admit(site.token) }
    #expect(throws: RejectedRequest.busy) { try admit(site.token) }
    for _ in 0..<2 { try admit(site.token, hasWorked: true) }
    #expect(throws: RejectedRequest.busy) { try admit(site.token, hasWorked: true) }
  }
}

extension String {
  fileprivate func replacingCharacters(at index: Index, with other: String) -> String {
    var text = self
    text.replaceSubrange(index...index, with: other)
    return text
  }
}
