// SPDX-License-Identifier: Apache-2.0

package import Console

/// Options of the command line.
package struct BenchOptions: Sendable {
  package let json: Bool
  /// Holds deterministic figures to the thresholds, and measures no times.
  package let checks: Bool
  package let checksRatios: Bool
  package let reports: Bool
  /// The operations to do between marks, for valgrind and strace, and nothing else.
  package let instrumented: Instrumented?
  package let rounds: Int
  package let seconds: Int
  package let thresholds: String
  package let results: String
  private let filter: String?

  /// Operations in memory alone; or those too that ask the system for something.
  package enum Instrumented: String, Sendable, CaseIterable { case memory, system }

  private static let known = [
    Option("--filter", "WORD", help: "runs the groups whose name contains WORD"),
    Option("--seconds", "N", help: "for all groups together, 1 to 480; 300 unless told"),
    Option("--rounds", "N", help: "rounds of a group at most, 3 to 10001; 301 unless told"),
    Option("--json", help: "prints everything as JSON"),
    Option(
      "--report", help: "writes DATE.md, DATE.html, DATE.json and plots into the folder of results"),
    Option("--results", "FOLDER", help: "docs/results unless told"),
    Option(
      "--check", help: "ends with 1 if a deterministic figure is not as in the thresholds; no times"
    ),
    Option(
      "--check-ratios", help: "holds ratios of times too: for a machine that does nothing else"),
    Option("--thresholds", "FILE", help: "Benchmarks/Thresholds unless told"),
    Option(
      "--instrumented", "WHAT",
      help:
        "memory or system: each operation between marks; so it runs itself under valgrind, strace"),
  ]

  package static let usage = Usage(
    "proof-bench", "[options]",
    """
    Measures proofs, tokens, the verifier, measurement, link, attestation and store, side by side
    with what one would take instead. Times are reported; what is deterministic can be checked.
    """, known)

  /// - Parameter options: Already read against ``usage``.
  /// - Throws: What makes no sense, with its value.
  package init(_ options: Options) throws(UsageError) {
    json = options.has("--json")
    checksRatios = options.has("--check-ratios")
    checks = options.has("--check")
    reports = options.has("--report")
    instrumented = try options.choice("--instrumented")
    filter = options.value("--filter")
    thresholds = options.value("--thresholds") ?? "Benchmarks/Thresholds"
    results = options.value("--results") ?? "docs/results"
    rounds = try options.number("--rounds", within: 3...10_001) ?? 301
    seconds = try options.number("--seconds", within: 1...480) ?? 300
    if checks || checksRatios, reports {
      throw UsageError("--report and --check are two runs: a report is not held to thresholds")
    }
    if filter != nil, reports || checks || checksRatios {
      throw UsageError("--filter leaves out what --report and --check need")
    }
  }

  /// Whether times are measured at all.
  package var measuresTimes: Bool { !checks || checksRatios }

  /// Whether valgrind and strace are asked too, which takes a while: not with a filter.
  package var usesInstruments: Bool { filter == nil }

  /// The names that the filter lets through.
  package func wanted(_ names: [String]) throws(UsageError) -> [String] {
    guard let filter else { return names }
    // Every name contains nothing.
    let wanted = filter.isEmpty ? [] : names.filter { $0.contains(filter) }
    guard !wanted.isEmpty else {
      throw UsageError(
        "no group is called like \"\(filter)\"; there are \(names.joined(separator: ", "))")
    }
    return wanted
  }
}
