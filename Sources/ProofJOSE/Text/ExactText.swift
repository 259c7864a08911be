// SPDX-License-Identifier: Apache-2.0

/// Comparison of strings byte by byte.
///
/// Swift's `==` treats canonically equivalent strings as equal: U+212A, the Kelvin sign, equals the
/// letter K. Key identifiers, issuers and names of members are compared here instead, so that only
/// the exact text matches.
enum ExactText {
  static func areEqual(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8)
  }

  static func areEqual(_ one: String?, _ other: String?) -> Bool {
    switch (one, other) {
    case (nil, nil): true
    case (let one?, let other?): areEqual(one, other)
    default: false
    }
  }

  /// The order of code points, which is that of UTF-8's bytes.
  static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  /// Whether a text has no control characters, and so is safe in a log line or a C string.
  static func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0.isASCII
        ? $0.value >= 0x20 && $0.value != 0x7F : $0.properties.generalCategory != .control
    }
  }

  /// Makes received text fit for an error message: short, one line, ASCII.
  static func quoted(_ text: String) -> String {
    let limit = 48
    var shown = "“"
    for (index, scalar) in text.unicodeScalars.enumerated() {
      if index == limit {
        shown += "…"
        break
      }
      shown += scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7f ? "\(scalar)" : "·"
    }
    return shown + "”"
  }
}
