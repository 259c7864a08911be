// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// Emergency tokens of operators: a request with one passes without proof and challenge.
///
/// A line is a name, the SHA-256 of the token in hexadecimal, and the Unix second in which it ends. `#` begins a
/// comment. The file has no token, so a reader of it cannot use one.
package struct BypassFile: Sendable, Hashable {
  /// The header field that carries a token.
  package static let field = "proof-bypass"
  /// How many bytes a file has at most.
  package static let byteCountMax = 65_536
  /// How many lines count at most.
  private static let countMax = 64

  private struct Entry: Sendable, Hashable {
    let name: String
    let digest: [UInt8]
    let end: UnixTime
  }

  private let entries: [Entry]

  /// Reads a file's text.
  ///
  /// - Parameter bytes: The whole file.
  /// - Throws: ``BypassFileError`` with the first line that cannot be used.
  package init(_ bytes: [UInt8]) throws(BypassFileError) {
    guard bytes.count <= Self.byteCountMax, let text = String(validating: bytes, as: UTF8.self)
    else { throw BypassFileError(line: 1, problem: "the file is too long, or no text") }
    var entries: [Entry] = []
    var number = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      number += 1
      let code = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
      let words = code.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      if words.isEmpty { continue }
      guard words.count == 3, Self.isName(words[0]),
        let digest = Hexadecimal.decode(String(words[1])),
        digest.count == 32, let end = UInt64(words[2])
      else {
        throw BypassFileError(
          line: number,
          problem:
            "write NAME, 64 hexadecimal digits and a Unix second, as `proof-gate bypass` does")
      }
      guard entries.count < Self.countMax else {
        throw BypassFileError(line: number, problem: "a file has at most \(Self.countMax) tokens")
      }
      entries.append(Entry(name: String(words[0]), digest: digest, end: UnixTime(clamping: end)))
    }
    self.entries = entries
  }

  /// Whether a text names a token: 1 to 32 letters, digits, hyphens, dots and underscores.
  package static func isName(_ text: some StringProtocol) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
      }
  }

  /// The line of a token.
  package static func line(for token: String, named name: String, until end: UnixTime) -> String {
    "\(name) \(Hexadecimal.encode(Digest(hashing: Array(token.utf8)).bytes)) \(end.seconds)\n"
  }

  /// The name of a token that counts now. All lines are compared, and all of each.
  package func name(of token: String, at now: UnixTime) -> String? {
    let digest = Digest(hashing: Array(token.utf8)).bytes
    var found: String?
    for entry in entries {
      var difference: UInt8 = 0
      for (one, other) in zip(entry.digest, digest) { difference |= one ^ other }
      if difference == 0, entry.end >= now.whole { found = entry.name }
    }
    return found
  }
}

/// The reason why a file of emergency tokens cannot be used.
package struct BypassFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line, from 1.
  package let line: Int
  /// The cause, and the next step.
  package let problem: String

  package var description: String { "line \(line): \(problem)" }
}
