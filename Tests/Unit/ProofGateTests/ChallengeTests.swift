// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import Testing

@testable import ProofGate

/// Challenges: stateless until they are answered, bound, and used up by each answer.
@Suite struct ChallengeTests {
  private static let right = ChallengeAnswer.person { _ in true }

  private func refusal(
    _ desk: ChallengeDesk, _ answer: ChallengeAnswer, _ text: String, _ subject: ChallengeSubject
  ) -> ChallengeRefusal? {
    do throws(ChallengeRefusal) {
      _ = try desk.judge(answer, to: text, for: subject)
      return nil
    } catch {
      return error
    }
  }

  @Test("A challenge has 60 bytes, 80 characters, and what it was set with")
  func fields() throws {
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject()
    for kind in ChallengeKind.allCases {
      let challenge = desk.set(kind, level: 3, route: 7, for: subject)
      #expect(challenge.bytes.count == 60 && challenge.text.utf8.count == 80)
      #expect(challenge.kind == kind && challenge.route == 7)
      #expect(challenge.level == (kind.levels == 0...0 ? 0 : 3))
      #expect(challenge.expiry == Site.start + Int64(kind.life))
      #expect(try desk.read(challenge.text, for: subject) == challenge)
      #expect(desk.set(kind, for: subject).text != challenge.text)
    }
  }

  @Test("A level and a life out of range are brought into it")
  func ranges() throws {
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject()
    #expect(desk.set(.work, level: 0, for: subject).level == 1)
    #expect(desk.set(.work, level: 255, for: subject).level == 24)
    #expect(desk.set(.memoryWork, level: 255, for: subject).level == 7)
    let long = desk.set(.person, for: subject, life: .max)
    #expect(long.expiry == Site.start + 3600)
  }

  @Test("Every changed bit of an id is refused")
  func bits() throws {
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject()
    let text = desk.set(.person, for: subject).text
    for bit in 0..<480 {
      let refusal = refusal(desk, Self.right, flipped(text, bit: bit), subject)
      #expect(refusal != nil && refusal != .spent && refusal != .wrong, "\(bit)")
    }
    #expect(refusal(desk, Self.right, text, subject) == nil)
  }

  @Test(
    "A challenge counts for its host, method, target, body and client alone, and others do not use it up"
  )
  func binding() throws {
    let site = try Site()
    let desk = try site.challenges()
    let body = Digest(hashing: [1])
    let mine = try site.subject(body: body)
    let text = desk.set(.person, for: mine).text
    let others = [
      try site.subject("PUT", body: body), try site.subject("POST", "/pay?to=8", body: body),
      try site.subject(host: "shop.example.com", body: body), try site.subject(body: .zero),
      try site.subject(), try site.subject(body: body, from: .address("192.0.2.2")),
      try site.subject(body: body, from: .address("2001:db8::1")),
      try site.subject(body: body, from: .app(site.app.handle)),
    ]
    for other in others {
      #expect(refusal(desk, Self.right, text, other) == .subject)
      #expect(refusal(desk, .work(""), text, other) == .subject)
    }
    #expect(refusal(desk, Self.right, text, mine) == nil)
    // 64 bits of an IPv6 address count.
    let here = try site.subject(from: .address("2001:db8::1"))
    let moved = try site.subject(from: .address("2001:db8::ffff"))
    #expect(refusal(desk, Self.right, desk.set(.person, for: here).text, moved) == nil)
    // An app's challenge is not another app's.
    let apps = try [site.app, GateSecret.random(generation: 1).keys].map {
      try site.subject(from: .app($0.handle))
    }
    let asked = desk.set(.token, for: apps[0]).text
    #expect(refusal(desk, .token(site.app.handle), asked, apps[1]) == .subject)
  }

  // MARK: Rule 1: once

