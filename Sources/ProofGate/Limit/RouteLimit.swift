// SPDX-License-Identifier: Apache-2.0

/// A rate limit of a route, such as `limit address 20/second then work 16`.
package struct RouteLimit: Sendable, Hashable {
  /// The part of a request that the limit counts by.
  package enum Subject: String, Sendable, CaseIterable {
    /// The client's address: an IPv4 address, or the first 64 bits of an IPv6 address.
    case address
    /// The installation, by its handle. Counts only requests with a valid proof.
    case instance
    /// The user account, by its keyed digest. Counts only requests with a valid proof that names one.
    case account
  }

  /// The span of time that a limit counts in.
  package enum Unit: String, Sendable, CaseIterable {
    case second, minute, hour

    /// Its length in microseconds.
    var microseconds: UInt64 {
      switch self {
      case .second: 1_000_000
      case .minute: 60_000_000
      case .hour: 3_600_000_000
      }
    }
  }

  /// The effect on a request beyond the limit.
  package enum Excess: Sendable, Hashable {
    /// Status 429, with `Retry-After`.
    case refuse
    /// A challenge: the request passes with a clearance that has this kind, and this level.
    case challenge(ChallengeKind, level: UInt8)
  }

  /// The part of a request that it counts by.
  package let subject: Subject
  /// How many requests in a unit, and how many at once.
  package let count: Int
  /// The span of time.
  package let unit: Unit
  /// The effect on a request beyond it.
  package let excess: Excess

  /// The values that a count may have.
  package static let counts = 1...1_000_000

  /// Describes a limit.
  package init(_ subject: Subject, _ count: Int, per unit: Unit, then excess: Excess = .refuse) {
    self.subject = subject
    self.count = count
    self.unit = unit
    self.excess = excess
  }

  /// Reads the words after `limit` in a file of routes.
  ///
  /// - Parameter words: The words.
  /// - Throws: ``RouteLimitError``.
  package init(_ words: [String]) throws(RouteLimitError) {
    guard words.count >= 2, let subject = Subject(rawValue: words[0]) else {
      throw RouteLimitError("it takes address, instance or account, then a rate such as 20/minute")
    }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let count = Int(parts[0]), Self.counts.contains(count),
      parts[0].utf8.first != UInt8(ascii: "+"), let unit = Unit(rawValue: String(parts[1]))
    else {
      throw RouteLimitError(
        "the rate is a number from 1 to \(Self.counts.upperBound), then /second, /minute or /hour")
    }
    self.init(subject, count, per: unit, then: try Self.excess(words.dropFirst(2)))
  }

  private static func excess(_ words: ArraySlice<String>) throws(RouteLimitError) -> Excess {
    let words = Array(words)
    guard !words.isEmpty else { return .refuse }
    guard words[0] == "then", words.count >= 2 else {
      throw RouteLimitError(
        "after the rate it takes then, and refuse, work LEVEL, memory LEVEL or person")
    }
    switch (words[1], words.count) {
    case ("refuse", 2): return .refuse
    case ("person", 2): return .challenge(.person, level: 0)
    case ("work", 3): return .challenge(.work, level: try level(words[2], of: .work))
    case ("memory", 3): return .challenge(.memoryWork, level: try level(words[2], of: .memoryWork))
    default:
      throw RouteLimitError("then takes refuse, work LEVEL, memory LEVEL or person")
    }
  }

  private static func level(
    _ text: String, of kind: ChallengeKind
  ) throws(RouteLimitError) -> UInt8 {
    guard let level = UInt8(text), kind.levels.contains(level) else {
      throw RouteLimitError(
        "its level is a number from \(kind.levels.lowerBound) to \(kind.levels.upperBound)")
    }
    return level
  }
}

/// The reason why the words of a limit cannot be used.
package struct RouteLimitError: Error, Sendable, Hashable {
  /// The cause, and the next step.
  package let problem: String

  init(_ problem: String) { self.problem = problem }
}
