// SPDX-License-Identifier: Apache-2.0

package import Console

/// Everything that one run found.
package struct Results: Sendable {
  /// Day of the run, as 2026-01-31.
  package let date: String
  /// Processor, memory, system.
  package let machine: String
  /// Share of all processors that others took during the run; nil where that is not known.
  package let foreign: Double?
  /// Peers and tools that are not on this machine, and how to get them.
  package let missing: [String]
  package let timings: [Timing]
  package let figures: [Figure]

  package init(
    date: String, machine: String, foreign: Double?, missing: [String], timings: [Timing],
    figures: [Figure]
  ) {
    self.date = date
    self.machine = machine
    self.foreign = foreign
    self.missing = missing
    self.timings = timings
    self.figures = figures
  }

  /// Others took more of the machine than a quiet one gives.
  package var isLoaded: Bool { (foreign ?? 1) > 0.05 }

  package func timing(_ group: String) -> Timing? { timings.first { $0.group == group } }

  package func ratio(_ group: String, _ name: String) -> Ratio? {
    timing(group)?.ratios.first { $0.name == name }
  }

  package func figure(_ name: String) -> Double? {
    figures.first { $0.name == name }?.value
  }
}

/// Everything, for machines.
extension Results {
  package var json: JSON {
    .object([
      ("date", .string(date)),
      ("machine", .string(machine)),
      ("foreignLoad", foreign.map { .decimal($0, decimals: 3) } ?? .null),
      ("missing", .array(missing.map(JSON.string))),
      ("timings", .array(timings.map(Self.json))),
      ("figures", .object(figures.map { ($0.name, Self.json($0)) })),
    ])
  }

  private static func json(_ figure: Figure) -> JSON {
    guard let value = figure.value else { return .null }
    return value == value.rounded() ? .integer(Int(value)) : .decimal(value, decimals: 4)
  }

  private static func json(_ timing: Timing) -> JSON {
    .object([
      ("group", .string(timing.group)),
      ("unit", .string("ns")),
      (
        "candidates",
        .array(
          timing.series.map { series in
            .object([("name", .string(series.name))] + members(series.spread, decimals: 1))
          })
      ),
      (
        "ratios",
        .object(timing.ratios.map { ($0.name, .object(members($0.pairs, decimals: 4))) })
      ),
    ])
  }

  private static func members(_ spread: Spread, decimals: Int) -> [(String, JSON)] {
    [
      ("min", .decimal(spread.minimum, decimals: decimals)),
      ("median", .decimal(spread.median, decimals: decimals)),
      ("p99", .decimal(spread.p99, decimals: decimals)),
      ("runs", .integer(spread.count)),
    ]
  }
}
