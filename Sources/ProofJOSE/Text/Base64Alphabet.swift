// SPDX-License-Identifier: Apache-2.0

/// The two kinds of base64 (RFC 4648), each in its canonical form only.
///
/// Decoding accepts only the output of encoding: no white space, no other alphabet, exact padding,
/// and zeros in the spare bits of the last character. So each sequence of bytes has one text, and a
/// token cannot be respelled.
///
/// It decodes and encodes keys too, so neither direction uses table look-ups by character, or
/// branches on a character other than padding.
public enum Base64Alphabet: Sendable, Hashable {
  /// `-` and `_`, without padding: tokens and keys.
  case url
  /// `+` and `/`, padded with `=`: values of claims.
  case standard

  /// The number of characters that encode this many bytes.
  func encodedCount(of byteCount: Int) -> Int {
    switch self {
    case .url: (byteCount * 4 + 2) / 3
    case .standard: (byteCount + 2) / 3 * 4
    }
  }

  /// The number of bytes in a text; `nil` for a count of characters that is never valid.
  func decodedCount(of text: Span<UInt8>) -> Int? {
    switch self {
    case .url:
      return text.count % 4 == 1 ? nil : text.count / 4 * 3 + max(0, text.count % 4 - 1)
    case .standard:
      guard text.count % 4 == 0 else { return nil }
      guard text.count > 0 else { return 0 }
      let padding =
        text[text.count - 1] != Self.pad ? 0 : text[text.count - 2] != Self.pad ? 1 : 2
      return text.count / 4 * 3 - padding
    }
  }

  /// Decodes into a span of exactly the right length; `false` if the text is not of this kind.
  func decode(_ text: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Bool {
    var decoder = Base64Decoder(self, into: bytes.indices)
    for index in text.indices { decoder.take(text[index], into: &bytes) }
    return decoder.isComplete
  }

  /// Decodes a text that is no secret.
  func decode(_ text: Span<UInt8>) -> [UInt8]? {
    guard let count = decodedCount(of: text) else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    return decode(text, into: &span) ? bytes : nil
  }

  static var pad: UInt8 { UInt8(ascii: "=") }

  /// The character of six bits.
  func character(of sextet: UInt32) -> UInt8 {
    let (last, lastButOne): (UInt8, UInt8) =
      switch self {
      case .url: (UInt8(ascii: "_"), UInt8(ascii: "-"))
      case .standard: (UInt8(ascii: "/"), UInt8(ascii: "+"))
      }
    let upper = Mask.from(sextet, below: 26) & (sextet &+ 65)
    let lower = Mask.from(sextet, 26, below: 52) & (sextet &+ 71)
    let digit = Mask.from(sextet, 52, below: 62) & (sextet &- 4)
    let rest =
      (Mask.from(sextet, 62, below: 63) & UInt32(lastButOne))
      | (Mask.from(sextet, 63, below: 64) & UInt32(last))
    return UInt8(truncatingIfNeeded: upper | lower | digit | rest)
  }

  /// The six bits of a character, and a mask: all ones if it is one of this alphabet.
  func sextet(of character: UInt8) -> (bits: UInt32, mask: UInt32) {
    let code = UInt32(character)
    let (last, lastButOne): (UInt32, UInt32) =
      switch self {
      case .url: (95, 45)
      case .standard: (47, 43)
      }
    let upper = Mask.from(code, 65, below: 91)
    let lower = Mask.from(code, 97, below: 123)
    let digit = Mask.from(code, 48, below: 58)
    let isLastButOne = Mask.from(code, lastButOne, below: lastButOne + 1)
    let isLast = Mask.from(code, last, below: last + 1)
    let bits =
      (upper & (code &- 65)) | (lower & (code &- 71)) | (digit & (code &+ 4))
      | (isLastButOne & 62) | (isLast & 63)
    return (bits, upper | lower | digit | isLastButOne | isLast)
  }
}

/// Comparisons of small numbers as masks.
private enum Mask {
  /// All ones if `low <= value < high`, else zero. Values are below 2^31.
  static func from(_ value: UInt32, _ low: UInt32 = 0, below high: UInt32) -> UInt32 {
    // For a negative value the top bit is set, and its arithmetic shift fills the word.
    let isBelowHigh = UInt32(bitPattern: Int32(bitPattern: value &- high) &>> 31)
    let isBelowLow = UInt32(bitPattern: Int32(bitPattern: value &- low) &>> 31)
    return isBelowHigh & ~isBelowLow
  }
}

/// Decodes base64 character by character; `isComplete` gives the result at the end.
struct Base64Decoder {
  private let alphabet: Base64Alphabet
  /// The range of bytes to fill.
  private let range: Range<Int>
  private var pending: UInt32 = 0
  private var characters = 0
  private var padding = 0
  private var written = 0
  /// All ones while every character was of the alphabet.
  private var allValid: UInt32 = .max

  init(_ alphabet: Base64Alphabet, into range: Range<Int>) {
    self.alphabet = alphabet
    self.range = range
  }

  /// Takes the next character. Bytes past the end of the range are counted, and not written.
  mutating func take(_ character: UInt8, into bytes: inout MutableSpan<UInt8>) {
    if alphabet == .standard && character == Base64Alphabet.pad {
      padding += 1
      return
    }
    let (bits, mask) = alphabet.sextet(of: character)
    allValid &= padding == 0 ? mask : 0
    pending = (pending << 6 | bits) & 0xff_ffff
    characters += 1
    switch characters % 4 {
    case 2: write(pending >> 4, into: &bytes)
    case 3: write(pending >> 2, into: &bytes)
    case 0: write(pending, into: &bytes)
    default: break
    }
  }

  private mutating func write(_ byte: UInt32, into bytes: inout MutableSpan<UInt8>) {
    if written < range.count {
      bytes[range.lowerBound + written] = UInt8(truncatingIfNeeded: byte)
    }
    written += 1
  }

  /// Whether the characters were one canonical text that filled the range exactly.
  var isComplete: Bool {
    let isPadded = alphabet == .url || padding == [0, -1, 2, 1][characters % 4]
    let spare: UInt32 =
      switch characters % 4 {
      case 0: 0
      case 2: pending & 0xf
      case 3: pending & 0x3
      default: 1
      }
    return allValid == .max && isPadded && spare == 0 && written == range.count
  }
}
