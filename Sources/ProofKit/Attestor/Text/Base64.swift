/// Base64 (RFC 4648), strict: one text for one sequence of bytes.
enum Base64 {
  enum Form {
    /// `+` and `/`, with padding.
    case standard
    /// `-` and `_`, without padding.
    case urlUnpadded

    var alphabet: [UInt8] {
      Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        + Array((self == .standard ? "+/" : "-_").utf8)
    }
  }

  static func encode(_ bytes: [UInt8], _ form: Form = .standard) -> String {
    let alphabet = form.alphabet
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var word = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      word <<= UInt32(8 * (3 - group.count))
      for index in 0..<4 {
        if index <= group.count {
          text.append(alphabet[Int(word >> UInt32(18 - 6 * index)) & 63])
        } else if form == .standard {
          text.append(UInt8(ascii: "="))
        }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for another character, wrong padding, or bits beyond the last byte.
  static func decode(_ text: some Sequence<UInt8>, _ form: Form = .standard) -> [UInt8]? {
    var values = [UInt8](repeating: 64, count: 256)
    for (value, character) in form.alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    var characters = Array(text)
    if form == .standard {
      guard characters.count % 4 == 0 else { return nil }
      for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
    }
    guard characters.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    for character in characters {
      let value = values[Int(character)]
      guard value < 64 else { return nil }
      word = word << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: word >> bits))
      }
    }
    guard word & ((1 << bits) - 1) == 0 else { return nil }
    return bytes
  }
}