  @Test("Each answer uses its challenge up, right or wrong, for every kind")
  func usedUp() throws {
    let site = try Site()
    for kind in ChallengeKind.allCases {
      // A wrong solution of the lowest level of work is right in one of 65,536 cases.
      let level: UInt8 = kind == .work ? 8 : 1
      let client: ChallengeClient =
        kind == .token || kind == .proof ? .app(site.app.handle) : .address(Site.address)
      let subject = try site.subject(from: client)
      for isRight in [true, false] {
        let desk = try site.challenges()
        let challenge = desk.set(kind, level: level, for: subject)
        let right = try answer(kind, challenge, subject, site)
        let first = isRight ? right : try wrong(kind, site)
        #expect(refusal(desk, first, challenge.text, subject) == (isRight ? nil : .wrong))
        #expect(refusal(desk, right, challenge.text, subject) == .spent, "\(kind) \(isRight)")
        #expect(refusal(desk, first, challenge.text, subject) == .spent)
      }
      // An answer of another kind is a wrong one.
      let desk = try site.challenges()
      let challenge = desk.set(kind, level: level, for: subject)
      let other: ChallengeAnswer = kind == .work ? .memoryWork("") : .work("")
      #expect(refusal(desk, other, challenge.text, subject) == .otherAnswer)
      let right = try answer(kind, challenge, subject, site)
      #expect(refusal(desk, right, challenge.text, subject) == .spent)
    }
  }

  @Test("A right answer counts at one of several nodes, and a person's wrong one at all of them")
  func nodes() throws {
    let site = try Site()
    let store = SharedStore()
    let (here, there) = (try site.challenges(store), try site.challenges(store))
    let subject = try site.subject()
    let work = here.set(.work, level: 1, for: subject)
    let solution = ChallengeAnswer.work(try solve(work.text).solution)
    #expect(refusal(there, solution, work.text, subject) == nil)
    #expect(refusal(here, solution, work.text, subject) == .spent)
    let asked = here.set(.person, for: subject).text
    #expect(refusal(there, .person { _ in false }, asked, subject) == .wrong)
    #expect(refusal(here, Self.right, asked, subject) == .spent)
  }

  @Test(
    "After a restart with an empty store nothing of before counts, also with the clock set back")
  func restart() throws {
    let site = try Site()
    let subject = try site.subject()
    let text = try site.challenges(MemoryReplayStore()).set(.person, for: subject, life: 3600).text
    for seconds in [0, 1, 3599, -7200, -3600, -1] as [Int64] {
      site.clock.now = Site.start + seconds
      let later = try site.challenges(MemoryReplayStore())
      #expect(refusal(later, Self.right, text, subject) != nil, "\(seconds)")
      let own = later.set(.person, for: subject).text
      #expect(refusal(later, Self.right, own, subject) == nil)
      // A clock that goes on to the moment of before brings nothing back.
      site.clock.now = Site.start + 60
      #expect(refusal(later, Self.right, text, subject) == .earlier)
    }
  }

  @Test(
    "After a restored backup of a shared store, challenges of other nodes count when those of before have ended"
  )
  func backup() throws {
    let site = try Site()
    let subject = try site.subject()
    let node = try site.challenges(SharedStore(isComplete: false, highest: Site.start))
    let before = try site.challenges()
    let old = before.set(.person, for: subject, life: 3600).text
    #expect(refusal(node, Self.right, old, subject) == .earlier)
    site.clock.now += 3600
    #expect(refusal(node, Self.right, old, subject) == .earlier)
    site.clock.now += 31
    #expect(refusal(node, Self.right, old, subject) == .expired)
    let fresh = before.set(.person, for: subject).text
    #expect(refusal(node, Self.right, fresh, subject) == nil)
  }

  @Test("A challenge ends, and a store out of reach lets no answer count")
  func ends() throws {
    let site = try Site()
    let store = SharedStore()
    let desk = try site.challenges(store)
    let subject = try site.subject()
    let text = desk.set(.person, for: subject).text
    store.isFailing = true
    guard case .store = refusal(desk, Self.right, text, subject) else {
      Issue.record("A store that is out of reach is no success.")
      return
    }
    store.isFailing = false
    site.clock.now += 601
    #expect(refusal(desk, Self.right, text, subject) == .expired)
  }

  // MARK: Rule 3: no other gate

