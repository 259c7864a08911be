// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The ratios of a run whose results were committed as JSON, for comparing a later run with it.
package struct EarlierRun: Sendable {
  package let date: String
  package let machine: String
  private let medians: [String: Double]

  /// Reads what ``Results/json`` wrote; nil if the text is something else.
  package init?(json text: String) {
    guard let run = try? JSONDecoder().decode(Run.self, from: Data(text.utf8)) else { return nil }
    date = run.date
    machine = run.machine
    medians = run.timings.reduce(into: [:]) { found, timing in
      for (name, ratio) in timing.ratios { found["\(timing.group) \(name)"] = ratio.median }
    }
  }

  /// The median of a ratio, if it was measured.
  func median(_ group: String, _ ratio: String) -> Double? { medians["\(group) \(ratio)"] }

  /// The name of the newest run's file before a day, among the names of a folder's files.
  package static func newest(in names: [String], before date: String) -> String? {
    names.filter { name in
      name.hasSuffix(".json") && name.count == "2026-01-31.json".count && name < "\(date).json"
        && name.first == "2"
    }.max()
  }

  private struct Run: Decodable {
    let date: String
    let machine: String
    let timings: [Timing]
  }

  private struct Timing: Decodable {
    let group: String
    let ratios: [String: Ratio]
  }

  private struct Ratio: Decodable {
    let median: Double
  }
}
