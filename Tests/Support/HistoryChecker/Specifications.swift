// SPDX-License-Identifier: Apache-2.0

/// Words of a call or an answer in a history's text.
private func words(_ text: String) -> [String] {
  text.split(separator: " ").map(String.init)
}

/// Redeem once, for a key (device, salt). The same report gets the same answer; another one is
/// stale. `sweep` is the end of the challenge's life.
package enum RedeemOnce: Specification {
  package enum State: Hashable, Sendable {
    case unused
    case used(report: Int, answer: Int)
    case swept
  }

  package enum Call: Hashable, Sendable, LosslessStringConvertible {
    case redeem(report: Int, answer: Int)
    case sweep

    package init?(_ text: String) {
      let parts = words(text)
      if parts == ["sweep"] {
        self = .sweep
      } else if parts.count == 3, parts[0] == "redeem", let report = Int(parts[1]),
        let answer = Int(parts[2])
      {
        self = .redeem(report: report, answer: answer)
      } else {
        return nil
      }
    }

    package var description: String {
      switch self {
      case .redeem(let report, let answer): "redeem \(report) \(answer)"
      case .sweep: "sweep"
      }
    }
  }

  package enum Answer: Hashable, Sendable, LosslessStringConvertible {
    case used, stale, done
    case again(Int)

    package init?(_ text: String) {
      let parts = words(text)
      switch parts.first {
      case "used": self = .used
      case "stale": self = .stale
      case "done": self = .done
      case "again":
        guard parts.count == 2, let answer = Int(parts[1]) else { return nil }
        self = .again(answer)
      default: return nil
      }
    }

    package var description: String {
      switch self {
      case .used: "used"
      case .stale: "stale"
      case .done: "done"
      case .again(let answer): "again \(answer)"
      }
    }
  }

  package static let initial = State.unused

  package static func apply(_ call: Call, to state: inout State) -> Answer {
    switch (call, state) {
    case (.sweep, _):
      state = .swept
      return .done
    case (.redeem(let report, let answer), .unused):
      state = .used(report: report, answer: answer)
      return .used
    case (.redeem(let report, _), .used(let first, let kept)):
      return report == first ? .again(kept) : .stale
    case (.redeem, .swept): return .stale
    }
  }
}

/// A register with compare-and-set: a ban or another row, for a key (account, row). 0: no row.
package enum Register: Specification {
  package enum Call: Hashable, Sendable, LosslessStringConvertible {
    case read
    case set(from: Int, to: Int)

    package init?(_ text: String) {
      let parts = words(text)
      if parts == ["read"] {
        self = .read
      } else if parts.count == 3, parts[0] == "set", let from = Int(parts[1]),
        let to = Int(parts[2])
      {
        self = .set(from: from, to: to)
      } else {
        return nil
      }
    }

    package var description: String {
      switch self {
      case .read: "read"
      case .set(let from, let to): "set \(from) \(to)"
      }
    }
  }

  /// The value read; for `set` 1 if it was applied, 0 if another value was there.
  package static let initial = 0

  package static func apply(_ call: Call, to state: inout Int) -> Int {
    switch call {
    case .read: return state
    case .set(let from, let to):
      guard state == from else { return 0 }
      state = to
      return 1
    }
  }
}

/// Rotations of a key, for an account: each acknowledged one has a serial of its own.
package enum Rotation: Specification {
  package enum Call: String, Hashable, Sendable, LosslessStringConvertible {
    case rotate, read

    package init?(_ text: String) { self.init(rawValue: text) }
    package var description: String { rawValue }
  }

  package static let initial = 0

  package static func apply(_ call: Call, to state: inout Int) -> Int {
    if call == .rotate { state += 1 }
    return state
  }
}

/// Redemption of one event: 1 the first time, then 0.
package enum EventOnce: Specification {
  package enum Call: String, Hashable, Sendable, LosslessStringConvertible {
    case redeem

    package init?(_ text: String) { self.init(rawValue: text) }
    package var description: String { rawValue }
  }

  package static let initial = false

  package static func apply(_ call: Call, to state: inout Bool) -> Int {
    defer { state = true }
    return state ? 0 : 1
  }
}

/// The issue ledger of a pair (installation, hardware): both generations only grow.
package enum IssueLedger: Specification {
  package struct State: Hashable, Sendable {
    package var issued = 0
    package var revoked = 0
  }

  package enum Call: Hashable, Sendable, LosslessStringConvertible {
    /// The base is the generation of the present pair in the same fetch.
    case issue(Int, base: Int)
    case revoke(Int)

    package init?(_ text: String) {
      let parts = words(text)
      let numbers = parts.dropFirst().compactMap { Int($0) }
      switch (parts.first, numbers.count) {
      case ("issue", 2): self = .issue(numbers[0], base: numbers[1])
      case ("revoke", 1): self = .revoke(numbers[0])
      default: return nil
      }
    }

    package var description: String {
      switch self {
      case .issue(let generation, let base): "issue \(generation) \(base)"
      case .revoke(let generation): "revoke \(generation)"
      }
    }
  }

  package static let initial = State()

  /// 1: done; 0: a later one was issued, or this one is revoked.
  package static func apply(_ call: Call, to state: inout State) -> Int {
    switch call {
    case .issue(let generation, let base):
      guard generation >= state.issued, generation > state.revoked else { return 0 }
      state.issued = max(state.issued, base)
      return 1
    case .revoke(let generation):
      state.revoked = max(state.revoked, generation)
      return 1
    }
  }
}
