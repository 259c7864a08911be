// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

/// Admissions, clocks and budgets of a gate: each field, and each bound from both sides.
@Suite struct AdmissionValuesTests {
  private static let now: UnixTime = 1_800_057_600

  // MARK: Admissions

  @Test("A known app keeps the highest count of its process, also when its token comes again")
  func admissions() throws {
    let known = Admissions<String>(capacity: 2)
    let handles = try (1...5).map { try GateHandle([UInt8](repeating: $0, count: 16)) }
    #expect(known.count == 0 && known.find(handles[0]) == nil)
    known.note(handles[0], start: 1, count: 9)
    #expect(known.count == 0, "an app that is not known is not noted")
    known.put("a", for: handles[0])
    #expect(known.find(handles[0], start: 0)?.newest == 0)
    for (start, count, newest) in [(7, 5, 5), (7, 4, 5), (7, 6, 6), (8, 1, 1)]
      as [(UInt32, UInt32, UInt32)]
    {
      known.note(handles[0], start: start, count: count)
      #expect(known.find(handles[0], start: start)?.newest == newest)
      #expect(known.find(handles[0], start: start + 1)?.newest == 0)
      #expect(known.find(handles[0])?.newest == 0)
    }
    known.put("b", for: handles[0])
    let again = try #require(known.find(handles[0], start: 8))
    #expect(again.entry == "b" && again.newest == 1)
    // Two young ones and two old ones; the one that is used moves to the young.
    for index in 1...2 { known.put("\(index)", for: handles[index]) }
    #expect(known.count == 3)
    #expect(known.find(handles[0], start: 8)?.newest == 1)
    known.put("3", for: handles[3])
    #expect(known.count == 3 && known.find(handles[1]) == nil && known.find(handles[0]) != nil)
    known.remove(handles[0])
    #expect(known.find(handles[0]) == nil && known.count == 2)
    let one = Admissions<Int>(capacity: 0)
    one.put(1, for: handles[0])
    #expect(one.find(handles[0])?.entry == 1)
    one.put(2, for: handles[1])
    #expect(one.count == 2)
    one.put(3, for: handles[2])
    #expect(one.count == 2 && one.find(handles[0]) == nil)
  }

  // MARK: Time

  @Test("A clock that is set back stands still, and none is before 1970")
  func clock() {
    let set = SetClock(100)
    let clock = GateClock(set.clock, from: 50)
    #expect(clock.now == 100)
    set.now = 99
    #expect(clock.now == 100)
    set.now = 101
    #expect(clock.now == 101)
    #expect(GateClock(SetClock(100).clock, from: 500).now == 500)
    #expect(GateClock(SetClock(-5).clock, from: UnixTime(seconds: -9)).now == 0)
  }

  @Test("A start refuses what an earlier process may have accepted, up to the window after the gap")
  func start() {
    let complete = GateStart(ReplayMemory(highest: 100, gap: nil), window: 60)
    #expect(!complete.mayHaveCounted(0) && !complete.mayHaveCounted(.last))
    let gap = GateStart(ReplayMemory(highest: 100, gap: 90), window: 60)
    #expect(gap.mayHaveCounted(150) && !gap.mayHaveCounted(151))
    let own = GateStart(ReplayMemory(highest: 100, gap: 90), window: 60, isOfOneProcess: true)
    #expect(own.mayHaveCounted(151) && own.mayHaveCounted(.last))
  }

  @Test("Beacons of the last 15 minutes and the next 5 are valid, also after the clock moved")
  func beacons() throws {
    let gate = try Gate()
    let (key, clock) = (try gate.beaconKey(), BeaconClock(try gate.beaconKey()))
    for now in [Self.now, Self.now + 299, Self.now + 300, Self.now - 300] as [UnixTime] {
      #expect(clock.header(at: now) == key.header(at: now))
      for (seconds, isValid) in [
        (-900, false), (-600, true), (-300, true), (0, true), (300, true), (600, false),
      ]
        as [(Int64, Bool)]
      {
        let text = key.header(at: now + seconds)
        #expect(clock.isValid(text[...], at: now) == isValid, "\(seconds)")
      }
    }
    #expect(!clock.isValid("", at: Self.now) && !clock.isValid("A", at: Self.now))
  }

  @Test("The budget of openings is the page's, and a used bucket fills with time alone")
  func budget() {
    let budget = OpeningBudget()
    #expect(budget.perAddress == OpeningBudget.Rate(burst: 8, perSecond: 0.2))
    #expect(budget.strangers == OpeningBudget.Rate(burst: 200, perSecond: 100))
    #expect(budget.known == budget.strangers)
    #expect(budget.worked == OpeningBudget.Rate(burst: 60, perSecond: 30))
    var bucket = RateBucket()
    let rate = OpeningBudget.Rate(burst: 2, perSecond: 0.5)
    func take(_ seconds: UInt64) -> Bool { bucket.take(rate, at: 1_000 + seconds) }
    #expect(take(0) && take(0) && !take(0) && !take(1))
    #expect(take(2) && !take(2) && !take(3) && take(4) && !take(4))
    // A clock that goes back gives nothing back, and takes nothing.
    #expect(!bucket.take(rate, at: 10) && !take(5) && take(6))
    bucket.giveBack()
    #expect(take(6) && !take(6))
    bucket.giveBack()
    bucket.giveBack()
    bucket.giveBack()
    #expect(take(6) && take(6) && !take(6), "no more than the burst")
    #expect(take(1_000_000) && take(1_000_000) && !take(1_000_000))
  }

  @Test("Each share of openings is its own, and an address that opened stays known for a day")
  func openings() {
    var budget = OpeningBudget()
    budget.perAddress = OpeningBudget.Rate(burst: 3, perSecond: 0)
    budget.strangers = OpeningBudget.Rate(burst: 2, perSecond: 0)
    budget.known = OpeningBudget.Rate(burst: 1, perSecond: 0)
    budget.worked = OpeningBudget.Rate(burst: 2, perSecond: 0)
    let openings = Openings(budget)
    func take(_ address: String?, hasWorked: Bool = false, _ seconds: UInt64 = 0) -> Openings.Taken?
    {
      openings.take(for: address, hasWorked: hasWorked, at: Self.now + seconds)
    }
    // An opening that is given back costs nothing, and makes its address known.
    for _ in 0..<9 {
      guard let taken = take("192.0.2.1") else {
        Issue.record("the opening was not given back")
        return
      }
      openings.opened(taken, isCharged: false, at: Self.now)
    }
    #expect(take("192.0.2.9") != nil && take("192.0.2.9") != nil && take("192.0.2.9") == nil)
    #expect(take(nil) == nil, "strangers have spent their share")
    #expect(take("192.0.2.1", 86_400) != nil, "known for a day")
    #expect(take("192.0.2.1", 86_400) == nil, "one for the known")
    // One second later it is a stranger again.
    #expect(take("192.0.2.1", 86_401) == nil)
    for _ in 0..<2 { #expect(take("192.0.2.9", hasWorked: true) != nil) }
    #expect(take("192.0.2.8", hasWorked: true) == nil)
  }

  @Test("Each refusal of a digest in a field has a sentence, and tells the client its part")
  func digestFields() {
    let refusals = DigestFieldRefusal.allCases
    #expect(Set(refusals.map(\.description)).count == 6)
    #expect(refusals.allSatisfy { $0.description.hasSuffix(".") })
    #expect(refusals.filter { $0.told == .refused } == [.repeated, .malformed])
    #expect(refusals.filter { $0.told == .proof } == [.missing, .notProved, .otherBody, .otherURL])
  }
}
