// SPDX-License-Identifier: Apache-2.0

/// The result of a check.
package enum Verdict: Equatable, Sendable, CustomStringConvertible {
  case linearizable
  /// No order of the calls of a key explains the answers. The words name the key and the answer that
  /// no order reached.
  case violated(String)
  /// The limit of steps was reached. It counts as a failure.
  case undecided(String)

  package var description: String {
    switch self {
    case .linearizable: "linearizable"
    case .violated(let words): "violated: \(words)"
    case .undecided(let words): "undecided: \(words)"
    }
  }
}

extension History {
  /// Checks whether each key's calls have an order that (1) keeps a call behind every call that
  /// ended before it began, and (2) gives each answer by the specification.
  ///
  /// The search is that of Wing and Gong, with Lowe's memory of the configurations that were tried.
  /// A call without an answer may take effect anywhere after its beginning, or never.
  package func check(stepsMax: Int = 2_000_000) -> Verdict {
    let keys = Dictionary(grouping: operations, by: \.key)
    for key in keys.keys.sorted() {
      var search = Search<Object>(keys[key]!, stepsMax: stepsMax)
      switch search.run() {
      case .linearizable: continue
      case .violated(let words): return .violated("key \(key): \(words)")
      case .undecided(let words): return .undecided("key \(key): \(words)")
      }
    }
    return .linearizable
  }
}

/// A depth-first search over the orders of one key's calls.
private struct Search<Object: Specification> {
  private struct Configuration: Hashable {
    let done: [UInt64]
    let state: Object.State
  }

  private struct Choice {
    let operation: Int
    let state: Object.State
    /// The next operation to try in this place.
    let resume: Int
  }

  private let operations: [Operation<Object>]
  private let stepsMax: Int
  private var done: [UInt64]
  private var tried: Set<Configuration> = []

  init(_ operations: [Operation<Object>], stepsMax: Int) {
    self.operations = operations.sorted { $0.began < $1.began }
    self.stepsMax = stepsMax
    done = Array(repeating: 0, count: operations.count / 64 + 1)
  }

  private func isDone(_ index: Int) -> Bool { done[index / 64] >> UInt64(index % 64) & 1 == 1 }
  private mutating func toggle(_ index: Int) { done[index / 64] ^= 1 << UInt64(index % 64) }

  mutating func run() -> Verdict {
    var state = Object.initial
    var order: [Choice] = []
    var left = operations.filter { $0.ended != nil }.count
    var from = 0
    var steps = 0
    var deepest = -1
    var blocked = 0
    while left > 0 {
      steps += 1
      if steps > stepsMax { return .undecided("more than \(stepsMax) steps") }
      if let (index, next) = nextCall(after: from, state) {
        toggle(index)
        order.append(Choice(operation: index, state: state, resume: index + 1))
        if operations[index].ended != nil { left -= 1 }
        state = next
        from = 0
        continue
      }
      if order.count > deepest {
        deepest = order.count
        blocked = operations.indices.filter { !isDone($0) && operations[$0].ended != nil }
          .min { operations[$0].ended! < operations[$1].ended! }!
      }
      guard let last = order.popLast() else {
        let call = operations[blocked]
        return .violated(
          "no order explains \(call.call) = \(call.answer!) of thread \(call.thread), begun at \(call.began)"
        )
      }
      toggle(last.operation)
      if operations[last.operation].ended != nil { left += 1 }
      state = last.state
      from = last.resume
    }
    return .linearizable
  }

  /// The first call from `from` on that may come next, and the state after it.
  private mutating func nextCall(after from: Int, _ state: Object.State) -> (Int, Object.State)? {
    // A call may come next only if it began before every call that is left has ended.
    var earliestEnd = Int.max
    for (index, operation) in operations.enumerated() where !isDone(index) {
      earliestEnd = min(earliestEnd, operation.ended ?? .max)
    }
    var index = from
    while index < operations.count, operations[index].began < earliestEnd {
      defer { index += 1 }
      if isDone(index) { continue }
      var next = state
      let answer = Object.apply(operations[index].call, to: &next)
      if let told = operations[index].answer, told != answer { continue }
      // A call without an answer that changes nothing has no place in the order.
      if operations[index].answer == nil, next == state { continue }
      toggle(index)
      let isNew = tried.insert(Configuration(done: done, state: next)).inserted
      toggle(index)
      if isNew { return (index, next) }
    }
    return nil
  }
}
