// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import Foundation
import ProofJOSE
import ProofModel

/// A hardware's log, as read from files that hold one part each.
struct LogReading {
  /// A file that is no readable part of this log.
  private struct Refused {
    let file: String
    let words: String
    let code: String
    /// A part of the log that this reading cannot use: the log may go on there.
    let mayBeRight: Bool
  }

  private let hardware: HardwareID
  private let outcome: HardwareLogOutcome
  private let entries: [HardwareLogEntry]
  /// All findings but entries, by number.
  private let findings: [HardwareLogFinding]
  private let refused: [Refused]
  /// The part that tells the most: its `next` is the log's end.
  private let last: HardwareLogPart
  /// Whether a part answers the backend's nonce; nil where none was given.
  private let isFresh: Bool?

  /// Reads the parts. They are read in the order of their ends, those that answer the nonce last:
  /// only there a log that ends earlier than before says something about the hardware.
  init(
    of files: [String], with key: HardwareLogKey, answering nonce: HardwareLogNonce?,
    within steps: UInt64
  ) throws {
    var reader = HardwareLogReader(of: key)
    var (found, refused) = ([HardwareLogFinding](), [Refused]())
    var last: HardwareLogPart?
    var isFresh = nonce.map { _ in false }
    for (file, part) in try Self.parts(in: files, answering: nonce, &refused) {
      do throws(ProofError) {
        found += try reader.read(part, within: steps)
        if part.nonce == nonce { isFresh = true }
        if last.map({ $0.next <= part.next }) ?? true { last = part }
      } catch {
        refused.append(Self.refused(file, error))
      }
    }
    guard let last else {
      let first = refused[0]
      throw Failure(
        "No file is a part of the log of hardware \(key.hardware). \(first.file): \(first.words)")
    }
    let (open, outcome) = reader.end()
    hardware = key.hardware
    entries = (found + open).compactMap(\.entry).sorted { $0.number < $1.number }
    findings = Self.settled(found + open)
    let isUnread = refused.contains(where: \.mayBeRight) || isFresh == false
    self.outcome = outcome == .whole && isUnread ? .incomplete : outcome
    (self.refused, self.last, self.isFresh) = (refused, last, isFresh)
  }

  /// The exit status by the outcome.
  var status: Int32 {
    switch outcome {
    case .whole: 0
    case .incomplete: 3
    case .altered: 4
    }
  }

  private static func parts(
    in files: [String], answering nonce: HardwareLogNonce?, _ refused: inout [Refused]
  ) throws -> [(file: String, part: HardwareLogPart)] {
    var seen: Set<HardwareLogPart> = []
    var parts: [(file: String, part: HardwareLogPart)] = []
    for file in files {
      let limit = HardwareLogPart.byteCounts.upperBound
      guard let bytes = try SmallFile.beginning(of: file, byteCount: limit + 1) else {
        throw Failure("\(file): No such file or directory")
      }
      do throws(ProofError) {
        let part = try HardwareLogPart(bytes)
        if seen.insert(part).inserted { parts.append((file, part)) }
      } catch {
        refused.append(Self.refused(file, error))
      }
    }
    return parts.sorted { left, right in
      let (one, other) = (left.part, right.part)
      if (one.nonce == nonce) != (other.nonce == nonce) { return other.nonce == nonce }
      return (one.next, one.entries.lowerBound) < (other.next, other.entries.lowerBound)
    }
  }

  private static func refused(_ file: String, _ error: ProofError) -> Refused {
    switch error {
    case .differs:
      Refused(
        file: file, words: "Its head is wrong: a phone changed it, or it is of other hardware.",
        code: error.code, mayBeRight: false)
    case .tooNew, .logTooFar:
      Refused(file: file, words: "\(error)", code: error.code, mayBeRight: true)
    default:
      Refused(file: file, words: "\(error)", code: error.code, mayBeRight: false)
    }
  }

