// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// A sequential object: the specification that a concurrent history is checked against.
package protocol Specification: Sendable {
  associatedtype State: Hashable & Sendable
  associatedtype Call: Hashable & Sendable & LosslessStringConvertible
  associatedtype Answer: Hashable & Sendable & LosslessStringConvertible

  static var initial: State { get }
  /// The answer of the object, one call at a time.
  static func apply(_ call: Call, to state: inout State) -> Answer
}

/// One call of a recorded history.
package struct Operation<Object: Specification>: Sendable {
  package let thread: Int
  package let key: String
  package let call: Object.Call
  /// The place of the call among all beginnings and ends.
  package let began: Int
  /// The place of the answer; nil: it never came, so the call may take effect at any later time, or
  /// never.
  package let ended: Int?
  package let answer: Object.Answer?

  package init(
    thread: Int, key: String, call: Object.Call, began: Int, ended: Int?, answer: Object.Answer?
  ) {
    precondition((ended == nil) == (answer == nil), "An answer has an end.")
    self.thread = thread
    self.key = key
    self.call = call
    self.began = began
    self.ended = ended
    self.answer = answer
  }
}

/// Calls of many threads, with their beginnings and ends in one order.
///
/// The text has a line for each call, with tabs between: thread, beginning, end or `-`, key, call,
/// answer or `?`.
package struct History<Object: Specification>: Sendable {
  package var operations: [Operation<Object>]

  package init(_ operations: [Operation<Object>] = []) { self.operations = operations }

  package var text: String {
    operations.sorted { $0.began < $1.began }.map { operation in
      let end = operation.ended.map { "\($0)" } ?? "-"
      let answer = operation.answer.map { "\($0)" } ?? "?"
      return
        "\(operation.thread)\t\(operation.began)\t\(end)\t\(operation.key)\t\(operation.call)\t\(answer)\n"
    }.joined()
  }

  /// The history of a text, or nil if a line is malformed.
  package init?(text: String) {
    operations = []
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard fields.count == 6, let thread = Int(fields[0]), let began = Int(fields[1]),
        let call = Object.Call(fields[4])
      else { return nil }
      let end = Int(fields[2])
      let answer = Object.Answer(fields[5])
      guard (end == nil) == (fields[2] == "-"), (answer == nil) == (fields[5] == "?"),
        (end == nil) == (answer == nil), end.map({ $0 > began }) ?? true
      else { return nil }
      operations.append(
        Operation(
          thread: thread, key: fields[3], call: call, began: began, ended: end, answer: answer))
    }
  }
}

/// The result of a call, as its thread saw it.
package enum Observed<Answer: Sendable>: Sendable {
  case answer(Answer)
  /// The call failed, and its changes may take effect.
  case unknown
  /// The call failed without any effect.
  case nothing
}

/// Records the calls of many threads. Beginnings and ends are numbered under one lock, so the order
/// is that of the real events: a call is numbered before it begins, and again after it has ended.
package final class Recorder<Object: Specification>: Sendable {
  private struct State {
    var clock = 0
    var history = History<Object>()
  }

  private let state = CoreLock(State())

  package init() {}

  package var history: History<Object> { state.withLock { $0.history } }

  /// A place of its own in the order, for an event beside the recorded calls.
  package var now: Int { tick() }

  /// Makes a call and records it. A call without effect is left out.
  @discardableResult
  package func record(
    thread: Int, key: String, _ call: Object.Call, _ body: () -> Observed<Object.Answer>
  ) -> Object.Answer? {
    let began = tick()
    let observed = body()
    switch observed {
    case .nothing: return nil
    case .unknown:
      add(Operation(thread: thread, key: key, call: call, began: began, ended: nil, answer: nil))
      return nil
    case .answer(let answer):
      let ended = tick()
      add(
        Operation(
          thread: thread, key: key, call: call, began: began, ended: ended, answer: answer))
      return answer
    }
  }

  private func tick() -> Int {
    state.withLock { state in
      state.clock += 1
      return state.clock
    }
  }

  private func add(_ operation: Operation<Object>) {
    state.withLock { $0.history.operations.append(operation) }
  }
}
