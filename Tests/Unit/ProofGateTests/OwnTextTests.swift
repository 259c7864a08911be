// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// Fields of challenges, clearances and tickets that a caller leaves out, and the bounds of their
/// ends.
@Suite struct OwnTextTests {
  /// docs/SPEC.md, section 16, *Challenge*.
  @Test("A challenge that names no level or route has level and route 0, and a reserved byte of 0")
  func defaults() throws {
    let site = try Site()
    let desk = try site.challenges()
    for kind in [ChallengeKind.person, .token, .proof] {
      let challenge = desk.set(kind, for: try site.subject())
      #expect(challenge.level == 0 && challenge.route == 0, "\(kind)")
      #expect(challenge.bytes[0] == 0x10 | kind.rawValue && challenge.bytes[1] == 1)
      #expect(challenge.bytes[2...3].elementsEqual([0, 0]))
      #expect(challenge.bytes[8..<12].elementsEqual([0, 0, 0, 0]))
    }
    let full = desk.set(.person, level: 9, route: 0x0102_0304, for: try site.subject())
    #expect(full.bytes[1...3].elementsEqual([1, 9, 0]))
    #expect(full.bytes[8..<12].elementsEqual([4, 3, 2, 1]))
    #expect(desk.set(.person, level: 10, for: try site.subject()).level == 9)
    #expect(desk.set(.proof, level: 1, for: try site.subject()).level == 0)
    #expect(ClearanceRule.Demand(.work).level == 0)
    #expect(PageChallenge("a", .work).level == 0 && PageChallenge("a", .work).life == nil)
  }

  @Test("Each life up to an hour is that of the challenge")
  func lives() throws {
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject()
    for (life, seconds) in [(0, 0), (1, 1), (3_599, 3_599), (3_600, 3_600), (3_601, 3_600)]
      as [(UInt32, Int64)]
    {
      let challenge = desk.set(.work, level: 1, for: subject, life: life)
      #expect(challenge.expiry == Site.start + seconds, "\(life)")
    }
    var settings = ClearanceDesk.Settings()
    settings.clock = site.clock.clock
    for (life, seconds) in [(1, 1), (3_599, 3_599), (3_600, 3_600), (3_601, 3_600)]
      as [(UInt32, UInt32)]
    {
      settings.life = life
      let desk = try ClearanceDesk(site.own, replay: SharedStore(), settings: settings)
      let challenge = try site.challenges().set(.person, for: subject)
      #expect(desk.life == seconds)
      #expect(desk.clearance(for: challenge, subject).expiry == Site.start + UInt64(seconds))
    }
  }

  @Test("A clearance counts to its last second, and up to 3,630 s before its end")
  func clearanceEnds() throws {
    let site = try Site()
    var settings = ClearanceDesk.Settings()
    settings.clock = site.clock.clock
    settings.life = 3_600
    let subject = try site.subject()
    let challenge = try site.challenges().set(.person, for: subject)
    let desk = try ClearanceDesk(site.own, replay: SharedStore(), settings: settings)
    let field = ClearanceField(desk.clearance(for: challenge, subject).text, in: .header)
    for (offset, refusal) in [
      (-31, .ahead), (-30, nil), (0, nil), (3_600, nil), (3_601, .expired),
    ] as [(Int64, ClearanceRefusal?)] {
      site.clock.now = Site.start + offset
      // A desk of its own: the time of a desk does not go back.
      let node = try ClearanceDesk(site.own, replay: SharedStore(), settings: settings)
      var found: ClearanceRefusal?
      do throws(ClearanceRefusal) {
        _ = try node.check(field, for: Site.host, proven: nil, from: Site.address)
      } catch {
        found = error
      }
      #expect(found == refusal, "\(offset)")
    }
  }

  @Test("An answer of a lower level of memory work prolongs nothing")
  func memoryLevels() throws {
    let site = try Site()
    let desk = try site.clearances()
    let subject = try site.subject()
    func clearance(_ kind: ChallengeKind, _ level: UInt8, after held: Clearance? = nil) throws
      -> Clearance
    {
      let challenge = try site.challenges().set(kind, level: level, for: subject)
      return desk.clearance(for: challenge, subject, after: held)
    }
    let first = try clearance(.memoryWork, 2)
    site.clock.now += 100
    #expect(try clearance(.memoryWork, 1, after: first).expiry == first.expiry)
    #expect(try clearance(.memoryWork, 1, after: first).memoryWorkLevel == 2)
    #expect(try clearance(.memoryWork, 2, after: first).expiry == first.expiry + 100)
    #expect(try clearance(.memoryWork, 3, after: first).expiry == first.expiry + 100)
    #expect(try clearance(.work, 9, after: first).expiry == first.expiry)
    #expect(try clearance(.work, 9, after: first).workLevel == 9)
  }

  @Test("A cookie is alike in each letter's case and beside blanks, and in nothing else")
  func alike() throws {
    func read(_ line: String) throws -> ClearanceField? {
      try ClearanceField(in: HeaderFields([(name: "Cookie", value: line)]))
    }
    for name in [
      "__HOST-PROOF-CLEARANCE", "__Host-proof-cleArance", "__Host-proof-ClearancE",
      "__Host-proof-clearance ", "__Host-proof- clearance", "__Host\t-proof-clearance",
    ] {
      #expect(throws: ClearanceRefusal.cookies, "\(name)") { try read("\(name)=abc") }
    }
    for name in [
      "!__Host-proof-clearance", "__Host-proof-clearance!", "__Host-proof-clearance~",
      "@@host-proof-clearance", "__Host-proof-clearanc", "__Host\u{5f}proof-clearance",
    ] {
      #expect(try read("\(name)=abc") == nil, "\(name)")
    }
    #expect(try read("  __Host-proof-clearance=a=b")?.text == "a=b")
    #expect(try read("__Host-proof-clearance=")?.text == "")
  }

  @Test("The head of a ticket tells why it does not open")
  func heads() throws {
    let site = try Site()
    let desk = TicketDesk(site.own)
    let grant = GateGrant(
      for: site.id, instance: .random(), mode: .production, issued: 0, notAfter: 3_600,
      firstSeen: 0, secret: try .random(generation: 1))
    let text = desk.ticket(for: grant)
    #expect(try desk.open(text, mode: .production, at: 0).issued == 0, "no floor is the lowest one")
    for byte in 0..<5 {
      for bit in 0..<8 {
        var found: TicketRefusal?
        do throws(TicketRefusal) {
          _ = try desk.open(flipped(text, bit: byte * 8 + bit), mode: .production, at: 0)
        } catch {
          found = error
        }
        #expect(found == [.kind, .key, .kind, .kind, .seal][byte], "byte \(byte), bit \(bit)")
      }
    }
  }

  @Test("References, nonces of pages and names of sessions have 16 random bytes")
  func randomness() throws {
    let references = Set((0..<100).map { _ in VerdictDesk.reference() })
    #expect(references.count == 100 && references.allSatisfy { $0.utf8.count == 22 })
    let site = try PageSite()
    let page = try site.page(try site.set(.work, level: 1).text)
    let policy = try #require(page.field("Content-Security-Policy"))
    let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([^']*)'/)).output.1
    #expect(nonce.utf8.count == 24 && nonce.hasSuffix("=="))
    let subject = try site.subject()
    let challenge = try site.set(.work, level: 1)
    guard case .session(let name) = site.clearances.clearance(for: challenge, subject).holder
    else {
      Issue.record("no session")
      return
    }
    #expect(name.count == 16)
  }
}