  /// The findings but for entries, each once. Of entries that did not come those that came late
  /// are left out.
  private static func settled(_ found: [HardwareLogFinding]) -> [HardwareLogFinding] {
    var came: Set<UInt64> = []
    for finding in found where ![.missing, .overwritten, .undone, .shorter].contains(finding.kind) {
      // Not a range of the hardware's: each of these has come in a part.
      came.formUnion(finding.entries)
    }
    var settled: [HardwareLogFinding] = []
    for finding in found where finding.kind != .entry {
      let isAbsent = finding.kind == .missing || finding.kind == .overwritten
      let pieces = isAbsent ? pieces(of: finding, without: came) : [finding]
      for piece in pieces where !settled.contains(piece) { settled.append(piece) }
    }
    return settled.sorted { $0.entries.lowerBound < $1.entries.lowerBound }
  }

  private static func pieces(
    of finding: HardwareLogFinding, without came: Set<UInt64>
  ) -> [HardwareLogFinding] {
    var pieces: [HardwareLogFinding] = []
    var first = finding.entries.lowerBound
    for number in came.filter(finding.entries.contains).sorted() {
      pieces.append(HardwareLogFinding(finding.kind, first..<number))
      first = number + 1
    }
    pieces.append(HardwareLogFinding(finding.kind, first..<finding.entries.upperBound))
    return pieces.filter { !$0.entries.isEmpty }
  }
}

// MARK: JSON

extension LogReading {
  func value(withEntries: Bool) -> JSONValue {
    var value: JSONObject = [
      "hardware": .string(hardware.description), "outcome": .string(outcome.rawValue),
      "next": number(last.next), "oldest": number(last.oldest),
      "read": number(UInt64(entries.count)),
    ]
    value["fresh"] = isFresh.map { .bool($0) }
    if withEntries { value["entries"] = .array(entries.map(entryValue)) }
    value["findings"] = .array(
      findings.map {
        [
          "kind": .string($0.kind.rawValue), "first": number($0.entries.lowerBound),
          "count": number(UInt64($0.entries.count)),
        ]
      })
    value["sinceThen"] = noteValue(last.pending)
    value["refused"] = .array(
      refused.map {
        ["file": .string($0.file), "error": .string($0.words), "code": .string($0.code)]
      })
    return .object(value)
  }

  private func entryValue(_ entry: HardwareLogEntry) -> JSONValue {
    var value: JSONObject = [
      "number": number(entry.number), "event": .string(entry.event.word),
      "notBefore": number(entry.time?.unsigned ?? 0), "counter": number(UInt64(entry.counter)),
    ]
    if undone.contains(entry.number) { value["happened"] = .bool(false) }
    if let note = entry.note {
      value["note"] = noteValue(note)
      return .object(value)
    }
    value["verdict"] = number(UInt64(entry.verdictNumber))
    value["verdictName"] = entry.verdict.map { .string($0.description) }
    value["instanceBegins"] = .string(Hexadecimal.encode(entry.instanceBegins))
    switch entry.event {
    case .command:
      value["class"] = number(UInt64(entry.commandClass))
      value["kind"] = number(UInt64(entry.kind))
    case .order: value["type"] = number(UInt64(entry.kind))
    case .grant: value["takesBack"] = .bool(entry.kind == 2)
    case .token, .note: break
    }
    return .object(value)
  }

  private func noteValue(_ note: HardwareLogNote) -> JSONValue {
    [
      "started": .bool(note.hasStarted), "undone": number(UInt64(note.undone)),
      "refusedCommands": number(UInt64(note.refused.commands)),
      "refusedTokens": number(UInt64(note.refused.tokens)),
      "refusedMessages": number(UInt64(note.refused.messages)),
      "refusedBusy": number(UInt64(note.refused.busy)),
    ]
  }

  private func number(_ value: UInt64) -> JSONValue {
    .number(JSONNumber(Int64(clamping: value)))
  }

  /// Entries that did not happen, says the hardware.
  private var undone: Set<UInt64> {
    findings.filter { $0.kind == .undone }.reduce(into: []) { $0.formUnion($1.entries) }
  }
}

// MARK: Text

