// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import ProofJOSE

/// Formats JSON for people: a list of objects as a table, an object as lines, a value as itself.
enum Presentation {
  static func text(_ value: JSONValue) -> String {
    switch value {
    case .object(let object): lines(object)
    case .array(let values): table(values)
    default: plain(value)
    }
  }

  private static func lines(_ object: JSONObject) -> String {
    if object.members.isEmpty { return "done" }
    let width = object.members.map(\.name.count).max() ?? 0
    return object.members.map { name, value in
      let blanks = String(repeating: " ", count: width - name.count)
      return "\(name)\(blanks)  \(cell(name, value))"
    }.joined(separator: "\n")
  }

  private static func table(_ values: [JSONValue]) -> String {
    var names: [String] = []
    var rows: [JSONObject] = []
    for value in values {
      guard case .object(let object) = value else {
        return values.map(plain).joined(separator: "\n")
      }
      for member in object.members where !names.contains(member.name) {
        names.append(member.name)
      }
      rows.append(object)
    }
    if rows.isEmpty { return "none" }
    names = ordered(names)
    var table = Table(names, names.map { _ in .left })
    for row in rows { table.add(names.map { name in row[name].map { cell(name, $0) } ?? "" }) }
    return table.lines { _, _, cell in cell }.joined(separator: "\n")
  }

  /// Columns in a fixed order; others follow by name.
  private static let columns = [
    "what", "host", "kid", "id", "device", "digest", "name", "state", "role", "passed", "kind",
    "alg",
    "mode", "detail", "lastSeen", "rule", "appName", "added", "expiry", "until",
  ]
  /// Members that repeat another column in another form.
  private static let hidden: Set<String> = ["did"]

  private static func ordered(_ names: [String]) -> [String] {
    columns.filter(names.contains)
      + names.filter { !columns.contains($0) && !hidden.contains($0) }.sorted()
  }

  /// Members that are Unix seconds.
  private static let times: Set<String> = [
    "added", "changed", "exp", "expiry", "firstSeen", "iat", "issued", "lastSeen", "nbf",
    "notAfter",
    "until",
  ]

  /// A value for people: a time is shown as a date in UTC.
  private static func cell(_ name: String, _ value: JSONValue) -> String {
    guard times.contains(name), case .number(let number) = value, let seconds = number.integer,
      (0...253_402_300_799).contains(seconds)
    else { return plain(value) }
    return Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
  }

  private static func plain(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): harmless(text)
    case .array(let values): values.map(plain).joined(separator: ", ")
    case .null: ""
    default: harmless(value.text)
    }
  }

  /// Escapes control characters: apps and tokens contain arbitrary text, and a terminal would obey
  /// some of it.
  private static func harmless(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      default: shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }
}
