// SPDX-License-Identifier: Apache-2.0

import ProofBench
import Testing

@Suite("Thresholds")
struct ThresholdTests {
  private let text = """
    # comment
    bytes.token == 288

    allocations.proof.c == 0
    memory.verifier.c <= 3072
    instructions.proof.swift/proof.c <= 1.3
    ratio proof.swift/proof.c <= 1.30
    """

  private let kept = [
    Figure("bytes.token", 288), Figure("allocations.proof.c", 0),
    Figure("memory.verifier.c", 3072), Figure("instructions.proof.swift/proof.c", 1.3),
  ]

  private func replacing(_ figure: Figure) -> [Figure] {
    kept.map { $0.name == figure.name ? figure : $0 }
  }

  @Test("that are kept leave nothing to say")
  func agreement() throws {
    let thresholds = try Threshold.parse(text)
    #expect(thresholds.objections(to: kept) == [])
  }

  @Test(
    "name the figure, its value and the bound",
    arguments: [
      (Figure("bytes.token", 287), "bytes.token is 287, not 288"),
      (Figure("allocations.proof.c", 1), "allocations.proof.c is 1, not 0"),
      (Figure("memory.verifier.c", 3073), "memory.verifier.c is 3073, not at most 3072"),
      (
        Figure("instructions.proof.swift/proof.c", 1.3004),
        "instructions.proof.swift/proof.c is 1.300, not at most 1.300"
      ),
      (
        Figure("allocations.proof.c", uncounted: "apt-get install it"),
        "allocations.proof.c was not counted: apt-get install it"
      ),
    ])
  func broken(figure: Figure, words: String) throws {
    let thresholds = try Threshold.parse(text)
    #expect(thresholds.objections(to: replacing(figure)) == [words])
  }

  @Test("want a figure each, and each figure a threshold")
  func both() throws {
    let thresholds = try Threshold.parse(text)
    #expect(
      thresholds.objections(to: Array(kept.dropFirst())) == ["bytes.token: no such figure"])
    #expect(
      thresholds.objections(to: kept + [Figure("bytes.new", 7)])
        == ["bytes.new is 7 and has no threshold"])
  }

  @Test("are not kept where a tool is missing, which one line says")
  func uncounted() throws {
    let thresholds = try Threshold.parse("calls.a == 0\ncalls.b == 0\nbytes.a == 1")
    let figures = [Figure("calls", uncounted: "apt-get install strace"), Figure("bytes.a", 1)]
    #expect(
      thresholds.objections(to: figures) == ["calls was not counted: apt-get install strace"])
  }

  @Test("of ratios are about times, and a missing one is not kept")
  func ratios() throws {
    let thresholds = try Threshold.parse(text)
    func timing(_ swift: Double) -> Timing {
      let one = Series(name: "proof.swift", rounds: [swift, swift])
      let other = Series(name: "proof.c", rounds: [100, 100])
      return Timing(
        group: "proof", series: [one, other], ratios: [Ratio(one, over: other)])
    }
    #expect(thresholds.objections(to: [timing(130)]) == [])
    #expect(
      thresholds.objections(to: [timing(131)]) == [
        "proof.swift/proof.c is 1.310, not at most 1.300"
      ]
    )
    #expect(
      thresholds.objections(to: [Timing]()) == ["proof.swift/proof.c was not measured"])
  }

  @Test(
    "that make no sense are refused with the line",
    arguments: [
      "bytes.token", "bytes.token 288", "bytes.token = 288", "bytes.token == many",
      "bytes.token == nan", "bytes.token <= inf", "bytes.token <= -1", "ratio == 2",
      "a == 1 2", "== 1", "ratio",
    ])
  func nonsense(line: String) {
    let error = #expect(throws: ThresholdError.self) { try Threshold.parse("a == 1\n\(line)\n") }
    #expect(error?.description == "this makes no sense: \(line)")
  }

  @Test("have one line for one name")
  func repeated() {
    let error = #expect(throws: ThresholdError.self) { try Threshold.parse("a == 1\na <= 2") }
    #expect(error?.description == "a has two lines")
  }
}

@Suite("A figure")
struct FigureTests {
  @Test("is whole, or has three decimals")
  func text() {
    #expect(Figure("a", 288).text == "288")
    #expect(Figure("a", 1.0104).text == "1.010")
    #expect(Figure("a", uncounted: "why").text == "not counted")
  }

  @Test("over another is counted where both are")
  func ratio() {
    let figures = [
      Figure("a", 30), Figure("b", 20), Figure("zero", 0), Figure("none", uncounted: "why"),
    ]
    #expect(figures.ratio("a/b", "a", "b") == Figure("a/b", 1.5))
    #expect(figures.ratio("a/none", "a", "none") == Figure("a/none", uncounted: "why"))
    #expect(figures.ratio("a/zero", "a", "zero").value == nil)
  }
}
