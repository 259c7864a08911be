// SPDX-License-Identifier: Apache-2.0

import Console

/// Lines of points on two logarithmic axes.
package struct Plot: Sendable {
  package struct Line: Sendable {
    package let name: String
    package let points: [(x: Double, y: Double)]

    package init(_ name: String, _ points: [(x: Double, y: Double)]) {
      self.name = name
      self.points = points
    }
  }

  private let title: String
  private let across: String
  private let lines: [Line]

  /// - Parameters:
  ///   - title: What is shown.
  ///   - across: What the axis across counts; the other one is time in nanoseconds.
  ///   - lines: At most four.
  package init(_ title: String, across: String, _ lines: [Line]) {
    precondition(lines.count <= Drawing.seriesLooks.count, "a plot has four looks for its lines")
    self.title = title
    self.across = across
    self.lines = lines
  }

  package var svg: String {
    let (width, height) = (640.0, 400.0)
    let (left, right, top, bottom) = (70.0, width - 40, 44.0, height - 50)
    let points = lines.flatMap(\.points)
    let x = LogAxis(points.map(\.x), from: left, to: right)
    let y = LogAxis(points.map(\.y), from: bottom, to: top)
    var drawing = Drawing(width: width, height: height)
    drawing.write(title, x: width / 2, y: 20)
    for mark in x.marks {
      drawing.line([(x.place(mark), top), (x.place(mark), bottom)], .grid)
      drawing.write(mark.text(decimals: mark < 1 ? 1 : 0), x: x.place(mark), y: bottom + 18)
    }
    for mark in y.marks {
      drawing.line([(left, y.place(mark)), (right, y.place(mark))], .grid)
      drawing.write(Self.mark(mark), x: left - 6, y: y.place(mark) + 4, .end)
    }
    drawing.write(across, x: (left + right) / 2, y: height - 10)
    for (index, line) in lines.enumerated() {
      let look = Drawing.seriesLooks[index]
      let places = line.points.map { (x: x.place($0.x), y: y.place($0.y)) }
      drawing.line(places, look)
      for place in places { drawing.dot(place, look) }
      let row = top + 16 + 18 * Double(index)
      drawing.bar(x: left + 10, y: row - 9, width: 14, height: 10, look)
      drawing.write(line.name, x: left + 30, y: row, .start)
    }
    return drawing.svg(label: title)
  }

  /// A power of ten of nanoseconds.
  private static func mark(_ nanoseconds: Double) -> String {
    let units: [(String, Double)] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]
    let unit = units.first { nanoseconds >= $0.1 * 0.999 } ?? ("ns", 1)
    return "\((nanoseconds / unit.1).text(decimals: 0)) \(unit.0)"
  }
}

/// Bars on a logarithmic axis, with what each says at its end.
package struct Bars: Sendable {
  package struct Bar: Sendable {
    package let name: String
    package let value: Double
    package let words: String

    package init(_ name: String, _ value: Double, _ words: String) {
      self.name = name
      self.value = value
      self.words = words
    }
  }

  private let title: String
  private let bars: [Bar]
  /// A line across all bars: what is neither more nor less.
  private let even: Double?

  package init(_ title: String, _ bars: [Bar], even: Double? = nil) {
    self.title = title
    self.bars = bars
    self.even = even
  }

  package var svg: String {
    let (width, left, right, top) = (760.0, 290.0, 680.0, 44.0)
    let height = top + 26 * Double(bars.count) + 16
    let axis = LogAxis(bars.map(\.value) + (even.map { [$0] } ?? []), from: left, to: right)
    var drawing = Drawing(width: width, height: height)
    drawing.write(title, x: width / 2, y: 20)
    for (index, bar) in bars.enumerated() {
      let y = top + 26 * Double(index)
      let base = even.map(axis.place) ?? left
      let end = axis.place(bar.value)
      drawing.write(bar.name, x: left - 8, y: y + 14, .end)
      // A bar to the left of what is even is where the other one wins.
      drawing.bar(
        x: min(base, end), y: y, width: max(1, abs(end - base)), height: 18,
        end < base ? .series2 : .series0)
      drawing.write(bar.words, x: max(base, end) + 6, y: y + 14, .start)
    }
    if let even {
      drawing.line([(axis.place(even), top - 6), (axis.place(even), height - 12)], .ink)
    }
    return drawing.svg(label: title)
  }
}
