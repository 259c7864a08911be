// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Blocks of `name = value` lines (Tests/Vectors/README.md describes the format).
struct VectorFile {
  struct Block: Sendable, CustomStringConvertible {
    let fields: [String: String]

    subscript(name: String) -> String { fields[name] ?? "" }
    func bytes(_ name: String) -> [UInt8] { Hex.bytes(self[name]) }
    var description: String { self["comment"] }
  }

  static func blocks(_ kind: String, in name: String) -> [Block] {
    let url = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .appendingPathComponent("Vectors/jose/\(name).txt")
    guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
    var blocks: [Block] = []
    for block in text.components(separatedBy: "\n\n") {
      var fields: [String: String] = [:]
      for line in block.split(separator: "\n") where !line.hasPrefix("#") {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { continue }
        fields[parts[0].trimmingCharacters(in: .whitespaces)] =
          parts[1].trimmingCharacters(in: .whitespaces)
      }
      if fields["block"] == kind { blocks.append(Block(fields: fields)) }
    }
    return blocks
  }
}

enum Hex {
  static func bytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(digits[$0] * 16 + digits[$0 + 1])
    }
  }
}