extension LogReading {
  func text(withEntries: Bool) -> String {
    var lines: [String] = withEntries ? table : []
    lines += findings.map { "\(Self.words(of: $0.entries)): \($0.kind.words)" }
    lines += refused.map { "\($0.file): \($0.words) [\($0.code)]" }
    if isFresh == false {
      lines.append("No part answers the nonce, so all of them may be old. Have a phone ask again.")
    }
    let since = Self.words(of: last.pending)
    if !since.isEmpty { lines.append("since the last entry: \(since)") }
    lines.append(summary)
    return lines.joined(separator: "\n")
  }

  private var summary: String {
    let count = entries.count == 1 ? "1 entry" : "\(entries.count) entries"
    return "\(outcome.rawValue): \(count) read, and the log ended before entry \(last.next)"
  }

  private var table: [String] {
    guard !entries.isEmpty else { return ["no entry"] }
    var table = Table(
      ["entry", "event", "what", "instance", "not before", "counter"],
      [.right, .left, .left, .left, .left, .right])
    let undone = undone
    for entry in entries {
      let words = Self.words(of: entry)
      table.add([
        "\(entry.number)", entry.event.word,
        undone.contains(entry.number) ? "did not happen: \(words)" : words,
        entry.instanceBegins.contains { $0 != 0 } ? Hexadecimal.encode(entry.instanceBegins) : "",
        entry.time.map {
          Date(timeIntervalSince1970: TimeInterval($0.seconds)).formatted(.iso8601)
        } ?? "",
        "\(entry.counter)",
      ])
    }
    return table.lines { _, _, cell in cell }
  }

  private static func words(of entry: HardwareLogEntry) -> String {
    let verdict = entry.verdict?.description ?? "verdict \(entry.verdictNumber)"
    switch entry.event {
    case .command: return "class \(entry.commandClass), kind \(entry.kind): \(verdict)"
    case .token: return verdict
    case .order: return "type \(entry.kind): \(verdict)"
    case .grant: return "\(entry.kind == 2 ? "takes back" : "lends"): \(verdict)"
    case .note: return entry.note.map { words(of: $0) } ?? ""
    }
  }

  private static func words(of note: HardwareLogNote) -> String {
    let refused = note.refused
    let counts = [
      (refused.commands, "commands"), (refused.tokens, "tokens or orders"),
      (refused.messages, "messages"), (refused.busy, "messages over the limit"),
    ]
    let refusals = counts.filter { $0.0 > 0 }.map { count, noun in
      "\(count)\(count == .max ? " or more" : "") \(noun)"
    }
    var words: [String] = []
    if note.hasStarted { words.append("started") }
    if note.undone > 0 { words.append("entries before that did not happen: \(note.undone)") }
    if !refusals.isEmpty { words.append("refused \(refusals.joined(separator: ", "))") }
    return words.joined(separator: "; ")
  }

  private static func words(of entries: Range<UInt64>) -> String {
    entries.count == 1
      ? "entry \(entries.lowerBound)"
      : "entries \(entries.lowerBound) to \(entries.upperBound - 1)"
  }
}

extension HardwareLogEntry.Event {
  fileprivate var word: String { "\(self)" }
}

extension HardwareLogFinding.Kind {
  /// The finding for people: what it means, and the next step where there is one.
  fileprivate var words: String {
    switch self {
    case .entry: "read"
    case .unknown: "written by a later version. Update proofctl"
    case .undone: "did not happen: the power was cut before they were carried out"
    case .torn: "torn: the power was cut while they were written"
    case .missing:
      "missing: the hardware has them, and no part brought them. Have a phone ask again"
    case .overwritten: "overwritten before a phone brought them"
    case .unclear: "unclear: they do not open, and the entry that may tell why has not come"
    case .changed: "CHANGED: they do not open, and the hardware does not say that they were cut"
    case .forked:
      "FORKED: two different entries have this number. The hardware's flash was put back"
    case .shorter:
      "SHORTER: the log had these entries and ends before them. The hardware's flash was put back"
    }
  }
}
