import Console

/// One line of the thresholds.
struct Threshold {
  let name: String
  let isExact: Bool
  let value: Double
  let isRatio: Bool

  func allows(_ figure: Double) -> Bool { isExact ? figure == value : figure <= value }

  /// Reads a file of thresholds; nil with the line that makes no sense.
  static func parse(_ text: String) -> (thresholds: [Threshold], wrongLine: String?) {
    var thresholds: [Threshold] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      var words = line.split(separator: " ").map(String.init)
      if words.isEmpty { continue }
      let isRatio = words[0] == "ratio"
      if isRatio { words.removeFirst() }
      guard words.count == 3, ["==", "<="].contains(words[1]), let value = Double(words[2]) else {
        return ([], String(line))
      }
      thresholds.append(
        Threshold(name: words[0], isExact: words[1] == "==", value: value, isRatio: isRatio))
    }
    return (thresholds, nil)
  }
}

/// Holds the figures to the thresholds, and ends the process with 1 if they are not kept.
func check(_ figures: Figures, _ timings: [Timing], _ options: BenchOptions) {
  guard let file = contents(of: options.thresholds) else {
    Terminal.complain("proof-bench: \(options.thresholds) cannot be read")
    Terminal.end(2)
  }
  let (thresholds, wrongLine) = Threshold.parse(file)
  if let wrongLine {
    Terminal.complain("proof-bench: \(options.thresholds): this makes no sense: \(wrongLine)")
    Terminal.end(2)
  }
  var failures: [String] = []
  let exact = Dictionary(
    thresholds.filter { !$0.isRatio }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }
  )
  for figure in figures.all {
    guard let threshold = exact[figure.name] else {
      failures.append("\(figure.name) has no threshold")
      continue
    }
    guard let value = figure.value else {
      failures.append("\(figure.name) cannot be counted in this build")
      continue
    }
    if !threshold.allows(Double(value)) {
      failures.append(
        "\(figure.name) is \(value), not \(threshold.isExact ? "" : "at most ")\(Int(threshold.value))"
      )
    }
  }
  let names = Set(figures.all.map(\.name))
  failures += exact.keys.filter { !names.contains($0) }.sorted().map { "\($0): no such figure" }
  if options.checksRatios { failures += checkRatios(thresholds, timings) }

  if !failures.isEmpty {
    for failure in failures { Terminal.complain("proof-bench: \(failure)") }
    Terminal.end(1)
  }
  if !options.json { print("\n\(names.count) figures are within \(options.thresholds)") }
}

private func checkRatios(_ thresholds: [Threshold], _ timings: [Timing]) -> [String] {
  let ratios = Dictionary(
    timings.flatMap(\.ratios).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  return thresholds.filter(\.isRatio).compactMap { threshold in
    guard let value = ratios[threshold.name] else { return "\(threshold.name) was not measured" }
    return threshold.allows(value)
      ? nil
      : "\(threshold.name) is \(value.text(decimals: 3)), not at most "
        + threshold.value.text(decimals: 2)
  }
}
