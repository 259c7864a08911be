// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Vectors of the project Wycheproof, in `Tests/Vectors/wycheproof`.
enum Wycheproof {
  struct Case: @unchecked Sendable, CustomStringConvertible {
    let number: Int
    let comment: String
    let isValid: Bool
    // Sendable because a parsed JSON text never changes.
    let fields: [String: Any]
    let group: [String: Any]

    var description: String { "\(number): \(comment)" }
    func text(_ name: String) -> String { fields[name] as? String ?? "" }
    func bytes(_ name: String) -> [UInt8] { Hex.bytes(text(name)) }
  }

  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .appendingPathComponent("Vectors/wycheproof")

  static func cases(_ name: String) throws -> [Case] {
    let data = try Data(contentsOf: folder.appendingPathComponent("\(name).json"))
    let file = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    var cases: [Case] = []
    for group in file["testGroups"] as? [[String: Any]] ?? [] {
      for test in group["tests"] as? [[String: Any]] ?? [] {
        cases.append(
          Case(
            number: test["tcId"] as? Int ?? 0, comment: test["comment"] as? String ?? "",
            isValid: test["result"] as? String == "valid", fields: test, group: group))
      }
    }
    return cases
  }

  /// Prints the number of a file's cases that a test does not judge, and the reason.
  static func note(skipped: Int, of count: Int, in name: String, because reason: String) {
    print("wycheproof: \(name): \(skipped) of \(count) cases skipped: \(reason)")
  }

  /// A group's key as JSON text; of a pair, the named half.
  static func key(_ name: String, of group: [String: Any]) throws -> String {
    let value = group[name] ?? group["private"] ?? [:]
    return String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
  }
}
