// SPDX-License-Identifier: Apache-2.0

package import Console

/// How people read a time: three digits that count, and a unit.
package func words(nanoseconds: Double) -> String {
  let units: [(name: String, size: Double)] = [("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
  // A thousand of a unit is one of the next, rounded as it will be printed.
  let unit = units.first { nanoseconds / $0.size < 999.5 } ?? units[3]
  return "\(threeDigits(nanoseconds / unit.size)) \(unit.name)"
}

/// A number with three digits that count, as ratios have.
package func threeDigits(_ number: Double) -> String {
  number.text(decimals: number < 9.995 ? 2 : number < 99.95 ? 1 : 0)
}

/// Everything, for people at a terminal.
extension Results {
  package func text(_ terminal: Terminal = Terminal()) -> String {
    func style(_ row: Int, _ column: Int, _ cell: String) -> String {
      row == 0 ? terminal.coloured(cell, .bold) : cell
    }
    func text(_ table: Table) -> String { table.lines(style: style).joined(separator: "\n") }
    var sections: [String] = []
    for timing in timings {
      var table = Table(
        [timing.group, "min", "median", "p99", "runs"], [.left, .right, .right, .right, .right])
      for series in timing.series {
        let spread = series.spread
        table.add(
          [series.name] + [spread.minimum, spread.median, spread.p99].map(words(nanoseconds:))
            + ["\(spread.count)"])
      }
      sections.append(text(table))
      if timing.ratios.isEmpty { continue }
      var ratios = Table(
        ["ratio, pair by pair", "min", "median", "p99"], [.left, .right, .right, .right])
      for ratio in timing.ratios {
        let pairs = ratio.pairs
        ratios.add([ratio.name] + [pairs.minimum, pairs.median, pairs.p99].map(threeDigits))
      }
      sections.append(text(ratios))
    }
    if !figures.isEmpty {
      var table = Table(["deterministic", ""], [.left, .right])
      for figure in figures { table.add([figure.name, figure.text]) }
      sections.append(text(table))
    }
    sections += missing.map { "missing: \($0)" }
    return sections.joined(separator: "\n\n")
  }
}