  @Test("A challenge of another gate, or under another own secret, does not count")
  func otherGate() throws {
    let (site, other) = (try Site(), try Site())
    let subject = try site.subject()
    let text = try site.challenges().set(.person, for: subject).text
    #expect(refusal(try other.challenges(), Self.right, text, subject) == .tag)
    let same = try Site(id: site.id, secret: 0x5b)
    #expect(refusal(try same.challenges(), Self.right, text, subject) == .tag)
    let rotated = try site.challenges(own: Site.own(site.id, [(2, 0x5b), (1, 0x5a)]))
    #expect(refusal(rotated, Self.right, text, subject) == nil)
    let dropped = try site.challenges(own: Site.own(site.id, [(2, 0x5b)]))
    #expect(refusal(dropped, Self.right, text, subject) == .key)
  }

  @Test("A proof for another gate, host, method, target, challenge or app is wrong")
  func proofs() throws {
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject(from: .app(site.app.handle))
    func judge(
      gate: GateID? = nil, _ place: ChallengePlace? = nil, other: Bool = false,
      keys: GateKeys? = nil
    ) throws -> ChallengeRefusal? {
      let challenge = desk.set(.proof, for: subject)
      let answered = other ? desk.set(.proof, for: subject) : challenge
      let proof = try (keys ?? site.app).challengeProof(
        answering: answered.bytes, at: gate ?? site.id, for: place ?? subject.place)
      return refusal(desk, .proof(proof, keys ?? site.app), challenge.text, subject)
    }
    #expect(try judge() == nil)
    #expect(try judge(gate: .random()) == .wrong)
    #expect(try judge(other: true) == .wrong)
    #expect(try judge(keys: GateSecret.random(generation: 1).keys) == .wrong)
    var places = [ChallengePlace](repeating: subject.place, count: 4)
    places[0].method = "PUT"
    places[1].authority = "evil.example.com"
    places[2].target = "/pay?to=8"
    places[3].scheme = "http"
    for place in places { #expect(try judge(place) == .wrong) }
  }

  // MARK: Rule 5: nothing is stored

  @Test("Challenges without an answer store nothing, and wrong answers have a fixed room")
  func memory() throws {
    let site = try Site()
    let store = SharedStore()
    let desk = try site.challenges(store)
    let subject = try site.subject()
    let rounds = 20_000
    var last = ""
    for _ in 0..<rounds { last = desk.set(.work, level: 1, for: subject).text }
    for _ in 0..<1_000 {
      _ = refusal(desk, .work(""), desk.set(.work, level: 1, for: subject).text, subject)
    }
    #expect(store.count == 0 && SpentMarks.byteCount == 1 << 20)
    // The marks have a fixed room: more of them replace others, and none is an error.
    let marks = SpentMarks()
    for number in 0..<rounds * 4 {
      marks.insert(ReplayKey(label: GateChallenge.label, UInt32(number).littleEndianBytes))
    }
    let newest = UInt32(rounds * 4 - 1).littleEndianBytes
    #expect(marks.contains(ReplayKey(label: GateChallenge.label, newest)))
    #expect(!marks.contains(ReplayKey(label: GateChallenge.label, [9])))
    #expect(refusal(desk, .work(try solve(last).solution), last, subject) == nil)
    #expect(store.count == 1)
  }

  // MARK: Answers

  private func answer(
    _ kind: ChallengeKind, _ challenge: GateChallenge, _ subject: ChallengeSubject, _ site: Site
  ) throws -> ChallengeAnswer {
    switch kind {
    case .token: .token(site.app.handle)
    case .proof: try site.proof(challenge, subject)
    case .work: .work(try solve(challenge.text).solution)
    case .memoryWork: .memoryWork(try solve(challenge.text).solution)
    case .person: Self.right
    }
  }

  private func wrong(_ kind: ChallengeKind, _ site: Site) throws -> ChallengeAnswer {
    switch kind {
    case .token: .token(try GateSecret.random(generation: 1).keys.handle)
    case .proof: .proof(.zero, site.app)
    case .work: .work(Base64.encode([UInt8](repeating: 0xff, count: 64), .url))
    case .memoryWork: .memoryWork(Base64.encode([UInt8](repeating: 0, count: 42), .url))
    case .person: .person { _ in false }
    }
  }
}
