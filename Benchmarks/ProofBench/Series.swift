// SPDX-License-Identifier: Apache-2.0

/// Minimum, median and 99th percentile of some numbers; each is one of the numbers.
package struct Spread: Sendable, Hashable {
  package let minimum: Double
  package let median: Double
  package let p99: Double
  /// Number of values.
  package let count: Int

  /// - Parameter values: At least one number.
  package init(_ values: [Double]) {
    precondition(!values.isEmpty, "a spread is of something")
    let sorted = values.sorted()
    func quantile(_ part: Double) -> Double {
      sorted[Int((Double(sorted.count - 1) * part).rounded())]
    }
    minimum = sorted[0]
    median = quantile(0.5)
    p99 = quantile(0.99)
    count = values.count
  }
}

/// Times of one candidate, in nanoseconds for one call, round by round.
package struct Series: Sendable {
  package let name: String
  package let rounds: [Double]
  package let spread: Spread

  package init(name: String, rounds: [Double]) {
    self.name = name
    self.rounds = rounds
    spread = Spread(rounds)
  }
}

/// Two candidates against each other: what the one took over what the other took, in the same round.
package struct Ratio: Sendable {
  package let over: String
  package let under: String
  /// Spread of the pairs; their median is the ratio.
  package let pairs: Spread

  package init(_ over: Series, over under: Series) {
    self.over = over.name
    self.under = under.name
    pairs = Spread(zip(over.rounds, under.rounds).map { $0 / $1 })
  }

  package var name: String { "\(over)/\(under)" }
  package var value: Double { pairs.median }
}

/// Times of a group.
package struct Timing: Sendable {
  package let group: String
  package let series: [Series]
  package let ratios: [Ratio]

  package init(group: String, series: [Series], ratios: [Ratio]) {
    self.group = group
    self.series = series
    self.ratios = ratios
  }

  package func series(_ name: String) -> Series? { series.first { $0.name == name } }
}
