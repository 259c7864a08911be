// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// Clearances: bound to host and holder, exact about kinds, strict about cookies, and spent once.
@Suite struct ClearanceTests {
  private func check(
    _ desk: ClearanceDesk, _ text: String, _ place: ClearanceField.Place = .header,
    host: String = Site.host, proven: GateHandle? = nil, from address: String = Site.address
  ) -> Result<Clearance, ClearanceRefusal> {
    Result { () throws(ClearanceRefusal) in
      try desk.check(ClearanceField(text, in: place), for: host, proven: proven, from: address)
    }
  }

  private func refusal(_ result: Result<Clearance, ClearanceRefusal>) -> ClearanceRefusal? {
    if case .failure(let refusal) = result { refusal } else { nil }
  }

  /// A clearance for a challenge of a kind.
  private func clearance(
    _ kind: ChallengeKind, level: UInt8 = 0, _ site: Site, _ desk: ClearanceDesk,
    from client: ChallengeClient = .address(Site.address), after held: Clearance? = nil
  ) throws -> Clearance {
    let subject = try site.subject(from: client)
    let challenge = try site.challenges().set(kind, level: level, for: subject)
    return desk.clearance(for: challenge, subject, after: held)
  }

  @Test("A clearance has 88 characters, 15 minutes, and what was solved")
  func fields() throws {
    let site = try Site()
    let desk = try site.clearances()
    let made = try clearance(.work, level: 14, site, desk)
    #expect(made.text.utf8.count == 88 && made.expiry == Site.start + 900)
    #expect(made.solved == ChallengeKinds(.work) && made.workLevel == 14)
    #expect(made.memoryWorkLevel == 0)
    for place in [ClearanceField.Place.header, .cookie] {
      #expect(try check(desk, made.text, place).get() == made)
    }
    let more = try clearance(.memoryWork, level: 2, site, desk, after: made)
    #expect(more.solved == [ChallengeKinds(.work), ChallengeKinds(.memoryWork)])
    #expect(more.workLevel == 14 && more.memoryWorkLevel == 2 && more.holder == made.holder)
    let person = try clearance(.person, site, desk, after: more)
    #expect(person.workLevel == 14 && person.holder == made.holder)
    #expect(try clearance(.work, level: 14, site, desk).holder != made.holder)
  }

  @Test("Every changed bit is refused, and so is another address, host, gate or own secret")
  func binding() throws {
    let (site, other) = (try Site(), try Site())
    let desk = try site.clearances()
    let text = try clearance(.person, site, desk).text
    for bit in 0..<528 {
      #expect(refusal(check(desk, flipped(text, bit: bit))) != nil, "\(bit)")
    }
    #expect(refusal(check(desk, text, from: "192.0.2.2")) == .tag)
    #expect(refusal(check(desk, text, from: "2001:db8::1")) == .tag)
    #expect(refusal(check(desk, text, host: "shop.example.com")) == .host)
    #expect(refusal(check(try other.clearances(), text)) == .tag)
    let dropped = try site.clearances(own: Site.own(site.id, [(2, 0x5b)]))
    #expect(refusal(check(dropped, text)) == .key)
    let rotated = try site.clearances(own: Site.own(site.id, [(1, 0x5a), (2, 0x5b)], active: 2))
    #expect(refusal(check(rotated, text)) == nil)
    site.clock.now += 901
    #expect(refusal(check(desk, text)) == .expired)
    site.clock.now -= 901
    // The desk's time is the highest that it has seen.
    #expect(refusal(check(desk, text)) == .expired)
    site.clock.now = Site.start - 2 * Int64(ClearanceDesk.lifeMax)
    #expect(refusal(check(try site.clearances(), text)) == .ahead)
  }

  @Test(
    "An app's clearance counts in the header, beside a proof of the same handle, from any address")
  func app() throws {
    let site = try Site()
    let desk = try site.clearances()
    let (mine, other) = (site.app.handle, try GateSecret.random(generation: 1).keys.handle)
    let text = try clearance(.proof, site, desk, from: .app(mine)).text
    #expect(refusal(check(desk, text, proven: mine, from: "203.0.113.9")) == nil)
    #expect(refusal(check(desk, text)) == .handle)
    #expect(refusal(check(desk, text, proven: other)) == .handle)
    #expect(refusal(check(desk, text, .cookie, proven: mine)) == .place)
    // A session's clearance is not an app's, and says nothing of one.
    let session = try clearance(.work, level: 14, site, desk)
    let next = try clearance(.proof, site, desk, from: .app(mine), after: session)
    #expect(next.holder == .app(mine) && next.solved == ChallengeKinds(.proof))
    #expect(next.workLevel == 0)
  }

  // MARK: Kinds

