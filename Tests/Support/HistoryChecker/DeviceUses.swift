// SPDX-License-Identifier: Apache-2.0

/// All of `pf2.use_many`, for one device: marks of its challenges, the row's version and its generation.
package enum DeviceUses: Specification {
  package struct State: Hashable, Sendable {
    package var version = 0
    package var generation = 0
    /// By salt: the report and its answer; the answer nil: the mark was kept without one.
    package var marks: [Int: Mark] = [:]
  }

  package struct Mark: Hashable, Sendable {
    let report: Int
    var answer: Int?
  }

  package enum Call: Hashable, Sendable, LosslessStringConvertible {
    /// `judged` is the version that the caller read.
    case use(salt: Int, report: Int, judged: Int, generation: Int, mustRaise: Bool)
    case see

    package init?(_ text: String) {
      if text == "see" {
        self = .see
        return
      }
      let parts = text.split(separator: " ")
      let numbers = parts.dropFirst().compactMap { Int($0) }
      guard parts.first == "use", parts.count == 6, numbers.count == 5 else { return nil }
      self = .use(
        salt: numbers[0], report: numbers[1], judged: numbers[2], generation: numbers[3],
        mustRaise: numbers[4] == 1)
    }

    package var description: String {
      switch self {
      case .see: "see"
      case .use(let salt, let report, let judged, let generation, let mustRaise):
        "use \(salt) \(report) \(judged) \(generation) \(mustRaise ? 1 : 0)"
      }
    }
  }

  package enum Answer: Hashable, Sendable, LosslessStringConvertible {
    case used, stale, changed
    /// The stored answer. A report's answer has the report's number.
    case again(Int)
    case seen(version: Int, generation: Int)

    package init?(_ text: String) {
      let parts = text.split(separator: " ")
      let numbers = parts.dropFirst().compactMap { Int($0) }
      switch (parts.first, numbers.count) {
      case ("used", 0): self = .used
      case ("stale", 0): self = .stale
      case ("changed", 0): self = .changed
      case ("again", 1): self = .again(numbers[0])
      case ("seen", 2): self = .seen(version: numbers[0], generation: numbers[1])
      default: return nil
      }
    }

    package var description: String {
      switch self {
      case .used: "used"
      case .stale: "stale"
      case .changed: "changed"
      case .again(let answer): "again \(answer)"
      case .seen(let version, let generation): "seen \(version) \(generation)"
      }
    }
  }

  package static let initial = State()

  package static func apply(_ call: Call, to state: inout State) -> Answer {
    guard case .use(let salt, let report, let judged, let generation, let mustRaise) = call else {
      return .seen(version: state.version, generation: state.generation)
    }
    if let mark = state.marks[salt] {
      guard mark.report == report, let answer = mark.answer else { return .stale }
      return .again(answer)
    }
    if mustRaise, generation <= state.generation {
      state.marks[salt] = Mark(report: report, answer: nil)
      return .stale
    }
    guard judged == state.version else { return .changed }
    state.marks[salt] = Mark(report: report, answer: report)
    state.version += 1
    state.generation = max(state.generation, generation)
    return .used
  }
}
