// SPDX-License-Identifier: Apache-2.0

import HistoryChecker
import SeededRandom
import Testing

@Suite("The history checker on histories that are known")
struct LinearizabilityTests {
  /// A history of text: thread, beginning, end, key, call, answer.
  private func verdict<Object: Specification>(
    _ object: Object.Type, _ lines: String
  ) throws -> Bool {
    let text = lines.split(separator: "\n").map { line in
      line.split(separator: "|").map { $0.trimmingPrefix { $0 == " " } }.map { field in
        String(field.reversed().drop { $0 == " " }.reversed())
      }.joined(separator: "\t")
    }.joined(separator: "\n")
    let history = try #require(History<Object>(text: text))
    #expect(History<Object>(text: history.text)?.text == history.text)
    return history.check() == .linearizable
  }

  @Test(
    "Redeem once",
    arguments: [
      // 1. One after the other: the same report again, another report.
      ("1|1|2|k|redeem 1 9|used\n1|3|4|k|redeem 1 8|again 9\n2|5|6|k|redeem 2 7|stale", true),
      // 2. Two at once: one wins.
      ("1|1|4|k|redeem 1 9|used\n2|2|3|k|redeem 2 8|stale", true),
      // 3. Two winners.
      ("1|1|4|k|redeem 1 9|used\n2|2|3|k|redeem 2 8|used", false),
      // 4. Two winners of one report.
      ("1|1|2|k|redeem 1 9|used\n1|3|4|k|redeem 1 9|used", false),
      // 5. The loser is told before the winner begins.
      ("2|1|2|k|redeem 2 8|stale\n1|3|4|k|redeem 1 9|used", false),
      // 6. Another answer than the stored one.
      ("1|1|2|k|redeem 1 9|used\n1|3|4|k|redeem 1 8|again 8", false),
      // 7. An unknown call took effect later than its failure: its report wins after a read.
      ("1|1|-|k|redeem 1 9|?\n2|2|3|k|redeem 1 8|again 9", true),
      // 8. An unknown call never took effect.
      ("1|1|-|k|redeem 1 9|?\n2|2|3|k|redeem 2 8|used", true),
      // 9. An unknown call cannot take effect before its beginning.
      ("2|1|2|k|redeem 2 8|stale\n1|3|-|k|redeem 1 9|?", false),
      // 10. An unknown call takes effect once at most.
      ("1|1|-|k|redeem 1 9|?\n2|2|3|k|redeem 2 8|used\n3|4|5|k|redeem 1 9|again 9", false),
      // 11. Every call after the sweep is stale, also of the same report.
      ("1|1|2|k|redeem 1 9|used\n2|3|4|k|sweep|done\n1|5|6|k|redeem 1 9|stale", true),
      // 12. A use lives again after the sweep.
      ("1|1|2|k|redeem 1 9|used\n2|3|4|k|sweep|done\n1|5|6|k|redeem 1 9|used", false),
      // 13. Keys do not affect each other.
      ("1|1|4|a|redeem 1 9|used\n2|2|3|b|redeem 2 8|used", true),
      // 14. A violation in the second key is found.
      ("1|1|2|a|redeem 1 9|used\n2|3|4|b|redeem 1 8|used\n2|5|6|b|redeem 2 8|used", false),
    ])
  func redeemOnce(lines: String, isGood: Bool) throws {
    #expect(try verdict(RedeemOnce.self, lines) == isGood)
  }

  @Test(
    "Registers, rotations, events, ledgers",
    arguments: [
      // 1. A read that begins after an acknowledged ban sees it.
      ("register", "1|1|2|k|set 0 1|1\n2|3|4|k|read|1", true),
      ("register", "1|1|2|k|set 0 1|1\n2|3|4|k|read|0", false),
      // 3. A read beside the ban sees either.
      ("register", "1|1|4|k|set 0 1|1\n2|2|3|k|read|0", true),
      // 4. Two reads in order never go back.
      ("register", "1|1|6|k|set 0 1|1\n2|2|3|k|read|1\n2|4|5|k|read|0", false),
      // 5. Two changes from one value: one is refused.
      ("register", "1|1|3|k|set 0 1|1\n2|2|4|k|set 0 2|1", false),
      ("register", "1|1|3|k|set 0 1|1\n2|2|4|k|set 0 2|0", true),
      ("rotation", "1|1|3|k|rotate|1\n2|2|4|k|rotate|2", true),
      ("rotation", "1|1|3|k|rotate|1\n2|2|4|k|rotate|1", false),
      // 9. An unknown rotation explains a gap; without it the gap is a violation.
      ("rotation", "1|1|-|k|rotate|?\n2|2|4|k|rotate|2", true),
      ("rotation", "2|2|4|k|rotate|2", false),
      ("event", "1|1|3|k|redeem|1\n2|2|4|k|redeem|0", true),
      ("event", "1|1|3|k|redeem|1\n2|2|4|k|redeem|1", false),
      ("event", "1|1|3|k|redeem|0\n2|2|4|k|redeem|0", false),
      ("ledger", "1|1|2|k|issue 3 3|1\n1|3|4|k|issue 3 3|1\n1|5|6|k|issue 2 2|0", true),
      ("ledger", "1|1|2|k|issue 5 3|1\n1|3|4|k|issue 4 3|1\n1|5|6|k|issue 2 2|0", true),
      ("ledger", "1|1|2|k|issue 5 3|1\n1|3|4|k|issue 4 4|1\n1|5|6|k|issue 3 3|1", false),
      ("ledger", "1|1|2|k|revoke 3|1\n1|3|4|k|issue 3 3|1", false),
      ("ledger", "1|1|2|k|revoke 3|1\n1|3|4|k|issue 4 4|1", true),
    ])
  func others(kind: String, lines: String, isGood: Bool) throws {
    switch kind {
    case "register": #expect(try verdict(Register.self, lines) == isGood)
    case "rotation": #expect(try verdict(Rotation.self, lines) == isGood)
    case "event": #expect(try verdict(EventOnce.self, lines) == isGood)
    default: #expect(try verdict(IssueLedger.self, lines) == isGood)
    }
  }

