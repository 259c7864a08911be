// SPDX-License-Identifier: Apache-2.0

/// Percent encoding of paths and queries (RFC 3986), read strictly.
enum PercentEncoding {
  /// Undoes the encoding. `nil` for a percent sign without two hexadecimal digits, for a zero byte,
  /// and if the result is not UTF-8.
  static func decoded(_ text: some Collection<UInt8>) -> String? {
    decoded(text) { _ in false }
  }

  /// A path with its encoding undone. `nil` also for an encoded slash, which a proxy's rules treat
  /// as a border and this server as part of a name. `nil` too for an encoded letter, digit, hyphen,
  /// dot, underscore or tilde, because a proxy's rule that compares texts would not match it.
  static func decodedPath(_ path: some Collection<UInt8>) -> String? {
    decoded(path) { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
  }

  private static func decoded(
    _ text: some Collection<UInt8>, refusing: (UInt8) -> Bool
  ) -> String? {
    guard text.contains(where: { $0 == UInt8(ascii: "%") || $0 == 0 }) else {
      return String(validating: text, as: UTF8.self)
    }
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
        else { return nil }
        guard !refusing(high << 4 | low) else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(byte)
      }
    }
    return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