  @Test(
    "Work never stands for a proof, nor any kind for another, and a lower level does not suffice")
  func rules() throws {
    let site = try Site()
    let desk = try site.clearances()
    for solved in ChallengeKind.allCases {
      let made = try clearance(solved, level: 5, site, desk, from: .app(site.app.handle))
      for asked in ChallengeKind.allCases {
        #expect(ClearanceRule(.init(asked)).isSatisfied(by: made) == (asked == solved))
      }
    }
    let work = try clearance(.work, level: 14, site, desk)
    #expect(ClearanceRule(.init(.work, level: 14)).isSatisfied(by: work))
    #expect(!ClearanceRule(.init(.work, level: 15)).isSatisfied(by: work))
    #expect(ClearanceRule(.init(.proof), .init(.work, level: 13)).isSatisfied(by: work))
    #expect(!ClearanceRule().isSatisfied(by: work))
    let both = try clearance(.memoryWork, level: 2, site, desk, after: work)
    #expect(!ClearanceRule(.init(.memoryWork, level: 3)).isSatisfied(by: both))
    #expect(ClearanceRule(.init(.memoryWork, level: 2)).isSatisfied(by: both))
  }

  // MARK: Rule 1

  @Test("An answer prolongs its own kind at its own level, and nothing else")
  func prolonging() throws {
    let site = try Site()
    let desk = try site.clearances()
    let person = try clearance(.person, site, desk)
    let work = try clearance(.work, level: 5, site, desk)
    site.clock.now += 100
    #expect(try clearance(.work, level: 5, site, desk, after: person).expiry == person.expiry)
    #expect(try clearance(.work, level: 4, site, desk, after: work).expiry == work.expiry)
    #expect(try clearance(.work, level: 5, site, desk, after: work).expiry == work.expiry + 100)
    #expect(try clearance(.person, site, desk, after: person).expiry == person.expiry + 100)
  }

  @Test(
    "A clearance is spent once, at all nodes, and the next one takes its place with the same end")
  func spending() throws {
    let site = try Site()
    let store = SharedStore()
    let (here, there) = (try site.clearances(store), try site.clearances(store))
    let client = ChallengeClient.address(Site.address)
    let first = try clearance(.person, site, here)
    let second = try there.spend(first, from: client)
    #expect(second.serial == first.serial &+ 1 && second.expiry == first.expiry)
    #expect(second.solved == first.solved && second.holder == first.holder)
    #expect(try check(here, second.text).get() == second)
    for desk in [here, there] {
      #expect(throws: ClearanceRefusal.spent) { try desk.spend(first, from: client) }
    }
    #expect(try here.spend(second, from: client).serial == first.serial &+ 2)
    store.isFailing = true
    #expect(throws: ClearanceRefusal.self) { try here.spend(second, from: client) }
  }

  @Test("After a restart with an empty store no clearance of before is spent again")
  func restart() throws {
    let site = try Site()
    let client = ChallengeClient.address(Site.address)
    let first = try clearance(.person, site, try site.clearances(MemoryReplayStore()))
    for seconds in [0, 1, 899, -600] as [Int64] {
      site.clock.now = Site.start + seconds
      let later = try site.clearances(MemoryReplayStore())
      #expect(throws: ClearanceRefusal.earlier) { try later.spend(first, from: client) }
    }
  }

  // MARK: Header and cookie

  @Test("The cookie is set with every attribute, and read only where it stands alone")
  func cookies() throws {
    #expect(
      ClearanceField.setCookie("x", for: 900)
        == "__Host-proof-clearance=x; Path=/; Max-Age=900; Secure; HttpOnly; SameSite=Lax")
    func read(_ fields: (String, String)...) throws -> ClearanceField? {
      try ClearanceField(in: HeaderFields(fields.map { (name: $0.0, value: $0.1) }))
    }
    let ours = "__Host-proof-clearance=abc"
    #expect(try read() == nil)
    #expect(try read(("Cookie", "a=b; c=d")) == nil)
    #expect(try read(("Cookie", ours)) == ClearanceField("abc", in: .cookie))
    #expect(try read(("Cookie", "a=b; \(ours); c=d"))?.text == "abc")
    #expect(try read(("Cookie", "a=\"\(ours)\"")) == nil)
    #expect(try read(("Proof-Clearance", "abc")) == ClearanceField("abc", in: .header))
    for lines in [
      [("Cookie", "\(ours); \(ours)")], [("Cookie", ours), ("Cookie", ours)],
      [("Cookie", ours), ("Proof-Clearance", "abc")],
      [("Proof-Clearance", "abc"), ("Proof-Clearance", "abc")],
    ] {
      #expect(throws: ClearanceRefusal.repeated) {
        try ClearanceField(in: HeaderFields(lines.map { (name: $0.0, value: $0.1) }))
      }
    }
    for line in [
      "__Host-proof-clearance", "__host-proof-clearance=abc", "__Host-Proof-Clearance=abc",
      "a=b;\t__Host-proof-clearance=abc", "__Host-proof-clearance =abc; a=b",
      "a=" + String(repeating: "b", count: 20_000),
    ] {
      #expect(throws: ClearanceRefusal.cookies, "\(line.prefix(40))") {
        try read(("Cookie", line))
      }
    }
  }
}
