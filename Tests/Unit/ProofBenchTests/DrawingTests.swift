// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBench
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite("A drawing")
struct DrawingTests {
  /// Whether a text is XML without an error.
  private func isXML(_ text: String) -> Bool { XMLParser(data: Data(text.utf8)).parse() }

  private let plot = Plot(
    "Cost <against> size & more", across: "MiB",
    [
      Plot.Line("cold", [(x: 1, y: 1e6), (x: 16, y: 8e6), (x: 256, y: 1.1e8)]),
      Plot.Line("warm \"kept\"", [(x: 1, y: 9e5), (x: 256, y: 1e6)]),
    ])

  @Test("is XML, whatever its words are")
  func wellFormed() {
    #expect(isXML(plot.svg))
    #expect(plot.svg.contains("Cost &lt;against&gt; size &amp; more"))
    #expect(isXML(Bars("a < b", [Bars.Bar("x & y", 3, "3.00")], even: 1).svg))
    #expect(isXML(Plot("none", across: "x", []).svg))
  }

  @Test("is read in light and in dark, and by who cannot see it")
  func looks() {
    #expect(plot.svg.contains("@media (prefers-color-scheme: dark)"))
    #expect(plot.svg.contains("role=\"img\" aria-label="))
  }

  @Test("has a dot for each point, and a name for each line")
  func points() {
    #expect(plot.svg.components(separatedBy: "<circle").count - 1 == 5)
    #expect(plot.svg.contains(">cold</text>"))
  }

  @Test("shows what loses in another colour, to the left of what is even")
  func bars() {
    let svg = Bars("r", [Bars.Bar("wins", 0.5, "0.50"), Bars.Bar("loses", 20, "20.0")], even: 1).svg
    #expect(svg.components(separatedBy: "fill series2\"").count - 1 == 1)
    #expect(svg.components(separatedBy: "fill series0\"").count - 1 == 1)
  }
}

@Suite("A logarithmic axis")
struct LogAxisTests {
  @Test("holds its values between whole powers of ten")
  func places() {
    let axis = LogAxis([3, 700], from: 0, to: 300)
    #expect(axis.marks == [1, 10, 100, 1000])
    #expect(axis.place(1) == 0)
    #expect(abs(axis.place(10) - 100) < 1e-9)
    #expect(axis.place(1000) == 300)
  }

  @Test("has two powers for one value, and goes below one")
  func few() {
    #expect(LogAxis([10], from: 0, to: 1).marks == [10, 100])
    #expect(LogAxis([0.03, 2], from: 0, to: 1).marks == [0.01, 0.1, 1, 10])
  }

  @Test(
    "keeps in its range what it cannot show",
    arguments: [0, -1, .nan, .infinity, -.infinity, 1e-300] as [Double])
  func hostile(value: Double) {
    let axis = LogAxis([value, 1, 100], from: 10, to: 20)
    #expect((10...20).contains(axis.place(value)))
    #expect((10...20).contains(axis.place(50)))
  }
}
