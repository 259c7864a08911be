// SPDX-License-Identifier: Apache-2.0

import Console
internal import Glibc

/// An SVG picture that is read in light and in dark.
package struct Drawing: Sendable {
  package let width: Double
  package let height: Double
  private var parts: [String] = []

  /// How something looks: a class of the style sheet.
  package enum Look: String, Sendable {
    case ink, grid, faint, series0, series1, series2, series3
  }

  package static let seriesLooks: [Look] = [.series0, .series1, .series2, .series3]

  /// Where a text stands beside its point.
  package enum Anchor: String, Sendable { case start, middle, end }

  package init(width: Double, height: Double) {
    self.width = width
    self.height = height
  }

  package mutating func line(
    _ points: [(x: Double, y: Double)], _ look: Look, dashed: Bool = false
  ) {
    let path = points.map { "\(Self.text($0.x)),\(Self.text($0.y))" }.joined(separator: " ")
    let dashes = dashed ? " stroke-dasharray=\"2 4\"" : ""
    parts.append("<polyline class=\"line \(look.rawValue)\" points=\"\(path)\"\(dashes)/>")
  }

  package mutating func dot(_ point: (x: Double, y: Double), _ look: Look) {
    parts.append(
      "<circle class=\"fill \(look.rawValue)\" cx=\"\(Self.text(point.x))\" "
        + "cy=\"\(Self.text(point.y))\" r=\"3\"/>")
  }

  package mutating func bar(x: Double, y: Double, width: Double, height: Double, _ look: Look) {
    parts.append(
      "<rect class=\"fill \(look.rawValue)\" x=\"\(Self.text(x))\" y=\"\(Self.text(y))\" "
        + "width=\"\(Self.text(width))\" height=\"\(Self.text(height))\"/>")
  }

  package mutating func write(
    _ words: String, x: Double, y: Double, _ anchor: Anchor = .middle, isTurned: Bool = false
  ) {
    let turn = isTurned ? " transform=\"rotate(-90 \(Self.text(x)) \(Self.text(y)))\"" : ""
    parts.append(
      "<text x=\"\(Self.text(x))\" y=\"\(Self.text(y))\" text-anchor=\"\(anchor.rawValue)\"\(turn)>"
        + "\(Self.escaped(words))</text>")
  }

  /// The file's text.
  ///
  /// - Parameter label: What the picture shows, for who cannot see it.
  /// - Returns: SVG.
  package func svg(label: String) -> String {
    let size = "\(Self.text(width)) \(Self.text(height))"
    let head = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" width="\(Self.text(width))" \
      height="\(Self.text(height))" role="img" aria-label="\(Self.escaped(label))">
        <style>
          text { font: 12px system-ui, sans-serif; fill: #57606a }
          .line { fill: none; stroke-width: 1.5 }
          .line.ink { stroke: #57606a } .line.grid { stroke: #d0d7de } .line.faint { stroke: #afb8c1 }
          .line.series0 { stroke: #0969da } .fill.series0 { fill: #0969da }
          .line.series1 { stroke: #1a7f37 } .fill.series1 { fill: #1a7f37 }
          .line.series2 { stroke: #bc4c00 } .fill.series2 { fill: #bc4c00 }
          .line.series3 { stroke: #8250df } .fill.series3 { fill: #8250df }
          .fill.faint { fill: #afb8c1 }
          @media (prefers-color-scheme: dark) {
            text { fill: #9198a1 }
            .line.ink { stroke: #9198a1 } .line.grid { stroke: #30363d } .line.faint { stroke: #6e7681 }
            .line.series0 { stroke: #58a6ff } .fill.series0 { fill: #58a6ff }
            .line.series1 { stroke: #3fb950 } .fill.series1 { fill: #3fb950 }
            .line.series2 { stroke: #f0883e } .fill.series2 { fill: #f0883e }
            .line.series3 { stroke: #bc8cff } .fill.series3 { fill: #bc8cff }
            .fill.faint { fill: #6e7681 }
          }
        </style>

      """
    return head + parts.map { "  \($0)\n" }.joined() + "</svg>\n"
  }

  /// One decimal, and no more than is needed.
  private static func text(_ number: Double) -> String {
    let text = number.text(decimals: 1)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// Powers of ten laid over a range of pixels.
package struct LogAxis: Sendable {
  private let low: Int
  private let high: Int
  private let begin: Double
  private let end: Double

  /// An axis of what it must hold; values that are not above 0 it does not show.
  package init(_ values: [Double], from begin: Double, to end: Double) {
    let powers = values.filter { $0 > 0 && $0.isFinite }.map(Self.logarithm)
    low = Int((powers.min() ?? 0).rounded(.down))
    high = max(Int((powers.max() ?? 1).rounded(.up)), low + 1)
    self.begin = begin
    self.end = end
  }

  /// Where a value lies; what is not above 0 lies at the beginning.
  package func place(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return begin }
    let part = (Self.logarithm(value) - Double(low)) / Double(high - low)
    return begin + min(max(part, 0), 1) * (end - begin)
  }

  /// Every power of ten, from the beginning to the end.
  package var marks: [Double] { (low...high).map(Self.power) }

  private static func power(_ exponent: Int) -> Double {
    exponent < 0 ? 1 / power(-exponent) : (0..<exponent).reduce(1) { value, _ in value * 10 }
  }
}

extension LogAxis {
  private static func logarithm(_ value: Double) -> Double { log10(value) }
}
