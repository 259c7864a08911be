internal import ProofJOSE

/// Base64 of what is not secret.
enum Base64 {
  static func encode(_ bytes: [UInt8], _ alphabet: Base64Alphabet = .standard) -> String {
    JOSESecret(copying: bytes.span).encoded(as: alphabet).withBytes {
      String(decoding: Array(copying: $0), as: UTF8.self)
    }
  }

  static func decode(_ text: String, _ alphabet: Base64Alphabet = .standard) -> [UInt8]? {
    let secret = try? JOSESecret(decoding: Array(text.utf8).span, as: alphabet)
    return secret?.withBytes { Array(copying: $0) }
  }
}

/// Lower-case hexadecimal.
enum Hexadecimal {
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[place]), let low = value(digits[place + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    case 0x41...0x46: digit - 0x41 + 10
    default: nil
    }
  }
}
