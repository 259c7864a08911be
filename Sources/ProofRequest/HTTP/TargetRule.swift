// SPDX-License-Identifier: Apache-2.0

/// Spellings of a target that a proxy and an API may read differently. A route allows each by name;
/// a target with any other of them is refused.
public struct TargetRule: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8
  /// Takes bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `%2F` and `%5C` in the path.
  public static let encodedSlash = TargetRule(rawValue: 1)
  /// `.` and `..` as segments, also percent-encoded, also with a parameter behind
  /// a semicolon, which some servers cut off.
  public static let dotSegment = TargetRule(rawValue: 2)
  /// Two slashes side by side in the path.
  public static let doubleSlash = TargetRule(rawValue: 4)
  /// A backslash in the path.
  public static let backslash = TargetRule(rawValue: 8)
  /// `%00` anywhere.
  public static let encodedZero = TargetRule(rawValue: 16)
  /// A percent sign without two hexadecimal digits.
  public static let brokenEscape = TargetRule(rawValue: 32)
  /// A question mark with an empty query: RFC 9421 does not distinguish it from no query.
  public static let emptyQuery = TargetRule(rawValue: 64)

  /// The spellings that a target has.
  public static func found(in head: RequestHead) -> TargetRule {
    var found: TargetRule = []
    let target = head.target.utf8.span
    let end = head.path.utf8.count
    if end == target.count - 1 { found.insert(.emptyQuery) }

    // The segment read so far, decoded as far as dots are concerned: 0 to 2 dots, or something else.
    var dots: Int? = 0
    var isInParameter = false
    var index = 1
    while index <= end {
      if index == end || target[index] == UInt8(ascii: "/") {
        if dots == 1 || dots == 2 { found.insert(.dotSegment) }
        if dots == 0 && index < end { found.insert(.doubleSlash) }
        dots = 0
        isInParameter = false
        index += 1
        continue
      }
      var byte = target[index]
      var length = 1
      if byte == UInt8(ascii: "%") {
        if let decoded = escape(target, index, end) {
          byte = decoded
          length = 3
          if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") { found.insert(.encodedSlash) }
          if byte == 0 { found.insert(.encodedZero) }
        } else {
          found.insert(.brokenEscape)
        }
      } else if byte == UInt8(ascii: "\\") {
        found.insert(.backslash)
      }
      if byte == UInt8(ascii: ";"), let dots, dots > 0 { isInParameter = true }
      if !isInParameter { dots = byte == UInt8(ascii: ".") ? dots.map { $0 + 1 } : nil }
      index += length
    }
    index = end
    while index < target.count {
      if target[index] == UInt8(ascii: "%") {
        guard let decoded = escape(target, index, target.count) else {
          found.insert(.brokenEscape)
          index += 1
          continue
        }
        if decoded == 0 { found.insert(.encodedZero) }
      }
      index += 1
    }
    return found
  }

  private static func escape(_ bytes: Span<UInt8>, _ index: Int, _ end: Int) -> UInt8? {
    guard index + 2 < end, let high = ASCII.hexValue(bytes[index + 1]),
      let low = ASCII.hexValue(bytes[index + 2])
    else { return nil }
    return high << 4 | low
  }
}
