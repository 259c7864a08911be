// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal: decodes either case, encodes lower case. Not constant-time, so not for secrets.
package enum Hexadecimal {
  /// Two digits for each byte.
  package static func encode(_ bytes: Span<UInt8>) -> String {
    String(pairsFor: bytes) { (digit($0 >> 4), digit($0 & 15)) }
  }

  /// Two digits for each byte.
  package static func encode(_ bytes: some Sequence<UInt8>) -> String {
    encode(Array(bytes).span)
  }

  /// The bytes, or nil for an odd number of digits or anything else than ASCII digits.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
