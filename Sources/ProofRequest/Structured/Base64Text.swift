// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Padded base64 of public bytes in its canonical form, read by a table.
enum Base64Text {
  /// Whether a part of a text is the one spelling of some bytes.
  static func isCanonical(_ text: [UInt8], _ range: Range<Int>) -> Bool {
    guard range.count % 4 == 0 else { return false }
    var end = range.upperBound
    while end > range.lowerBound, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    let sextets = sextets
    var all: UInt8 = 0
    for index in range.lowerBound..<end { all |= sextets[Int(text[index])] }
    guard all & other == 0 else { return false }
    switch range.upperBound - end {
    case 0: return true
    case 1: return sextets[Int(text[end - 1])] & 0x3 == 0
    case 2: return sextets[Int(text[end - 1])] & 0xf == 0
    default: return false
    }
  }

  /// The digest that a text of 44 characters stands for; nil if the text is none.
  static func digest(_ text: Span<UInt8>) -> Digest? {
    guard text.count == 44, text[43] == UInt8(ascii: "=") else { return nil }
    let sextets = sextets
    var bytes = [33 of UInt8](repeating: 0)
    var all: UInt8 = 0
    for group in 0..<11 {
      var word: UInt32 = 0
      for index in 4 * group..<4 * group + 4 {
        // The padding counts as six zero bits.
        let sextet = index == 43 ? 0 : sextets[Int(text[index])]
        all |= sextet
        word = word << 6 | UInt32(sextet)
      }
      bytes[3 * group] = UInt8(truncatingIfNeeded: word >> 16)
      bytes[3 * group + 1] = UInt8(truncatingIfNeeded: word >> 8)
      bytes[3 * group + 2] = UInt8(truncatingIfNeeded: word)
    }
    // Spare bits behind the last byte would give one digest two spellings.
    guard all & other == 0, bytes[32] == 0 else { return nil }
    return try? Digest(bytes.span.extracting(first: 32))
  }

  /// Marks a character that base64 does not have.
  private static let other: UInt8 = 0x80
  /// The value of each character. The texts are public, so a look-up that depends on them tells nothing.
  private static let sextets: [UInt8] = {
    var table = [UInt8](repeating: other, count: 256)
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (value, character) in alphabet.utf8.enumerated() { table[Int(character)] = UInt8(value) }
    return table
  }()
}
