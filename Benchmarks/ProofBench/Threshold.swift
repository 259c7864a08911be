// SPDX-License-Identifier: Apache-2.0

import Console

/// One line of the thresholds.
package struct Threshold: Sendable, Hashable {
  package let name: String
  package let isExact: Bool
  package let value: Double
  /// Whether it is about time, and so held only on a machine that does nothing else.
  package let isRatio: Bool

  package func allows(_ figure: Double) -> Bool { isExact ? figure == value : figure <= value }
}

/// A file of thresholds that makes no sense.
package struct ThresholdError: Error, Hashable, CustomStringConvertible {
  package let description: String
}

extension Threshold {
  /// Reads a file of thresholds.
  ///
  /// - Parameter text: Lines `figure == value`, `figure <= value`, `ratio …`, and comments.
  /// - Returns: The thresholds in order.
  /// - Throws: The first line that makes no sense, or repeats a name.
  package static func parse(_ text: String) throws(ThresholdError) -> [Threshold] {
    var thresholds: [Threshold] = []
    var names: Set<String> = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      var words = line.split(separator: " ").map(String.init)
      if words.isEmpty { continue }
      let isRatio = words[0] == "ratio"
      if isRatio { words.removeFirst() }
      guard words.count == 3, ["==", "<="].contains(words[1]), let value = Double(words[2]),
        value.isFinite, value >= 0
      else { throw ThresholdError(description: "this makes no sense: \(line)") }
      guard names.insert(words[0]).inserted else {
        throw ThresholdError(description: "\(words[0]) has two lines")
      }
      thresholds.append(
        Threshold(name: words[0], isExact: words[1] == "==", value: value, isRatio: isRatio))
    }
    return thresholds
  }
}

extension [Threshold] {
  /// Objections to deterministic figures, a line each: empty if every figure has a threshold and
  /// keeps it, and every threshold has a figure.
  package func objections(to figures: [Figure]) -> [String] {
    let exact = filter { !$0.isRatio }
    var objections = figures.compactMap { figure -> String? in
      guard let value = figure.value else {
        return "\(figure.name) was not counted: \(figure.reason ?? "nobody knows why")"
      }
      guard let threshold = exact.first(where: { $0.name == figure.name }) else {
        return "\(figure.name) is \(figure.text) and has no threshold"
      }
      if threshold.allows(value) { return nil }
      let bound = threshold.isExact ? "" : "at most "
      return "\(figure.name) is \(figure.text), not \(bound)\(Figure.text(threshold.value))"
    }
    let names = Set(figures.map(\.name))
    // If its tool is missing, a whole family was not counted, which one line says.
    let families = figures.filter { $0.value == nil }.map { $0.name + "." }
    objections += exact.filter { threshold in
      !names.contains(threshold.name) && !families.contains(where: threshold.name.hasPrefix)
    }.map { "\($0.name): no such figure" }
    return objections
  }

  /// The same for ratios of times.
  package func objections(to timings: [Timing]) -> [String] {
    let ratios = timings.flatMap(\.ratios)
    return filter(\.isRatio).compactMap { threshold in
      guard let ratio = ratios.first(where: { $0.name == threshold.name }) else {
        return "\(threshold.name) was not measured"
      }
      if threshold.allows(ratio.value) { return nil }
      return "\(ratio.name) is \(ratio.value.text(decimals: 3)), not at most "
        + Figure.text(threshold.value)
    }
  }
}
