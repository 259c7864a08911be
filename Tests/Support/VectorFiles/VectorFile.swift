// SPDX-License-Identifier: Apache-2.0

import Foundation

// In a file of its own, because Foundation has a `Measurement` of its own.

extension Block {
  /// The blocks of these types in a file. Ends the test run if there are none: an empty file must
  /// not look like a success.
  package static func read(_ file: String, _ types: String...) -> [Block] {
    let folder = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(component: "Vectors")
    let text: String
    do {
      text = try String(contentsOf: folder.appending(component: file), encoding: .utf8)
    } catch {
      preconditionFailure("Tests/Vectors/\(file) cannot be read: \(error)")
    }
    let blocks = text.split(separator: "\n\n").map { block in
      Block(file: file, lines: block.split(separator: "\n").compactMap(line))
    }
    let found = blocks.filter { !$0.lines.isEmpty && types.contains($0["block"]) }
    precondition(!found.isEmpty, "Tests/Vectors/\(file) has no block \(types)")
    return found
  }

  private static func line(_ text: Substring) -> (name: String, value: String)? {
    guard !text.hasPrefix("#"), let equals = text.firstIndex(of: "=") else { return nil }
    let name = text[..<equals].trimmingCharacters(in: .whitespaces)
    let value = text[text.index(after: equals)...].trimmingCharacters(in: .whitespaces)
    return (name, value)
  }
}
