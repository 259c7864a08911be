// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend

/// The answer that a page sends for a challenge of kind ``ChallengeKind/person``.
///
///     slider POSITION MARK      the left edge of the piece in pixels, and the mark that came with the picture
///     ruler READING MARK        the middle of the gap by the ruler, from a page without script
///     work ID SOLUTION          the way without sight or mouse: the solution of a challenge of kind memoryWork
package enum PersonAnswer: Sendable, Hashable {
  /// A position, and the mark of the picture.
  case slider(Int, mark: String)
  /// The id and solution of long work.
  case work(id: String, solution: String)

  /// The longest text: the way without sight, with seven problems.
  static let characterMax = 5 + GateChallenge.characterCount + 1 + 7 * 56

  /// Reads a text; nil for one that is none.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.characterMax else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else { return nil }
    switch words[0] {
    case "slider":
      guard let position = Self.number(words[1]), words[2].utf8.count == 22 else { return nil }
      self = .slider(position, mark: String(words[2]))
    case "ruler":
      guard let reading = Self.number(words[1]), words[2].utf8.count == 22 else { return nil }
      self = .slider(SliderRuler.place(of: reading), mark: String(words[2]))
    case "work":
      guard words[1].utf8.count == GateChallenge.characterCount, !words[2].isEmpty else {
        return nil
      }
      self = .work(id: String(words[1]), solution: String(words[2]))
    default: return nil
    }
  }

  /// One to three digits.
  private static func number(_ word: Substring) -> Int? {
    guard (1...3).contains(word.utf8.count), word.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int(word)
  }
}
