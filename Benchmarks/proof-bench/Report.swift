import Console

/// Everything, for people.
func text(_ figures: Figures, _ timings: [Timing]) -> String {
  let terminal = Terminal()
  func style(_ row: Int, _ column: Int, _ cell: String) -> String {
    row == 0 ? terminal.coloured(cell, .bold) : cell
  }
  var sections: [String] = []
  for timing in timings {
    var table = Table(
      ["\(timing.group), ns", "min", "median", "p99"], [.left, .right, .right, .right])
    for series in timing.series {
      table.add(
        [series.name] + [series.minimum, series.median, series.p99].map { $0.text(decimals: 0) })
    }
    var ratios = Table(["ratio, median of pairs", ""], [.left, .right])
    for ratio in timing.ratios { ratios.add([ratio.name, ratio.value.text(decimals: 3)]) }
    sections.append(
      (table.lines(style: style) + [""] + ratios.lines(style: style)).joined(separator: "\n"))
  }
  var table = Table(["deterministic", ""], [.left, .right])
  for figure in figures.all {
    table.add([figure.name, figure.value.map(String.init) ?? "not counted"])
  }
  sections.append(table.lines(style: style).joined(separator: "\n"))
  return sections.joined(separator: "\n\n")
}

/// Everything, for machines.
func report(_ figures: Figures, _ timings: [Timing]) -> JSON {
  .object([
    (
      "timings",
      .array(
        timings.map { timing in
          .object([
            ("group", .string(timing.group)),
            ("unit", .string("ns")),
            ("rounds", .integer(timing.series.first?.rounds.count ?? 0)),
            ("candidates", .array(timing.series.map(report))),
            (
              "ratios",
              .object(timing.ratios.map { ($0.name, .decimal($0.value, decimals: 4)) })
            ),
          ])
        })
    ),
    ("figures", .object(figures.all.map { ($0.name, $0.value.map(JSON.integer) ?? .null) })),
  ])
}

private func report(_ series: Series) -> JSON {
  .object([
    ("name", .string(series.name)),
    ("min", .decimal(series.minimum, decimals: 1)),
    ("median", .decimal(series.median, decimals: 1)),
    ("p99", .decimal(series.p99, decimals: 1)),
  ])
}