  @Test(
    "Uses of a device",
    arguments: [
      // 1. Version 0 is judged twice at once: the second one judges again.
      ("1|1|3|d|use 1 1 0 5 0|used\n2|2|4|d|use 2 2 0 6 0|changed", true),
      ("1|1|3|d|use 1 1 0 5 0|used\n2|2|4|d|use 2 2 0 6 0|used", false),
      // 3. A generation that must rise does not: stale, and the mark stays without an answer.
      (
        "1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|use 2 2 1 5 1|stale\n1|5|6|d|use 2 2 1 5 1|stale", true
      ),
      (
        "1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|use 2 2 1 5 1|stale\n1|5|6|d|use 2 2 1 5 1|again 2",
        false
      ),
      // 5. After `changed` the same challenge is used.
      (
        "1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|use 2 2 0 6 0|changed\n1|5|6|d|use 2 2 1 6 0|used",
        true
      ),
      // 6. The row is read as it is, and never goes back.
      ("1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|see|seen 1 5", true),
      ("1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|see|seen 0 0", false),
      ("1|1|2|d|use 1 1 0 5 0|used\n1|3|4|d|use 2 2 1 3 0|used\n1|5|6|d|see|seen 2 3", false),
    ])
  func deviceUses(lines: String, isGood: Bool) throws {
    #expect(try verdict(DeviceUses.self, lines) == isGood)
  }

  @Test("A malformed history is refused, line by line")
  func malformed() {
    for line in [
      "1\t1\t2\tk\tread", "x\t1\t2\tk\tread\t0", "1\t1\t-\tk\tread\t0", "1\t1\t2\tk\tread\t?",
      "1\t2\t1\tk\tread\t0", "1\t1\t2\tk\tset 1\t0", "1\t1\tx\tk\tread\t0",
    ] {
      #expect(History<Register>(text: line) == nil, "\(line)")
    }
  }

  /// The plain definition: tries every order of the calls, and every subset of the unknown ones.
  private func isLinearizable<Object: Specification>(
    _ left: [HistoryChecker.Operation<Object>], _ state: Object.State
  ) -> Bool {
    if left.allSatisfy({ $0.ended == nil }) { return true }
    let earliestEnd = left.compactMap(\.ended).min()!
    for (index, operation) in left.enumerated() where operation.began < earliestEnd {
      var next = state
      let answer = Object.apply(operation.call, to: &next)
      if let told = operation.answer, told != answer { continue }
      var rest = left
      rest.remove(at: index)
      if isLinearizable(rest, next) { return true }
    }
    return false
  }

  @Test("The search agrees with every order tried, on 4,000 random histories")
  func agreesWithAllOrders() {
    var generator = SeededGenerator("linearizability")
    var good = 0
    for _ in 0..<4_000 {
      var history = History<Register>()
      let count = Int.random(in: 2...6, using: &generator)
      var places = Array(1...(count * 2)).shuffled(using: &generator)
      for thread in 0..<count {
        let (a, b) = (places.removeLast(), places.removeLast())
        let call: Register.Call =
          Bool.random(using: &generator)
          ? .read
          : .set(
            from: .random(in: 0...1, using: &generator), to: .random(in: 0...1, using: &generator))
        let isUnknown = Int.random(in: 0..<5, using: &generator) == 0
        history.operations.append(
          Operation(
            thread: thread, key: "k", call: call, began: min(a, b),
            ended: isUnknown ? nil : max(a, b),
            answer: isUnknown ? nil : Int.random(in: 0...1, using: &generator)))
      }
      let expected = isLinearizable(history.operations, Register.initial)
      if expected { good += 1 }
      #expect((history.check() == .linearizable) == expected, "\(history.text)")
    }
    // Both kinds must be among them, or the comparison shows nothing.
    #expect((400...3_600).contains(good))
  }

  @Test("A search at its limit is no success")
  func undecided() {
    let history = History<Register>(
      (0..<40).map {
        Operation(
          thread: $0, key: "k", call: .set(from: $0, to: $0 + 1), began: $0, ended: 100 + $0,
          answer: 1)
      })
    guard case .undecided = history.check(stepsMax: 3) else {
      Issue.record("3 steps were enough")
      return
    }
  }

  @Test("Counts lie between the acknowledged and the begun; blocks are disjoint")
  func bounds() {
    let added = [
      Bounds.Added(began: 1, ended: 2), Bounds.Added(began: 3, ended: nil),
      Bounds.Added(began: 5, ended: 9),
    ]
    #expect((0...4).filter { Bounds.allows(count: $0, began: 4, ended: 6, added) } == [1, 2, 3])
    #expect((0...4).filter { Bounds.allows(count: $0, began: 10, ended: 11, added) } == [2, 3])
    #expect(Bounds.areDisjoint([0..<4, 8..<9, 4..<8]))
    #expect(!Bounds.areDisjoint([0..<4, 8..<9, 3..<5]))
  }
}
