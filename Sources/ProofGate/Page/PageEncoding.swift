// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes
internal import ProofModel

/// Pairs of a query or of a form (`application/x-www-form-urlencoded`), read strictly.
struct FormPairs: Sendable, Hashable {
  /// The most bytes of a text.
  static let byteMax = 16_384
  /// The most pairs.
  static let countMax = 24

  private(set) var values: [String: String] = [:]

  /// Reads a text; nil for one that is malformed or too long, or that names a value twice.
  init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.byteMax else { return nil }
    guard !bytes.isEmpty else { return }
    let pairs = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    guard pairs.count <= Self.countMax else { return nil }
    for pair in pairs {
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
        let name = Self.decoded(pair[..<equals]), !name.isEmpty,
        let value = Self.decoded(pair[pair.index(after: equals)...]),
        values.updateValue(value, forKey: name) == nil
      else { return nil }
    }
  }

  /// Undoes the encoding; nil for a broken escape, a byte that must be escaped, or what is no UTF-8.
  private static func decoded(_ bytes: some Sequence<UInt8>) -> String? {
    var plain: [UInt8] = []
    var rest = bytes.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "+"): plain.append(0x20)
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else {
          return nil
        }
        plain.append(high << 4 | low)
      case 0x21...0x7E: plain.append(byte)
      default: return nil
      }
    }
    return String(validating: plain, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// A value as a part of a query: each byte that is no letter, digit, hyphen, dot, underscore or tilde is escaped.
  static func encoded(_ text: String) -> String { PercentEncoding.encoded(text) }
}

/// Texts inside markup.
enum Markup {
  /// A text as content of an element, or of an attribute in double quotation marks.
  static func escaped(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): bytes += "&amp;".utf8
      case UInt8(ascii: "<"): bytes += "&lt;".utf8
      case UInt8(ascii: ">"): bytes += "&gt;".utf8
      case UInt8(ascii: "\""): bytes += "&quot;".utf8
      case UInt8(ascii: "'"): bytes += "&#39;".utf8
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// JSON as content of a script element: no character of it can end the element or begin another one.
  static func scriptData(_ json: String) -> String {
    var text = ""
    for scalar in json.unicodeScalars {
      switch scalar {
      case "<": text += "\\u003c"
      case ">": text += "\\u003e"
      case "&": text += "\\u0026"
      case "\u{2028}": text += "\\u2028"
      case "\u{2029}": text += "\\u2029"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Fills the places `{{name}}` of a template, in one pass: a value is never looked at again.
  static func filled(_ template: [UInt8], _ values: [String: String]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(template.count + values.values.reduce(0) { $0 + $1.utf8.count })
    var at = 0
    while at < template.count {
      if let place = place(in: template, at: at), let value = values[place.name] {
        bytes += value.utf8
        at = place.end
      } else {
        bytes.append(template[at])
        at += 1
      }
    }
    return bytes
  }

  /// The name of a place that begins at an index, and the index after it.
  private static func place(in template: [UInt8], at start: Int) -> (name: String, end: Int)? {
    let (open, close) = (UInt8(ascii: "{"), UInt8(ascii: "}"))
    guard start + 4 < template.count, template[start] == open, template[start + 1] == open else {
      return nil
    }
    var end = start + 2
    while end < template.count, end < start + 18,
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(template[end])
    {
      end += 1
    }
    guard end + 1 < template.count, template[end] == close, template[end + 1] == close else {
      return nil
    }
    return (String(decoding: template[start + 2..<end], as: UTF8.self), end + 2)
  }
}
