// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import Testing

@testable import ProofGate

/// Tickets: a grant under a key that all nodes share, and that no other gate opens.
@Suite struct TicketTests {
  private func grant(_ site: Site, _ change: (inout GateGrant) -> Void = { _ in }) throws
    -> GateGrant
  {
    let now = Site.start
    var grant = GateGrant(
      for: site.id, instance: .random(), mode: .production, issued: now, notAfter: now + 3600,
      firstSeen: now - 86_400, secret: try .random(generation: 7))
    change(&grant)
    return grant
  }

  private func refusal(
    _ desk: TicketDesk, _ text: String, mode: Mode = .production, floor: UnixTime = 0,
    at now: UnixTime = Site.start
  ) -> TicketRefusal? {
    do throws(TicketRefusal) {
      _ = try desk.open(text, mode: mode, floor: floor, at: now)
      return nil
    } catch {
      return error
    }
  }

  @Test("A ticket has 256 characters, and gives back the secret and each fact")
  func facts() throws {
    let site = try Site()
    let desk = TicketDesk(site.own)
    let full = try grant(site) { grant in
      grant.isFailed = true
      grant.isForced = true
      grant.properties = 0x8001_0002
      grant.responseCode = "ABCDEFGH27"
      grant.findings = (1...16).map { GateFinding(category: 3, number: $0) }
      grant.app = [UInt8](1...16)
    }
    for grant in [try grant(site), full] {
      let text = desk.ticket(for: grant)
      #expect(text.utf8.count == 256 && TicketDesk.byteCount == 192)
      #expect(desk.ticket(for: grant) != text)
      let opened = try desk.open(text, mode: .production, at: Site.start)
      #expect(opened.gate == grant.gate && opened.instance == grant.instance)
      #expect(
        opened.secret.generation == 7 && opened.secret.keys.handle == grant.secret.keys.handle)
      #expect(opened.isFailed == grant.isFailed && opened.isForced == grant.isForced)
      #expect(opened.properties == grant.properties && opened.responseCode == grant.responseCode)
      #expect(opened.findings == grant.findings && opened.app == grant.app)
      #expect(opened.issued == grant.issued && opened.notAfter == grant.notAfter)
      #expect(opened.firstSeen == grant.firstSeen)
    }
  }

  @Test("The ticket of an app that failed looks like every other one")
  func failed() throws {
    let site = try Site()
    let desk = TicketDesk(site.own)
    let texts = [false, true].map { isFailed in
      (try? grant(site) { $0.isFailed = isFailed }).map(desk.ticket) ?? ""
    }
    #expect(texts[0].utf8.count == texts[1].utf8.count && texts[0].prefix(5) == texts[1].prefix(5))
  }

  @Test("Every changed bit, another gate, another own secret, mode, end and floor are refused")
  func refusals() throws {
    let (site, other) = (try Site(), try Site())
    let desk = TicketDesk(site.own)
    let text = desk.ticket(for: try grant(site))
    for bit in 0..<TicketDesk.byteCount * 8 {
      #expect(refusal(desk, flipped(text, bit: bit)) != nil, "\(bit)")
    }
    for text in ["", String(text.dropLast()), text + "A", "!" + text.dropFirst()] {
      #expect(refusal(desk, text) == .text)
    }
    #expect(refusal(desk, text) == nil)
    #expect(refusal(TicketDesk(other.own), text) == .seal)
    #expect(refusal(TicketDesk(try Site(id: site.id, secret: 1).own), text) == .seal)
    let (new, old) = ((number: UInt8(2), byte: UInt8(9)), (number: UInt8(1), byte: UInt8(0x5a)))
    #expect(refusal(TicketDesk(try Site.own(site.id, [new, old])), text) == nil)
    #expect(refusal(TicketDesk(try Site.own(site.id, [new])), text) == .key)
    #expect(refusal(desk, text, mode: .development) == .mode)
    #expect(refusal(desk, text, at: Site.start + 3600) == nil)
    #expect(refusal(desk, text, at: Site.start + 3601) == .expired)
    #expect(refusal(desk, text, floor: Site.start) == nil)
    #expect(refusal(desk, text, floor: Site.start + 1) == .superseded)
  }
}
