// SPDX-License-Identifier: Apache-2.0

import Console
import Glibc

/// Prints each line as it happens, and all of them at the end.
final class Narrator {
  private let terminal = Terminal()
  private let options: DemoOptions
  private(set) var lines: [Line] = []
  /// Whether the user has interrupted the story. A step that fails after that proves nothing.
  var isInterrupted = { false }
  private var act = ""

  init(_ options: DemoOptions) { self.options = options }

  var isWell: Bool { !lines.isEmpty && lines.allSatisfy(\.isAsItMust) }

  func begin(_ act: String) {
    self.act = act
    say("\n" + terminal.coloured(act, .bold))
  }

  /// Ends the story if an outcome differs from the required one, because later steps build on it.
  func mustBeWell() throws {
    guard isWell else { throw StageFailure("the rest of the story builds on this; it ends here") }
  }

  /// Runs one step and prints its outcome.
  func step(_ what: String, must expected: String, _ play: () throws -> Happening) throws {
    // The pause is for an audience, which has to read; no step depends on it.
    if options.isSlow { sleep(2) }
    do {
      add(what, expected, try play())
    } catch {
      if !isInterrupted() { add(what, expected, Happening("could not be played", "\(error)")) }
      throw error
    }
  }

  private func add(_ what: String, _ expected: String, _ happening: Happening) {
    let line = Line(
      act: act, what: what, expected: expected, happened: happening.outcome,
      detail: happening.detail, time: happening.time)
    lines.append(line)
    let mark =
      line.isAsItMust ? terminal.coloured("ok    ", .green) : terminal.coloured("FAILED", .red)
    say("\(mark) \(what): " + terminal.coloured(line.verdict, line.isAsItMust ? .bold : .red))
    for note in [line.detail, line.time?.shares ?? ""] where !note.isEmpty {
      say("       " + terminal.coloured(note, .dim))
    }
  }

  /// Prints everything once more, as a table or as JSON.
  ///
  /// - Parameters:
  ///   - seed: The seed of the story.
  ///   - failure: The reason why it did not run to its end, if it did not.
  func end(seed: UInt64, after failure: (any Error)?) {
    if options.json {
      print(report(seed: seed, failure))
      return
    }
    say("\n" + table().joined(separator: "\n"))
    let failed = lines.filter { !$0.isAsItMust }.count
    let last =
      if failed > 0 {
        terminal.coloured("\(failed) of \(lines.count) lines did not end as they must", .red)
      } else if failure != nil {
        terminal.coloured("the story was not told to its end: \(lines.count) lines", .red)
      } else {
        terminal.coloured("all \(lines.count) lines ended as they must", .green)
      }
    say("\n\(last) (seed \(seed))")
  }

  private func table() -> [String] {
    var table = Table(
      ["", "what was done", "what happened", "ms", "measure", "crypto", "link", "net"],
      [.left, .left, .left, .right, .right, .right, .right, .right])
    for line in lines {
      table.add(
        [line.isAsItMust ? "ok" : "FAILED", line.what, line.verdict]
          + (line.time?.columns ?? StepTime.none))
    }
    return table.lines { row, column, cell in
      if row == 0 { return terminal.coloured(cell, .bold) }
      guard column == 0 else { return cell }
      return terminal.coloured(cell, lines[row - 1].isAsItMust ? .green : .red)
    }
  }

  private func report(seed: UInt64, _ failure: (any Error)?) -> JSON {
    .object([
      ("ok", .bool(isWell && failure == nil)),
      ("seed", .string("\(seed)")),
      ("failure", failure.map { .string("\($0)") } ?? .null),
      (
        "lines",
        .array(
          lines.map { line in
            .object([
              ("act", .string(line.act)), ("what", .string(line.what)),
              ("expected", .string(line.expected)), ("happened", .string(line.happened)),
              ("ok", .bool(line.isAsItMust)), ("detail", .string(line.detail)),
              ("milliseconds", line.time?.json ?? .null),
            ])
          })
      ),
    ])
  }

  /// Prints words for people; nothing in JSON.
  func say(_ text: String) {
    guard !options.json else { return }
    print(text)
    fflush(nil)
  }
}

extension Line {
  fileprivate var verdict: String {
    isAsItMust ? happened : "\(happened), and it must be: \(expected)"
  }
}

extension StepTime {
  fileprivate static let none = [String](repeating: "", count: 5)

  private var parts: [(String, Double)] {
    [
      ("measuring", measurement), ("cryptography", cryptography), ("link", link),
      ("network", network),
    ]
  }

  private func share(_ part: Double) -> String {
    guard part > 0, total > 0 else { return "" }
    let percent = part / total * 100
    return percent.text(decimals: percent < 1 ? 1 : 0) + " %"
  }

  fileprivate var columns: [String] {
    [total.text(decimals: 0)] + parts.map { share($0.1) }
  }

  fileprivate var shares: String {
    let shares = parts.filter { $0.1 > 0 }.map { "\($0.0) \(share($0.1))" }
    return "\(total.text(decimals: 0)) ms: " + shares.joined(separator: ", ")
  }

  fileprivate var json: JSON {
    .object(
      [("total", total)].map { ($0.0, .decimal($0.1, decimals: 3)) }
        + parts.map { ($0.0, .decimal($0.1, decimals: 3)) })
  }
}
