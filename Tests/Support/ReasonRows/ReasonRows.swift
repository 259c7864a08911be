// SPDX-License-Identifier: Apache-2.0

private import Foundation

/// The rows of an origin in docs/reasons.txt, which the tables of every language come from.
public struct ReasonRows {
  /// A code, and the party that can mend its cause.
  public struct Answer: Hashable, Sendable, CustomStringConvertible {
    /// `ORIGIN-NUMBER`.
    public let code: String
    /// Nil in a row where the error behind it decides, and in an answer that names no party.
    public let mender: String?

    /// An answer of this code.
    public init(_ code: String, _ mender: String?) {
      self.code = code
      self.mender = mender
    }

    /// Both, for a failure of a test.
    public var description: String { "\(code) \(mender ?? "-")" }
  }

  private let rows: [Answer]

  /// Reads the rows of an origin.
  public init(of origin: String) throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let text = try String(
      contentsOf: here.appending(path: "../../../docs/reasons.txt"), encoding: .utf8)
    let lines = text.components(separatedBy: "\n")
    guard let begin = lines.firstIndex(where: { $0.hasPrefix("= \(origin) ") }) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    rows = lines[(begin + 1)...].prefix { !$0.isEmpty }.map { line in
      let words = line.components(separatedBy: " | ")
      return Answer("\(origin)-\(words[0])", words[2] == "cause" ? nil : words[2])
    }
  }

  /// The rows that errors in any order, with several of a case, contradict.
  public func differences(fromUnordered answers: [Answer]) -> [String] {
    let order = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.code, $0) })
    return differences(
      from: Set(answers).sorted { order[$0.code, default: .max] < order[$1.code, default: .max] })
  }

  /// The rows and answers, in the order of the page, that contradict each other.
  public func differences(from answers: [Answer]) -> [String] {
    (0..<max(rows.count, answers.count)).compactMap { place in
      guard place < rows.count else { return "\(answers[place]) is in no row" }
      let row = rows[place]
      guard place < answers.count else { return "\(row) has no error" }
      let answer = answers[place]
      let agree = row.mender == nil || answer.mender == nil || row.mender == answer.mender
      return row.code == answer.code && agree ? nil : "\(answer) in place of \(row)"
    }
  }
}
