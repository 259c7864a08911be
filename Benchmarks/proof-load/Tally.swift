// SPDX-License-Identifier: Apache-2.0

import Console

/// Results of a run.
struct Tally: Sendable {
  var outcomes: [String: Int] = [:]
  var errors: [String: Int] = [:]
  /// Microseconds of each exchange.
  var challenges: [UInt32] = []
  var reports: [UInt32] = []
  var reportByteCount = 0
  var connectionsOpened = 0
  /// Reports that were sent again because they had no answer.
  var repeated = 0
  var seconds = 0.0
  var processorSeconds = 0.0

  mutating func add(_ other: Tally) {
    outcomes.merge(other.outcomes, uniquingKeysWith: +)
    errors.merge(other.errors, uniquingKeysWith: +)
    challenges += other.challenges
    reports += other.reports
    reportByteCount = max(reportByteCount, other.reportByteCount)
    connectionsOpened += other.connectionsOpened
    repeated += other.repeated
  }

  private var answered: Int { outcomes.values.reduce(0, +) }

  /// Every attestation done; of a replay, every report answered as before and every other one refused.
  func isAsItMust(_ options: LoadOptions) -> Bool {
    let wanted: Set = options.replayed == nil ? ["done"] : ["same", "askAgain", "other askAgain"]
    let hasOnlyWanted = outcomes.keys.allSatisfy { wanted.contains($0) }
    return hasOnlyWanted && (options.isPatient || errors.isEmpty)
      && (answered > 0 || options.replayed != nil)
  }

  func report(_ options: LoadOptions) -> JSON {
    .object([
      ("answered", .integer(answered)),
      ("outcomes", .object(outcomes.sorted { $0.key < $1.key }.map { ($0, .integer($1)) })),
      ("errors", .object(errors.sorted { $0.key < $1.key }.map { ($0, .integer($1)) })),
      ("seconds", .decimal(seconds, decimals: 3)),
      ("pairsPerSecond", .decimal(Double(answered) / seconds, decimals: 0)),
      ("challengeMicroseconds", Self.quantiles(challenges)),
      ("reportMicroseconds", Self.quantiles(reports)),
      ("reportBytes", .integer(reportByteCount)),
      ("connections", .integer(options.connections)),
      ("connectionsOpened", .integer(connectionsOpened)),
      ("repeated", .integer(repeated)),
      ("devices", .integer(options.devices)),
      ("clientProcessorSeconds", .decimal(processorSeconds, decimals: 2)),
    ])
  }

  func text(_ options: LoadOptions) -> String {
    let counts = (outcomes.map { "\($0) \($1)" } + errors.map { "error \($0) \($1)" }).sorted()
    return """
      \(answered) answered in \((seconds).text(decimals: 2)) s: \
      \((Double(answered) / seconds).text(decimals: 0)) a second over \(options.connections) \
      connections (\(connectionsOpened) opened)
      outcomes: \(counts.joined(separator: ", "))
      challenge: \(Self.words(challenges))
      report (\(reportByteCount) bytes): \(Self.words(reports))
      processor time of this program: \(processorSeconds.text(decimals: 2)) s
      """
  }

  private static func quantile(_ sorted: [UInt32], _ part: Double) -> Int {
    sorted.isEmpty ? 0 : Int(sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))])
  }

  private static func quantiles(_ times: [UInt32]) -> JSON {
    let sorted = times.sorted()
    return .object([
      ("p50", .integer(quantile(sorted, 0.5))), ("p99", .integer(quantile(sorted, 0.99))),
      ("max", .integer(Int(sorted.last ?? 0))),
    ])
  }

  private static func words(_ times: [UInt32]) -> String {
    let sorted = times.sorted()
    return
      "p50 \(quantile(sorted, 0.5)) us, p99 \(quantile(sorted, 0.99)) us, max \(sorted.last ?? 0) us"
  }
}
