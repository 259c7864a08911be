import ProofModel

/// One line of the demonstration: what was done, what came of it, and what had to.
struct Line {
  let section: String
  let what: String
  let expected: String
  let happened: String
  /// What else can be told: bytes, packets, uses left.
  let detail: String

  var isAsItMust: Bool { happened == expected }
}

/// Collects the lines of one section.
struct Section {
  let name: String
  private(set) var lines: [Line] = []

  init(_ name: String) { self.name = name }

  mutating func add(
    _ what: String, must expected: String, happened: String, _ detail: String = ""
  ) {
    lines.append(
      Line(section: name, what: what, expected: expected, happened: happened, detail: detail))
  }

  /// A line about a verdict.
  mutating func add(
    _ what: String, must expected: Verdict, happened verdict: Verdict, _ detail: String = ""
  ) {
    add(what, must: "\(expected)", happened: "\(verdict)", detail)
  }

  /// A line about an error.
  mutating func add(
    _ what: String, mustThrow expected: String, _ body: () throws(ProofError) -> Void
  ) {
    do throws(ProofError) {
      try body()
      add(what, must: expected, happened: "nothing was refused")
    } catch {
      let sentence = error.description.split(separator: ". ").first.map(String.init) ?? ""
      add(what, must: expected, happened: Self.name(of: error), sentence)
    }
  }

  /// The case's name, which its payload's mirror is labelled with.
  private static func name(of error: ProofError) -> String {
    Mirror(reflecting: error).children.first?.label ?? "error"
  }
}
