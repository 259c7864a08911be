// SPDX-License-Identifier: Apache-2.0

import ProofBench
import ProofBytes
import Testing

@Suite("A spread")
struct SpreadTests {
  @Test("is of numbers that were there, whatever their order")
  func quantiles() {
    let numbers = (1...100).map(Double.init).shuffled()
    let spread = Spread(numbers)
    #expect(spread.minimum == 1)
    #expect(spread.median == 51)
    #expect(spread.p99 == 99)
    #expect(spread.count == 100)
  }

  @Test("of few numbers has its worst one as the 99th percentile")
  func few() {
    #expect(Spread([3]) == Spread([3]))
    #expect(Spread([3]).p99 == 3)
    #expect(Spread([5, 1, 4]).p99 == 5)
    #expect(Spread([5, 1, 4]).median == 4)
  }
}

@Suite("A ratio")
struct RatioTests {
  @Test("is taken pair by pair: a slow round slows both")
  func pairs() {
    let one = Series(name: "one", rounds: [10, 1000, 12])
    let other = Series(name: "other", rounds: [5, 500, 6])
    let ratio = Ratio(one, over: other)
    #expect(ratio.name == "one/other")
    #expect(ratio.pairs == Spread([2, 2, 2]))
    #expect(ratio.value == 2)
  }

  @Test("shows its least and its worst pair")
  func extremes() {
    let ratio = Ratio(
      Series(name: "a", rounds: [1, 9, 4]), over: Series(name: "b", rounds: [1, 3, 2]))
    #expect(ratio.pairs.minimum == 1)
    #expect(ratio.pairs.median == 2)
    #expect(ratio.pairs.p99 == 3)
  }
}

/// A clock that candidates move, instead of waiting.
final class Hand {
  var now = ContinuousClock.now
  var order: [String] = []

  func candidate(_ name: String, count: Int = 1, each: Duration) -> Candidate {
    Candidate(name: name, count: count) { count in
      self.order.append(name)
      self.now += each * count
      return each * count
    }
  }
}

@Suite("A group")
struct GroupTests {
  @Test("gives every candidate the same number of rounds, another one first each time")
  func turns() throws {
    let hand = Hand()
    let group = Group(
      name: "g",
      candidates: ["a", "b", "c"].map { hand.candidate($0, each: .milliseconds(1)) })
    let timing = try group.run(Budget(rounds: 3, time: .seconds(100)), now: { hand.now })
    #expect(timing.series.allSatisfy { $0.spread.count == 3 })
    // One round warms up.
    #expect(hand.order.dropFirst(3).joined() == "abcbcacab")
  }

  @Test("counts nanoseconds for one time")
  func unit() throws {
    let hand = Hand()
    let group = Group(
      name: "g", candidates: [hand.candidate("a", count: 50, each: .microseconds(7))])
    let timing = try group.run(Budget(rounds: 4, time: .seconds(100)), now: { hand.now })
    #expect(timing.series[0].spread == Spread([7000, 7000, 7000, 7000]))
  }

  @Test("ends when its time is over, but not before three rounds")
  func budget() throws {
    let hand = Hand()
    let group = Group(name: "g", candidates: [hand.candidate("a", each: .seconds(1))])
    let short = try group.run(Budget(rounds: 301, time: .milliseconds(1)), now: { hand.now })
    #expect(short.series[0].spread.count == Budget.roundsMin)
    let long = try group.run(Budget(rounds: 301, time: .seconds(40)), now: { hand.now })
    #expect(long.series[0].spread.count == 36, "a tenth of the time warms up")
  }

  @Test("takes ratios of the candidates that were named")
  func ratios() throws {
    let hand = Hand()
    let group = Group(
      name: "g",
      candidates: [
        hand.candidate("slow", each: .milliseconds(6)),
        hand.candidate("fast", each: .milliseconds(2)),
      ], ratios: [("slow", "fast")])
    let timing = try group.run(Budget(rounds: 5, time: .seconds(9)), now: { hand.now })
    #expect(timing.ratios.map(\.name) == ["slow/fast"])
    #expect(timing.ratios[0].value == 3)
  }

  @Test("says which candidate failed")
  func failure() {
    struct Broken: Error, CustomStringConvertible { let description = "no such TPM" }
    let group = Group(name: "peers", candidates: [.whole("quote") { _ in throw Broken() }])
    let failure = #expect(throws: CandidateFailure.self) {
      try group.run(Budget(rounds: 3, time: .seconds(1)))
    }
    #expect(failure?.description == "peers, quote: no such TPM")
  }

  @Test("tells its progress before each round")
  func progress() throws {
    let hand = Hand()
    var rounds: [Int] = []
    _ = try Group(name: "g", candidates: [hand.candidate("a", each: .seconds(1))])
      .run(
        Budget(rounds: 3, time: .seconds(100)), now: { hand.now }, progress: { rounds.append($0) })
    #expect(rounds == [-1, 0, 1, 2])
  }
}

@Suite("Progress")
struct ProgressTests {
  @Test("is written to a terminal, and nowhere else")
  func terminal() {
    var written = ""
    let shown = Progress(isShown: true) { written += $0 }
    shown.show("proof: round 1")
    shown.clear()
    #expect(written == "\r\u{1B}[Kproof: round 1\r\u{1B}[K")
    written = ""
    let hidden = Progress(isShown: false) { written += $0 }
    hidden.show("proof: round 1")
    hidden.clear()
    #expect(written.isEmpty)
  }
}

@Suite("A day")
struct DayTests {
  @Test(
    "is one of the calendar",
    arguments: [
      (0, "1970-01-01"), (58, "1970-02-28"), (59, "1970-03-01"), (11_016, "2000-02-29"),
      (11_017, "2000-03-01"), (20_453, "2025-12-31"), (20_454, "2026-01-01"),
      (47_540, "2100-02-28"), (47_541, "2100-03-01"),
    ])
  func date(days: Int64, text: String) {
    let date = CalendarDate(daysSince1970: days)
    #expect(date.text == text)
    #expect(date.daysSince1970 == days)
  }
}
